"""Convolution of images with filters: forwards, and its gradients, which are operations too.

A filter is (rows, columns, channels, features). Images are (batch, rows, columns, channels),
or with channels second, as `data_format` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import FLOATING, int32
from berth.errors import InvalidArgumentError, UnimplementedError
from berth.ops.arrays.array import either_name
from berth.ops.attributes import check_choice
from berth.ops.builder import apply
from berth.ops.nn.convolution_binders import (
    bind_filter_gradient,
    bind_forward,
    bind_input_gradient,
    filter_scratch,
    forward_scratch,
    input_scratch,
)
from berth.ops.nn.windows import (
    FORMATS,
    PADDINGS,
    channel_axis,
    check_windows,
    read_padding,
    spatial_axes,
    spread,
    window_dims,
    windows_along,
    with_channels,
)
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Parts, Typed, all_devices
from berth.ops.rules import ShapeMismatch, check_rank, shape_of_value
from berth.ops.shape import Dims, bracketed
from berth.ops.types import Tensor, TensorLike
from berth.public import public_v1, public_v2

TYPES = (*FLOATING, int32)

# --- shape rules --------------------------------------------------------------------------


def check_images(dims: Dims, what: str = "input") -> None:
    """Raise ValueError unless a shape can be that of images, or of a filter."""
    if dims is not None and len(dims) != 4:
        raise ShapeMismatch(
            f"Shape must be rank 4 but is rank {len(dims)}",
            f"convolution {what} must be 4-dimensional: {bracketed(dims)}",
        )


def _convolved(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    images, filters = inputs
    check_windows(attrs)
    check_images(images.dims)
    check_images(filters.dims, "filter")
    sizes = (None,) * 4 if filters.dims is None else filters.dims
    _check_depth(images.dims, sizes, attrs)
    batch = None if images.dims is None else images.dims[0]
    rows, columns = window_dims(images.dims, sizes[:2], attrs)
    return ((images.dtype.base_dtype, with_channels((batch, rows, columns), sizes[3], attrs)),)


def _check_depth(dims: Dims, sizes: Sequence[int | None], attrs: Attrs) -> None:
    """Raise ValueError unless the input's channels form groups that the filter fits."""
    depth = None if dims is None else dims[channel_axis(attrs)]
    if sizes[2] == 0:
        raise ShapeMismatch(
            "Depth of filter must not be 0", "filter depth must be stricly positive, got 0"
        )
    if depth is None or sizes[2] is None:
        return
    if depth % sizes[2]:
        raise ShapeMismatch(
            f"Depth of input ({depth}) is not a multiple of input depth of filter ({sizes[2]})",
            f"input depth must be evenly divisible by filter depth: {depth} vs {sizes[2]}",
        )
    n_groups = depth // sizes[2]
    if sizes[3] is not None and n_groups and sizes[3] % n_groups:
        raise ShapeMismatch(
            f"Depth of output ({sizes[3]}) is not a multiple of the number of groups "
            f"({n_groups})",
            "output depth must be evenly divisible by number of groups: "
            f"{sizes[3]} vs {n_groups}",
        )


def _input_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    sizes, filters, grads = inputs
    check_windows(attrs)
    check_images(filters.dims, "filter")
    check_images(grads.dims, "out_backprop")
    dims = shape_of_value(sizes)
    if dims is not None and len(dims) not in (2, 4):
        raise ValueError(
            "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, "
            f"but got: {len(dims)}"
        )
    if dims is not None and len(dims) == 2:
        batch = None if grads.dims is None else grads.dims[0]
        channels = None if filters.dims is None else filters.dims[2]
        dims = with_channels((batch, *dims), channels, attrs)
    _check_same(
        None if grads.dims is None else grads.dims[channel_axis(attrs)],
        None if filters.dims is None else filters.dims[3],
        "Conv2DCustomBackpropInput: filter and out_backprop must have the same out_depth",
    )
    if dims is not None and grads.dims is not None:
        _check_same(
            dims[0],
            grads.dims[0],
            "Conv2DCustomBackpropInput: input and out_backprop must have the same batch size. "
            f"Input batch: {dims[0]}, outbackprop batch: {grads.dims[0]}, batch_dim: 0",
        )
    return ((grads.dtype.base_dtype, dims or (None,) * 4),)


def _check_same(a: int | None, b: int | None, at_run: str) -> None:
    if a != b and None not in (a, b):
        raise ShapeMismatch(f"Dimensions must be equal, but are {a} and {b}", at_run)


def _filter_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    images, sizes, grads = inputs
    check_windows(attrs)
    check_images(images.dims)
    check_images(grads.dims, "out_backprop")
    dims = shape_of_value(sizes)
    check_rank(dims, 4)
    return ((images.dtype.base_dtype, dims or (None,) * 4),)


# --- checks that wait for a run -----------------------------------------------------------


def _check_supported(attrs: Attrs) -> None:
    channel = channel_axis(attrs)
    for kind in ("strides", "dilations"):
        if attrs[kind][0] != 1 or attrs[kind][channel] != 1:
            message = (
                f"Current implementation does not yet support {kind} in the batch and depth "
                "dimensions."
            )
            raise UnimplementedError(None, None, message)


def check_arrived(
    what: str, image_dims: Sequence[int], sizes: Sequence[int], grads: Any, attrs: Attrs
) -> None:
    """Raise InvalidArgumentError unless gradients have the shape of what went out."""
    for axis, size in zip(spatial_axes(attrs), sizes, strict=True):
        n_out, _ = windows_along(axis, image_dims[axis], size, attrs)
        if n_out != grads.shape[axis]:
            message = (
                f"{what}: Size of out_backprop doesn't match computed: actual = "
                f"{grads.shape[axis]}, computed = {n_out} spatial_dim: {axis} input: "
                f"{image_dims[axis]} filter: {size} output: {grads.shape[axis]} stride: "
                f"{attrs['strides'][axis]} dilation: {attrs['dilations'][axis]}"
            )
            raise InvalidArgumentError(None, None, message)


def _bind_forward(launch: Launch) -> Parts | None:
    _check_supported(launch.attrs)
    return bind_forward(launch)


def _bind_input(launch: Launch) -> Parts | None:
    filters, grads, out = launch.inputs[1], launch.inputs[2], launch.outputs[0]
    what = "Conv2DCustomBackpropInput"
    _check_supported(launch.attrs)
    check_arrived(what, out.shape, filters.shape[:2], grads, launch.attrs)
    if filters.shape[2] == 0 or out.shape[channel_axis(launch.attrs)] % filters.shape[2]:
        message = f"{what}: input depth must be evenly divisible by filter depth"
        raise InvalidArgumentError(None, None, message)
    return bind_input_gradient(launch)


def _bind_filter(launch: Launch) -> Parts | Call | None:
    images, grads, out = launch.inputs[0], launch.inputs[2], launch.outputs[0]
    what = "Conv2DCustomBackpropFilter"
    _check_supported(launch.attrs)
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
    """Count a multiplication and an addition for each element of a window, and feature."""

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
    _convolved,
    types={"T": TYPES},
    kernels=all_devices(_bind_forward, TYPES, forward_scratch),
    flops=_flops(1, 2),
)
CONV2D_BACKPROP_INPUT = OpDef(
    "Conv2DBackpropInput",
    "input_sizes:int32 filter:T out_backprop:T",
    _input_type,
    types={"T": TYPES},
    kernels=all_devices(_bind_input, TYPES, input_scratch),
    host_inputs=(0,),
    flops=_flops(1, 2),
)
CONV2D_BACKPROP_FILTER = OpDef(
    "Conv2DBackpropFilter",
    "input:T filter_sizes:int32 out_backprop:T",
    _filter_type,
    types={"T": FLOATING},
    kernels=all_devices(_bind_filter, FLOATING, filter_scratch),
    host_inputs=(1,),
    flops=_flops(3, 2),
)

# --- what users call ----------------------------------------------------------------------


def window_attrs(
    op_name: str, strides: Any, padding: Any, data_format: str | None, dilations: Any
) -> dict[str, Any]:
    """Read the arguments that say where windows lie."""
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
    """Slide a filter over images; each place gives the products with it, summed up.

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
    """Do as `conv2d`, with the arguments of TensorFlow 1.

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
    """Go from what a convolution puts out to what it takes in: its gradient, used forwards.

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
    """Do as `conv2d_transpose`, with the arguments of TensorFlow 1.

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
    """Return the gradient of a convolution's input.

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
    """Return the gradient of a convolution's filter.

    >>> images, grads = [[[[1.0], [2.0]]]], [[[[3.0], [4.0]]]]
    >>> conv2d_backprop_filter(images, [1, 1, 1, 1], grads, 1, "SAME").numpy().tolist()
    [[[[11.0]]]]
    """
    attrs = window_attrs("Conv2DBackpropFilter", strides, padding, data_format, dilations)
    return apply(CONV2D_BACKPROP_FILTER, (input, filter_sizes, out_backprop), attrs, name)
