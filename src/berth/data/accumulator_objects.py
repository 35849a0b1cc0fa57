"""The gradient accumulators of a session: sums of gradients, and who waits to take one.

An accumulator is what the handle of an accumulator operation stands for (`run.host_calls`).
Each gradient comes with the step for which it was computed; one of an earlier step than the
accumulator's is stale, and dropped. Taking waits for so many gradients, in the order in which
it was asked for; then the accumulator is empty, and its step is the next one.

What is accumulated is one `Sum`, and a change of it is one store, which Ctrl-C cannot cut in
two. What was given to which run is in it too, until the run has it: an interrupted `serve` is
finished by the next one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.errors import InvalidArgumentError
from berth.ops.shape import Dims, bracketed
from berth.run.host_calls import Pending


class Sum(NamedTuple):
    """What an accumulator has."""

    n: int = 0
    """Of how many gradients."""
    values: Any = None
    indices: Any = None
    """Of the rows, if it is a sum of rows."""
    counts: Any = None
    """How many gradients had each row."""
    given: tuple[TakeGradient, list[Any]] | None = None
    """What was taken last, and for which run, until it is there."""


class Accumulator:
    """Gradients of all of a variable."""

    def __init__(self, dims: Dims, reduction: str) -> None:
        self.dims = dims
        self.is_mean = reduction == "MEAN"
        self._step_and_sum = 0, Sum()
        self.lock = threading.Lock()
        self.takes: deque[TakeGradient] = deque()

    @property
    def step(self) -> int:
        """The step of which gradients are accumulated."""
        return self._step_and_sum[0]

    @property
    def n_accumulated(self) -> int:
        """How many gradients there are."""
        return self._step_and_sum[1].n

    # --- what is held -----------------------------------------------------------------------

    def check(self, gradient: Sequence[Any], total: Sum) -> None:
        """Refuse a gradient of another shape."""
        [array] = gradient
        expected = total.values.shape if total.n else None
        for dims in (self.dims, expected):
            if dims is not None and not _fits(array.shape, dims):
                found = bracketed(array.shape)
                raise _invalid(f"Shape mismatch: expected {bracketed(dims)}, got {found}")

    def add(self, total: Sum, gradient: Sequence[Any]) -> Sum:
        """Add a gradient."""
        [array] = gradient
        return Sum(total.n + 1, total.values + array if total.n else np.array(array))

    def reduced(self, total: Sum) -> list[Any]:
        """Return the mean or the sum."""
        if self.is_mean:
            return [np.asarray(total.values / total.values.dtype.type(total.n))]
        return [total.values]

    # --- from outside -----------------------------------------------------------------------

    def apply(self, local_step: int, gradient: Sequence[Any]) -> None:
        """Add a gradient, unless it is stale."""
        with self.lock:
            self.serve()
            step, total = self._step_and_sum
            if local_step < step:
                return
            self.check(gradient, total)
            self._step_and_sum = step, self.add(total, gradient)
            self.serve()

    def set_step(self, step: int) -> None:
        """Say which step it is; gradients of earlier ones are stale from now on."""
        with self.lock:
            self._step_and_sum = step, self._step_and_sum[1]

    def serve(self) -> None:
        """Give the first in line what it waits for, if that is there. The lock is held."""
        while True:
            step, total = self._step_and_sum
            if total.given is not None:
                first, result = total.given
                first.finish(result)
                if first in self.takes:
                    self.takes.remove(first)
                self._step_and_sum = step, Sum()
            elif self.takes and self.takes[0].is_over:
                self.takes.popleft()
            elif self.takes and total.n >= self.takes[0].n_required:
                given = self.takes[0], self.reduced(total)
                self._step_and_sum = step + 1, Sum(given=given)
            else:
                return

    def check_shared(self, attrs: Any) -> None:
        """Share with any operation of the same name, as TensorFlow does."""


class SparseAccumulator(Accumulator):
    """Gradients of some rows of a variable; the mean of a row is over those that have it."""

    def check(self, gradient: Sequence[Any], total: Sum) -> None:
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

    def add(self, total: Sum, gradient: Sequence[Any]) -> Sum:
        """Add rows: equal indices are summed, new ones go where they belong in the order."""
        indices, values, _ = gradient
        if not total.n:
            ones = np.ones(len(indices), np.int64)
            return Sum(1, np.array(values), np.array(indices), ones)
        of_mine, of_given = _merged(total.indices.tolist(), indices.tolist())
        size = len(of_mine)
        merged = np.zeros((size, *total.values.shape[1:]), total.values.dtype)
        counts, keys = np.zeros(size, np.int64), np.zeros(size, np.int64)
        parts = (
            (of_mine, total.indices, total.values, total.counts),
            (of_given, indices, values, 1),
        )
        for positions, part_keys, rows, n in parts:
            there = np.flatnonzero(np.array(positions, np.int64) >= 0)
            merged[there] += rows
            counts[there] += n
            keys[there] = part_keys
        return Sum(total.n + 1, merged, keys, counts)

    def reduced(self, total: Sum) -> list[Any]:
        """Return the indices, the rows, and the shape as far as it is known."""
        values = total.values
        if self.is_mean:
            counts = total.counts.astype(values.dtype)
            values = values / counts.reshape(-1, *[1] * (values.ndim - 1))
        dims = self.dims or (None, *values.shape[1:])
        shape = np.array([-1 if size is None else size for size in dims], np.int64)
        return [total.indices, values, shape]


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

    def serve(self) -> None:
        """Serve the accumulator."""
        with self._accumulator.lock:
            self._accumulator.serve()

    def cancel(self) -> None:
        """Leave the line."""
        self.ends.append("cancelled")
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
