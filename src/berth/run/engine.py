"""What runs a graph's requests on devices: placing, planning, and what outlives a run."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from berth.devices.device import Device
from berth.errors import OpError, OutOfMemoryError
from berth.graph.func_graph import FuncGraph
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.plan.compiler import NOTHING, Site, compile_plan
from berth.plan.placement import Placement
from berth.plan.placer import place
from berth.plan.plan import Plan, Request
from berth.plan.pruning import needed_ops
from berth.plan.specialize import Blocked, Knowledge
from berth.plan.walk import document_order
from berth.run.binding import Binding
from berth.run.executor import Executor
from berth.run.runner import Runner
from berth.run.segments import SegmentedRunner
from berth.run.stage import fail, failure
from berth.run.state import SessionState
from berth.run.subgraphs import FunctionalOps, SubgraphState
from berth.run.threads import Pool, n_cores

MAX_IDLE = 16
"""How many plans keep their memory for the next run."""


@contextmanager
def no_collection() -> Iterator[None]:
    """Hold the garbage collector off while many objects are made, and all of them kept."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Options(NamedTuple):
    """How a session places and runs."""

    soft_placement: bool = False
    place_pruned_graph: bool = False
    """Place what a run needs only, and not the whole graph."""
    n_threads: int = 0
    """Threads within a step; 0: as many as there are cores."""


class Engine:
    """A graph on devices."""

    def __init__(
        self,
        graph: Graph,
        devices: Sequence[Device],
        options: Options,
        reclaim: Callable[[], None],
        *,
        state: SessionState | None = None,
        pool: Pool | None = None,
        around: Engine | None = None,
    ) -> None:
        self.graph = graph
        self.devices = devices
        self.state = state or SessionState(devices)
        self.placement: Placement | None = None
        """The newest placement."""
        self._options = options
        self._reclaim = reclaim
        """Gives memory back that plans keep for their next run, here and in other sessions."""
        self._n_placed = 0
        self._around = around
        """The engine of the graph that this one's, a body, stands inside of."""
        self._pinned: dict[Operation, Device] = {}
        if around is None:
            self._executor = Executor()
            self._pool = pool or Pool(options.n_threads or n_cores())
        else:
            self._executor, self._pool = around._executor, around._pool
        self._calls = FunctionalOps(self._engine_of_body)
        self._owns_pool = pool is None
        self._runners: dict[Request, Runner | SegmentedRunner] = {}
        self._lock = threading.RLock()

    @property
    def is_placed(self) -> bool:
        """Whether nothing was added to the graph since it was placed."""
        return self._n_placed == len(self.graph.ops) or self._options.place_pruned_graph

    def runner(self, request: Request) -> Runner | SegmentedRunner:
        """Return what runs a request, planned on first use."""
        runner = self._runners.get(request)
        if runner is None or not self.is_placed:
            with self._lock, no_collection():
                # A graph that grew is placed anew, and may fail there; plans are kept.
                placement = self.place(request)
                runner = self._runners.get(request)
                if runner is None:
                    runner = self._make_runner(request, placement)
                    self._runners[request] = runner
        return runner

    def _make_runner(self, request: Request, placement: Placement) -> Runner | SegmentedRunner:
        site = self._site(placement)

        def compile_here(part: Request, knowledge: Knowledge) -> tuple[Plan, Blocked]:
            try:
                return compile_plan(part, site, knowledge)
            except OpError as error:
                raise failure(error, error.op) from None

        plan, blocked = compile_here(request, NOTHING)
        if blocked.ops:
            return SegmentedRunner(request, compile_here, self._runner_of, self._do_call)
        return self._runner_of(plan)

    def _runner_of(self, plan: Plan) -> Runner:
        self._make_room()
        return Runner(plan, lambda: self._bind(plan), self._executor, self._is_anything_running)

    def _is_anything_running(self) -> bool:
        if self._around is not None:
            return self._around._is_anything_running()
        return self.is_running

    @property
    def is_running(self) -> bool:
        """Whether a plan is being run, of the graph or of a body in it."""
        runners = list(self._runners.values())
        bodies = self._calls.engines
        return any(r.n_running > 0 for r in runners) or any(b.is_running for b in bodies)

    # --- calls ----------------------------------------------------------------------------

    def _do_call(
        self,
        op: Operation,
        inputs: Sequence[Any],
        wanted: frozenset[int],
        run_stage: Any,
        is_traced: bool,
    ) -> Sequence[Any]:
        try:
            perform = op.definition.perform
            if perform is not None:
                return perform(inputs, op.attrs)
            return self._calls.run(op, inputs, wanted, run_stage, is_traced)
        except Exception as error:
            fail(error, op)

    def _engine_of_body(self, graph: FuncGraph) -> Engine:
        """Make what runs a body: on the same devices, with the same variables."""
        engine = Engine(
            graph,
            self.devices,
            self._options._replace(place_pruned_graph=False),
            self._reclaim,
            state=SubgraphState(graph, self.state, self.devices),
            around=self,
        )
        for op, behind in graph.handles.items():
            engine._pinned[op] = self._device_of_variable(behind)
        return engine

    def _device_of_variable(self, behind: Any) -> Device:
        if not isinstance(behind, SymbolicTensor):
            device: Device = behind.place
            return device
        if self._around is not None:
            return self._around._device_of_variable(behind)
        return self._pinned[behind.op]

    # --- plans ----------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Before a new plan: of many old ones, let only the newest keep their memory."""
        idle = [runner for runner in list(self._runners.values()) if runner.n_idle]
        idle.sort(key=lambda runner: runner.last_used)
        for runner in idle[: len(idle) - MAX_IDLE + 1]:
            runner.drop_idle()

    def _bind(self, plan: Plan) -> Binding:
        try:
            with no_collection():
                return Binding(plan, self.devices, self.state, self._pool)
        except OutOfMemoryError:
            self._reclaim()
        return Binding(plan, self.devices, self.state, self._pool)

    def _site(self, placement: Placement) -> Site:
        is_here = all(device.hardware.backend.xp is np for device in self.devices)
        return Site(self.devices, placement, self._pool.n_threads, can_slice=is_here)

    def place(self, request: Request) -> Placement:
        """Place the graph, or what a request needs, unless that was done."""
        with self._lock:
            if self._options.place_pruned_graph:
                return self._place(needed_ops(request), request)
            n_ops = len(self.graph.ops)
            if self.placement is None or self._n_placed < n_ops:
                self._place(self.graph.ops[:n_ops], request)
                self._n_placed = n_ops
            assert self.placement is not None
            return self.placement

    def _place(self, ops: Sequence[Operation], request: Request) -> Placement:
        soft = self._options.soft_placement
        placement = None
        with suppress(OpError):
            placement = place(ops, self.devices, soft=soft, pinned=self._pinned)
        if placement is None:
            # Once more, to name the node that the documents would: the first on the way
            # from the fetches.
            first = [*(tensor.op for tensor in request.fetches), *request.targets]
            order = document_order([*first, *ops])
            placement = place(
                ops, self.devices, soft=soft, pinned=self._pinned, error_order=order
            )
        for op in ops:
            if op.definition.is_stateful:
                self._pinned[op] = placement.devices[op]
        self.placement = self.graph.placement = placement
        return placement

    def plan(self, request: Request) -> Plan:
        """Return the plan of a request; of its first part, if it is run in segments."""
        runner = self.runner(request)
        if isinstance(runner, SegmentedRunner):
            return runner.first_plan()
        return runner.plan

    def drop_idle(self) -> None:
        """Give the memory back that no run is using."""
        for runner in list(self._runners.values()):
            runner.drop_idle()
        self._calls.drop_idle()

    def close(self) -> None:
        """Give all memory back, and end the threads; those of a body are not its own."""
        with self._lock:
            self.drop_idle()
            self._runners.clear()
            self._calls.close()
            self.state.clear()
            if self._around is None:
                self._executor.close()
                if self._owns_pool:
                    self._pool.close()
