"""Accumulation of rows by id, and gradients, for sorted and unsorted segment reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from berth.errors import InvalidArgumentError
from berth.ops.arrays import filling, gathering
from berth.ops.arrays.array import expand_dims
from berth.ops.elementwise import compare, division, unary
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.elementwise.casting import cast
from berth.ops.gradient import RecordedOp

Start = Callable[[Any], Any]
"""The initial value of a result, by the type of its elements."""


def lowest(dtype: Any) -> Any:
    """Return the lowest finite number of a type."""
    return (np.finfo if dtype.kind == "f" else np.iinfo)(dtype).min


def highest(dtype: Any) -> Any:
    """Return the highest finite number of a type."""
    return (np.finfo if dtype.kind == "f" else np.iinfo)(dtype).max


def put_rows(put: Callable[..., Any], rows: Any, ids: Any, out: Any, start: Any) -> None:
    """Combine each row with the row of `out` at its id, by a ufunc's ``at``."""
    out[...] = start
    if not ids.size:
        return
    if int(ids.max()) >= out.shape[0]:
        position = int((ids >= out.shape[0]).argmax())
        raise InvalidArgumentError(
            None,
            None,
            f"segment_ids[{position}] = {int(ids[position])} is out of range "
            f"[0, {out.shape[0]})",
        )
    if int(ids.min()) < 0:
        rows, ids = rows[ids >= 0], ids[ids >= 0]
    put(out, ids, rows)


def row_counts(data: Any, ids: Any, add_up: Callable[[Any], Any]) -> Any:
    """Count the rows of each id, at least 1, in a shape that broadcasts."""
    dtype = data.dtype.base_dtype
    real = dtype.real_dtype
    if data.dims is None or ids.dims is None:
        rows = filling.ones_like(data, real)
    else:
        rows = filling.ones_like(ids, real)
        for _ in range(len(data.dims) - len(ids.dims)):
            rows = expand_dims(rows, -1)
    return cast(maximum(add_up(rows), 1), dtype)


# --- gradients ----------------------------------------------------------------------------

Map = Callable[[Any], Any]


def extreme_gradient(op: RecordedOp, grad: Any, to_rows: Map, add_up: Map) -> Any:
    """Share the gradient among the rows equal to the extreme of their segment."""
    data = op.inputs[0]
    is_extreme = compare.equal(data, to_rows(op.outputs[0]))
    n_extremes = add_up(cast(is_extreme, grad.dtype.base_dtype))
    share = to_rows(division.divide_no_nan(grad, n_extremes))
    return gathering.where_v2(is_extreme, share, filling.zeros_like(data))


def product_gradient(
    op: RecordedOp, grad: Any, to_rows: Map, add_up: Map, multiply: Map
) -> Any:
    """Product of the other rows: the whole divided by the row, unless it is 0.

    A single 0 has the product of the others; beside another 0 the gradient is 0.
    """
    data = unary.conj(op.inputs[0])
    dtype = grad.dtype.base_dtype
    is_zero = compare.equal(data, filling.zeros_like(data))
    n_zeros = add_up(cast(is_zero, dtype))
    factors = gathering.where_v2(is_zero, filling.ones_like(data), data)
    of_others = to_rows(multiply(factors)) / factors
    no_other_zero = compare.equal(to_rows(n_zeros), cast(is_zero, dtype))
    slope = gathering.where_v2(no_other_zero, of_others, filling.zeros_like(data))
    return to_rows(grad) * slope
