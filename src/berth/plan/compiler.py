"""The planner: runs the passes of planning on a request and returns its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from berth.graph.operation import Operation
from berth.ops.opdef import Kernel
from berth.ops.widening import kernel_for
from berth.plan.fuse import fuse
from berth.plan.knowledge import NOT_BLOCKED, NOTHING, Blocked, Knowledge
from berth.plan.layout import lay_out
from berth.plan.liveness import find_lifetimes
from berth.plan.partition import guess_work, partition
from berth.plan.placement import Placement
from berth.plan.plan import Plan, Request
from berth.plan.resize import resized_types
from berth.plan.specialize import specialize
from berth.plan.structure import ArrayType, Structure


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


class PlacedOps:
    """What the requests of one signature need, whatever the shapes of their feeds."""

    __slots__ = ("devices", "kernels", "on_host", "ops", "site", "structure")

    def __init__(
        self,
        site: Site,
        ops: Sequence[Operation],
        devices: Mapping[Operation, int],
        kernels: Mapping[Operation, Kernel],
    ) -> None:
        self.site = site
        self.ops = ops
        """In the order they were made."""
        self.devices = devices
        """The device of each, by its position in the session."""
        self.kernels = kernels
        """What runs each there."""
        self.on_host = frozenset(k for k, each in enumerate(site.devices) if each.is_host)
        """The devices that are the host's."""
        self.structure: Structure | None = None
        """That of the newest plan; plans for other shapes share it, if it fits."""


def place_ops(ops: Sequence[Operation], placement: Placement, site: Site) -> PlacedOps:
    """Look up the devices and kernels of operations."""
    devices = site.devices
    index = {device: number for number, device in enumerate(devices)}
    numbers = {op: index[placement.devices[op]] for op in ops}
    types = [device.device_type for device in devices]
    kernels = {}
    for op, number in numbers.items():
        kernel = kernel_for(op.definition, types[number], op.main_type)
        assert kernel is not None, f"{op.name} was placed where it has no kernel"
        kernels[op] = kernel
    return PlacedOps(site, ops, numbers, kernels)


def make_plan(request: Request, placed: PlacedOps) -> tuple[Plan, Blocked]:
    """Plan a request: with the structure of plans for other shapes, if there are such."""
    structure = placed.structure
    types = None if structure is None else resized_types(structure, request)
    if structure is not None and types is not None:
        return _sized(request, placed.site, structure, types), NOT_BLOCKED
    plan, blocked = compile_plan(request, placed.ops, placed)
    if not blocked.ops:
        placed.structure = plan.structure
    return plan, blocked


def compile_plan(
    request: Request,
    ops: Sequence[Operation],
    placed: PlacedOps,
    knowledge: Knowledge = NOTHING,
) -> tuple[Plan, Blocked]:
    """Plan a request for the operations it needs; if some are blocked, it is not finished."""
    devices, site = placed.devices, placed.site
    structure, blocked = specialize(request, ops, devices, placed.on_host, knowledge)
    if blocked.ops:
        return Plan(request, site, structure, structure.types), blocked
    partition(structure, request, devices, placed.kernels)
    if site.can_slice and not request.is_traced:
        fuse(structure)
    find_lifetimes(structure, stays=request.stays)
    return _sized(request, site, structure, structure.types), blocked


def _sized(
    request: Request, site: Site, structure: Structure, types: Sequence[ArrayType]
) -> Plan:
    """Make the plan of a structure whose values have the given types."""
    plan = Plan(request, site, structure, types)
    plan.work_seconds = guess_work(plan)
    lay_out(plan, site.n_threads)
    return plan
