"""Ragged tensors of nested lists, ranges and masks: `tf.ragged`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from berth.dtypes import as_dtype, int64
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.indexing import boolean_mask as dense_mask
from berth.ops.arrays.joining import concat
from berth.ops.arrays.rearranging import repeat
from berth.ops.compose import convert
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.elementwise.casting import cast
from berth.ops.ragged.ragged_tensor import RaggedTensor
from berth.ops.reductions.cumulative import cumsum
from berth.ops.reductions.reduction import reduce_sum
from berth.ops.reductions.unsorted_segments import unsorted_segment_sum
from berth.public import public


def _depth(value: Any) -> int:
    if not isinstance(value, list | tuple | np.ndarray):
        return 0
    return 1 + max((_depth(part) for part in value), default=0)


@public("ragged.constant")
def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = int64,
) -> Any:
    """Ragged tensor of nested lists.

    >>> constant([[1, 2], [3]]).row_splits.numpy().tolist()
    [0, 2, 3]
    """
    kind = None if dtype is None else as_dtype(dtype)
    depth = _depth(pylist)
    rank = max(0, depth - 1) if ragged_rank is None else ragged_rank
    if rank > max(0, depth - 1):
        raise ValueError(
            f"Invalid pylist={pylist}: incompatible with ragged_rank={ragged_rank}."
        )
    flat, lengths = pylist, []
    for _ in range(rank):
        lengths.append([len(row) for row in flat])
        flat = [item for row in flat for item in row]
    values = convert(flat, kind)
    if not lengths:
        return values
    return RaggedTensor.from_nested_row_lengths(
        values, [np.array(each, np.int64) for each in lengths]
    )


@public("ragged.range")
def ragged_range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = int64,
) -> Any:
    """Ragged tensor whose rows are ranges.

    >>> ragged_range([3, 1]).to_list()
    [[0, 1, 2], [0]]
    """
    if limits is None:
        starts, limits = 0, starts
    end: Any = convert(limits)
    begin, step = convert(starts, end.dtype) + end * 0, convert(deltas, end.dtype) + end * 0
    counts: Any = maximum(cast((end - begin + step - 1) // step, int64), convert(0, int64))
    offsets: Any = range_op(convert(0, int64), reduce_sum(counts), 1)
    offsets = offsets - repeat(cumsum(counts) - counts, counts)
    values = repeat(begin, counts) + cast(offsets, end.dtype) * repeat(step, counts)
    found = values if dtype is None else cast(values, dtype)
    return RaggedTensor.from_row_lengths(found, counts)


@public("ragged.map_flat_values")
def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Ragged tensor whose flat values are those of a function of the flat values of others."""
    every = [v for v in (*args, *kwargs.values()) if isinstance(v, RaggedTensor)]
    if not every:
        return op(*args, **kwargs)

    def flat(value: Any) -> Any:
        return value.flat_values if isinstance(value, RaggedTensor) else value

    return every[0].with_flat_values(
        op(*map(flat, args), **{k: flat(v) for k, v in kwargs.items()})
    )


@public("ragged.boolean_mask")
def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """Ragged tensor of the elements of each row where a mask is true."""
    kept = mask if isinstance(mask, RaggedTensor) else RaggedTensor.from_tensor(mask)
    given = data if isinstance(data, RaggedTensor) else RaggedTensor.from_tensor(data)
    lengths = unsorted_segment_sum(
        cast(kept.flat_values, int64), given.value_rowids(), given.nrows()
    )
    return RaggedTensor.from_row_lengths(dense_mask(given.values, kept.flat_values), lengths)


@public("ragged.stack")
def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Ragged tensor of several, one below the other."""
    if axis != 0:
        raise ValueError(f"axis={axis} is not supported: 0 is")
    if all(isinstance(v, RaggedTensor) for v in values):
        joined = _joined(values)
        counts = [v.nrows() for v in values]
        return RaggedTensor.from_row_lengths(joined, counts)
    rows: list[Any] = [convert(v) for v in values]
    sizes = [row.dims[0] for row in rows]
    return RaggedTensor.from_row_lengths(_joined(rows), np.array(sizes, np.int64))


def _joined(values: Any) -> Any:
    joined: Any = concat(values, 0)
    return joined
