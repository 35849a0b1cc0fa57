"""Colors of images: gray, hue, saturation and value."""

from __future__ import annotations

from typing import Any

from berth.dtypes import float32
from berth.errors import FailedPreconditionError
from berth.ops.arrays.gathering import where_v2
from berth.ops.arrays.joining import concat, stack, unstack
from berth.ops.compose import convert, is_tensor, scope
from berth.ops.elementwise.arithmetic import clip_by_value, maximum, minimum, mod
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal
from berth.ops.elementwise.unary import abs as abs_of
from berth.ops.image.adjusting import convert_image_dtype, factor_between, in_floats
from berth.ops.linalg.einsum import tensordot
from berth.ops.random.seeded import random_uniform
from berth.ops.types import Tensor, TensorLike
from berth.public import public

_LUMINANCE = (0.2989, 0.5870, 0.1140)


@public("image.rgb_to_grayscale")
def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert colors to one channel of gray, as bright as they look.

    >>> rgb_to_grayscale([[[1.0, 1.0, 1.0]]]).numpy().round(3).tolist()
    [[[1.0]]]
    """
    with scope("rgb_to_grayscale", name) as inner:
        images = convert(images, None, "images")
        floats = convert_image_dtype(images, float32)
        gray = tensordot(floats, [[weight] for weight in _LUMINANCE], 1)
        return convert_image_dtype(gray, images.dtype.base_dtype, name=inner)


@public("image.grayscale_to_rgb")
def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Repeat one channel of gray for red, green and blue.

    >>> grayscale_to_rgb([[[1]]]).numpy().tolist()
    [[[1, 1, 1]]]
    """
    with scope("grayscale_to_rgb", name) as inner:
        images = convert(images, None, "images")
        if images.dims and images.dims[-1] not in (1, None):
            raise ValueError("Last dimension of a grayscale image should be size 1.")
        return concat([images] * 3, -1, inner)


@public("image.rgb_to_hsv")
def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert red, green and blue in [0, 1] to hue, saturation and value.

    >>> rgb_to_hsv([[[0.5, 0.0, 0.0]]]).numpy().tolist()
    [[[0.0, 1.0, 0.5]]]
    """
    with scope("rgb_to_hsv", name):
        return stack(_hsv(_channels(images)), -1)


@public("image.hsv_to_rgb")
def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert hue, saturation and value in [0, 1] to red, green and blue.

    >>> hsv_to_rgb([[[0.0, 1.0, 0.5]]]).numpy().tolist()
    [[[0.5, 0.0, 0.0]]]
    """
    with scope("hsv_to_rgb", name):
        return stack(_rgb(*_channels(images)), -1)


def _channels(images: TensorLike) -> Any:
    tensor = convert(images, None, "images")
    if tensor.dims and tensor.dims[-1] not in (3, None):
        raise FailedPreconditionError(
            None,
            None,
            f"input must have 3 channels but input only has {tensor.dims[-1]} channels.",
        )
    return unstack(tensor, 3, -1)


def _hsv(rgb: Any) -> list[Any]:
    red, green, blue = rgb
    value = maximum(maximum(red, green), blue)
    spread = value - minimum(minimum(red, green), blue)
    nothing = value * 0
    # Divisors of 1 where there is no color, so that gradients stay finite.
    saturation = where_v2(value > 0, spread / where_v2(value > 0, value, nothing + 1), nothing)
    sixth = 1.0 / (6.0 * where_v2(spread > 0, spread, nothing + 1))
    hue = where_v2(
        equal(red, value),
        sixth * (green - blue),
        where_v2(
            equal(green, value),
            sixth * (blue - red) + 2.0 / 6.0,
            sixth * (red - green) + 4.0 / 6.0,
        ),
    )
    hue = where_v2(spread > 0, hue, nothing)
    return [where_v2(hue < 0, hue + 1, hue), saturation, value]


def _rgb(hue: Any, saturation: Any, value: Any) -> list[Any]:
    turn = hue * 6.0
    pure = (abs_of(turn - 3.0) - 1.0, 2.0 - abs_of(turn - 2.0), 2.0 - abs_of(turn - 4.0))
    return [
        ((1.0 - saturation) + saturation * clip_by_value(each, 0.0, 1.0)) * value
        for each in pure
    ]


@public("image.adjust_saturation")
def adjust_saturation(
    image: TensorLike, saturation_factor: Any, name: str | None = None
) -> Tensor:
    """Multiply the saturation of the colors of images.

    >>> adjust_saturation([[[1.0, 0.5, 0.5]]], 0.0).numpy().tolist()
    [[[1.0, 1.0, 1.0]]]
    """

    def change(x: Any) -> Any:
        hue, saturation, value = _hsv(_channels(x))
        scaled = saturation * cast(saturation_factor, x.dtype.base_dtype)
        return stack(_rgb(hue, clip_by_value(scaled, 0.0, 1.0), value), -1)

    with scope("adjust_saturation", name):
        return in_floats(convert(image, None, "image"), change)


@public("image.adjust_hue")
def adjust_hue(image: TensorLike, delta: Any, name: str | None = None) -> Tensor:
    """Turn the hue of the colors of images; a delta of 1 is all around.

    >>> adjust_hue([[[1.0, 0.0, 0.0]]], 0.5).numpy().tolist()
    [[[0.0, 1.0, 1.0]]]
    """

    def change(x: Any) -> Any:
        hue, saturation, value = _hsv(_channels(x))
        turned = mod(hue + cast(delta, x.dtype.base_dtype), 1.0)
        return stack(_rgb(turned, saturation, value), -1)

    if not is_tensor(delta) and not -1 <= delta <= 1:
        raise ValueError("delta must be in the interval [-1, 1]")
    with scope("adjust_hue", name):
        return in_floats(convert(image, None, "image"), change)


@public("image.random_saturation")
def random_saturation(
    image: TensorLike, lower: Any, upper: Any, seed: int | None = None
) -> Tensor:
    """Multiply the saturation of images by a factor drawn from [lower, upper).

    >>> random_saturation([[[0.5, 0.5, 0.5]]], 0.0, 2.0).numpy().tolist()
    [[[0.5, 0.5, 0.5]]]
    """
    return adjust_saturation(image, factor_between(lower, upper, seed))


@public("image.random_hue")
def random_hue(image: TensorLike, max_delta: Any, seed: int | None = None) -> Tensor:
    """Turn the hue of images by a number drawn from [-max_delta, max_delta).

    >>> random_hue([[[0.5, 0.5, 0.5]]], 0.2).numpy().tolist()
    [[[0.5, 0.5, 0.5]]]
    """
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))
