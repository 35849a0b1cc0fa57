"""Types of an operation's outputs, and constant folding, while a plan is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from berth.dtypes import DType, int32
from berth.errors import InvalidArgumentError, OpError
from berth.graph.operation import Operation
from berth.ops.dispatch import checked_types
from berth.ops.evaluate import evaluate
from berth.ops.opdef import OutputType
from berth.ops.shape import Known
from berth.plan.structure import ArrayType

FOLD_AT_MOST = 2**16
"""The largest constant, in bytes, that is computed while planning."""


class SharedTypes:
    """Makes array types, one for each element type and shape: most layers have the same."""

    __slots__ = ("_constants", "_made")

    def __init__(self) -> None:
        self._made: dict[tuple[str, Known], ArrayType] = {}
        self._constants: dict[bytes, ArrayType] = {}

    def get(self, dtype: DType, dims: Known) -> ArrayType:
        """Return the type of arrays with these elements and this shape."""
        key = (dtype.name, dims)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = ArrayType(dtype, dims)
        return made

    def constant(self, dtype: DType, array: Any) -> ArrayType:
        """Return the type of a constant; shapes, which many operations take, are shared."""
        if dtype is not int32 or array.ndim != 1:
            return ArrayType(dtype, array.shape, array)
        key = array.tobytes()
        made = self._constants.get(key)
        if made is None:
            made = self._constants[key] = ArrayType(dtype, array.shape, array)
        return made


def infer_types(op: Operation, inputs: Sequence[Any]) -> Sequence[OutputType]:
    """Apply the shape rule to what is known now: a graph may have known less."""
    try:
        return checked_types(op.definition.infer(inputs, op.attrs))
    except ValueError as error:
        raise _invalid(error, op) from None


def fold(op: Operation, inputs: Sequence[ArrayType]) -> list[Any]:
    """Compute an operation while planning; one that reads shapes only needs no values."""
    if op.definition.is_metadata:
        arrays = [_array_of(inputs[0].dims)]
    else:
        arrays = [each.value for each in inputs]
    try:
        return evaluate(op.definition, arrays, op.attrs)
    except OpError as error:
        raise type(error)(None, op, error.message) from None
    except ValueError as error:
        raise _invalid(error, op) from None


def is_small_constant(types: Iterable[tuple[DType, Known]]) -> bool:
    """Tell whether what an operation gives may be computed while planning."""
    return sum(ArrayType(dtype, dims).nbytes for dtype, dims in types) <= FOLD_AT_MOST


def _invalid(error: ValueError, op: Operation) -> InvalidArgumentError:
    return InvalidArgumentError(None, op, getattr(error, "at_run", str(error)))


def _array_of(dims: Known) -> Any:
    """Make an array of a shape that takes one byte, whatever the shape."""
    return np.ndarray(dims, np.int8, b"\0", 0, (0,) * len(dims))
