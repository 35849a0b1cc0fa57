"""Types of an operation's inputs: conversion of plain values, and type checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Number
from typing import Any

import numpy as np

from berth.dtypes import DType, int32, int64
from berth.errors import InvalidArgumentError
from berth.ops.arguments import Argument
from berth.ops.attributes import at_once, not_among
from berth.ops.compose import type_of
from berth.ops.convert import dtype_of, to_array
from berth.ops.convert_eager import to_array_eager
from berth.ops.opdef import OpDef
from berth.ops.shape import bracketed

ANYTHING = "Any"
"""The type variable of a list whose members may differ: ``data:Any*``."""

_INDICES = {
    **dict.fromkeys(
        ("Tidx", "Tshape", "Tdim", "Tperm", "Tmultiples", "Tpaddings", "Taxis"), int32
    ),
    "Tindex": int64,
}
"""The type variables of shapes and axes, and what a plain value, even an empty list, is."""


def _spread(op: OpDef, n_inputs: int) -> Iterator[tuple[str, Argument]]:
    """Pair each input with its argument and name: ``inputs_0``, ``inputs_1``, …"""
    n_listed = n_inputs - sum(not argument.is_list for argument in op.arguments)
    for argument in op.arguments:
        if not argument.is_list:
            yield argument.name, argument
            continue
        for position in range(n_listed):
            yield f"{argument.name}_{position}", argument


def wanted_types(
    op: OpDef, inputs: Sequence[Any], *, is_now: bool = False
) -> list[tuple[str, DType | None]]:
    """Return for each input its name, and the type to which plain values are converted.

    Where operations are computed at once (`is_now`), a plain value decides for those after
    it, whether they can have its type or not.
    """
    if op.simple_type is not None and len(inputs) == len(op.arguments):
        known = next(filter(None, map(type_of, inputs)), None)
        if known is not None:  # by far the commonest: one type for all, and a tensor has it
            return [(argument.name, known) for argument in op.arguments]
    spread = list(_spread(op, len(inputs)))
    bound: dict[str, DType] = {}
    for (_, argument), value in zip(spread, inputs, strict=True):
        known = type_of(value)
        if isinstance(argument.type, str) and known is not None:
            bound.setdefault(argument.type, known)
    wanted: list[tuple[str, DType | None]] = []
    first: dict[str, Any] = {}
    """The first plain value where no tensor says the type: what follows becomes like it."""
    for (name, argument), value in zip(spread, inputs, strict=True):
        if isinstance(argument.type, DType):
            wanted.append((name, argument.type))
        elif argument.type == ANYTHING:
            wanted.append((name, None))
        elif argument.type in _INDICES and not hasattr(value, "dtype"):
            usual = _INDICES[argument.type]
            wanted.append((name, bound.get(argument.type) or _index_type(value, usual)))
        elif argument.type in bound or first.setdefault(argument.type, value) is value:
            wanted.append((name, bound.get(argument.type)))
        else:
            like = _as_first if is_now else _like
            wanted.append((name, like(first[argument.type], value)))
    return wanted


def _index_type(value: Any, usual: DType) -> DType:
    """Return the type of a plain shape or axis: the usual, unless a list holds others."""
    if isinstance(value, list | tuple) and _is_plain(value):
        array = to_array(value)
        natural = dtype_of(array)
        return natural if array.size and natural is not int32 else usual
    return usual


def _as_first(first: Any, value: Any) -> DType | None:
    """Return the type of the first plain value, which those after it have to have."""
    return dtype_of(to_array_eager(first)) if _is_plain(first) else None


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
        if not op.takes(argument.type, dtype):
            names = ", ".join(known.name for known in allowed)
            raise TypeError(
                f"Value passed to parameter '{name}' has DataType {dtype.name} not in list of "
                f"allowed values: {names}"
            )


def type_error_eager(op: OpDef, inputs: Sequence[Any]) -> InvalidArgumentError:
    """Return the error for a type that does not fit, as eager mode words it."""
    return at_once(op.name, next(_mismatches(op, inputs)))


def _mismatches(op: OpDef, inputs: Sequence[Any]) -> Iterator[str]:
    """Yield what is wrong with the types: first what is not allowed, then what differs."""
    spread = zip(_spread(op, len(inputs)), inputs, strict=True)
    kinds = [(argument.type, tensor.dtype.base_dtype) for (_, argument), tensor in spread]
    found: dict[DType | str, DType] = {}
    for kind, dtype in kinds:
        found.setdefault(kind, kind if isinstance(kind, DType) else dtype)
    for kind, dtype in found.items():
        if isinstance(kind, str) and kind != ANYTHING and not op.takes(kind, dtype):
            allowed = [known.type_string for known in op.types[kind]]
            yield not_among(kind, dtype.type_string, allowed)
    for position, (kind, dtype) in enumerate(kinds):
        if kind != ANYTHING and dtype is not found[kind]:
            yield (
                f"cannot compute {op.name} as input #{position}(zero-based) was expected to be "
                f"a {found[kind].type_string} tensor but is a {dtype.type_string} tensor"
            )


def shape_error(error: ValueError, op: OpDef, name: str, inputs: Sequence[Any]) -> ValueError:
    """Return the error of a shape rule, with the operation and its inputs."""
    shapes = ", ".join(bracketed(tensor.dims) for tensor in inputs)
    return ValueError(f"{error} for '{name}' (op: '{op.name}') with input shapes: {shapes}.")
