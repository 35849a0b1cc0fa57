"""Batches: consecutive elements below each other, padded to one shape or of one already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from berth.data.pipeline import Pipeline
from berth.data.structure import Element
from berth.data.transformations import Stage
from berth.errors import DataLossError, InvalidArgumentError


class Batch(Stage):
    """So many elements at a time; the last batch may be smaller."""

    kind = "BatchDataset"

    def __init__(
        self, parent: Pipeline, batch_size: Any, drop_remainder: Any, *, np_dtypes: Any
    ) -> None:
        super().__init__(parent)
        self._size, self._drops = int(batch_size), bool(drop_remainder)
        self._np_dtypes = np_dtypes
        if self._size < 1:
            raise InvalidArgumentError(None, None, "Batch size must be greater than zero.")

    def iterate(self) -> Iterator[Element]:
        return map(self._stacked, _Chunks(self._parent.iterate(), self._size, self._drops))

    def _stacked(self, elements: list[Element]) -> Element:
        columns = zip(*elements, strict=True)
        return tuple(
            [
                stacked(column, np_dtype, number)
                for number, (column, np_dtype) in enumerate(
                    zip(columns, self._np_dtypes, strict=True)
                )
            ]
        )

    def cardinality(self) -> int:
        before = self._parent.cardinality()
        if before < 0:
            return before
        return before // self._size if self._drops else -(-before // self._size)


class _Chunks:
    """Lists of consecutive elements."""

    def __init__(self, elements: Iterator[Element], size: int, drops: bool) -> None:
        self._elements = elements
        self._size = size
        self._drops = drops

    def __iter__(self) -> _Chunks:
        return self

    def __next__(self) -> list[Element]:
        found = list(islice(self._elements, self._size))
        if not found or (self._drops and len(found) < self._size):
            raise StopIteration
        return found


def stacked(column: Sequence[Any], np_dtype: Any, number: int) -> Any:
    """Put the values of one component below each other; all have to be of one shape."""
    dims = column[0].shape
    for position, value in enumerate(column):
        if value.shape != dims:
            raise InvalidArgumentError(
                None,
                None,
                f"Cannot batch tensors with different shapes in component {number}. First "
                f"element had shape {_bracketed(dims)} and element {position} had shape "
                f"{_bracketed(value.shape)}.",
            )
    if not dims and not np.dtype(np_dtype).hasobject:
        return np.array(column, np_dtype)
    out = np.empty((len(column), *dims), np_dtype)
    for position, value in enumerate(column):
        out[position] = value[()]
    return out


def _bracketed(dims: Sequence[int]) -> str:
    return f"[{','.join(map(str, dims))}]"


class PaddedBatch(Stage):
    """So many elements at a time, each padded to the shape of the largest or to a given one."""

    kind = "PaddedBatchDataset"

    def __init__(
        self,
        parent: Pipeline,
        batch_size: Any,
        drop_remainder: Any,
        *shapes_and_values: Any,
        np_dtypes: Any,
    ) -> None:
        super().__init__(parent)
        self._size, self._drops = int(batch_size), bool(drop_remainder)
        half = len(shapes_and_values) // 2
        self._shapes = [tuple(map(int, s)) for s in shapes_and_values[:half]]
        self._values = shapes_and_values[half:]
        self._np_dtypes = np_dtypes
        if self._size < 1:
            raise InvalidArgumentError(None, None, "Batch size must be greater than zero.")

    def iterate(self) -> Iterator[Element]:
        return map(self._padded, _Chunks(self._parent.iterate(), self._size, self._drops))

    def _padded(self, elements: list[Element]) -> Element:
        columns = zip(*elements, strict=True)
        kinds = zip(columns, self._shapes, self._values, self._np_dtypes, strict=True)
        return tuple([padded(number, *kind) for number, kind in enumerate(kinds)])

    def cardinality(self) -> int:
        before = self._parent.cardinality()
        if before < 0:
            return before
        return before // self._size if self._drops else -(-before // self._size)


def padded(number: int, column: Any, shape: Any, padding: Any, np_dtype: Any) -> Any:
    """Put the values of one component below each other, each filled up to one shape."""
    rank = len(shape)
    for value in column:
        if value.ndim != rank:
            raise InvalidArgumentError(
                None,
                None,
                "All elements in a batch must have the same rank as the padded shape for "
                f"component{number}: expected rank {rank} but got element with rank "
                f"{value.ndim}",
            )
    largest = [max(value.shape[axis] for value in column) for axis in range(rank)]
    dims = [size if size >= 0 else largest[axis] for axis, size in enumerate(shape)]
    if any(size < wanted for size, wanted in zip(dims, largest, strict=True)):
        raise DataLossError(
            None, None, "Attempted to pad to a smaller size than the input element."
        )
    out = np.empty((len(column), *dims), np_dtype)
    out[...] = padding[()]
    for position, value in enumerate(column):
        place: Any = (position, *(slice(size) for size in value.shape))
        out[place] = value[()]
    return out
