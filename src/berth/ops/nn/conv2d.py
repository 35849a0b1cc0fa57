"""2-D convolution, its transpose, and its gradients.

A filter is (rows, columns, channels, features). Images are (batch, rows, columns, channels),
or with channels second, as `data_format` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import FLOATING, int32
from berth.errors import InvalidArgumentError
from berth.ops.arrays import metadata
from berth.ops.arrays.array import either_name
from berth.ops.attributes import check_choice
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.nn.conv2d_binders import (
    bind_filter_gradient,
    bind_forward,
    bind_input_gradient,
    filter_scratch,
    forward_scratch,
    input_scratch,
)
from berth.ops.nn.conv2d_shapes import (
    check_arrived,
    check_filter_fits,
    check_supported,
    convolved_type,
    filter_type,
    input_type,
)
from berth.ops.nn.windows import (
    FORMATS,
    PADDINGS,
    channel_axis,
    read_padding,
    spread,
)
from berth.ops.opdef import Call, Launch, OpDef, Parts, Typed, all_devices
from berth.ops.types import Tensor, TensorLike
from berth.public import public_v1, public_v2

TYPES = (*FLOATING, int32)


def _bind_forward(launch: Launch) -> Parts | None:
    check_supported(launch.attrs)
    return bind_forward(launch)


def _bind_input(launch: Launch) -> Parts | None:
    filters, grads, out = launch.inputs[1], launch.inputs[2], launch.outputs[0]
    what = "Conv2DCustomBackpropInput"
    check_supported(launch.attrs)
    check_arrived(what, out.shape, filters.shape[:2], grads, launch.attrs)
    if filters.shape[2] == 0 or out.shape[channel_axis(launch.attrs)] % filters.shape[2]:
        message = f"{what}: input depth must be evenly divisible by filter depth"
        raise InvalidArgumentError(None, None, message)
    return bind_input_gradient(launch)


def _bind_filter(launch: Launch) -> Parts | Call | None:
    images, grads, out = launch.inputs[0], launch.inputs[2], launch.outputs[0]
    what = "Conv2DCustomBackpropFilter"
    check_supported(launch.attrs)
    check_arrived(what, images.shape, out.shape[:2], grads, launch.attrs)
    channel = channel_axis(launch.attrs)
    if out.shape[3] != grads.shape[channel]:
        message = f"{what}: filter and out_backprop must have the same out_depth"
        raise InvalidArgumentError(None, None, message)
    if out.shape[2] == 0 or images.shape[channel] % out.shape[2]:
        message = f"{what}: input depth must be evenly divisible by filter depth"
        raise InvalidArgumentError(None, None, message)
    return bind_filter_gradient(launch)


def _flops(filters: int, results: int) -> Callable[[Sequence[Typed], Sequence[Typed]], float]:
    """Count a multiplication and an addition per window element and output channel."""

    def count(inputs: Sequence[Typed], outputs: Sequence[Typed]) -> float:
        tensors = [*inputs, *outputs]
        total = 2.0
        for size in (*(tensors[filters].dims or ())[:3], *(tensors[results].dims or ())):
            total *= size or 0
        return total

    return count


CONV2D = OpDef(
    "Conv2D",
    "input:T filter:T",
    convolved_type,
    check_static=check_filter_fits,
    types={"T": TYPES},
    kernels=all_devices(_bind_forward, TYPES, forward_scratch),
    flops=_flops(1, 2),
    samples=(
        "f(2, 5, 4, 3), f(3, 2, 3, 6), **windows",
        "f(2, 3, 5, 6), f(2, 3, 3, 4), **edges",
    ),
    large_samples=("images, f(3, 3, 16, 16), **same",),
)
CONV2D_BACKPROP_INPUT = OpDef(
    "Conv2DBackpropInput",
    "input_sizes:int32 filter:T out_backprop:T",
    input_type,
    types={"T": TYPES},
    kernels=all_devices(_bind_input, TYPES, input_scratch),
    host_inputs=(0,),
    flops=_flops(1, 2),
    samples=("i(2, 5, 4, 3), f(3, 2, 3, 6), f(2, 3, 4, 6), **windows",),
    large_samples=("i(8, 64, 64, 16), f(3, 3, 16, 16), images, **same",),
)
CONV2D_BACKPROP_FILTER = OpDef(
    "Conv2DBackpropFilter",
    "input:T filter_sizes:int32 out_backprop:T",
    filter_type,
    types={"T": FLOATING},
    kernels=all_devices(_bind_filter, FLOATING, filter_scratch),
    host_inputs=(1,),
    flops=_flops(3, 2),
    samples=("f(2, 5, 4, 3), i(3, 2, 3, 6), f(2, 3, 4, 6), **windows",),
    large_samples=("images, i(3, 3, 16, 16), images, **same",),
)

# --- gradients ----------------------------------------------------------------------------


def set_gradients(forward: OpDef, to_input: OpDef, to_filter: OpDef) -> None:
    """Set the gradients of a convolution and of its two gradients: each of the other two."""

    def convolved(op: RecordedOp, images: Any, filters: Any) -> Any:
        return apply(forward, (images, filters), op.attrs)

    def of_input(op: RecordedOp, images: Any, filters: Any, grad: Any) -> Any:
        return apply(to_input, (metadata.shape(images), filters, grad), op.attrs)

    def of_filter(op: RecordedOp, images: Any, filters: Any, grad: Any) -> Any:
        return apply(to_filter, (images, metadata.shape(filters), grad), op.attrs)

    @gradient(forward)
    def forward_gradient(op: RecordedOp, grad: Any) -> Any:
        images, filters = op.inputs
        return of_input(op, images, filters, grad), of_filter(op, images, filters, grad)

    @gradient(to_input)
    def input_gradient(op: RecordedOp, grad: Any) -> Any:
        _, filters, arrived = op.inputs
        return None, of_filter(op, grad, filters, arrived), convolved(op, grad, filters)

    @gradient(to_filter)
    def filter_gradient(op: RecordedOp, grad: Any) -> Any:
        images, _, arrived = op.inputs
        return of_input(op, images, grad, arrived), None, convolved(op, images, grad)


set_gradients(CONV2D, CONV2D_BACKPROP_INPUT, CONV2D_BACKPROP_FILTER)

# --- what users call ----------------------------------------------------------------------


def window_attrs(
    op_name: str, strides: Any, padding: Any, data_format: str | None, dilations: Any
) -> dict[str, Any]:
    """Read the arguments that define windows: strides, padding, dilations, data format."""
    data_format = "NHWC" if data_format is None else data_format
    padding, explicit = read_padding(padding)
    check_choice(op_name, "padding", padding, PADDINGS)
    check_choice(op_name, "data_format", data_format, FORMATS)
    return {
        "strides": spread(strides, "strides", data_format),
        "padding": padding,
        "explicit_paddings": explicit,
        "data_format": data_format,
        "dilations": spread(dilations, "dilations", data_format),
    }


@public_v2("nn.conv2d")
def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """2-D convolution of images with filters.

    >>> image = [[[[1.0], [2.0]], [[3.0], [4.0]]]]
    >>> conv2d(image, [[[[1.0]], [[10.0]]]], 1, "VALID").numpy().tolist()
    [[[[21.0]], [[43.0]]]]
    """
    attrs = window_attrs("Conv2D", strides, padding, data_format, dilations)
    return apply(CONV2D, (input, filters), attrs, name)


@public_v1("nn.conv2d")
def conv2d_v1(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """2-D convolution, with TensorFlow 1's argument names.

    >>> image = [[[[1.0], [2.0]], [[3.0], [4.0]]]]
    >>> conv2d_v1(image, [[[[2.0]]]], [1, 1, 1, 1], "SAME").numpy().ravel().tolist()
    [2.0, 4.0, 6.0, 8.0]
    """
    filters = either_name("filter", filter, "filters", filters)
    return conv2d(input, filters, strides, padding, data_format, dilations, name)


@public_v2("nn.conv2d_transpose")
def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Transpose of 2-D convolution ("deconvolution"): the gradient of `conv2d` by its input.

    >>> conv2d_transpose([[[[3.0]]]], [[[[1.0]], [[2.0]]]], [1, 1, 2, 1], 2).numpy().tolist()
    [[[[3.0], [6.0]]]]
    """
    attrs = window_attrs("Conv2DBackpropInput", strides, padding, data_format, dilations)
    inputs = (output_shape, filters, input)
    return apply(CONV2D_BACKPROP_INPUT, inputs, attrs, name or "conv2d_transpose")


@public_v1("nn.conv2d_transpose")
def conv2d_transpose_v1(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: Any = None,
) -> Tensor:
    """Transpose of 2-D convolution, with TensorFlow 1's argument names.

    >>> conv2d_transpose_v1([[[[1.0]]]], [[[[2.0]]]], [1, 1, 1, 1], [1, 1, 1, 1]).numpy().item()
    2.0
    """
    filters = either_name("filter", filter, "filters", filters)
    value = either_name("value", value, "input", input)
    return conv2d_transpose(
        value, filters, output_shape, strides, padding, data_format, dilations, name
    )


@public_v1("nn.conv2d_backprop_input")
def conv2d_backprop_input(
    input_sizes: Any,
    filter: TensorLike | None = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Gradient of a 2-D convolution with respect to its input.

    >>> grads = conv2d_backprop_input([1, 1, 2, 1], [[[[2.0]]]], [[[[1.0], [5.0]]]], 1, "SAME")
    >>> grads.numpy().tolist()
    [[[[2.0], [10.0]]]]
    """
    filters = either_name("filter", filter, "filters", filters)
    attrs = window_attrs("Conv2DBackpropInput", strides, padding, data_format, dilations)
    return apply(CONV2D_BACKPROP_INPUT, (input_sizes, filters, out_backprop), attrs, name)


@public_v1("nn.conv2d_backprop_filter")
def conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Gradient of a 2-D convolution with respect to its filter.

    >>> images, grads = [[[[1.0], [2.0]]]], [[[[3.0], [4.0]]]]
    >>> conv2d_backprop_filter(images, [1, 1, 1, 1], grads, 1, "SAME").numpy().tolist()
    [[[[11.0]]]]
    """
    attrs = window_attrs("Conv2DBackpropFilter", strides, padding, data_format, dilations)
    return apply(CONV2D_BACKPROP_FILTER, (input, filter_sizes, out_backprop), attrs, name)
