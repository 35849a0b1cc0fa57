"""Sizes of images: bilinear, nearest, bicubic and area interpolation.

Each axis is resized by itself: pixels are gathered once per tap and weighted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import float32, int32
from berth.errors import InvalidArgumentError
from berth.ops.arrays.array import expand_dims, identity, reshape, squeeze
from berth.ops.arrays.filling import range as range_of
from berth.ops.arrays.gathering import gather, where_v2
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.transpose import transpose
from berth.ops.compose import convert, is_tensor, scope
from berth.ops.elementwise.arithmetic import clip_by_value, maximum, minimum
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.unary import abs as abs_of
from berth.ops.elementwise.unary import floor
from berth.ops.elementwise.unary import round as round_of
from berth.ops.linalg.einsum import tensordot
from berth.ops.shape import bracketed
from berth.ops.types import Tensor, TensorLike
from berth.public import public_v1, public_v2

_HEIGHT, _WIDTH = -3, -2


@public_v2("image.ResizeMethod")
class ResizeMethodV2:
    """Names of the ways to resize images."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"


@public_v1("image.ResizeMethod")
class ResizeMethodV1:
    """Numbers of the ways to resize images, as TensorFlow 1 has them."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = {0: "bilinear", 1: "nearest", 2: "bicubic", 3: "area"}


@public_v2("image.resize")
def resize(
    images: TensorLike,
    size: Any,
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize images; pixels are squares around their centres.

    >>> resize([[[1.0], [3.0]]], [1, 4]).numpy().tolist()
    [[[1.0], [1.5], [2.5], [3.0]]]
    """
    if antialias and method in ("bilinear", "bicubic"):
        raise NotImplementedError("tf.image.resize has no antialias=True in berth.")
    with scope("resize", name):
        tensor, wanted = _prepared(images, size, method, preserve_aspect_ratio)
        return _resized(tensor, wanted, method, False, True)


@public_v1("image.resize_images", "image.resize")
def resize_images(
    images: TensorLike,
    size: Any,
    method: Any = 0,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize images, with TensorFlow 1's arguments: from the corner of the first pixel on.

    >>> resize_images([[[1.0], [3.0]]], [1, 4]).numpy().tolist()
    [[[1.0], [2.0], [3.0], [3.0]]]
    """
    with scope("resize", name):
        way = _METHODS.get(method, method)
        tensor, wanted = _prepared(images, size, way, preserve_aspect_ratio)
        if tuple(wanted) == tuple((tensor.dims or ())[-3:-1]):
            return identity(tensor)
        return _resized(tensor, wanted, way, align_corners, False)


def _prepared(images: Any, size: Any, method: Any, keeps_ratio: bool) -> tuple[Any, list[Any]]:
    tensor = convert(images, None, "images")
    if tensor.dims is None:
        raise ValueError("'images' contains no shape.")
    if len(tensor.dims) not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    wanted = _height_and_width(size)
    if method not in _METHODS.values():
        raise ValueError(f"Resize method is not implemented: {method}")
    if keeps_ratio:
        found = [axis_size(tensor, _HEIGHT), axis_size(tensor, _WIDTH)]
        wanted = _with_ratio(found, wanted)
    return tensor, wanted


def _height_and_width(size: Any) -> list[Any]:
    """Return the two sizes: ints where they are known."""
    wrong = "'size' must be a 1-D Tensor of 2 elements: new_height, new_width"
    if is_tensor(size):
        if size.dims not in (None, (2,)):
            raise ValueError(wrong)
        return [int(n) for n in size.numpy()] if hasattr(size, "numpy") else [size[0], size[1]]
    if not isinstance(size, Sequence | np.ndarray) or len(size) != 2:
        raise ValueError(wrong)
    return [each if is_tensor(each) else int(each) for each in size]


def _with_ratio(found: list[Any], wanted: list[Any]) -> list[Any]:
    """Return the largest size within another that has the ratio of an image."""
    if not any(is_tensor(each) for each in (*found, *wanted)):
        scale = min(np.float32(new / old) for new, old in zip(wanted, found, strict=True))
        return [round(float(scale * old)) for old in found]
    ratios = [cast(n, float32) / cast(o, float32) for n, o in zip(wanted, found, strict=True)]
    least = minimum(ratios[0], ratios[1])
    return [cast(round_of(least * cast(old, float32)), int32) for old in found]


def _resized(images: Any, size: list[Any], method: str, align: bool, half: bool) -> Tensor:
    is_one = len(images.dims) == 3
    if is_one:  # as a batch: gradients of what is gathered along the first axis are sparse
        images = expand_dims(images, 0)
    if method != "nearest":
        images = cast(images, float32)
    for axis, wanted in ((_HEIGHT, size[0]), (_WIDTH, size[1])):
        images = _AXIS[method](images, axis, wanted, align, half)
    result: Tensor = squeeze(images, [0]) if is_one else images
    return result


def _scale(found: Any, wanted: Any, align: bool) -> Any:
    """Return how many pixels one new pixel is wide."""
    if not is_tensor(found) and not is_tensor(wanted):
        if align and wanted > 1:
            return np.float32((found - 1) / np.float32(wanted - 1))
        return np.float32(found / np.float32(wanted))
    old, new = cast(found, float32), cast(wanted, float32)
    if align:
        return where_v2(new > 1, (old - 1) / maximum(new - 1, 1.0), old / new)
    return old / new


def _positions(found: Any, wanted: Any, align: bool, half: bool) -> Any:
    """Return where new pixels are among the old ones."""
    new = cast(range_of(wanted), float32)
    scale = _scale(found, wanted, align)
    return (new + 0.5) * scale - 0.5 if half else new * scale


def _taken(images: Any, places: Any, last: Any, axis: int) -> Any:
    """Return the pixels at places along an axis, those outside from the edge."""
    within = clip_by_value(cast(places, int32), 0, last)
    return gather(images, within, axis=axis)


def _along(weights: Any, axis: int) -> Any:
    return reshape(weights, [-1] + [1] * (-axis - 1))


def _nearest(images: Any, axis: int, wanted: Any, align: bool, half: bool) -> Any:
    found = axis_size(images, axis)
    scale = _scale(found, wanted, align)
    new = cast(range_of(wanted), float32)
    if half:
        places = floor((new + 0.5) * scale)
    else:
        places = floor(new * scale + 0.5) if align else floor(new * scale)
    return _taken(images, places, found - 1, axis)


def _bilinear(images: Any, axis: int, wanted: Any, align: bool, half: bool) -> Any:
    found = axis_size(images, axis)
    places = _positions(found, wanted, align, half)
    below = floor(places)
    first = _taken(images, below, found - 1, axis)
    second = _taken(images, below + 1, found - 1, axis)
    return first + (second - first) * _along(places - below, axis)


def _bicubic(images: Any, axis: int, wanted: Any, align: bool, half: bool) -> Any:
    """Sum four taps; with half pixels, those outside count nothing, and the curve is Keys'."""
    found = axis_size(images, axis)
    places = _positions(found, wanted, align, half)
    below = floor(places)
    # TensorFlow looks weights up in a table of 1024 steps.
    part = round_of((places - below) * 1024.0) / 1024.0
    curve = -0.5 if half else -0.75
    taps = [
        (below + k, _cubic(abs_of(part - k), curve, abs(k - 0.5) < 1)) for k in range(-1, 3)
    ]
    if half:
        last = cast(found - 1, float32)
        taps = [
            (at, where_v2((at < 0) | (at > last), weight * 0.0, weight)) for at, weight in taps
        ]
        total = sum(weight for _, weight in taps)
        taps = [(at, weight / total) for at, weight in taps]
    return sum(_taken(images, at, found - 1, axis) * _along(w, axis) for at, w in taps)


def _cubic(x: Any, curve: float, is_near: bool) -> Any:
    """Return the weights of a tap at a distance, less than 1 if it is a near one."""
    if is_near:
        return ((curve + 2.0) * x - (curve + 3.0)) * x * x + 1.0
    return ((curve * x - 5.0 * curve) * x + 8.0 * curve) * x - 4.0 * curve


def _area(images: Any, axis: int, wanted: Any, align: bool, half: bool) -> Any:
    """Average what each new pixel covers; beyond the edge the last pixel goes on."""
    found = axis_size(images, axis)
    scale = _scale(found, wanted, align)
    new = reshape(cast(range_of(wanted), float32) * scale, [-1, 1])
    old = cast(range_of(found), float32)
    end = where_v2(old < cast(found - 1, float32), old + 1.0, old + 1e9)
    covered = maximum(minimum(new + scale, end) - maximum(new, old), 0.0) / scale
    rank = len(images.dims)
    moved = tensordot(covered, images, [1, rank + axis])
    return _moved_back(moved, rank + axis)


def _moved_back(tensor: Any, axis: int) -> Any:
    """Move the first axis to where it belongs."""
    order = list(range(1, len(tensor.dims)))
    order.insert(axis, 0)
    return transpose(tensor, order)


_AXIS = {"bilinear": _bilinear, "nearest": _nearest, "bicubic": _bicubic, "area": _area}


def _by_size(images: Any, size: Any, method: str, name: str, align: bool, half: bool) -> Tensor:
    if align and half:
        message = "If half_pixel_centers is True, align_corners must be False."
        raise InvalidArgumentError(None, None, message)
    with scope(name):
        tensor = convert(images, None, "images")
        if tensor.dims is None or len(tensor.dims) != 4:
            message = f"input must be 4-dimensional{bracketed(tensor.dims)}"
            raise InvalidArgumentError(None, None, message)
        return _resized(tensor, _height_and_width(size), method, align, half)


@public_v1("image.resize_bilinear")
def resize_bilinear(
    images: TensorLike,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resize images by linear interpolation along both axes.

    >>> resize_bilinear([[[[1.0], [3.0]]]], [1, 3], align_corners=True).numpy().tolist()
    [[[[1.0], [2.0], [3.0]]]]
    """
    scoped = name or "ResizeBilinear"
    return _by_size(images, size, "bilinear", scoped, align_corners, half_pixel_centers)


@public_v1("image.resize_nearest_neighbor")
def resize_nearest_neighbor(
    images: TensorLike,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resize images by taking the nearest pixel.

    >>> resize_nearest_neighbor([[[[1], [3]]]], [1, 4]).numpy().tolist()
    [[[[1], [1], [3], [3]]]]
    """
    scoped = name or "ResizeNearestNeighbor"
    return _by_size(images, size, "nearest", scoped, align_corners, half_pixel_centers)


@public_v1("image.resize_bicubic")
def resize_bicubic(
    images: TensorLike,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resize images by cubic interpolation along both axes.

    >>> resize_bicubic([[[[1.0], [3.0]]]], [1, 3], align_corners=True).numpy().tolist()
    [[[[1.0], [2.0], [3.0]]]]
    """
    scoped = name or "ResizeBicubic"
    return _by_size(images, size, "bicubic", scoped, align_corners, half_pixel_centers)


@public_v1("image.resize_area")
def resize_area(
    images: TensorLike, size: Any, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Resize images by averaging what each new pixel covers.

    >>> resize_area([[[[1.0], [3.0]]]], [1, 1]).numpy().tolist()
    [[[[2.0]]]]
    """
    return _by_size(images, size, "area", name or "ResizeArea", align_corners, False)
