"""A tensor to save in a checkpoint, or the part of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from berth.errors import InvalidArgumentError
from berth.proto.framework import TensorShapeProto
from berth.train.checkpoints.tensor_slice import Bounds, ShapeAndSlice


class SavedTensor(NamedTuple):
    """A tensor to save, or the part of a tensor."""

    name: str
    array: Any
    part: ShapeAndSlice | None = None


def bounds_of(tensor: SavedTensor) -> Bounds:
    """Return where a part is in its tensor; its array must have that size."""
    assert tensor.part is not None
    shape, slice_ = tensor.part
    bounds = slice_.bounds(shape)
    if bounds is None or tuple(b - a for a, b in bounds) != tensor.array.shape:
        raise InvalidArgumentError(
            None,
            None,
            "Slice in shape_and_slice specification does not match the shape of the tensor to "
            f"save: {tensor.part.slice} of {list(shape)}, tensor: {list(tensor.array.shape)}",
        )
    return bounds


def shape_proto(shape: Sequence[int]) -> TensorShapeProto:
    """Return a shape as a message."""
    proto = TensorShapeProto()
    for size in shape:
        proto.dim.add(size=size)
    return proto
