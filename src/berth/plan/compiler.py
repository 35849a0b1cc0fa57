"""The planner: runs the passes of planning on a request and returns its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from berth.graph.operation import Operation
from berth.ops.opdef import Kernel
from berth.plan.fuse import fuse
from berth.plan.layout import lay_out
from berth.plan.partition import partition
from berth.plan.placement import Placement
from berth.plan.plan import Plan, Request
from berth.plan.specialize import NOTHING, Blocked, Knowledge, specialize


class Site:
    """What plans are made for: the devices of a session, and how they work."""

    __slots__ = ("can_slice", "devices", "n_threads", "placement")

    def __init__(
        self, devices: Sequence[Any], n_threads: int = 1, can_slice: bool = True
    ) -> None:
        self.devices = devices
        self.n_threads = n_threads
        self.can_slice = can_slice
        """Whether elementwise work is done by this computer's own cores, slice by slice."""
        self.placement: Placement | None = None
        """The newest placement of the graph, to explain plans by: they keep none."""


class PlacedOps(NamedTuple):
    """What the requests of one signature need, whatever the shapes of their feeds."""

    site: Site
    ops: Sequence[Operation]
    """In the order they were made."""
    devices: Mapping[Operation, int]
    """The device of each, by its position in the session."""
    kernels: Mapping[Operation, Kernel]
    """What runs each there."""
    on_host: frozenset[int]
    """The devices that are the host's."""


def place_ops(ops: Sequence[Operation], placement: Placement, site: Site) -> PlacedOps:
    """Look up the devices and kernels of operations."""
    devices = site.devices
    index = {device: number for number, device in enumerate(devices)}
    numbers = {op: index[placement.devices[op]] for op in ops}
    types = [device.device_type for device in devices]
    kernels = {}
    for op, number in numbers.items():
        kernel = op.definition.kernel(types[number], op.main_type)
        assert kernel is not None, f"{op.name} was placed where it has no kernel"
        kernels[op] = kernel
    on_host = frozenset(k for k, device in enumerate(devices) if device.is_host)
    return PlacedOps(site, ops, numbers, kernels, on_host)


def compile_plan(
    request: Request,
    ops: Sequence[Operation],
    placed: PlacedOps,
    knowledge: Knowledge = NOTHING,
) -> tuple[Plan, Blocked]:
    """Plan a request for the operations it needs; if some are blocked, it is not finished."""
    plan, blocked = specialize(request, ops, placed.devices, placed.on_host, knowledge)
    if blocked.ops:
        return plan, blocked
    site = plan.site = placed.site
    partition(plan, placed.devices, placed.kernels)
    if site.can_slice and not request.is_traced:
        fuse(plan)
    lay_out(plan, len(site.devices), site.n_threads)
    return plan, blocked
