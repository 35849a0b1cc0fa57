"""1-D convolution and its transpose, computed as convolutions of images of one row."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.array import either_name, expand_dims, squeeze
from berth.ops.arrays.joining import concat
from berth.ops.attributes import check_choice
from berth.ops.compose import convert, scope
from berth.ops.nn.conv2d import conv2d, conv2d_transpose
from berth.ops.nn.windows import spread
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1, public_v2


@public_v2("nn.conv1d")
def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride: Any,
    padding: Any,
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """1-D convolution of sequences with filters.

    >>> conv1d([[[1.0], [2.0], [3.0]]], [[[1.0]], [[10.0]]], 1, "VALID").numpy().tolist()
    [[[21.0], [32.0]]]
    """
    with scope("conv1d", name) as inner:
        axis, wide = _image_format(data_format)
        strides = spread(stride, "stride", data_format, 1)
        holes = spread(dilations, "dilations", data_format, 1)
        for listed in (strides, holes):
            listed.insert(axis, 1)
        if isinstance(padding, list | tuple):
            padding = [*padding[:axis], [0, 0], *padding[axis:]]
        images, image_filters = expand_dims(input, axis), expand_dims(filters, 0)
        convolved = conv2d(images, image_filters, strides, padding, wide, holes, inner)
        return squeeze(convolved, [axis])


def _image_format(data_format: str | None) -> tuple[int, str]:
    """Return the axis to insert to treat sequences as images, and the images' data format."""
    data_format = "NWC" if data_format is None else data_format
    data_format = {"NHWC": "NWC", "NCHW": "NCW"}.get(data_format, data_format)
    check_choice("conv1d", "data_format", data_format, ("NWC", "NCW"))
    return (1, "NHWC") if data_format == "NWC" else (2, "NCHW")


@public_v1("nn.conv1d")
def conv1d_v1(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Tensor:
    """1-D convolution, with TensorFlow 1's argument names.

    >>> conv1d_v1([[[1.0], [2.0]]], [[[3.0]]], 1, "SAME").numpy().ravel().tolist()
    [3.0, 6.0]
    """
    value = either_name("value", value, "input", input)
    return conv1d(value, filters, stride, padding, data_format or "NWC", dilations, name)


@public("nn.conv1d_transpose")
def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Transpose of 1-D convolution: the gradient of `conv1d` by its input.

    >>> conv1d_transpose([[[3.0]]], [[[1.0]], [[2.0]]], [1, 2, 1], 2).numpy().tolist()
    [[[3.0], [6.0]]]
    """
    with scope("conv1d_transpose", name) as inner:
        axis, wide = _image_format(data_format)
        steps = spread(strides, "strides", data_format, 1)
        holes = spread(dilations, "dilations", data_format, 1)
        for listed in (steps, holes):
            listed.insert(axis, 1)
        images, image_filters = expand_dims(input, axis), expand_dims(filters, 0)
        shape: Any = convert(output_shape, None, "output_shape")
        if shape.value is not None:
            shape = [*shape.value[:axis], 1, *shape.value[axis:]]
        else:
            shape = concat([shape[:axis], [1], shape[axis:]], 0)
        grown = conv2d_transpose(
            images, image_filters, shape, steps, padding, wide, holes, inner
        )
        return squeeze(grown, [axis])
