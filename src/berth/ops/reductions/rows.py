"""Kernels along the last axis, a block of rows at a time, for softmax and cross entropy.

Intermediate values stay in the cache. A block is computed by ``step(xp, arrays, scratch)``: its
arrays are the same rows of the inputs and outputs, `scratch` is memory of the block: two
blocks, two columns, and a row of ones for sums by BLAS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from berth.dtypes import DType, float16, float32
from berth.ops.opdef import Call, Launch, OutputType, Parts
from berth.ops.shape import Dims

_BLOCK = 2**16
"""The number of elements of a block, about."""
_SMALL = 2**14
"""Below this number of elements, a second thread is not worth its start."""
_FEW_COLUMNS = 16


class Scratch(NamedTuple):
    """Scratch memory for a block of rows."""

    block: Any
    other: Any
    column: Any
    second: Any
    ones: Any

    def of(self, n_rows: int) -> Scratch:
        """Return the part that a block of `n_rows` rows needs."""
        block, other, column, second, ones = self
        return Scratch(block[:n_rows], other[:n_rows], column[:n_rows], second[:n_rows], ones)


Step = Callable[[Any, Sequence[Any], Scratch], None]


def _divide(n_rows: int, n_columns: int, n_threads: int) -> tuple[int, int]:
    """Return the number of rows computed at a time, and the number of threads."""
    at_a_time = max(1, _BLOCK // max(1, n_columns))
    if n_rows * n_columns <= _SMALL:
        return max(1, min(at_a_time, n_rows)), 1
    at_a_time = min(at_a_time, -(-n_rows // n_threads))
    return at_a_time, min(n_threads, -(-n_rows // at_a_time))


def row_scratch(dtype: DType, dims: Dims, n_threads: int) -> Sequence[OutputType]:
    """Scratch memory for blocks of rows: float16 is computed in float32."""
    wide = float32 if dtype is float16 else dtype
    *outer, n_columns = (size or 0 for size in dims or (0,))
    n_rows, n_threads = _divide(math.prod(outer), n_columns, n_threads)
    block, column = (n_rows, n_columns), (n_rows, 1)
    each = [(wide, d) for d in (block, block, column, column, (n_columns,))]
    return [(kind, (n_threads, *sizes)) for kind, sizes in each]


def over_rows(launch: Launch, step: Step, arrays: Sequence[Any]) -> Call | Parts | None:
    """Bind a step to every block of rows of arrays, the first of which is a matrix."""
    n_rows, n_columns = arrays[0].shape
    if n_rows == 0:
        return None
    at_a_time, n_threads = _divide(n_rows, n_columns, launch.n_threads)
    scratches = [Scratch(*(part[k] for part in launch.scratch)) for k in range(n_threads)]
    blocks: list[list[Any]] = [[] for _ in scratches]
    starts = range(0, n_rows, at_a_time)
    for number, start in enumerate(starts):
        stop = min(start + at_a_time, n_rows)
        thread = number * len(scratches) // len(starts)
        rows = [array[start:stop] for array in arrays]
        blocks[thread].append((rows, scratches[thread].of(stop - start)))
    calls = [(_each, (step, launch.xp, part)) for part in blocks if part]
    return calls[0] if len(calls) == 1 else Parts(calls)


def _each(step: Step, xp: Any, blocks: Sequence[tuple[Sequence[Any], Scratch]]) -> None:
    blocks[0][1].ones.fill(1)
    for arrays, scratch in blocks:
        step(xp, arrays, scratch)


def largest(xp: Any, rows: Any, out: Any) -> None:
    """Write the maximum of each row to a column."""
    n_rows, n_columns = rows.shape
    if n_columns == 0:
        out.fill(0)
    elif n_columns <= _FEW_COLUMNS and n_rows > n_columns * n_columns:
        column = out[:, 0]  # for short rows, column by column is faster
        xp.copyto(column, rows[:, 0])
        for k in range(1, n_columns):
            xp.maximum(column, rows[:, k], out=column)
    else:
        rows.max(axis=1, out=out, keepdims=True)


def add_up(xp: Any, rows: Any, scratch: Scratch, out: Any) -> None:
    """Write the sum of each row to a column."""
    xp.dot(rows, scratch.ones, out[:, 0])


def shift(xp: Any, rows: Any, out: Any, column: Any) -> None:
    """Write rows minus their maximum, so that exp cannot overflow."""
    largest(xp, rows, column)
    xp.subtract(rows, column, out)
