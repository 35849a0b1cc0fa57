"""`scatter_*` and `scatter_nd_*`: updates of slices of a variable.

    scatter_*      variable[indices[i, ..., j]]           changed by  updates[i, ..., j]
    scatter_nd_*   variable[indices[i, ..., j] as a tuple] changed by  updates[i, ..., j]

A place that is named several times is changed as often. Where that leaves a choice (which
of several updates stays), the last counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import setitem
from typing import Any

import numpy as np

from berth.dtypes import ALL, NUMBERS, REAL, DType
from berth.errors import InvalidArgumentError
from berth.ops.arrays.index_checks import (
    check_depth,
    check_updates,
    index_error,
    index_vector_error,
)
from berth.ops.elementwise.arithmetic import check_divisor
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Access,
    Attrs,
    Bind,
    Call,
    Infer,
    Launch,
    OpDef,
    OutputType,
)
from berth.ops.rules import INDEX, all_devices_but_strings, merge_dims
from berth.ops.shape import bracketed
from berth.ops.state.variables import (
    REFERENCE,
    RESOURCE,
    Write,
    check_type_of_update,
    dims_behind,
    sample_of,
    written_type,
)

Change = Callable[[Any, Any, Any], Any]
"""Changes an array: ``change(array, where, updates)``."""

# --- update functions -----------------------------------------------------------------


def _set(xp: Any, dtype: Any) -> Change:
    return setitem


def _by(function: str) -> Callable[[Any, Any], Change]:
    def find(xp: Any, dtype: Any) -> Change:
        change: Change = getattr(xp, function).at
        return change

    return find


def _divide(xp: Any, dtype: Any) -> Change:
    if dtype.kind not in "iu":
        change: Change = xp.divide.at
        return change

    def divide(array: Any, where: Any, updates: Any) -> None:
        check_divisor(updates)
        dims = where.shape + array.shape[1:]
        rows = xp.broadcast_to(updates, dims).reshape(-1, *array.shape[1:])
        for position, divisor in zip(where.reshape(-1).tolist(), rows, strict=True):
            row = array[position]
            # Integers are divided towards zero, and not down as NumPy does.
            row -= xp.fmod(row, divisor)
            array[position] = row // divisor

    return divide


# --- rows -----------------------------------------------------------------------------


def _rows_type(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    variable, indices, updates = inputs
    check_type_of_update(variable, updates)
    held = dims_behind(variable)
    if held is not None and indices.dims is not None and updates.dims != ():
        wanted = indices.dims + held[1:]
        at_run = (
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], "
            f"got updates.shape {bracketed(updates.dims)}, indices.shape "
            f"{bracketed(indices.dims)}, params.shape {bracketed(held)}"
        )
        merge_dims(updates.dims, wanted, at_run)
    return written_type(variable, held)


def _bind_rows(find: Callable[[Any, Any], Change]) -> Bind:
    def bind(launch: Launch) -> Call:
        variable, indices, updates = launch.inputs
        if variable.ndim == 0:
            raise InvalidArgumentError(None, None, "params must be at least 1-D, got shape []")
        change = find(launch.xp, variable.dtype)
        return _change_rows, (change, variable, indices, updates)

    return bind


def _change_rows(change: Change, variable: Any, indices: Any, updates: Any) -> None:
    n_rows = variable.shape[0]
    if not indices.size:
        return
    if indices.min() < 0 or indices.max() >= n_rows:
        raise index_error(indices, n_rows)
    change(variable, indices, updates)


# --- elements -------------------------------------------------------------------------


def _elements_type(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    variable, indices, updates = inputs
    check_type_of_update(variable, updates)
    held = dims_behind(variable)
    if indices.dims == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    check_updates(held, indices.dims, updates.dims)
    return written_type(variable, held)


def _bind_elements(find: Callable[[Any, Any], Change]) -> Bind:
    def bind(launch: Launch) -> Call:
        variable, indices, updates = launch.inputs
        check_depth(variable.shape, indices.shape, updates.shape)
        change = find(launch.xp, variable.dtype)
        return _change_elements, (change, variable, indices, updates)

    return bind


def _change_elements(change: Change, variable: Any, indices: Any, updates: Any) -> None:
    depth = indices.shape[-1]
    if depth == 0:  # every index is that of the whole variable
        change(variable[None], indices.sum(axis=-1, dtype=np.int64), updates)
        return
    where = tuple(indices[..., axis] for axis in range(depth))
    if not where[0].size:
        return
    limits = variable.shape[:depth]
    if any(
        part.min() < 0 or part.max() >= limit for part, limit in zip(where, limits, strict=True)
    ):
        raise index_vector_error(indices, variable.shape)
    change(variable, where, updates)


# --- definitions ----------------------------------------------------------------------


def _scatter(
    name: str, infer: Infer, bind: Bind, dtypes: Sequence[DType], sample: str
) -> Write:
    ops = [
        OpDef(
            f"{prefix}{name}",
            f"{variable} indices:Tindices updates:T",
            infer,
            types={"T": dtypes, "Tindices": INDEX},
            kernels=tuple(
                kernel._replace(dtypes=tuple(t for t in kernel.dtypes if t in dtypes))
                for kernel in all_devices_but_strings(bind)
            ),
            is_stateful=True,
            access=Access.UPDATE,
            gradient=NOT_DIFFERENTIABLE,
            samples=(f"{sample_of(variable)}, {sample}",),
        )
        for prefix, variable in (("", REFERENCE), ("Resource", RESOURCE))
    ]
    return Write(*ops)


def _rows(name: str, find: Callable[[Any, Any], Change], dtypes: Sequence[DType]) -> Write:
    sample = "i(2, 0), f(2, 2)"
    return _scatter(f"Scatter{name}", _rows_type, _bind_rows(find), dtypes, sample)


def _elements(name: str, find: Callable[[Any, Any], Change], dtypes: Sequence[DType]) -> Write:
    sample = "ints([[2, 1], [0, 0]]), f(2)"
    return _scatter(f"ScatterNd{name}", _elements_type, _bind_elements(find), dtypes, sample)


SCATTERS = {
    "scatter_update": _rows("Update", _set, ALL),
    "scatter_add": _rows("Add", _by("add"), NUMBERS),
    "scatter_sub": _rows("Sub", _by("subtract"), NUMBERS),
    "scatter_mul": _rows("Mul", _by("multiply"), NUMBERS),
    "scatter_div": _rows("Div", _divide, NUMBERS),
    "scatter_min": _rows("Min", _by("minimum"), REAL),
    "scatter_max": _rows("Max", _by("maximum"), REAL),
    "scatter_nd_update": _elements("Update", _set, ALL),
    "scatter_nd_add": _elements("Add", _by("add"), NUMBERS),
    "scatter_nd_sub": _elements("Sub", _by("subtract"), NUMBERS),
    "scatter_nd_min": _elements("Min", _by("minimum"), REAL),
    "scatter_nd_max": _elements("Max", _by("maximum"), REAL),
}
"""By the names of the functions that make them."""
