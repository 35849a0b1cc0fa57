"""Checks of images and of the numbers that come with them: at once if known, else in a run."""

from __future__ import annotations

from typing import Any, cast

from berth.ops.arrays.array import identity
from berth.ops.builder import current
from berth.ops.compose import Composer, convert, is_tensor
from berth.ops.flow.control import Assert
from berth.ops.shape import TensorShape
from berth.ops.types import Tensor, TensorLike


def image_of(image: TensorLike, name: str = "image") -> Tensor:
    """Convert to a tensor with at least three axes."""
    tensor = convert(image, None, name)
    if tensor.dims is not None and len(tensor.dims) < 3:
        raise ValueError(
            f"'image' (shape {TensorShape(tensor.dims)}) must be at least three-dimensional."
        )
    return tensor


def image_or_batch(image: TensorLike) -> Tensor:
    """Convert to a tensor with three or four axes."""
    tensor = convert(image, None, "image")
    if tensor.dims is not None and len(tensor.dims) not in (3, 4):
        raise ValueError(
            f"'image' (shape {TensorShape(tensor.dims)}) must have either 3 or 4 dimensions."
        )
    return tensor


def checked(tensor: Tensor, *conditions: tuple[Any, ...]) -> Tensor:
    """Return a tensor after checks: conditions, each with what to say if it is false."""
    asserted, builder = [], cast(Composer, current())
    for condition, *said in conditions:
        if is_tensor(condition):
            with builder.device("/cpu:0"):
                asserted.append(Assert(condition, said, summarize=1000))
        elif not condition:
            raise ValueError(said[0])
    asserted = [each for each in asserted if each is not None]
    if not asserted:
        return tensor
    with builder.control_dependencies(asserted):
        return identity(tensor)
