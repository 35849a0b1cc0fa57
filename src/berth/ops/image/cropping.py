"""Cropping and padding of images."""

from __future__ import annotations

from typing import Any

from berth.dtypes import float64, int32
from berth.ops.arrays.metadata import axis_size, shape
from berth.ops.arrays.pad import pad
from berth.ops.arrays.slicing import slice as slice_of
from berth.ops.compose import convert, convert_like, is_tensor, scope
from berth.ops.elementwise.arithmetic import maximum, minimum, mod
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import greater_equal
from berth.ops.image.checks import checked, image_of, image_or_batch
from berth.ops.random.seeded import random_uniform
from berth.ops.reductions.reduction import reduce_all
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1


@public("image.crop_to_bounding_box")
def crop_to_bounding_box(
    image: TensorLike,
    offset_height: Any,
    offset_width: Any,
    target_height: Any,
    target_width: Any,
) -> Tensor:
    """Crop an image, or a batch of images, to a box.

    >>> crop_to_bounding_box([[[1], [2], [3]]], 0, 1, 1, 2).numpy().tolist()
    [[[2], [3]]]
    """
    with scope("crop_to_bounding_box"):
        image = image_or_batch(image)
        bottom, right = offset_height + target_height, offset_width + target_width
        image = checked(
            image,
            (offset_width >= 0, "offset_width must be >= 0."),
            (offset_height >= 0, "offset_height must be >= 0."),
            (target_width > 0, "target_width must be > 0."),
            (target_height > 0, "target_height must be > 0."),
            (axis_size(image, -2) >= right, "width must be >= target + offset."),
            (axis_size(image, -3) >= bottom, "height must be >= target + offset."),
        )
        return _box(image, offset_height, offset_width, bottom, right)


def _box(image: Any, top: Any, left: Any, bottom: Any, right: Any) -> Tensor:
    part: Tensor = image[..., top:bottom, left:right, :]
    return part


@public("image.pad_to_bounding_box")
def pad_to_bounding_box(
    image: TensorLike,
    offset_height: Any,
    offset_width: Any,
    target_height: Any,
    target_width: Any,
) -> Tensor:
    """Pad an image, or each of a batch, with zeros to a size.

    >>> pad_to_bounding_box([[[1], [2]]], 0, 1, 1, 4).numpy().tolist()
    [[[0], [1], [2], [0]]]
    """
    with scope("pad_to_bounding_box"):
        image = image_or_batch(image)
        below = target_height - offset_height - axis_size(image, -3)
        right = target_width - offset_width - axis_size(image, -2)
        image = checked(
            image,
            (offset_height >= 0, "offset_height must be >= 0"),
            (offset_width >= 0, "offset_width must be >= 0"),
            (right >= 0, "width must be <= target - offset"),
            (below >= 0, "height must be <= target - offset"),
        )
        each = [[offset_height, below], [offset_width, right], [0, 0]]
        # Without a known rank it is one image, as in TensorFlow.
        batch = [[0, 0]] * (len(image.dims or (0,) * 3) - 3)
        return pad(image, [*batch, *each])


@public("image.resize_with_crop_or_pad")
@public_v1("image.resize_image_with_crop_or_pad")
def resize_with_crop_or_pad(image: TensorLike, target_height: Any, target_width: Any) -> Tensor:
    """Crop an image around its centre, or pad it evenly with zeros, to a size.

    >>> resize_with_crop_or_pad([[[1], [2], [3]]], 1, 1).numpy().tolist()
    [[[2]]]
    """
    with scope("resize_image_with_crop_or_pad"):
        image = checked(
            image_or_batch(image),
            (target_width > 0, "target_width must be > 0."),
            (target_height > 0, "target_height must be > 0."),
        )
        height, width = axis_size(image, -3), axis_size(image, -2)
        more, wider = target_height - height, target_width - width
        cropped = crop_to_bounding_box(
            image,
            _larger(-more // 2, 0),
            _larger(-wider // 2, 0),
            _smaller(target_height, height),
            _smaller(target_width, width),
        )
        return pad_to_bounding_box(
            cropped, _larger(more // 2, 0), _larger(wider // 2, 0), target_height, target_width
        )


def _larger(one: Any, other: Any) -> Any:
    return maximum(one, other) if is_tensor(one) or is_tensor(other) else max(one, other)


def _smaller(one: Any, other: Any) -> Any:
    return minimum(one, other) if is_tensor(one) or is_tensor(other) else min(one, other)


@public("image.central_crop")
def central_crop(image: TensorLike, central_fraction: Any) -> Tensor:
    """Crop images to a fraction of their height and width, around the centre.

    >>> central_crop([[[1], [2], [3], [4]]] * 4, 0.5).numpy().tolist()
    [[[2], [3]], [[2], [3]]]
    """
    with scope("central_crop"):
        if not is_tensor(central_fraction) and not 0.0 < central_fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        image = image_of(image)
        height, width = axis_size(image, -3), axis_size(image, -2)
        top = _margin(height, central_fraction)
        left = _margin(width, central_fraction)
        return _box(image, top, left, height - top, width - left)


def _margin(size: Any, fraction: Any) -> Any:
    """Return how much is cut on each side of an axis."""
    if not is_tensor(size) and not is_tensor(fraction):
        return int((size - size * fraction) / 2)
    whole = cast(size, float64)
    return cast((whole - whole * cast(fraction, float64)) / 2.0, int32)


@public("image.random_crop")
@public_v1("random_crop")
def random_crop(
    value: TensorLike, size: Any, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Crop a tensor to a size, at a place drawn uniformly.

    >>> random_crop([5, 5, 5], [2]).numpy().tolist()
    [5, 5]
    """
    with scope("random_crop", name) as inner:
        tensor = convert(value, None, "value")
        wanted = convert_like(size, int32, "size")
        sizes = shape(tensor, out_type=wanted.dtype.base_dtype)
        fits = reduce_all(greater_equal(sizes, wanted))
        sizes = checked(sizes, (fits, "Need value.shape >= size, got ", sizes, wanted))
        dtype = wanted.dtype.base_dtype
        drawn = random_uniform(shape(sizes), maxval=dtype.max, dtype=dtype, seed=seed)
        return slice_of(tensor, mod(drawn, sizes - wanted + 1), wanted, inner)
