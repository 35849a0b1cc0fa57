"""The engine of a graph: its plans and runners, and the state that outlives a run."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from operator import methodcaller
from typing import Any

from berth.devices.device import Device
from berth.graph.func_graph import FuncGraph
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.lru import LRUCache
from berth.plan.compiler import PlacedOps, Site
from berth.plan.placement import Placement
from berth.plan.plan import Plan, Request
from berth.run.planner import Options, Planner, plan_request
from berth.run.resources import Resources, no_collection
from berth.run.runner import RequestRunner, Runner
from berth.run.segments import SegmentedRunner
from berth.run.state import SessionState
from berth.run.subgraphs import FunctionalOps, SubgraphState

MAX_PLANS = 64
MAX_RUNNERS = 16
"""How many requests keep memory for their next run."""


class Engine:
    """A graph on devices."""

    def __init__(
        self,
        graph: Graph,
        resources: Resources,
        options: Options,
        *,
        state: SessionState | None = None,
        outer: Engine | None = None,
    ) -> None:
        self.graph = graph
        self.state = state or SessionState(resources.devices)
        self._resources = resources
        self._options = options
        self._outer = outer
        """The engine of the graph that this one's, a subgraph, stands inside of."""
        site = Site(resources.devices, resources.pool.n_threads, resources.can_slice)
        self._planner = Planner(graph, site, options, self._pinned_outside())
        self._functional_ops = FunctionalOps(self)
        self._plans: LRUCache[Request, Plan] = LRUCache("plans", MAX_PLANS)
        self._runners: LRUCache[Request, RequestRunner] = LRUCache(
            "runners", MAX_RUNNERS, methodcaller("release")
        )
        self._lock = threading.RLock()
        self._is_closed = False

    @property
    def devices(self) -> Sequence[Device]:
        """The devices, as plans number them."""
        return self._resources.devices

    @property
    def placement(self) -> Placement | None:
        """The newest placement."""
        return self._planner.placement

    @property
    def is_placed(self) -> bool:
        """Whether nothing was added to the graph since it was placed."""
        return self._planner.is_placed

    def place(self, request: Request) -> Placement:
        """Place the graph, unless that was done, or what a request needs."""
        with self._lock:
            return self._planner.place(request)

    def runner(self, request: Request) -> RequestRunner:
        """Return what runs a request, planned on first use."""
        runner = self._runners.get(request)
        if runner is None or not self._planner.is_placed:
            with self._lock, no_collection():
                # A graph that grew is placed again, and may fail there; plans are kept.
                placed = self._planner.placed(request)
                runner = self._runners.get(request)
                if runner is None:
                    runner = self._new_runner(request, placed)
                    if self._is_closed:  # by another thread, since this run began
                        runner.release()
                    else:
                        self._runners[request] = runner
        return runner

    def _new_runner(self, request: Request, placed: PlacedOps) -> RequestRunner:
        plan = self._plans.get(request)
        if plan is None:
            plan, blocked = plan_request(request, placed)
            if blocked.ops:
                return SegmentedRunner(
                    request, placed, self.state, self._resources, self._functional_ops
                )
            self._plans[request] = plan
        return Runner(plan, self.state, self._resources)

    def run_part(
        self, request: Request, done: frozenset[Operation], feeds: Sequence[Any]
    ) -> list[Any]:
        """Run a part of a partial run, without what has run before."""
        with self._lock, no_collection():
            placed = self._planner.placed(request)
        runner = SegmentedRunner(
            request, placed, self.state, self._resources, self._functional_ops, done
        )
        try:
            return runner.run(feeds)
        finally:
            runner.release()

    def plan(self, request: Request) -> Plan:
        """Return the plan of a request; of its first part, if it is run in segments."""
        with self._lock:
            runner = self.runner(request)
            self._planner.place(request)  # `explain` says why operations are where they are
        if isinstance(runner, SegmentedRunner):
            return runner.first_plan()
        assert isinstance(runner, Runner)
        return runner.plan

    # --- subgraphs ------------------------------------------------------------------------

    def engine_of_subgraph(self, graph: FuncGraph) -> Engine:
        """Make what runs a subgraph: on the same devices, with the same variables."""
        return Engine(
            graph,
            self._resources,
            self._options._replace(place_pruned_graph=False),
            state=SubgraphState(graph, self.state, self.devices),
            outer=self,
        )

    def _pinned_outside(self) -> dict[Operation, Device]:
        """Return the devices of the variables that a subgraph takes from outside."""
        if self._outer is None:
            return {}
        assert isinstance(self.graph, FuncGraph)
        outside = self.graph.handles.items()
        return {op: self._outer.device_of_variable(handle) for op, handle in outside}

    def device_of_variable(self, handle: Any) -> Device:
        """Return the device of a variable of the program, or of the outermost graph."""
        if not isinstance(handle, SymbolicTensor):
            device: Device = handle.place
            return device
        if self._outer is not None:
            return self._outer.device_of_variable(handle)
        return self._planner.pinned[handle.op]

    # --- memory ---------------------------------------------------------------------------

    def drop_idle(self) -> None:
        """Free the memory that no run is using."""
        for runner in self._runners.values():
            runner.drop_idle()
        self._functional_ops.drop_idle()

    def close(self) -> None:
        """Free all memory, and end the threads; a subgraph's are those of its outer graph."""
        with self._lock:
            self._is_closed = True
            self._runners.clear()
            self._plans.clear()
            self._functional_ops.close()
            self.state.close()
            if self._outer is None:
                self._resources.close()
