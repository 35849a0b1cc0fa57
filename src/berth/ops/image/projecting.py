"""`ImageProjectiveTransformV3`: images seen through a projective map of their coordinates.

A transform is eight numbers, the rows of a 3 x 3 matrix without its last element, 1. It maps
a point (x, y) of the output to the point of the input from which its value is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import FLOATING, int32, int64, uint8
from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import ones_like
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import shape
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.linalg.matrices import inv
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.rules import ShapeMismatch

_TYPES = (uint8, int32, int64, *FLOATING)


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise ShapeMismatch(message, message)


def _transformed_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    images, transforms, size = inputs[:3]
    _check(images.dims is None or len(images.dims) == 4, "Input images must have rank 4")
    given = transforms.dims
    if given is not None:
        n_images = None if images.dims is None else images.dims[0]
        fits = len(given) == 2 and given[1] in (8, None)
        fits = fits and (None in (given[0], n_images) or given[0] in (1, n_images))
        _check(fits, "Input transform should be num_images x 8 or 1 x 8")
    height, width = (None, None) if size.value is None else size.value.tolist()
    batch, channels = (None, None) if images.dims is None else (images.dims[0], images.dims[3])
    return ((images.dtype.base_dtype, (batch, height, width, channels)),)


def _clipped(xp: Any, at: Any, size: int) -> Any:
    return xp.clip(at, 0, size - 1)


def _reflected(xp: Any, at: Any, size: int) -> Any:
    """Mirror coordinates at the outer edges of the first and last element."""
    if size <= 1:
        return xp.zeros_like(at)
    period = at.dtype.type(2 * size)
    below = at + period * xp.trunc(-at / period)
    below = xp.where(below < -size, below + period, -below - 1)
    above = at - period * xp.trunc(at / period)
    above = xp.where(above >= size, period - above - 1, above)
    mirrored = xp.where(at < 0, below, xp.where(at > size - 1, above, at))
    return _clipped(xp, mirrored, size)


def _wrapped(xp: Any, at: Any, size: int) -> Any:
    """Begin again after the last element, by TensorFlow's rule: a turn is size - 1 long."""
    if size <= 1:
        return xp.zeros_like(at)
    turn = at.dtype.type(size - 1)
    below = at + size * (xp.trunc(-at / turn) + 1)
    above = at - size * xp.trunc(at / turn)
    return _clipped(xp, xp.where(at < 0, below, xp.where(at > turn, above, at)), size)


_FILL_MODES: dict[str, Callable[[Any, Any, int], Any]] = {
    "CONSTANT": lambda xp, at, size: at,
    "NEAREST": _clipped,
    "REFLECT": _reflected,
    "WRAP": _wrapped,
}


def _points(xp: Any, transforms: Any, height: int, width: int) -> tuple[Any, Any, Any]:
    """Return where each point of the output is in the input, and whether it is anywhere."""
    y, x = xp.meshgrid(xp.arange(height), xp.arange(width), indexing="ij")
    x, y = x.astype(transforms.dtype), y.astype(transforms.dtype)
    parts = [transforms[:, k, None, None] for k in range(8)]
    depth = parts[6] * x + parts[7] * y + 1
    is_somewhere = depth != 0
    depth = xp.where(is_somewhere, depth, 1)
    across = (parts[0] * x + parts[1] * y + parts[2]) / depth
    down = (parts[3] * x + parts[4] * y + parts[5]) / depth
    return across, down, is_somewhere


def _read(xp: Any, images: Any, y: Any, x: Any, fill: Any) -> Any:
    """Read elements at whole coordinates; outside of the images is the fill value."""
    n_images, height, width, _ = images.shape
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    rows = xp.where(inside, y, 0).astype(int)
    columns = xp.where(inside, x, 0).astype(int)
    which = xp.arange(n_images)[:, None, None]
    return xp.where(inside[..., None], images[which, rows, columns], fill)


def _rounded(xp: Any, at: Any) -> Any:
    """Round to the nearest whole number, halves away from zero."""
    return xp.copysign(xp.floor(xp.abs(at) + 0.5), at)


def _interpolate(xp: Any, images: Any, y: Any, x: Any, fill: Any) -> Any:
    top, left = xp.floor(y), xp.floor(x)
    down, across = (y - top)[..., None], (x - left)[..., None]
    rows = []
    for row in (top, top + 1):
        ends = [_read(xp, images, row, column, fill) for column in (left, left + 1)]
        rows.append((1 - across) * ends[0] + across * ends[1])
    return (1 - down) * rows[0] + down * rows[1]


def _transform(launch: Launch) -> None:
    xp, out = launch.xp, launch.outputs[0]
    images, transforms = launch.inputs[:2]
    fill = launch.inputs[3]
    across, down, is_somewhere = _points(xp, transforms, out.shape[1], out.shape[2])
    bend = _FILL_MODES[launch.attrs["fill_mode"]]
    x, y = bend(xp, across, images.shape[2]), bend(xp, down, images.shape[1])
    whole = (len(images), *x.shape[1:])
    x, y = xp.broadcast_to(x, whole), xp.broadcast_to(y, whole)
    if launch.attrs["interpolation"] == "NEAREST":
        found = _read(xp, images, _rounded(xp, y), _rounded(xp, x), fill)
    else:
        found = _interpolate(xp, images, y, x, fill)
    out[...] = xp.where(is_somewhere[..., None], found, fill).astype(out.dtype)


def _bind_transform(launch: Launch) -> Call:
    return _transform, (launch,)


IMAGE_PROJECTIVE_TRANSFORM = OpDef(
    "ImageProjectiveTransformV3",
    "images:Dtype transforms:float32 output_shape:int32 fill_value:float32",
    _transformed_type,
    types={"Dtype": _TYPES},
    kernels=all_devices(_bind_transform),
    host_inputs=(2,),
    shape_inputs=(2,),
    samples=(
        "f(2, 4, 3, 1), np.array([[1, 0, 1, 0, 1, 0, 0, 0]], 'f'), i(4, 3), np.array(0, 'f'), "
        "interpolation='BILINEAR', fill_mode='CONSTANT'",
    ),
)


@gradient(IMAGE_PROJECTIVE_TRANSFORM)
def _transform_gradient(op: RecordedOp, grad: Any) -> Any:
    """Transform the gradient back, by the inverse of each matrix."""
    images, transforms = op.inputs[:2]
    matrices = concat([transforms, ones_like(transforms[:, :1])], 1)
    inverse = reshape(inv(reshape(matrices, [-1, 3, 3])), [-1, 9])
    back = inverse[:, :8] / inverse[:, 8:]
    inputs = (grad, back, shape(images)[1:3], 0.0)
    return [apply(IMAGE_PROJECTIVE_TRANSFORM, inputs, dict(op.attrs)), None, None, None]
