"""Gradients of rows that belong together: each row gets what arrived at its segment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import ones_like, zeros_like
from berth.ops.arrays.gathering import gather, where, where_v2
from berth.ops.arrays.metadata import shape
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal, greater_equal
from berth.ops.elementwise.quotients import divide_no_nan
from berth.ops.elementwise.unary import conj
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.reductions.segments import (
    SEGMENT_MAX,
    SEGMENT_MIN,
    SEGMENT_PROD,
    SEGMENT_SUM,
    UNSORTED_SEGMENT_MAX,
    UNSORTED_SEGMENT_MIN,
    UNSORTED_SEGMENT_PROD,
    segment_prod,
    segment_sum,
    unsorted_segment_prod,
    unsorted_segment_sum,
)

_SORTED = (SEGMENT_MAX, SEGMENT_MIN, SEGMENT_PROD, SEGMENT_SUM)


def _to_rows(op: RecordedOp) -> Callable[[Any], Any]:
    """Make what gives every row its segment's values; 0 to rows that were dropped."""
    data, ids = op.inputs[:2]
    if op.definition in _SORTED:
        return lambda segments: gather(segments, ids)
    numbers = reshape(ids, [-1])
    is_kept = greater_equal(numbers, zeros_like(numbers))

    def to_rows(segments: Any) -> Any:
        rows = gather(segments, maximum(numbers, zeros_like(numbers)))
        return reshape(where(is_kept, rows, zeros_like(rows)), shape(data))

    return to_rows


def _again(op: RecordedOp, is_product: bool = False) -> Callable[[Any], Any]:
    """Make the sum, or the product, of the same segments of other rows."""
    combine: Callable[..., Any]
    if op.definition in _SORTED:
        combine = segment_prod if is_product else segment_sum
    else:
        combine = unsorted_segment_prod if is_product else unsorted_segment_sum
    return lambda rows: combine(rows, *op.inputs[1:])


def _none_for_others(op: RecordedOp, grad: Any) -> tuple[Any, ...]:
    return (grad, *(None for _ in op.inputs[1:]))


@gradient(SEGMENT_SUM)
def _sum(op: RecordedOp, grad: Any) -> Any:
    return _none_for_others(op, _to_rows(op)(grad))


@gradient(SEGMENT_MAX, SEGMENT_MIN, UNSORTED_SEGMENT_MAX, UNSORTED_SEGMENT_MIN)
def _extreme(op: RecordedOp, grad: Any) -> Any:
    """Share what arrives among the rows that are the extreme."""
    data, to_rows = op.inputs[0], _to_rows(op)
    is_extreme = equal(data, to_rows(op.outputs[0]))
    n_extremes = _again(op)(cast(is_extreme, grad.dtype.base_dtype))
    share = to_rows(divide_no_nan(grad, n_extremes))
    return _none_for_others(op, where_v2(is_extreme, share, zeros_like(data)))


@gradient(SEGMENT_PROD, UNSORTED_SEGMENT_PROD)
def _product(op: RecordedOp, grad: Any) -> Any:
    """Give each row the product of the others: the whole divided by it, unless it is 0.

    A single 0 has the product of the others; beside another 0, nothing matters.
    """
    data, to_rows = conj(op.inputs[0]), _to_rows(op)
    is_zero = equal(data, zeros_like(data))
    n_zeros = _again(op)(cast(is_zero, grad.dtype.base_dtype))
    factors = where_v2(is_zero, ones_like(data), data)
    of_others = to_rows(_again(op, is_product=True)(factors)) / factors
    no_zero_else = equal(to_rows(n_zeros), cast(is_zero, grad.dtype.base_dtype))
    slope = where_v2(no_zero_else, of_others, zeros_like(data))
    return _none_for_others(op, to_rows(grad) * slope)
