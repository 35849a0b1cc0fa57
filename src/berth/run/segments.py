"""Runs whose shapes depend on values: in segments, each planned when its shapes are known.

A segment computes what the next one has to know: values that decide shapes, and everything
else that the blocked operations take. All of it comes back to the host, and is fed to the
next segment. What has run does not run again.

Plans are kept, by the shapes and values that they were made for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from berth.graph.operation import Operation
from berth.graph.tensor import Tensor
from berth.ops.convert import dtype_of, frozen
from berth.ops.evaluate import HostValue
from berth.plan.plan import Feed, Plan, Request
from berth.plan.specialize import Blocked, Knowledge, needed_ops
from berth.run.runner import Runner

MOST_PLANS = 64
Compile = Callable[[Request, Knowledge], tuple[Plan, Blocked]]


class SegmentedRunner:
    """A request that is planned while it runs."""

    def __init__(
        self, request: Request, compile_plan: Compile, make_runner: Callable[[Plan], Runner]
    ) -> None:
        self.request = request
        self._compile = compile_plan
        self._make_runner = make_runner
        self._plans: dict[Any, tuple[Plan, Blocked]] = {}
        self._runners: dict[Any, Runner] = {}

    def run(self, feeds: Sequence[Any], run_stage: Any = None) -> list[Any]:
        """Run the request once; return the fetched values."""
        progress = _Progress(self.request, feeds)
        while True:
            request, knowledge, key = progress.next_request()
            plan, blocked = self._planned(key, request, knowledge)
            if not blocked.ops:
                fed = progress.arrays(request)
                results = self._runner(key, plan).run(fed, run_stage)
                return progress.finish(request, results)
            part = progress.part(request, blocked)
            # The first segment of this key: its own plan cannot be blocked any more.
            part_key = (key, "part")
            plan, _ = self._planned(part_key, part, knowledge)
            results = self._runner(part_key, plan).run(progress.arrays(part), run_stage)
            progress.learn(request, part, blocked, results)

    def _planned(
        self, key: Any, request: Request, knowledge: Knowledge
    ) -> tuple[Plan, Blocked]:
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= MOST_PLANS:
                self.drop_idle()
                self._plans.clear()
                self._runners.clear()
            found = self._plans[key] = self._compile(request, knowledge)
        return found

    def _runner(self, key: Any, plan: Plan) -> Runner:
        runner = self._runners.get(key)
        if runner is None:
            runner = self._runners[key] = self._make_runner(plan)
        return runner

    def first_plan(self) -> Plan:
        """Return the plan of the first segment."""
        progress = _Progress(
            self.request, [np.broadcast_to(0, f.dims) for f in self.request.feeds]
        )
        request, knowledge, key = progress.next_request()
        _, blocked = self._planned(key, request, knowledge)
        return self._planned((key, "part"), progress.part(request, blocked), knowledge)[0]

    @property
    def n_running(self) -> int:
        """How many bindings are in use."""
        return sum(runner.n_running for runner in list(self._runners.values()))

    @property
    def n_idle(self) -> int:
        """How many bindings are kept for the next run."""
        return sum(runner.n_idle for runner in list(self._runners.values()))

    @property
    def last_used(self) -> float:
        """When a binding was last made."""
        return max((r.last_used for r in list(self._runners.values())), default=0.0)

    def drop_idle(self) -> None:
        """Give the memory back that no run is using."""
        for runner in list(self._runners.values()):
            runner.drop_idle()


class _Progress:
    """How far one run has come."""

    def __init__(self, request: Request, feeds: Sequence[Any]) -> None:
        self._request = request
        self._have = {f.tensor: array for f, array in zip(request.feeds, feeds, strict=True)}
        self._values: dict[Tensor, Any] = {}
        self._dims: dict[Tensor, Any] = {}
        self._done: frozenset[Operation] = frozenset()

    def next_request(self) -> tuple[Request, Knowledge, Any]:
        """Say what is left to do, and the key of its plan."""
        fetches = tuple(t for t in self._request.fetches if t not in self._have)
        targets = tuple(op for op in self._request.targets if op not in self._done)
        feeds = tuple(Feed(t, np.shape(array)) for t, array in self._have.items())
        request = Request(fetches, targets, feeds, self._request.is_traced)
        knowledge = Knowledge(self._values, self._dims, self._done)
        values = tuple((t, np.asarray(v).tobytes()) for t, v in self._values.items())
        key = (feeds, values, tuple(self._dims.items()))
        return request, knowledge, key

    def arrays(self, request: Request) -> list[Any]:
        """Return what a request of ours is to be fed."""
        return [self._have[feed.tensor] for feed in request.feeds]

    def part(self, request: Request, blocked: Blocked) -> Request:
        """Say what can be done now, for the sake of what is blocked."""
        waiting = set(blocked.ops)
        wanted = list(blocked.values) + [t for t in request.fetches if t.op not in waiting]
        targets = [op for op in request.targets if op not in waiting]
        for op in blocked.ops:
            targets += [c for c in op.control_inputs if c not in waiting]
            wanted += [t for t in op.inputs if t.op not in waiting]
        for op in needed_ops(request, self._done):
            if op.definition.is_source and op not in waiting:  # it will be met again
                targets += [c for c in op.control_inputs if c not in waiting]
        fetches = dict.fromkeys(
            t for t in wanted if t not in self._have and not t.op.definition.is_source
        )
        return Request(
            tuple(fetches),
            tuple(dict.fromkeys(t for t in targets if t not in self._done)),
            request.feeds,
            request.is_traced,
        )

    def learn(
        self, request: Request, part: Request, blocked: Blocked, results: Sequence[Any]
    ) -> None:
        """Take in what a part of the run has found out."""
        ran = needed_ops(part, self._done)
        self._have.update(zip(part.fetches, map(_as_array, results), strict=True))
        self._done |= {op for op in ran if not op.definition.is_source}
        for op in blocked.ops:
            hosts = [op.inputs[k] for k in op.definition.host_inputs]
            for tensor in hosts:
                if tensor in self._have:
                    # A copy: plans outlive what the caller may change.
                    self._values[tensor] = frozen(self._have[tensor])
            deciding = [op.inputs[k] for k in op.definition.shape_inputs]
            if deciding and all(tensor in self._have for tensor in deciding):
                self._infer(op)

    def _infer(self, op: Operation) -> None:
        inputs = [self._typed(tensor) for tensor in op.inputs]
        for tensor, (_, dims) in zip(
            op.outputs, op.definition.infer(inputs, op.attrs), strict=True
        ):
            self._dims[tensor] = dims

    def _typed(self, tensor: Tensor) -> Any:
        array = self._have.get(tensor)
        return tensor if array is None else HostValue(dtype_of(array), array.shape, array)

    def finish(self, request: Request, results: Sequence[Any]) -> list[Any]:
        """Return all that was asked for, in the order it was asked."""
        last = dict(zip(request.fetches, results, strict=True))
        return [last[t] if t in last else self._given(t) for t in self._request.fetches]

    def _given(self, tensor: Tensor) -> Any:
        array = self._have[tensor]
        return array[()] if array.ndim == 0 else np.array(array)


def _as_array(value: Any) -> np.ndarray[Any, Any]:
    """Return a fetched value as an array again; a text is no array of letters."""
    return np.array(value, object) if isinstance(value, bytes) else np.asarray(value)
