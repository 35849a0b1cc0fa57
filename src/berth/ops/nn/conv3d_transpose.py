"""Transpose of 3-D convolution, computed as transposes of 2-D convolutions of slices.

Each image of a volume is convolved backwards with all images of the filter at once. What comes
of it for one image of the filter are the images of a volume, so many strides apart; added up,
each shifted by its place in the filter, they are the result.
"""

from __future__ import annotations

from typing import Any

from berth.dtypes import FLOATING
from berth.errors import InvalidArgumentError
from berth.ops.arrays.array import either_name, reshape
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.pad import pad
from berth.ops.arrays.transpose import transpose
from berth.ops.attributes import check_type
from berth.ops.compose import convert, is_eager, scope
from berth.ops.elementwise.add_n import add_n
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.nn.conv2d import conv2d_transpose
from berth.ops.nn.conv3d import Steps, as_images, channels_back, channels_last, volumes_of
from berth.ops.nn.conv3d import read_strides as read_volume_strides
from berth.ops.nn.windows import spread
from berth.ops.types import Tensor, TensorLike
from berth.public import public_v1, public_v2

_OP = "Conv3DBackpropInputV2"


@public_v2("nn.conv3d_transpose")
def conv3d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Transpose of 3-D convolution: the gradient of `conv3d` by its input.

    >>> volume, filters = [[[[[3.0]]]]], [[[[[1.0]], [[2.0]]]]]
    >>> conv3d_transpose(volume, filters, [1, 1, 1, 2, 1], 2).numpy().ravel().tolist()
    [3.0, 6.0]
    """
    data_format = data_format or "NDHWC"
    listed = spread(strides, "strides", data_format, 3)
    gaps = spread(dilations, "dilations", data_format, 3)
    steps, holes = read_volume_strides(listed, padding, data_format, gaps)
    with scope("conv3d_transpose", name):
        volumes = channels_last(volumes_of(input, _OP, "out_backprop"), data_format)
        filters = volumes_of(filters, _OP, "filter")
        check_type(_OP, "T", volumes.dtype.base_dtype, FLOATING)
        depth, height, width, n_out, n_in = (axis_size(filters, axis) for axis in range(5))
        if not isinstance(depth, int):
            raise ValueError("tf.nn.conv3d_transpose needs filters whose depth is known.")
        shape = convert(output_shape, None, "output_shape")
        sizes = _sizes(shape, data_format)
        n_images = axis_size(volumes, 0) * axis_size(volumes, 1)
        flat = transpose(filters, [1, 2, 0, 3, 4])
        flat = reshape(flat, [height, width, depth * n_out, n_in])
        images = conv2d_transpose(
            as_images(volumes),
            flat,
            [n_images, *sizes[2:4], depth * n_out],
            steps[1:],
            padding,
            "NHWC",
            holes[1:],
        )
        outer = [axis_size(volumes, axis) for axis in (0, 1)]
        grown = reshape(images, [*outer, sizes[2], sizes[3], depth, n_out])
        along = Steps(depth, steps[0], holes[0])
        return channels_back(_overlap(grown, along, sizes[1], padding), data_format)


def _sizes(shape: Any, data_format: str) -> list[Any]:
    """Return the five sizes of the result, channels last: numbers where they are known."""
    order = (0, 1, 2, 3, 4) if data_format == "NDHWC" else (0, 2, 3, 4, 1)
    if shape.value is not None:
        known = shape.value.tolist()
        return [known[axis] for axis in order]
    return [shape[axis] for axis in order]


def _overlap(grown: Any, steps: Steps, n_out: Any, padding: str) -> Any:
    """Add up images along the depth: tap `k` of window `w` belongs to ``w*stride + k*gap``."""
    size, stride, gap = steps
    n_windows, reach = axis_size(grown, 1), (size - 1) * gap + 1
    _check_size(n_windows, n_out, steps, padding)
    span = (n_windows - 1) * stride + 1
    before: Any = 0
    if padding == "SAME":
        missing = _at_least(span + reach - 1 - n_out, 0)
        before = missing // 2
    total = _at_least(before + n_out, span + reach - 1)
    placed = []
    for tap in range(size):
        apart = _apart(grown[:, :, :, :, tap], stride)[:, :span]
        after = total - span - tap * gap
        placed.append(pad(apart, [[0, 0], [tap * gap, after], [0, 0], [0, 0], [0, 0]]))
    return add_n(placed)[:, before : before + n_out]


def _apart(volumes: Any, stride: int) -> Any:
    """Put zeros between the images of volumes, so that they are `stride` apart."""
    if stride == 1:
        return volumes
    sizes = [axis_size(volumes, axis) for axis in range(5)]
    rows = reshape(volumes, [sizes[0], sizes[1], 1, -1])
    rows = pad(rows, [[0, 0], [0, 0], [0, stride - 1], [0, 0]])
    return reshape(rows, [sizes[0], sizes[1] * stride, *sizes[2:]])


def _at_least(number: Any, least: Any) -> Any:
    if isinstance(number, int) and isinstance(least, int):
        return max(number, least)
    return maximum(number, least)


def _check_size(n_windows: Any, n_out: Any, steps: Steps, padding: str) -> None:
    """Raise an error if a result of this size would have another number of windows."""
    if not (isinstance(n_windows, int) and isinstance(n_out, int)):
        return
    size, stride, gap = steps
    reach = 1 if padding == "SAME" else (size - 1) * gap + 1
    expected = (n_out - reach + stride) // stride
    if n_windows == expected:
        return
    message = (
        f"Conv3DBackpropInputOp: Size of out_backprop doesn't match computed: actual = "
        f"{n_windows}, computed = {expected} spatial_dim: 1 input: {n_out} filter: {size} "
        f"output: {n_windows} stride: {stride} dilation: {gap}"
    )
    if is_eager():
        raise InvalidArgumentError(None, None, f"{message} [Op:{_OP}]")
    raise ValueError(message)


@public_v1("nn.conv3d_transpose")
def conv3d_transpose_v1(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: Any = None,
) -> Tensor:
    """Transpose of 3-D convolution, with TensorFlow 1's argument names.

    >>> volume, filters = [[[[[1.0]]]]], [[[[[2.0]]]]]
    >>> conv3d_transpose_v1(volume, filters, [1, 1, 1, 1, 1], [1] * 5).numpy().item()
    2.0
    """
    filters = either_name("filter", filter, "filters", filters)
    value = either_name("value", value, "input", input)
    return conv3d_transpose(
        value, filters, output_shape, strides, padding, data_format, dilations, name
    )
