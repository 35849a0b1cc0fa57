"""Operations on ragged tensors by the name of the operation: reductions, joining, gathering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import int64
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.gathering import gather
from berth.ops.arrays.joining import concat
from berth.ops.arrays.rearranging import repeat
from berth.ops.compose import convert
from berth.ops.elementwise.casting import cast
from berth.ops.opdef import Attrs
from berth.ops.reductions.cumulative import cumsum
from berth.ops.reductions.reduction import reduce_max, reduce_mean, reduce_min, reduce_sum
from berth.ops.reductions.unsorted_segments import (
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_sum,
)

Reduce = Callable[..., Any]


def _axis(value: Any, rank: int | None) -> int | None:
    number = getattr(value, "value", value)
    listed = number.reshape(-1).tolist() if hasattr(number, "reshape") else number
    listed = listed if isinstance(listed, list) else [listed]
    if len(listed) != 1:
        return None
    axis = int(listed[0])
    return axis + rank if axis < 0 and rank is not None else axis


def _reduction(of_rows: Reduce, of_all: Reduce) -> Callable[[Sequence[Any], Attrs], Any]:
    """Make a reduction of ragged tensors, along the rows or over everything."""

    def reduce(inputs: Sequence[Any], attrs: Attrs) -> Any:
        given = inputs[0]
        if attrs.get("keep_dims"):
            raise ValueError("keepdims is not supported for ragged tensors")
        axis = _axis(inputs[1], given.shape.rank)
        if axis is None:
            return of_all(given.flat_values)
        if axis == 0:
            return of_all(given.to_tensor(), 0)
        if axis > 1:
            inner = given.values
            if hasattr(inner, "ragged_rank"):
                return given.with_values(reduce([inner, convert(axis - 1)], attrs))
            return given.with_values(of_all(inner, axis - 1))
        return of_rows(given.values, given.value_rowids(), given.nrows())

    return reduce


def gather_rows(given: Any, indices: Any) -> Any:
    """Return some rows of a ragged tensor, as a ragged tensor."""
    lengths: Any = gather(given.row_lengths(), indices)
    ends: Any = cumsum(lengths)
    starts = gather(given.row_starts(), indices) - (ends - lengths)
    total: Any = reduce_sum(lengths)
    places: Any = range_op(convert(0, int64), total, 1) + repeat(starts, lengths)
    inner = given.values
    is_nested = hasattr(inner, "ragged_rank")
    rows = gather_rows(inner, places) if is_nested else gather(inner, places)
    return type(given).from_row_lengths(rows, lengths)


def _gather(inputs: Sequence[Any], attrs: Attrs) -> Any:
    given, indices = inputs[0], convert(inputs[1])
    return gather_rows(given, cast(indices, int64))


def _concat(inputs: Sequence[Any], attrs: Attrs) -> Any:
    *parts, axis = inputs
    kind = next(type(part) for part in parts if hasattr(part, "ragged_rank"))
    ragged = [p if hasattr(p, "ragged_rank") else kind.from_tensor(p) for p in parts]
    along = _axis(axis, ragged[0].shape.rank)
    stacked = _stacked_rows(ragged)
    if along == 0:
        return stacked
    n_rows, n_parts = ragged[0].nrows(), len(ragged)
    order: Any = range_op(convert(0, int64), n_rows * n_parts, 1)
    mixed = (order % n_parts) * n_rows + order // n_parts
    joined = gather_rows(stacked, mixed)
    return kind.from_row_splits(joined.values, joined.row_splits[::n_parts])


def _stacked_rows(ragged: Sequence[Any]) -> Any:
    inner = [each.values for each in ragged]
    values = _stacked_rows(inner) if hasattr(inner[0], "ragged_rank") else concat(inner, 0)
    lengths = concat([each.row_lengths() for each in ragged], 0)
    return type(ragged[0]).from_row_lengths(values, lengths)


def _rank(inputs: Sequence[Any], attrs: Attrs) -> Any:
    return convert(inputs[0].shape.rank)


OPERATIONS: dict[str, Callable[[Sequence[Any], Attrs], Any]] = {
    "Sum": _reduction(unsorted_segment_sum, reduce_sum),
    "Mean": _reduction(unsorted_segment_mean, reduce_mean),
    "Max": _reduction(unsorted_segment_max, reduce_max),
    "Min": _reduction(unsorted_segment_min, reduce_min),
    "GatherV2": _gather,
    "ConcatV2": _concat,
    "Rank": _rank,
}
