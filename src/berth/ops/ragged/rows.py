"""Ragged tensors of values and what says where their rows are: lengths, splits, row numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import int64
from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import fill
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.gathering import where_v2
from berth.ops.arrays.grids import sequence_mask
from berth.ops.arrays.indexing import boolean_mask
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.compose import convert
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import not_equal
from berth.ops.reductions.cumulative import cumsum
from berth.ops.reductions.reduction import reduce_max
from berth.ops.reductions.unsorted_segments import unsorted_segment_sum


def is_ragged(value: Any) -> bool:
    """Tell whether a value is a ragged tensor."""
    return hasattr(value, "ragged_rank")


def n_rows(values: Any) -> Any:
    """Return the number of rows of a tensor, ragged or not."""
    return values.nrows() if is_ragged(values) else shape_of(values, out_type=int64)[0]


def longest(lengths: Any) -> Any:
    """Return the largest of lengths; zero if there are none."""
    return reduce_max(concat([lengths, convert(np.zeros(1, np.int64))], 0))


def _offsets(lengths: Any) -> Any:
    return concat([convert(np.zeros(1, np.int64)), cumsum(lengths)], 0)


class RowConstructors:
    """The constructors of `RaggedTensor`."""

    def __init__(self, values: Any, row_splits: Any) -> None:
        self._values, self._row_splits = values, row_splits

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Make a ragged tensor of where its rows begin and end."""
        inner = values if is_ragged(values) else convert(values)
        splits = cast(row_splits, int64)
        if splits.dims is not None and len(splits.dims) != 1:
            raise ValueError(f"Shape {splits.shape} must have rank 1")
        return cls(inner, splits)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Make a ragged tensor of the lengths of its rows."""
        return cls.from_row_splits(values, _offsets(cast(row_lengths, int64)))

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Make a ragged tensor of the row of each value."""
        ids: Any = cast(value_rowids, int64)
        count: Any = reduce_max(ids) + 1 if nrows is None else cast(nrows, int64)
        ones = fill(shape_of(ids), convert(1, int64))
        return cls.from_row_lengths(values, unsorted_segment_sum(ones, ids, count))

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Make a ragged tensor of where its rows begin."""
        inner = values if is_ragged(values) else convert(values)
        end = reshape(n_rows(inner), [1])
        return cls.from_row_splits(inner, concat([cast(row_starts, int64), end], 0))

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Make a ragged tensor of where its rows end."""
        first = convert(np.zeros(1, np.int64))
        return cls.from_row_splits(values, concat([first, cast(row_limits, int64)], 0))

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: str | None = None,
    ) -> Any:
        """Make a ragged tensor whose rows are of one length."""
        inner = values if is_ragged(values) else convert(values)
        length: Any = cast(uniform_row_length, int64)
        count: Any = n_rows(inner) // length if nrows is None else cast(nrows, int64)
        return cls.from_row_splits(inner, range_op(convert(0, int64), count + 1, 1) * length)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Make a ragged tensor of several ragged axes, the outermost splits first."""
        made = flat_values
        for splits in reversed(nested_row_splits):
            made = cls.from_row_splits(made, splits)
        return made

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Make a ragged tensor of several ragged axes, the outermost lengths first."""
        made = flat_values
        for lengths in reversed(nested_row_lengths):
            made = cls.from_row_lengths(made, lengths)
        return made

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = int64,
    ) -> Any:
        """Make a ragged tensor of a dense one, without padding at the ends of its rows."""
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        dense: Any = convert(tensor)
        sizes: Any = shape_of(dense, out_type=int64)
        if padding is not None:
            places: Any = range_op(convert(0, int64), sizes[1], 1) + 1
            kept = not_equal(dense, convert(padding, dense.dtype))
            lengths = reduce_max(where_v2(kept, places, convert(0, int64)), 1)
        if lengths is None:
            flat = reshape(dense, concat([[-1], sizes[2:]], 0))
            starts: Any = range_op(convert(0, int64), sizes[0] + 1, 1)
            return cls.from_row_splits(flat, starts * sizes[1])
        given: Any = cast(lengths, int64)
        return cls.from_row_lengths(boolean_mask(dense, sequence_mask(given, sizes[1])), given)

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = int64
    ) -> Any:
        """Make a ragged tensor of a sparse matrix whose rows have no gaps."""
        return cls.from_value_rowids(
            st_input.values, st_input.indices[:, 0], st_input.dense_shape[0]
        )
