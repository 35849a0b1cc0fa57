"""The gradient accumulators of a session: sums of gradients, and who waits to take one.

An accumulator is what the handle of an accumulator operation stands for (`run.host_calls`).
Each gradient comes with the step for which it was computed; one of an earlier step than the
accumulator's is stale, and dropped. Taking waits for so many gradients, in the order in which
it was asked for; then the accumulator is empty, and its step is the next one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.errors import InvalidArgumentError
from berth.ops.shape import Dims, bracketed
from berth.run.host_calls import Pending


class Accumulator:
    """Gradients of all of a variable."""

    def __init__(self, dims: Dims, reduction: str) -> None:
        self.dims = dims
        self.is_mean = reduction == "MEAN"
        self.step = 0
        self.n_accumulated = 0
        self._sum: Any = None
        self.lock = threading.Lock()
        self.takes: deque[TakeGradient] = deque()

    # --- what is held -----------------------------------------------------------------------

    def check(self, gradient: Sequence[Any]) -> None:
        """Refuse a gradient of another shape."""
        [array] = gradient
        expected = self._sum.shape if self.n_accumulated else None
        for dims in (self.dims, expected):
            if dims is not None and not _fits(array.shape, dims):
                found = bracketed(array.shape)
                raise _invalid(f"Shape mismatch: expected {bracketed(dims)}, got {found}")

    def add(self, gradient: Sequence[Any]) -> None:
        """Add a gradient; the first one takes the place of what was taken."""
        [array] = gradient
        if self.n_accumulated:
            self._sum += array
        else:
            self._sum = np.array(array)

    def reduced(self) -> list[Any]:
        """Return the mean or the sum."""
        if self.is_mean:
            return [np.asarray(self._sum / self._sum.dtype.type(self.n_accumulated))]
        return [self._sum]

    # --- from outside -----------------------------------------------------------------------

    def apply(self, local_step: int, gradient: Sequence[Any]) -> None:
        """Add a gradient, unless it is stale."""
        with self.lock:
            if local_step < self.step:
                return
            self.check(gradient)
            self.add(gradient)
            self.n_accumulated += 1
            self.serve()

    def set_step(self, step: int) -> None:
        """Say which step it is; gradients of earlier ones are stale from now on."""
        with self.lock:
            self.step = step

    def serve(self) -> None:
        """Give the first in line what it waits for, if that is there. The lock is held."""
        while self.takes and self.n_accumulated >= self.takes[0].n_required:
            first = self.takes.popleft()
            result = self.reduced()
            self.n_accumulated = 0
            self.step += 1
            first.finish(result)

    def check_shared(self, attrs: Any) -> None:
        """Share with any operation of the same name, as TensorFlow does."""


class SparseAccumulator(Accumulator):
    """Gradients of some rows of a variable; the mean of a row is over those that have it."""

    def check(self, gradient: Sequence[Any]) -> None:
        """Refuse rows that do not fit the indices, or the shape."""
        indices, values, shape = gradient
        if indices.ndim != 1:
            found = bracketed(indices.shape)
            raise _invalid(f"Input indices should be vector but received shape: {found}")
        n_values = len(values) if values.ndim else 0
        if n_values != len(indices):
            raise _invalid(f"Expected {len(indices)} non-empty input values, got {n_values}")
        for what, dims in (("values", values.shape), ("shape", tuple(shape.tolist()))):
            if not (self.dims and dims):
                continue
            if len(dims) != len(self.dims):
                wanted = f"expected {what} rank {len(self.dims)}"
                raise _invalid(f"Shape mismatch: {wanted}, got {len(dims)}")
            for axis in range(1, len(dims)):
                wanted_size, found_size = self.dims[axis], dims[axis]
                if wanted_size is not None and wanted_size != found_size:
                    raise _invalid(
                        f"Shape mismatch: expected {what} dim {axis} to be {wanted_size}, "
                        f"got {found_size}"
                    )

    def add(self, gradient: Sequence[Any]) -> None:
        """Add rows: equal indices are summed, new ones go where they belong in the order."""
        indices, values, _ = gradient
        if not self.n_accumulated:
            self._indices, self._sum = np.array(indices), np.array(values)
            self._counts = np.ones(len(indices), np.int64)
            return
        of_mine, of_given = _merged(self._indices.tolist(), indices.tolist())
        size = len(of_mine)
        merged = np.zeros((size, *self._sum.shape[1:]), self._sum.dtype)
        counts, keys = np.zeros(size, np.int64), np.zeros(size, np.int64)
        parts = (
            (of_mine, self._indices, self._sum, self._counts),
            (of_given, indices, values, 1),
        )
        for positions, part_keys, rows, n in parts:
            there = np.flatnonzero(np.array(positions, np.int64) >= 0)
            merged[there] += rows
            counts[there] += n
            keys[there] = part_keys
        self._indices, self._sum, self._counts = keys, merged, counts

    def reduced(self) -> list[Any]:
        """Return the indices, the rows, and the shape as far as it is known."""
        values = self._sum
        if self.is_mean:
            counts = self._counts.astype(values.dtype)
            values = values / counts.reshape(-1, *[1] * (values.ndim - 1))
        dims = self.dims or (None, *values.shape[1:])
        shape = np.array([-1 if size is None else size for size in dims], np.int64)
        return [self._indices, values, shape]


class TakeGradient(Pending):
    """A gradient to be taken, when enough were accumulated."""

    cancelled_message = "TakeGrad operation was cancelled"

    def __init__(self, accumulator: Accumulator, n_required: int) -> None:
        super().__init__()
        self._accumulator = accumulator
        self.n_required = n_required

    def start(self) -> None:
        """Join the line."""
        with self._accumulator.lock:
            self._accumulator.takes.append(self)
            self._accumulator.serve()

    def cancel(self) -> None:
        """Leave the line."""
        with self._accumulator.lock:
            if self in self._accumulator.takes:
                self._accumulator.takes.remove(self)
                self._accumulator.serve()


def _merged(mine: list[int], given: list[int]) -> tuple[list[int], list[int]]:
    """Merge two ordered lists; return where each entry is in the first and second, or -1."""
    of_mine, of_given = [], []
    i = j = 0
    while i < len(mine) or j < len(given):
        takes_mine = j == len(given) or (i < len(mine) and mine[i] <= given[j])
        takes_given = i == len(mine) or (j < len(given) and given[j] <= mine[i])
        of_mine.append(i if takes_mine else -1)
        of_given.append(j if takes_given else -1)
        i, j = i + takes_mine, j + takes_given
    return of_mine, of_given


def _fits(found: Sequence[int], dims: Sequence[int | None]) -> bool:
    return len(found) == len(dims) and all(
        b is None or a == b for a, b in zip(found, dims, strict=True)
    )


def _invalid(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)
