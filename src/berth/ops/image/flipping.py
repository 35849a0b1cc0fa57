"""Flips, quarter turns and the transpose of images."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.array import reshape
from berth.ops.arrays.gathering import where_v2
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.rearranging import reverse
from berth.ops.arrays.transpose import transpose as permute
from berth.ops.compose import scope
from berth.ops.elementwise.compare import less
from berth.ops.elementwise.unary import round as round_of
from berth.ops.image.checks import image_of, image_or_batch
from berth.ops.random.seeded import random_uniform
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

HEIGHT, WIDTH = -3, -2


@public("image.flip_left_right")
def flip_left_right(image: TensorLike) -> Tensor:
    """Mirror images: left becomes right.

    >>> flip_left_right([[[1], [2]]]).numpy().tolist()
    [[[2], [1]]]
    """
    with scope("flip_left_right"):
        return _turned(_known_rank(image), WIDTH)


@public("image.flip_up_down")
def flip_up_down(image: TensorLike) -> Tensor:
    """Turn images upside down, as in a mirror.

    >>> flip_up_down([[[1]], [[2]]]).numpy().tolist()
    [[[2]], [[1]]]
    """
    with scope("flip_up_down"):
        return _turned(_known_rank(image), HEIGHT)


@public("image.random_flip_left_right")
def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Mirror each image with probability one half: left becomes right.

    >>> random_flip_left_right([[[1], [1]]]).numpy().tolist()
    [[[1], [1]]]
    """
    return _by_chance("random_flip_left_right", image, WIDTH, seed)


@public("image.random_flip_up_down")
def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Turn each image upside down with probability one half.

    >>> random_flip_up_down([[[1]], [[1]]]).numpy().tolist()
    [[[1]], [[1]]]
    """
    return _by_chance("random_flip_up_down", image, HEIGHT, seed)


def _by_chance(name: str, image: TensorLike, axis: int, seed: int | None) -> Tensor:
    with scope(name):
        tensor = _known_rank(image)
        if len(tensor.dims or ()) != 4:
            is_flipped = less(random_uniform([], 0, 1.0, seed=seed), 0.5)
        else:
            drawn = random_uniform([axis_size(tensor, 0)], 0, 1.0, seed=seed)
            is_flipped = round_of(reshape(drawn, [-1, 1, 1, 1])) > 0.5
        return where_v2(is_flipped, _turned(tensor, axis), tensor)


def _known_rank(image: TensorLike) -> Tensor:
    """Convert to an image or a batch; if the rank is not known, it is one image."""
    tensor = image_of(image)
    if tensor.dims is not None:
        return image_or_batch(tensor)
    return tensor


def _turned(image: Any, axis: int) -> Tensor:
    return reverse(image, [axis])


@public("image.rot90")
def rot90(image: TensorLike, k: int = 1, name: str | None = None) -> Tensor:
    """Turn images by `k` quarter turns, against the clock.

    >>> rot90([[[1], [2]]]).numpy().tolist()
    [[[2]], [[1]]]
    """
    with scope("rot90", name):
        image = _known_rank(image)
        quarters = int(k) % 4
        if quarters == 0:
            return image
        if quarters == 1:
            return _turned(_transposed(image), HEIGHT)
        if quarters == 2:
            return _turned(_turned(image, HEIGHT), WIDTH)
        return _turned(_transposed(image), WIDTH)


@public("image.transpose")
@public_v1("image.transpose_image")
def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Transpose images: rows become columns.

    >>> transpose([[[1], [2]]]).numpy().tolist()
    [[[1]], [[2]]]
    """
    with scope("transpose", name):
        return _transposed(_known_rank(image))


def _transposed(image: Any) -> Tensor:
    return permute(image, [0, 2, 1, 3] if len(image.dims or ()) == 4 else [1, 0, 2])
