"""The planner of a graph: its placement, and the plans of its requests.

What does not depend on the shapes of feeds is worked out once for a request's *signature*: the
operations that it needs, their devices and kernels (`PlacedOps`), and the structure of its
plans. A new shape of a feed plans only what depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from berth.devices.device import Device
from berth.errors import OpError
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.lru import LRUCache
from berth.plan.compiler import PlacedOps, Site, compile_plan, make_plan, place_ops
from berth.plan.knowledge import Blocked, Knowledge
from berth.plan.placement import Placement
from berth.plan.placer import place
from berth.plan.plan import Plan, Request
from berth.plan.pruning import needed_ops
from berth.plan.walk import document_order
from berth.run.stage import failure

MAX_SIGNATURES = 64


class Options(NamedTuple):
    """How a session places operations."""

    soft_placement: bool = False
    place_pruned_graph: bool = False
    """Place what a run needs only, and not the whole graph."""


def plan_request(request: Request, placed: PlacedOps) -> tuple[Plan, Blocked]:
    """Plan a request; if something is blocked, the plan is not finished."""
    try:
        return make_plan(request, placed)
    except OpError as error:
        raise failure(error, error.op) from None


def plan_part(part: Request, placed: PlacedOps, knowledge: Knowledge) -> tuple[Plan, Blocked]:
    """Plan a part of a request, with what earlier parts of a run found out."""
    try:
        return compile_plan(part, needed_ops(part, knowledge.done), placed, knowledge)
    except OpError as error:
        raise failure(error, error.op) from None


class Planner:
    """Places a graph on devices. Used by one thread at a time."""

    def __init__(
        self,
        graph: Graph,
        site: Site,
        options: Options,
        pinned: Mapping[Operation, Device] | None = None,
    ) -> None:
        self._graph = graph
        self._site = site
        self._options = options
        self.pinned: dict[Operation, Device] = dict(pinned or {})
        """The operations with a state, which keep their devices."""
        self._n_placed = 0
        self._placed: LRUCache[Request, PlacedOps] = LRUCache("placed ops", MAX_SIGNATURES)

    @property
    def placement(self) -> Placement | None:
        """The newest placement."""
        return self._site.placement

    @property
    def is_placed(self) -> bool:
        """Whether nothing was added to the graph since it was placed."""
        return self._n_placed == len(self._graph.ops) or self._options.place_pruned_graph

    def placed(self, request: Request) -> PlacedOps:
        """Return what a request needs, on its devices; placed on first use."""
        if not self.is_placed:
            self.place(request)
        signature = request.signature
        placed = self._placed.get(signature)
        if placed is None:
            placement = self.place(request)
            ops = needed_ops(request)
            placed = self._placed[signature] = place_ops(ops, placement, self._site)
        return placed

    def place(self, request: Request) -> Placement:
        """Place the graph, unless that was done, or what a request needs."""
        if self._options.place_pruned_graph:
            return self._place(needed_ops(request), request)
        n_ops = len(self._graph.ops)
        if self._site.placement is None or self._n_placed < n_ops:
            self._place(self._graph.ops[:n_ops], request)
            self._n_placed = n_ops
            self._placed.clear()
        assert self._site.placement is not None
        return self._site.placement

    def _place(self, ops: Sequence[Operation], request: Request) -> Placement:
        soft, devices = self._options.soft_placement, self._site.devices
        placement = None
        with suppress(OpError):
            placement = place(ops, devices, soft=soft, pinned=self.pinned)
        if placement is None:
            # Once more, to name the node that TensorFlow names: the first on the way
            # from the fetches.
            first = [*(tensor.op for tensor in request.fetches), *request.targets]
            order = document_order([*first, *ops])
            placement = place(ops, devices, soft=soft, pinned=self.pinned, error_order=order)
        for op in ops:
            if op.definition.is_stateful:
                self.pinned[op] = placement.devices[op]
        self._site.placement = self._graph.placement = placement
        return placement
