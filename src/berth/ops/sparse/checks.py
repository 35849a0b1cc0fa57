"""Checks of the shapes of sparse tensors: they are values, and known when they are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import int64
from berth.errors import InvalidArgumentError
from berth.ops.builder import apply
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    host_only,
)
from berth.ops.shape import bracketed


def _like_second(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((int64, inputs[1].dims),)


def _bind(launch: Launch) -> Call:
    return _check, (*launch.inputs, launch.outputs[0], launch.attrs)


def _check(first: Any, second: Any, out: Any, attrs: Attrs) -> None:
    message = _MESSAGES[attrs["kind"]](first.tolist(), second.tolist(), attrs["axis"])
    if message:
        raise InvalidArgumentError(None, None, message)
    out[...] = second


def _size_message(before: list[int], after: list[int], axis: int) -> str:
    old, new = _product(before), _product(after)
    if old == new:
        return ""
    return (
        f"Input to reshape is a tensor with {old} dense values, but the requested shape has "
        f"{new}. input_shape={bracketed(tuple(before))} output_shape={bracketed(tuple(after))}"
    )


def _product(sizes: list[int]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product


def _joined_message(first: list[int], shapes: list[list[int]], axis: int) -> str:
    for position, sizes in enumerate(shapes):
        for dimension, (a, b) in enumerate(zip(first, sizes, strict=True)):
            if dimension != axis and a != b:
                return (
                    f"Input shapes must match: expected {a} for dimension {dimension} but got "
                    f"{b} at position {position}"
                )
    return ""


def _shape_message(first: list[int], second: list[int], axis: int) -> str:
    if len(first) != len(second):
        return f"Operands do not have the same ranks; got shapes: {first} and {second}"
    for dimension, (a, b) in enumerate(zip(first, second, strict=True)):
        if a != b:
            return f"Operands' shapes do not match: got {a} and {b} for dimension {dimension}"
    return ""


_MESSAGES: dict[str, Callable[[Any, Any, int], str]] = {
    "size": _size_message,
    "joined": _joined_message,
    "shape": _shape_message,
}
CHECK = OpDef(
    "SparseShapeCheck",
    "first:int64 second:int64",
    _like_second,
    kernels=host_only(_bind),
    gradient=NOT_DIFFERENTIABLE,
    samples=("np.array([2, 3]), np.array([3, 2]), kind='size', axis=0",),
)
"""Gives its second input, unless that does not go with the first."""


def check_same_size(before: Any, after: Any) -> Any:
    """Return the second of two shapes; an error unless both have as many elements."""
    return apply(CHECK, (before, after), {"kind": "size", "axis": 0})


def check_joined(first: Any, shapes: Any, axis: int) -> Any:
    """Return shapes, one below the other; an error unless they agree but for one axis."""
    return apply(CHECK, (first, shapes), {"kind": "joined", "axis": axis})


def check_same_shape(first: Any, second: Any) -> Any:
    """Return the shape of the second of two operands; an error unless it is the first's."""
    return apply(CHECK, (first, second), {"kind": "shape", "axis": 0})
