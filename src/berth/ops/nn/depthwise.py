"""Depthwise and separable 2-D convolution.

The filter is (rows, columns, channels, multiplier); the features of one channel lie side by
side in the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import FLOATING
from berth.errors import InvalidArgumentError
from berth.ops.arrays.array import either_name
from berth.ops.builder import apply
from berth.ops.compose import convert, scope
from berth.ops.nn.conv2d import conv2d, set_gradients, window_attrs
from berth.ops.nn.conv2d_shapes import check_arrived, check_filter_fits, check_images
from berth.ops.nn.depthwise_kernels import (
    bind_filter,
    bind_forward,
    bind_input,
    filter_scratch,
    forward_scratch,
    input_scratch,
)
from berth.ops.nn.windows import channel_axis, check_windows, window_dims, with_channels
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Parts, Typed, all_devices
from berth.ops.rules import ShapeMismatch, check_rank, shape_of_value
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1, public_v2

# --- shape rules --------------------------------------------------------------------------


def _convolved(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    images, filters = inputs
    check_windows(attrs, "DepthwiseConv2D")
    check_images(images.dims)
    check_images(filters.dims, "filter")
    sizes = (None,) * 4 if filters.dims is None else filters.dims
    dims = (None,) * 4 if images.dims is None else images.dims
    depth = dims[channel_axis(attrs)]
    if depth != sizes[2] and None not in (depth, sizes[2]):
        raise ShapeMismatch(
            f"Dimensions must be equal, but are {depth} and {sizes[2]}",
            f"input and filter must have the same depth: {depth} vs {sizes[2]}",
        )
    depth = sizes[2] if depth is None else depth
    features = None if depth is None or sizes[3] is None else depth * sizes[3]
    rows, columns = window_dims(dims, sizes[:2], attrs)
    out = with_channels((dims[0], rows, columns), features, attrs)
    return ((images.dtype.base_dtype, out),)


def _input_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims = shape_of_value(inputs[0])
    check_rank(dims, 4)
    return ((inputs[2].dtype.base_dtype, dims or (None,) * 4),)


def _filter_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims = shape_of_value(inputs[1])
    check_rank(dims, 4)
    return ((inputs[0].dtype.base_dtype, dims or (None,) * 4),)


# --- checks that wait for a run -----------------------------------------------------------


def _bind_input(launch: Launch) -> Parts | None:
    (_, filters, grads), out = launch.inputs, launch.outputs[0]
    _check_features(filters.shape, grads, launch.attrs)
    what = "DepthwiseConv2DBackpropInput"
    check_arrived(what, out.shape, filters.shape[:2], grads, launch.attrs)
    return bind_input(launch)


def _bind_filter(launch: Launch) -> Parts | Call | None:
    (images, _, grads), out = launch.inputs, launch.outputs[0]
    _check_features(out.shape, grads, launch.attrs)
    what = "DepthwiseConv2DBackpropFilter"
    check_arrived(what, images.shape, out.shape[:2], grads, launch.attrs)
    return bind_filter(launch)


def _check_features(filter_dims: Sequence[int], grads: Any, attrs: Attrs) -> None:
    depth = grads.shape[channel_axis(attrs)]
    if depth != filter_dims[2] * filter_dims[3]:
        message = (
            "Dimensions must be equal: out_backprop has "
            f"{depth} channels, and the filter makes {filter_dims[2] * filter_dims[3]}"
        )
        raise InvalidArgumentError(None, None, message)


DEPTHWISE = OpDef(
    "DepthwiseConv2dNative",
    "input:T filter:T",
    _convolved,
    check_static=check_filter_fits,
    types={"T": FLOATING},
    kernels=all_devices(bind_forward, FLOATING, forward_scratch),
    samples=("f(2, 5, 4, 3), f(3, 2, 3, 2), **windows",),
    large_samples=("images, f(3, 3, 16, 1), **same",),
)
DEPTHWISE_BACKPROP_INPUT = OpDef(
    "DepthwiseConv2dNativeBackpropInput",
    "input_sizes:int32 filter:T out_backprop:T",
    _input_type,
    types={"T": FLOATING},
    kernels=all_devices(_bind_input, FLOATING, input_scratch),
    host_inputs=(0,),
    samples=("i(2, 5, 4, 3), f(3, 2, 3, 2), f(2, 3, 4, 6), **windows",),
    large_samples=("i(8, 64, 64, 16), f(3, 3, 16, 1), images, **same",),
)
DEPTHWISE_BACKPROP_FILTER = OpDef(
    "DepthwiseConv2dNativeBackpropFilter",
    "input:T filter_sizes:int32 out_backprop:T",
    _filter_type,
    types={"T": FLOATING},
    kernels=all_devices(_bind_filter, FLOATING, filter_scratch),
    host_inputs=(1,),
    samples=("f(2, 5, 4, 3), i(3, 2, 3, 2), f(2, 3, 4, 6), **windows",),
    large_samples=("images, i(3, 3, 16, 1), images, **same",),
)

set_gradients(DEPTHWISE, DEPTHWISE_BACKPROP_INPUT, DEPTHWISE_BACKPROP_FILTER)

# --- what users call ----------------------------------------------------------------------


@public_v2("nn.depthwise_conv2d")
def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Depthwise 2-D convolution: each channel has its own filters.

    >>> image = [[[[1.0, 2.0], [3.0, 4.0]]]]
    >>> depthwise_conv2d(image, [[[[1.0], [10.0]]]], [1, 1, 1, 1], "SAME").numpy().tolist()
    [[[[1.0, 20.0], [3.0, 40.0]]]]
    """
    attrs = window_attrs("DepthwiseConv2dNative", strides, padding, data_format, dilations)
    return apply(DEPTHWISE, (input, filter), attrs, name or "depthwise")


@public_v1("nn.depthwise_conv2d")
def depthwise_conv2d_v1(
    input: TensorLike,
    filter: TensorLike,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Depthwise 2-D convolution, with TensorFlow 1's argument names.

    >>> image = [[[[1.0], [2.0]], [[3.0], [4.0]]]]
    >>> depthwise_conv2d_v1(image, [[[[2.0]]]], [1, 1, 1, 1], "SAME").numpy().ravel().tolist()
    [2.0, 4.0, 6.0, 8.0]
    """
    dilations = either_name("dilations", dilations, "rate", rate)
    return depthwise_conv2d(input, filter, strides, padding, data_format, dilations, name)


@public_v1("nn.depthwise_conv2d_native")
def depthwise_conv2d_native(
    input: TensorLike,
    filter: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Depthwise 2-D convolution, with the arguments of the operation DepthwiseConv2dNative.

    >>> image = [[[[1.0], [2.0]], [[3.0], [4.0]]]]
    >>> output = depthwise_conv2d_native(image, [[[[2.0]]]], [1, 1, 1, 1], "SAME")
    >>> output.numpy().ravel().tolist()
    [2.0, 4.0, 6.0, 8.0]
    """
    attrs = window_attrs("DepthwiseConv2dNative", strides, padding, data_format, dilations)
    return apply(DEPTHWISE, (input, filter), attrs, name)


@public("nn.depthwise_conv2d_backprop_input")
@public_v1("nn.depthwise_conv2d_native_backprop_input")
def depthwise_conv2d_backprop_input(
    input_sizes: Any,
    filter: TensorLike,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Gradient of a depthwise 2-D convolution with respect to its input.

    >>> grads, filters = [[[[3.0, 1.0]]]], [[[[1.0], [2.0]]]]
    >>> back = depthwise_conv2d_backprop_input([1, 1, 1, 2], filters, grads, 1, "SAME")
    >>> back.numpy().tolist()
    [[[[3.0, 2.0]]]]
    """
    op = DEPTHWISE_BACKPROP_INPUT
    attrs = window_attrs(op.name, strides, padding, data_format, dilations)
    return apply(op, (input_sizes, filter, out_backprop), attrs, name)


@public("nn.depthwise_conv2d_backprop_filter")
@public_v1("nn.depthwise_conv2d_native_backprop_filter")
def depthwise_conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Gradient of a depthwise 2-D convolution with respect to its filter.

    >>> images, grads = [[[[1.0, 2.0]]]], [[[[3.0, 4.0]]]]
    >>> back = depthwise_conv2d_backprop_filter(images, [1, 1, 2, 1], grads, 1, "SAME")
    >>> back.numpy().tolist()
    [[[[3.0], [8.0]]]]
    """
    op = DEPTHWISE_BACKPROP_FILTER
    attrs = window_attrs(op.name, strides, padding, data_format, dilations)
    return apply(op, (input, filter_sizes, out_backprop), attrs, name)


@public_v2("nn.separable_conv2d")
def separable_conv2d(
    input: TensorLike,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Separable 2-D convolution: depthwise, then pointwise (1x1).

    >>> image = [[[[1.0, 2.0]]]]
    >>> depthwise, pointwise = [[[[1.0], [10.0]]]], [[[[1.0], [1.0]]]]
    >>> separable_conv2d(image, depthwise, pointwise, [1, 1, 1, 1], "SAME").numpy().tolist()
    [[[[21.0]]]]
    """
    data_format = "NHWC" if data_format is None else data_format
    with scope("separable_conv2d", name) as inner:
        pointwise_filter = convert(pointwise_filter, None, "pointwise_filter")
        for size in (pointwise_filter.dims or ())[:2]:
            if size not in (1, None):
                raise ValueError(f"Dimensions {size} and 1 are not compatible")
        channels = depthwise_conv2d(
            input, depthwise_filter, strides, padding, data_format, dilations, "depthwise"
        )
        return conv2d(channels, pointwise_filter, 1, "VALID", data_format, None, inner)


@public_v1("nn.separable_conv2d")
def separable_conv2d_v1(
    input: TensorLike,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Separable 2-D convolution, with TensorFlow 1's argument names.

    >>> image = [[[[1.0]]]]
    >>> output = separable_conv2d_v1(image, [[[[2.0]]]], [[[[3.0]]]], [1, 1, 1, 1], "SAME")
    >>> output.numpy().item()
    6.0
    """
    dilations = either_name("dilations", dilations, "rate", rate)
    return separable_conv2d(
        input,
        depthwise_filter,
        pointwise_filter,
        strides,
        padding,
        data_format,
        dilations,
        name,
    )
