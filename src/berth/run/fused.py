"""Fused steps, bound: rows of calls, one row for each member, one call for each slice.

Arrays that change from run to run (large feeds and fetches) only need their own rows bound
again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import length_hint
from typing import Any

from berth.backends.base import Array
from berth.ops.opdef import Call
from berth.plan.fuse import slice_length, slice_scratch_bytes, slot_bytes
from berth.plan.structure import Step, Storage, Value
from berth.run.stage import fail
from berth.run.threads import Pool, my_threads


class FusedCall:
    """Runs the members of a fused step, slice by slice, on several threads."""

    def __init__(
        self, step: Step, n_elements: int, xp: Any, scratch: Array, pool: Pool
    ) -> None:
        self._step = step
        self._pool = pool
        self._scratch = scratch
        self._n_threads = pool.n_threads
        self._length = length = slice_length(n_elements, pool.n_threads)
        self._bounds = [
            (start, min(start + length, n_elements)) for start in range(0, n_elements, length)
        ]
        self._functions = [
            member.op.definition.elementwise(xp, member.op.attrs)  # type: ignore[misc]
            for member in step.members
        ]
        self._rows: list[list[Call]] = [[] for _ in step.members]
        self._late_rows: set[int] = set()
        self._slices: list[tuple[Call, ...]] = []
        self._scratch_of: dict[tuple[int, Any], list[Array]] = {}

    def bind(self, array_of: Callable[[Value], Array], late: frozenset[Value]) -> None:
        """Make the calls that there are not: all at first, later those of late values."""
        for row, member in enumerate(self._step.members):
            operands = (*member.inputs, *member.outputs)
            if not self._rows[row]:
                self._rows[row] = self._row(row, operands, array_of)
                if any(value.root in late for value in operands):
                    self._late_rows.add(row)
        self._slices = list(zip(*self._rows, strict=True))

    def release(self) -> None:
        """Drop the calls that hold arrays of this run."""
        if self._late_rows:
            self._slices = []
        for row in self._late_rows:
            self._rows[row] = []

    def _row(
        self, row: int, operands: Sequence[Value], array_of: Callable[[Value], Array]
    ) -> list[Call]:
        function = self._functions[row]
        columns = [self._sliced(value, array_of) for value in operands]
        return [(function, arguments) for arguments in zip(*columns, strict=True)]

    def _sliced(self, value: Value, array_of: Callable[[Value], Array]) -> list[Array]:
        if value.storage is Storage.SCRATCH:
            key = (value.slot, value.dtype)
            if key not in self._scratch_of:
                self._scratch_of[key] = self._scratch_slices(value)
            return self._scratch_of[key]
        array = array_of(value).reshape(-1)
        if array.size == 1:
            return [array] * len(self._bounds)
        return [array[start:end] for start, end in self._bounds]

    def _scratch_slices(self, value: Value) -> list[Array]:
        """Give each slice the slot of the thread that will do it."""
        size = slot_bytes(self._step, self._length)
        per_thread = slice_scratch_bytes(self._step, self._length)
        item = value.dtype.itemsize
        arrays = []
        for number, (start, end) in enumerate(self._bounds):
            thread = self._thread_of(number)
            first = thread * per_thread + value.slot * size
            raw = self._scratch[first : first + (end - start) * item]
            arrays.append(raw.view(value.dtype.np_dtype))
        return arrays

    def _thread_of(self, number: int) -> int:
        return number * self._n_threads // len(self._bounds)

    def __call__(self) -> None:
        try:
            self._run()
        except _Failed as failed:
            fail(failed.error, self._step.members[failed.row].op)

    def _run(self) -> None:
        if self._n_threads == 1 or my_threads(self._n_threads) == 1:
            _run(self._slices)
            return
        parts: list[list[tuple[Call, ...]]] = [[] for _ in range(self._n_threads)]
        for number, calls in enumerate(self._slices):
            parts[self._thread_of(number)].append(calls)
        self._pool.run([partial(_run, part) for part in parts if part])


class _Failed(Exception):
    """A call of some row failed."""

    def __init__(self, row: int, error: Exception) -> None:
        super().__init__(row)
        self.row, self.error = row, error


def _run(slices: Sequence[Sequence[Call]]) -> None:
    for row in slices:
        calls = iter(row)
        try:
            for function, arguments in calls:
                function(*arguments)
        except Exception as error:
            raise _Failed(len(row) - length_hint(calls) - 1, error) from error
