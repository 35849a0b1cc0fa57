"""Prepared loops: all that a loop repeats, bound once, as calls on arrays that stay.

A loop over small arrays would spend its time on setting up runs. So where shapes stay the same
from iteration to iteration and the host does the work, condition, body and branches become
*programs*: lists of prepared calls. What one part computes is the next one's feed, where it
is; only the loop variables are copied, at the end of an iteration.

What cannot be prepared (`NotPreparable`: strings, large arrays, other devices, variables,
shapes that follow from values, host calls) is run subgraph by subgraph (`subgraphs`).

Invariants:
  1. Preparing computes nothing and has no effects, so a loop that turns out not to be
     preparable can be run the other way.
  2. A plan never writes to its feeds, and arrays outside of programs are never written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from operator import length_hint
from typing import Any, Protocol

import numpy as np

from berth.errors import OpError, OutOfMemoryError
from berth.fp_errors import ignore_fp_errors
from berth.graph.operation import Operation
from berth.ops.iteration import elements_of
from berth.ops.opdef import Attrs, Call
from berth.plan.plan import Plan
from berth.plan.structure import Storage
from berth.run.binding import Binding
from berth.run.binding_pool import BindingPool
from berth.run.resources import Resources
from berth.run.stage import fail
from berth.run.state import SessionState

Array = np.ndarray[Any, Any]
MAX_BYTES = 2**20
"""Where a plan needs more memory than this, setting up its runs does not count."""


class NotPreparable(Exception):
    """A loop has to be run subgraph by subgraph."""


class Preparable(Protocol):
    """A subgraph that can be added to a program."""

    def prepare(self, program: Program, current: Sequence[Any]) -> list[Any]:
        """Add the calls of the subgraph; return the arrays of its outputs."""
        ...


class Program:
    """Calls that are made one after the other, each for an operation."""

    def __init__(self, bindings: list[Binding]) -> None:
        self._calls: list[Call] = []
        self._owners: list[Operation] = []
        self._bindings = bindings
        """Whose memory the calls use: of all programs of a loop."""

    def __call__(self) -> None:
        calls = iter(self._calls)
        try:
            for function, arguments in calls:
                function(*arguments)
        except Exception as error:
            fail(error, self._owners[len(self._calls) - length_hint(calls) - 1])

    def part(self) -> Program:
        """Make a program for a part that is not always run, or again and again."""
        return Program(self._bindings)

    def add(self, call: Call, owner: Operation) -> None:
        """Add a call."""
        self._calls.append(call)
        self._owners.append(owner)

    def add_copy(self, target: Array, source: Any, owner: Operation) -> None:
        """Add a copy from an array to another of the same type, unless they are one."""
        if target.shape != source.shape or target.dtype != source.dtype:
            raise NotPreparable
        if target is not source:
            self.add((target.__setitem__, (..., source)), owner)

    def add_plan(
        self, plan: Plan, state: SessionState, resources: Resources, feeds: Sequence[Any]
    ) -> list[Any]:
        """Add the calls of a plan; return the arrays of its fetches."""
        _check_plan(plan, resources)
        _check_feeds(plan, feeds)
        binding = resources.bind(plan, state, feeds)
        self._bindings.append(binding)
        for stage in binding.stages:
            for call, step in zip(stage.calls, stage.owners, strict=True):
                self.add(call, step.op)
        return [binding.array_of(value) for value in plan.fetches]

    def add_choice(
        self,
        op: Operation,
        attrs: Attrs,
        subgraphs: Sequence[Preparable],
        inputs: Sequence[Any],
    ) -> list[Any]:
        """Add a conditional; return the arrays of its outputs."""
        branches = [self.part() for _ in subgraphs]
        pairs = zip(branches, subgraphs, strict=True)
        given = [subgraph.prepare(branch, inputs) for branch, subgraph in pairs]
        results: list[Any] = []
        for column in zip(*given, strict=True):
            first = next((array for array in column if array is not None), None)
            # Zeros, and not anything: a branch may leave alone what only another gives.
            results.append(None if first is None else np.zeros(first.shape, first.dtype))
            for branch, array in zip(branches, column, strict=True):
                if array is not None:
                    branch.add_copy(results[-1], array, op)

        def run_branch(position: int, _: Sequence[Any]) -> Sequence[Any]:
            branches[position]()
            return ()

        follow = op.definition.follow
        assert follow is not None, f"{op.name} has no subgraphs"
        self.add((follow, (attrs, inputs, run_branch, None)), op)
        return results

    def add_loop(
        self,
        op: Operation,
        attrs: Attrs,
        subgraphs: Sequence[Preparable],
        inputs: Sequence[Any],
    ) -> list[Any]:
        """Add a loop inside of another; return the arrays of its outputs."""
        loop = _Loop(self._bindings, op, attrs, subgraphs, inputs)
        if any(row is not None for row in loop.rows):
            raise NotPreparable  # how many there are follows from values
        for variable, start in zip(loop.variables, inputs[loop.first :], strict=False):
            self.add_copy(variable, start, op)
        self.add((loop.run, (inputs,)), op)
        return [*loop.variables, loop.count, *loop.rows]


def _check_plan(plan: Plan, resources: Resources) -> None:
    """Refuse what is more than calls of the host on arrays that stay."""
    structure = plan.structure
    is_plain = (
        len(plan.stages) <= 1
        and not plan.large
        and sum(plan.workspace_bytes.values()) <= MAX_BYTES
        and all(resources.devices[stage.device].is_host for stage in plan.stages)
        and all(resources.devices[value.device].is_host for value in plan.fetches)
        and not any(value.storage is Storage.VARIABLE for value in structure.sources)
        and not any(step.op.definition.access for step in plan.steps)
    )
    if not is_plain:
        raise NotPreparable


def _check_feeds(plan: Plan, feeds: Sequence[Any]) -> None:
    for value, array in zip(plan.feeds, feeds, strict=True):
        if value is None:
            continue
        given = plan.type_of(value)
        is_plain = not value.dtype.is_object and array.flags.c_contiguous
        is_same = array.shape == given.dims and array.dtype == given.dtype.np_dtype
        if not (is_plain and is_same):
            raise NotPreparable


class _Loop:
    """The programs of a loop, and the arrays of its variables."""

    def __init__(
        self,
        bindings: list[Binding],
        op: Operation,
        attrs: Attrs,
        subgraphs: Sequence[Preparable],
        inputs: Sequence[Any],
    ) -> None:
        *conditions, body = subgraphs
        n_variables = attrs["n_variables"]
        self.first = 0 if conditions else 1  # the number of iterations comes before them
        end = self.first + n_variables
        self._sequences = slice(end, end + attrs["n_sequences"])
        self._is_reversed = attrs["reverse"]
        self.variables = [np.empty(v.shape, v.dtype) for v in inputs[self.first : end]]
        self._elements = [np.empty(s.shape[1:], s.dtype) for s in inputs[self._sequences]]
        self.count: Array = np.zeros((), np.int32)
        current = list(inputs)
        current[self.first : end] = self.variables
        current[self._sequences] = self._elements
        self._test, self._body = Program(bindings), Program(bindings)
        self._holds: Any = None
        for condition in conditions:
            [self._holds] = condition.prepare(self._test, current)
            if self._holds.shape:
                raise NotPreparable
        outputs = body.prepare(self._body, current)
        self.rows: list[Any] = [None if row is None else [] for row in outputs[n_variables:]]
        """What the body gives beside the variables, of all iterations; None if unwanted."""
        for column, row in zip(self.rows, outputs[n_variables:], strict=True):
            if column is not None:
                self._body.add((_append_copy, (column, row)), op)
        self._add_copies(op, outputs[:n_variables])

    def _add_copies(self, op: Operation, following: Sequence[Any]) -> None:
        """Copy what the body gives to the variables; first away what is another's value."""
        sources = list(following)
        for k, source in enumerate(following):
            others = self.variables[:k] + self.variables[k + 1 :]
            if any(np.may_share_memory(source, variable) for variable in others):
                sources[k] = np.empty(source.shape, source.dtype)
                self._body.add_copy(sources[k], source, op)
        for target, source in zip(self.variables, sources, strict=True):
            self._body.add_copy(target, source, op)

    def run(self, inputs: Sequence[Any]) -> None:
        """Run the loop; its variables have their first values."""
        count, body = 0, self._body
        for _ in self._iterations(inputs):
            body()
            count += 1
        self.count[...] = count

    def _iterations(self, inputs: Sequence[Any]) -> Iterator[None]:
        test, holds = self._test, self._holds
        if holds is not None:
            while True:
                test()
                if not holds:
                    return
                yield
        sequences = inputs[self._sequences]
        for values in elements_of(int(inputs[0]), sequences, is_reversed=self._is_reversed):
            for target, value in zip(self._elements, values, strict=True):
                target[...] = value
            yield


def _append_copy(column: list[Any], row: Array) -> None:
    column.append(row.copy())


class PreparedLoop:
    """One loop with one set of memory, for one run at a time."""

    is_current = True

    def __init__(
        self,
        op: Operation,
        attrs: Attrs,
        subgraphs: Sequence[Preparable],
        inputs: Sequence[Any],
    ) -> None:
        self._bindings: list[Binding] = []
        own = [None if v is None else np.empty(v.shape, v.dtype) for v in inputs]
        try:
            self._loop = _Loop(self._bindings, op, attrs, subgraphs, own)
        except BaseException as error:
            self.free()
            is_memory = isinstance(error, OutOfMemoryError)
            if isinstance(error, OpError | ValueError) and not is_memory:
                raise NotPreparable from error  # a run will raise it, if it comes so far
            raise
        n_before = self._loop.first + attrs["n_variables"] + attrs["n_sequences"]
        captured = [(k, array) for k, array in enumerate(own[n_before:], n_before)]
        variables = enumerate(self._loop.variables, self._loop.first)
        self._targets = [(k, a) for k, a in (*variables, *captured) if a is not None]
        """The arrays that inputs are copied to: all but sequences, read where they are."""

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Run the loop; return the variables at the end, the count, and a list of each row."""
        loop = self._loop
        try:
            for position, target in self._targets:
                target[...] = inputs[position]
            loop.run(inputs)
            columns = [None if row is None else row.copy() for row in loop.rows]
            return [*[v.copy() for v in loop.variables], int(loop.count), *columns]
        finally:
            for row in loop.rows:
                if row is not None:
                    row.clear()

    def free(self) -> None:
        """Free the memory. No run may be using it, and none may follow."""
        bindings, self._bindings = self._bindings, []
        for binding in bindings:
            binding.free()


class LoopRunner(BindingPool[PreparedLoop]):
    """A loop with inputs of certain types, which is prepared once for each thread."""

    def __init__(
        self,
        op: Operation,
        attrs: Attrs,
        subgraphs: Sequence[Preparable],
        inputs: Sequence[Any],
    ) -> None:
        # Arrays of the same types without memory: those of the caller are not kept.
        types = [
            None if v is None else np.broadcast_to(np.zeros((), v.dtype), v.shape)
            for v in inputs
        ]
        super().__init__(partial(PreparedLoop, op, attrs, subgraphs, types), _run_loop)
        self._is_preparable = True

    def try_run(self, inputs: Sequence[Any]) -> list[Any] | None:
        """Run the loop, as `PreparedLoop.run` does; None if it cannot be prepared."""
        if self._is_preparable:
            try:
                return self.run(inputs)
            except NotPreparable:
                self._is_preparable = False
        return None


def _run_loop(loop: PreparedLoop, inputs: Sequence[Any], _: Any) -> list[Any]:
    return ignore_fp_errors(loop.run, (inputs,))
