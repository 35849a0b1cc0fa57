"""3-D convolution and pooling, computed as 2-D convolutions and pools of slices.

A volume is (batch, depth, rows, columns, channels). The images that a window covers along the
depth are concatenated as channels of one image, and convolved by `conv2d`. Pooling is done for
each image first, and then along the depth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from berth.dtypes import FLOATING
from berth.ops.arrays.array import either_name, reshape
from berth.ops.arrays.ensure_shape import ensure_shape
from berth.ops.arrays.joining import concat, split
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.pad import pad
from berth.ops.arrays.transpose import transpose
from berth.ops.attributes import at_once, check_choice, check_length, check_type
from berth.ops.compose import convert, is_eager, scope
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.nn.conv2d import conv2d
from berth.ops.nn.pooling import avg_pool2d, max_pool2d
from berth.ops.nn.windows import spread
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1, public_v2

_FORMATS = ("NDHWC", "NCDHW")
_LAST = (0, 2, 3, 4, 1)
"""The order of axes that puts the channels last, if they come after the batch."""
_FIRST = (0, 4, 1, 2, 3)


class Steps(NamedTuple):
    """How windows lie along one axis: how many elements, how far apart, and the windows."""

    size: int
    stride: int
    gap: int = 1


# --- what users call ----------------------------------------------------------------------


@public_v2("nn.conv3d")
def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """3-D convolution of volumes with filters.

    >>> volume = [[[[[1.0], [2.0]]], [[[3.0], [4.0]]]]]
    >>> conv3d(volume, [[[[[1.0]]]], [[[[10.0]]]]], [1] * 5, "VALID").numpy().tolist()
    [[[[[31.0], [42.0]]]]]
    """
    data_format = data_format or "NDHWC"
    steps, gaps = read_strides(strides, padding, data_format, dilations)
    with scope("Conv3D", name):
        volumes = channels_last(volumes_of(input, "Conv3D", "input"), data_format)
        filters = volumes_of(filters, "Conv3D", "filter")
        depth, height, width, n_in, n_out = (axis_size(filters, axis) for axis in range(5))
        if not isinstance(depth, int):
            raise ValueError("tf.nn.conv3d needs filters whose depth is known.")
        n_groups = _n_groups(axis_size(volumes, -1), n_in, n_out)
        if n_groups > 1:
            groups = zip(
                split(volumes, n_groups, -1), split(filters, n_groups, -1), strict=True
            )
            parts = [conv3d(x, f, strides, padding, "NDHWC", dilations) for x, f in groups]
            return channels_back(concat(parts, -1), data_format)
        check_type("Conv3D", "T", volumes.dtype.base_dtype, FLOATING)
        volumes = _seen(volumes, Steps(depth, steps[0], gaps[0]), padding)
        flat = transpose(filters, [1, 2, 0, 3, 4])
        flat = reshape(flat, [height, width, depth * n_in, n_out])
        images = conv2d(as_images(volumes), flat, steps[1:], padding, "NHWC", gaps[1:])
        return channels_back(_as_volumes(images, volumes), data_format)


def _n_groups(n_channels: Any, n_in: Any, n_out: Any) -> int:
    """Count the groups of channels, which filters with fewer channels than the input make."""
    if not isinstance(n_in, int) or not isinstance(n_channels, int) or n_in == n_channels:
        return 1
    n_groups, rest = divmod(n_channels, n_in) if n_in else (0, 1)
    if rest or not isinstance(n_out, int) or n_out % n_groups:
        raise _complaint(
            "Conv3D",
            f"Number of channels in filter ({n_in}) must match last dimension of input "
            f"({n_channels})",
        )
    return n_groups


@public_v1("nn.conv3d")
def conv3d_v1(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """3-D convolution, with TensorFlow 1's argument names.

    >>> conv3d_v1([[[[[1.0]]]]], [[[[[2.0]]]]], [1, 1, 1, 1, 1], "SAME").numpy().item()
    2.0
    """
    filters = either_name("filter", filter, "filters", filters)
    return conv3d(input, filters, strides, padding, data_format, dilations, name)


@public("nn.max_pool3d")
def max_pool3d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Max pooling of volumes.

    >>> volume = [[[[[1.0], [2.0]]], [[[3.0], [4.0]]]]]
    >>> max_pool3d(volume, [2, 1, 1], 1, "VALID").numpy().tolist()
    [[[[[3.0], [4.0]]]]]
    """
    return _pool("MaxPool3D", max_pool2d, input, (ksize, strides), padding, data_format, name)


@public("nn.avg_pool3d")
def avg_pool3d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Average pooling of volumes; padding is not counted.

    >>> volume = [[[[[1.0], [2.0]]], [[[3.0], [4.0]]]]]
    >>> avg_pool3d(volume, 2, 1, "SAME").numpy().tolist()
    [[[[[2.5], [3.0]]], [[[3.5], [4.0]]]]]
    """
    return _pool("AvgPool3D", avg_pool2d, input, (ksize, strides), padding, data_format, name)


# --- arguments ----------------------------------------------------------------------------


def read_strides(
    strides: Any, padding: Any, data_format: str, dilations: Any
) -> tuple[list[int], list[int]]:
    """Read the strides and dilations along the three spatial axes."""
    if not isinstance(strides, list | tuple):
        raise TypeError(f"Expected list for 'strides' argument to 'conv3d' Op, not {strides}.")
    check_length("Conv3D", "strides", strides, 5)
    _check_names("Conv3D", padding, data_format)
    found = []
    for name, values in (("strides", strides), ("dilations", dilations or [1] * 5)):
        inner, outer = _split(values, data_format)
        if outer != [1, 1]:
            message = f"Current implementation does not yet support {name} in the batch and"
            raise _complaint("Conv3D", f"{message} depth dimensions.")
        if min(inner) < 1:
            what = "Spatial strides" if name == "strides" else "Dilated rates"
            raise _complaint("Conv3D", f"{what} should be larger than 0.")
        found.append(inner)
    return found[0], found[1]


def _check_names(op_name: str, padding: Any, data_format: str) -> None:
    check_choice(op_name, "padding", padding, ("SAME", "VALID"))
    check_choice(op_name, "data_format", data_format, _FORMATS)


def _split(values: Sequence[int], data_format: str) -> tuple[list[int], list[int]]:
    """Separate the numbers for the spatial axes from those for batch and channels."""
    inner = slice(2, 5) if data_format == "NCDHW" else slice(1, 4)
    numbers = [int(value) for value in values]
    return numbers[inner], numbers[: inner.start] + numbers[inner.stop :]


def _complaint(op_name: str, message: str) -> Exception:
    return at_once(op_name, message) if is_eager() else ValueError(message)


def volumes_of(value: Any, op_name: str, what: str) -> Any:
    """Convert a value to a tensor of rank 5."""
    tensor = convert(value, None, what)
    if tensor.dims is None:
        return ensure_shape(tensor, [None] * 5)
    if len(tensor.dims) == 5:
        return tensor
    if is_eager():
        raise at_once(op_name, f"{what} must be 5-dimensional")
    raise ValueError(f"Shape must be rank 5 but is rank {len(tensor.dims)}")


# --- volumes and images -------------------------------------------------------------------


def channels_last(volumes: Any, data_format: str) -> Any:
    """Move the channels to the last axis."""
    return transpose(volumes, _LAST) if data_format == "NCDHW" else volumes


def channels_back(volumes: Any, data_format: str) -> Tensor:
    """Move the channels from the last axis to where they belong."""
    return transpose(volumes, _FIRST) if data_format == "NCDHW" else volumes


def as_images(volumes: Any) -> Any:
    """Merge the depth axis into the batch."""
    return reshape(volumes, [-1, *(axis_size(volumes, axis) for axis in (2, 3, 4))])


def _as_volumes(images: Any, volumes: Any) -> Any:
    """Split a batch of images into volumes of the depth of others."""
    outer = [axis_size(volumes, axis) for axis in (0, 1)]
    return reshape(images, [*outer, *(axis_size(images, axis) for axis in (1, 2, 3))])


def _seen(volumes: Any, steps: Steps, padding: str) -> Any:
    """Concatenate along the channels the images of each window along the depth."""
    size, stride, gap = steps
    n_in, reach = axis_size(volumes, 1), (size - 1) * gap + 1
    if padding == "SAME":
        n_out = -(-n_in // stride)
        missing = (n_out - 1) * stride + reach - n_in
        missing = max(missing, 0) if isinstance(missing, int) else maximum(missing, 0)
        before = missing // 2
        paddings: Any = [[0, 0], [before, missing - before], [0, 0], [0, 0], [0, 0]]
        volumes = pad(volumes, paddings)
    else:
        n_out = (n_in - reach) // stride + 1
    span = (n_out - 1) * stride + 1
    parts = [volumes[:, k * gap : k * gap + span : stride] for k in range(size)]
    return concat(parts, -1)


def _pool(
    op_name: str,
    pool: Callable[..., Any],
    input: Any,
    windows: tuple[Any, Any],
    padding: str,
    data_format: str,
    name: str | None,
) -> Tensor:
    """Pool the images, and then the results along the depth."""
    data_format = data_format or "NDHWC"
    sizes = spread(windows[0], "ksize", data_format, 3)
    strides = spread(windows[1], "strides", data_format, 3)
    _check_names(op_name, padding, data_format)
    (depth, *size), outer = _split(sizes, data_format)
    (step, *stride), outer_step = _split(strides, data_format)
    if [*outer, *outer_step] != [1] * 4:
        raise _complaint(
            op_name, "Pooling is not yet supported on the batch and depth dimensions."
        )
    with scope(op_name, name):
        volumes = channels_last(volumes_of(input, op_name, "tensor_in"), data_format)
        check_type(op_name, "T", volumes.dtype.base_dtype, FLOATING)
        volumes = _as_volumes(pool(as_images(volumes), size, stride, padding), volumes)
        outer_axes = [axis_size(volumes, axis) for axis in (0, 1)]
        columns = reshape(volumes, [*outer_axes, -1, axis_size(volumes, 4)])
        pooled = pool(columns, [depth, 1], [step, 1], padding)
        outer_sizes = [axis_size(pooled, axis) for axis in (0, 1)]
        inner_sizes = [axis_size(volumes, axis) for axis in (2, 3, 4)]
        return channels_back(reshape(pooled, [*outer_sizes, *inner_sizes]), data_format)
