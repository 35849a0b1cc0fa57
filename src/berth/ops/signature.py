"""The types of an operation's inputs: what a plain value should become, what must agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Number
from typing import Any

import numpy as np

from berth.dtypes import DType, int32
from berth.ops.convert import dtype_of, to_array
from berth.ops.opdef import Argument, OpDef
from berth.ops.shape import bracketed

ANYTHING = "Any"
"""The type variable of a list whose members may differ: ``data:Any*``."""

_INDICES = frozenset({"Tidx", "Tshape", "Tdim", "Tperm", "Tmultiples", "Tpaddings", "Taxis"})
"""The type variables of shapes and axes: a plain value, even an empty list, is an int32."""


def _spread(op: OpDef, n_inputs: int) -> Iterator[tuple[str, Argument]]:
    """Pair each input with its argument and name: ``inputs_0``, ``inputs_1``, …"""
    n_listed = n_inputs - sum(not argument.is_list for argument in op.arguments)
    for argument in op.arguments:
        if not argument.is_list:
            yield argument.name, argument
            continue
        for position in range(n_listed):
            yield f"{argument.name}_{position}", argument


def wanted_types(op: OpDef, inputs: Sequence[Any]) -> list[tuple[str, DType | None]]:
    """Say for each input its name, and the type a plain value should be converted to."""
    spread = list(_spread(op, len(inputs)))
    bound: dict[str, DType] = {}
    for (_, argument), value in zip(spread, inputs, strict=True):
        if isinstance(argument.type, str) and isinstance(getattr(value, "dtype", None), DType):
            bound.setdefault(argument.type, value.dtype.base_dtype)
    wanted: list[tuple[str, DType | None]] = []
    first: dict[str, Any] = {}
    """The first plain value where no tensor says the type: what follows becomes like it."""
    for (name, argument), value in zip(spread, inputs, strict=True):
        if isinstance(argument.type, DType):
            wanted.append((name, argument.type))
        elif argument.type == ANYTHING:
            wanted.append((name, None))
        elif argument.type in _INDICES and not hasattr(value, "dtype"):
            wanted.append((name, bound.get(argument.type, int32)))
        elif argument.type in bound or first.setdefault(argument.type, value) is value:
            wanted.append((name, bound.get(argument.type)))
        else:
            wanted.append((name, _like(first[argument.type], value)))
    return wanted


def _like(first: Any, value: Any) -> DType | None:
    """Return the type of one plain value, if another can have it: of 1.0 for 2."""
    if not (_is_plain(first) and _is_plain(value)):
        return None
    try:
        dtype = dtype_of(to_array(first))
        to_array(value, dtype)
    except (TypeError, ValueError):
        return None
    return dtype


def _is_plain(value: Any) -> bool:
    """Tell whether a value is a number or an array, or made of nothing else."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, Number | np.ndarray | np.generic)


def check_types(op: OpDef, inputs: Sequence[Any]) -> None:
    """Raise TypeError unless the inputs have types that the operation can take."""
    bound: dict[str, tuple[str, DType]] = {}
    for (name, argument), tensor in zip(_spread(op, len(inputs)), inputs, strict=True):
        if argument.type == ANYTHING:
            continue
        dtype = tensor.dtype.base_dtype
        if isinstance(argument.type, DType):
            if dtype is not argument.type:
                raise TypeError(
                    f"Input '{name}' of '{op.name}' Op has type {dtype.name} that does not "
                    f"match expected type of {argument.type.name}."
                )
            continue
        first, expected = bound.setdefault(argument.type, (name, dtype))
        if dtype is not expected:
            raise TypeError(
                f"Input '{name}' of '{op.name}' Op has type {dtype.name} that does not match "
                f"type {expected.name} of argument '{first}'."
            )
        allowed = op.types[argument.type]
        if dtype not in allowed:
            names = ", ".join(known.name for known in allowed)
            raise TypeError(
                f"Value passed to parameter '{name}' has DataType {dtype.name} not in list of "
                f"allowed values: {names}"
            )


def shape_error(error: ValueError, op: OpDef, name: str, inputs: Sequence[Any]) -> ValueError:
    """Say of which operation, with which inputs, a shape rule complains."""
    shapes = ", ".join(bracketed(tensor.dims) for tensor in inputs)
    return ValueError(f"{error} for '{name}' (op: '{op.name}') with input shapes: {shapes}.")
