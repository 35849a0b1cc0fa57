"""Segmented runs: graphs with data-dependent shapes, planned segment by segment.

A segment computes what planning the next one requires: values that decide shapes, inputs of
functional ops, and all other inputs of the blocked operations. They are copied to the host.
Then the functional ops run (`subgraphs`) and host calls are made (`host_calls`), and their
outputs are fed to the next segment, with all that was computed before. No operation runs twice.

Plans are cached by the shapes and values that they were made for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.errors import InternalError
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.lru import LRUCache
from berth.ops.convert import dtype_of, frozen
from berth.ops.evaluate import HostValue
from berth.plan.compiler import PlacedOps
from berth.plan.infer import infer_types
from berth.plan.knowledge import Blocked, Knowledge
from berth.plan.plan import Feed, Plan, Request
from berth.plan.pruning import needed_ops, waits_of
from berth.run.host_calls import HostCalls
from berth.run.planner import plan_part
from berth.run.prepared import NotPreparable, Program
from berth.run.resources import Resources
from berth.run.runner import Runner
from berth.run.state import SessionState
from berth.run.subgraphs import FunctionalOps, as_array

MAX_SEGMENTS = 64


class _Segment(NamedTuple):
    """One segment of a run: what can be computed with the values known so far."""

    plan: Plan
    runner: Runner | None
    """What does it; None if there is nothing to compute."""
    request: Request
    blocked: Blocked
    """What has to wait. If nothing has to, this is the last segment."""
    done: frozenset[Operation]
    """What has run when it is over."""
    functional_ops: Sequence[tuple[Operation, frozenset[int]]]
    """The functional ops that are run then, and which of their outputs are wanted."""

    def release(self) -> None:
        """Keep no memory for the next run."""
        if self.runner is not None:
            self.runner.release()


class SegmentedRunner:
    """A request that is planned while it runs."""

    def __init__(
        self,
        request: Request,
        placed: PlacedOps,
        state: SessionState,
        resources: Resources,
        functional_ops: FunctionalOps,
        done: frozenset[Operation] = frozenset(),
    ) -> None:
        self.request = request
        self._done = done
        """What ran before the request, and must not run again."""
        self.is_released = False
        self._placed = placed
        self._state = state
        self._resources = resources
        self._functional_ops = functional_ops
        self._segments: LRUCache[Any, _Segment] = LRUCache(
            "segments", MAX_SEGMENTS, _Segment.release
        )

    def run(self, feeds: Sequence[Any], run_stage: Any = None) -> list[Any]:
        """Run the request once; return the fetched values."""
        end = math.inf if run_stage is None else run_stage.end
        with HostCalls(self._state.objects, end) as calls:
            return self._run(feeds, run_stage, calls)

    def _run(self, feeds: Sequence[Any], run_stage: Any, calls: HostCalls) -> list[Any]:
        progress = _Progress(self.request, feeds, self._done)
        while True:
            segment = self._segment(progress)
            results: Sequence[Any] = ()
            if segment.runner is not None:
                results = segment.runner.run(progress.arrays(segment.request), run_stage)
            progress.take(segment, results)
            if not segment.blocked.ops:
                return progress.finish(segment)
            self._run_apart(segment, progress, calls, run_stage)
            progress.learn(segment.blocked)

    def prepare(self, program: Program, feeds: Sequence[Any]) -> list[Any]:
        """Add all segments to a program, if no value decides how they are planned."""
        progress = _Progress(self.request, feeds, self._done)
        while True:
            segment = self._segment(progress)
            results: Sequence[Any] = ()
            if segment.runner is not None:
                results = segment.runner.prepare(program, progress.arrays(segment.request))
            progress.take(segment, results)
            if not segment.blocked.ops:
                return [progress.value_of(tensor) for tensor in self.request.fetches]
            if not segment.functional_ops or progress.can_learn(segment.blocked):
                raise NotPreparable
            for op, wanted in segment.functional_ops:
                given = [progress.value_of(tensor) for tensor in op.inputs]
                outputs = self._functional_ops.prepare(program, op, given, wanted)
                progress.take_outputs(op, outputs, wanted)

    def _run_apart(
        self, segment: _Segment, progress: _Progress, calls: HostCalls, run_stage: Any
    ) -> None:
        """Run functional ops and make host calls; wait if that is all that is left to do."""
        has_progress = False
        for op, wanted in segment.functional_ops:
            given = [progress.value_of(tensor) for tensor in op.inputs]
            if op.definition.host_call is None:
                outputs: Any = self._functional_ops.run(
                    op, given, wanted, run_stage, self.request.is_traced
                )
            else:
                outputs = calls.begin(op, given)
            if outputs is not None:
                has_progress = True
                progress.take_outputs(op, outputs, wanted)
        if has_progress or segment.blocked.values:
            return
        wanted_of = dict(segment.functional_ops)
        for op, outputs in calls.wait():
            progress.take_outputs(op, outputs, wanted_of[op])

    def _segment(self, progress: _Progress) -> _Segment:
        key = progress.key()
        found = self._segments.get(key)
        if found is None:
            found = self._segments[key] = self._plan(progress)
            if self.is_released:  # while it was running
                found.release()
        return found

    def _plan(self, progress: _Progress) -> _Segment:
        rest, knowledge = progress.rest(), progress.knowledge()
        plan, blocked = plan_part(rest, self._placed, knowledge)
        part = rest
        if blocked.ops:
            part = _part(rest, blocked, knowledge.done)
            plan, still_blocked = plan_part(part, self._placed, knowledge)
            # Or operations that did not run would count as done, and their writes be lost.
            if still_blocked.ops:
                names = ", ".join(op.name for op in still_blocked.ops)
                raise InternalError(None, None, f"A part of a run waits for itself: {names}")
            plan.then = blocked.functional_ops
        ran = {op for op in needed_ops(part, knowledge.done) if not op.definition.is_source}
        done = knowledge.done | ran
        then = [(op, _wanted_of(op, rest, blocked)) for op in blocked.functional_ops]
        has_work = bool(part.fetches or part.targets)
        runner = Runner(plan, self._state, self._resources) if has_work else None
        return _Segment(plan, runner, part, blocked, done, then)

    def first_plan(self) -> Plan:
        """Return the plan of the first segment."""
        zeros = [np.broadcast_to(0, feed.dims) for feed in self.request.feeds]
        return self._segment(_Progress(self.request, zeros, self._done)).plan

    def drop_idle(self) -> None:
        """Free the memory that no run is using."""
        for segment in self._segments.values():
            if segment.runner is not None:
                segment.runner.drop_idle()

    def release(self) -> None:
        """Keep no memory for the next run."""
        self.is_released = True
        self._segments.clear()


def _part(request: Request, blocked: Blocked, done: frozenset[Operation]) -> Request:
    """Return the request of the next segment: what blocked operations require."""
    waiting = set(blocked.ops)
    have = {feed.tensor for feed in request.feeds}
    wanted = list(blocked.values) + [t for t in request.fetches if t.op not in waiting]
    targets = [op for op in request.targets if op not in waiting]
    for op in blocked.ops:
        targets += [c for c in op.control_inputs if c not in waiting]
        wanted += [t for t in op.inputs if t.op not in waiting]
    for op in needed_ops(request, done):
        if op.definition.is_source and op not in waiting:  # it will be met again
            targets += [c for c in waits_of(op) if c not in waiting]
    fetches = dict.fromkeys(
        t for t in wanted if t not in have and not t.op.definition.is_source
    )
    return Request(
        tuple(fetches),
        tuple(dict.fromkeys(t for t in targets if t not in done)),
        request.feeds,
        request.is_traced,
    )


def _wanted_of(op: Operation, request: Request, blocked: Blocked) -> frozenset[int]:
    """Return which outputs of a functional op are read; all, if an operation waits for it."""
    taken = {tensor for waiting in blocked.ops for tensor in waiting.inputs} | set(
        request.fetches
    )
    wanted = {k for k, tensor in enumerate(op.outputs) if tensor in taken}
    awaited = {control for waiting in blocked.ops for control in waiting.control_inputs}
    if op.definition.host_call is not None:
        wanted = set(range(len(op.outputs)))
    elif op in awaited or op in request.targets:
        wanted |= set(range(op.attrs.get("n_outputs", 0)))
    return frozenset(wanted)


class _Progress:
    """How far one run has come."""

    def __init__(
        self, request: Request, feeds: Sequence[Any], done: frozenset[Operation]
    ) -> None:
        self._request = request
        self._have = {f.tensor: array for f, array in zip(request.feeds, feeds, strict=True)}
        self._fed = frozenset(self._have)
        self._values: dict[SymbolicTensor, Any] = {}
        self._dims: dict[SymbolicTensor, Any] = {}
        self._done = done
        self._apart: frozenset[Operation] = frozenset()
        """The functional ops and host calls that are done."""
        self._n_segments = 0

    def key(self) -> Any:
        """Return all that decides how the rest is planned."""
        have = tuple([(t, np.shape(array)) for t, array in self._have.items()])
        values = tuple((t, np.asarray(v).tobytes()) for t, v in self._values.items())
        return self._n_segments, self._apart, have, values, tuple(self._dims.items())

    def rest(self) -> Request:
        """Say what is left to do."""
        fetches = tuple(t for t in self._request.fetches if t not in self._have)
        targets = tuple(op for op in self._request.targets if op not in self._done)
        feeds = tuple(
            Feed(t, np.shape(array), is_computed=t not in self._fed)
            for t, array in self._have.items()
        )
        return Request(fetches, targets, feeds, self._request.is_traced)

    def knowledge(self) -> Knowledge:
        """Say what was found out."""
        return Knowledge(dict(self._values), dict(self._dims), self._done)

    def arrays(self, request: Request) -> list[Any]:
        """Return what a request of ours is to be fed."""
        return [self._have[feed.tensor] for feed in request.feeds]

    def value_of(self, tensor: SymbolicTensor) -> Any:
        """Return the value of an input of a functional op; None for a variable."""
        array = self._have.get(tensor)
        return tensor.value if array is None else array

    def take(self, segment: _Segment, results: Sequence[Any]) -> None:
        """Take in what a segment has computed."""
        self._have.update(zip(segment.request.fetches, map(as_array, results), strict=False))
        self._done = segment.done
        self._n_segments += 1

    def take_outputs(
        self, op: Operation, outputs: Sequence[Any], wanted: frozenset[int]
    ) -> None:
        """Take in the outputs of a functional op or host call."""
        self._done |= {op}
        self._apart |= {op}
        for number in sorted(wanted):
            tensor, value = op.outputs[number], outputs[number]
            array = _unused_value(tensor) if value is None else as_array(value)
            self._have.setdefault(tensor, array)  # unless it is fed

    def learn(self, blocked: Blocked) -> None:
        """Work out what the blocked operations were waiting for."""
        for op in blocked.ops:
            hosts = [op.inputs[k] for k in op.definition.host_inputs]
            for tensor in hosts:
                if tensor in self._have:
                    # A copy: plans outlive what the caller may change.
                    self._values[tensor] = frozen(self._have[tensor])
            deciding = [op.inputs[k] for k in op.definition.shape_inputs]
            if deciding and all(t in self._have or t.value is not None for t in deciding):
                self._infer(op)

    def can_learn(self, blocked: Blocked) -> bool:
        """Tell whether values that were computed decide how the rest is planned."""
        deciding = [
            op.inputs[k]
            for op in blocked.ops
            for k in (*op.definition.host_inputs, *op.definition.shape_inputs)
        ]
        return bool(blocked.values) or any(tensor in self._have for tensor in deciding)

    def _infer(self, op: Operation) -> None:
        inputs = [self._typed(tensor) for tensor in op.inputs]
        for tensor, (_, dims) in zip(op.outputs, infer_types(op, inputs), strict=True):
            self._dims[tensor] = dims

    def _typed(self, tensor: SymbolicTensor) -> Any:
        array = self._have.get(tensor)
        return tensor if array is None else HostValue(dtype_of(array), array.shape, array)

    def finish(self, last: _Segment) -> list[Any]:
        """Return all that was asked for, in the order it was asked."""
        new = set(last.request.fetches)
        return [self._given(tensor, tensor in new) for tensor in self._request.fetches]

    def _given(self, tensor: SymbolicTensor, is_new: bool) -> Any:
        array = self._have[tensor]
        if array.ndim == 0:
            return array[()]
        return array if is_new else np.array(array)  # it may be the caller's own


def _unused_value(tensor: SymbolicTensor) -> np.ndarray[Any, Any]:
    """Make a value for an output that is not computed in this run, and not read."""
    return np.zeros([size or 0 for size in tensor.dims or ()], tensor.dtype.np_dtype)
