"""Types, brightness, contrast, gamma and standardization of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.dtypes import DType, as_dtype, float16, float32
from berth.ops.arrays.array import identity
from berth.ops.arrays.metadata import axis_size
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import maximum, multiply, truediv
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.roots import rsqrt
from berth.ops.elementwise.saturate import saturate_cast
from berth.ops.image.checks import checked, image_of
from berth.ops.random.seeded import random_uniform
from berth.ops.reductions.reduction import reduce_mean
from berth.ops.reductions.statistics import reduce_std
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public


@public("image.convert_image_dtype")
def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Convert images to a type and its range: floats are in [0, 1], integers up to the largest.

    >>> convert_image_dtype([[[0.0, 1.0]]], "uint8").numpy().tolist()
    [[[0, 255]]]
    """
    image = convert(image, None, "image")
    wanted, found = as_dtype(dtype).base_dtype, image.dtype.base_dtype
    if not wanted.is_floating and not wanted.is_integer:
        raise AttributeError("dtype must be either floating point or integer")
    if wanted == found:
        return identity(image, name)
    to_type = saturate_cast if saturate else cast
    with scope("convert_image", name) as inner:
        if wanted.is_floating:
            if found.is_floating:
                return cast(image, wanted, inner)
            return multiply(cast(image, wanted), 1.0 / found.max, name=inner)
        if found.is_floating:
            return to_type(multiply(image, wanted.max + 0.5), wanted, inner)
        return _between_integers(image, found, wanted, to_type)


def _between_integers(
    image: Any, found: DType, wanted: DType, to_type: Callable[..., Tensor]
) -> Tensor:
    most, largest = int(found.max), int(wanted.max)
    if most > largest:
        return to_type(image // ((most + 1) // (largest + 1)), wanted)
    return multiply(to_type(image, wanted), (largest + 1) // (most + 1))


def in_floats(image: Any, change: Callable[[Any], Any]) -> Tensor:
    """Change an image as floats, and return it in its own type."""
    found = image.dtype.base_dtype
    floats = image if found in (float16, float32) else convert_image_dtype(image, float32)
    return convert_image_dtype(change(floats), found, saturate=True)


@public("image.adjust_brightness")
def adjust_brightness(image: TensorLike, delta: Any) -> Tensor:
    """Add to the brightness of images, as if they were floats in [0, 1].

    >>> adjust_brightness([[[0.25]]], 0.5).numpy().tolist()
    [[[0.75]]]
    """
    with scope("adjust_brightness"):
        return in_floats(
            convert(image, None, "image"), lambda x: x + cast(delta, x.dtype.base_dtype)
        )


@public("image.adjust_contrast")
def adjust_contrast(images: TensorLike, contrast_factor: Any) -> Tensor:
    """Scale the distance of pixels from the mean of their channel and image.

    >>> adjust_contrast([[[1.0], [3.0]]], 2.0).numpy().tolist()
    [[[0.0], [4.0]]]
    """

    def change(x: Any) -> Any:
        mean = reduce_mean(x, [-3, -2], keepdims=True)
        return (x - mean) * cast(contrast_factor, x.dtype.base_dtype) + mean

    with scope("adjust_contrast"):
        return in_floats(image_of(images, "images"), change)


@public("image.adjust_gamma")
def adjust_gamma(image: TensorLike, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """Gamma correction of images: ``gain * image ** gamma``.

    >>> adjust_gamma([[[0.5]]], 2.0).numpy().tolist()
    [[[0.25]]]
    """
    with scope("adjust_gamma"):
        image = convert(image, None, "image")
        is_right = gamma >= 0
        image = checked(image, (is_right, "Gamma should be a non-negative real number."))
        return in_floats(image, lambda x: gain * x ** cast(gamma, x.dtype.base_dtype))


@public("image.random_brightness")
def random_brightness(image: TensorLike, max_delta: Any, seed: int | None = None) -> Tensor:
    """Add to the brightness of images: a number drawn from [-max_delta, max_delta).

    >>> random_brightness([[[0.5]]], 0.0).numpy().tolist()
    [[[0.5]]]
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


@public("image.random_contrast")
def random_contrast(
    image: TensorLike, lower: Any, upper: Any, seed: int | None = None
) -> Tensor:
    """Change the contrast of images by a factor drawn from [lower, upper).

    >>> random_contrast([[[0.5], [0.5]]], 0.0, 2.0).numpy().tolist()
    [[[0.5], [0.5]]]
    """
    return adjust_contrast(image, factor_between(lower, upper, seed))


def factor_between(lower: Any, upper: Any, seed: int | None) -> Tensor:
    """Draw a factor from [lower, upper)."""
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return random_uniform([], lower, upper, seed=seed)


@public("image.per_image_standardization")
def per_image_standardization(image: TensorLike) -> Tensor:
    """Scale each image to mean 0 and variance 1; an even image becomes zeros.

    >>> per_image_standardization([[[1.0], [3.0]]]).numpy().tolist()
    [[[-1.0], [1.0]]]
    """
    with scope("per_image_standardization"):
        image = image_of(image)
        dtype = image.dtype.base_dtype
        floats: Any = image if dtype in (float16, float32) else cast(image, float32)
        axes = [-1, -2, -3]
        n_pixels = axis_size(image, -3) * axis_size(image, -2) * axis_size(image, -1)
        least = rsqrt(cast(n_pixels, floats.dtype.base_dtype))
        deviation = maximum(reduce_std(floats, axes, keepdims=True), least)
        return truediv(floats - reduce_mean(floats, axes, keepdims=True), deviation)
