"""Planning from beginning to end: a request in, a plan out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from berth.plan.fuse import fuse
from berth.plan.layout import lay_out
from berth.plan.partition import partition
from berth.plan.placement import Placement
from berth.plan.plan import Plan, Request
from berth.plan.pruning import needed_ops
from berth.plan.specialize import Blocked, Knowledge, specialize

NOTHING = Knowledge()


class Site(NamedTuple):
    """What a plan is made for: the devices of a session, and where it puts operations."""

    devices: Sequence[Any]
    placement: Placement
    n_threads: int = 1
    can_slice: bool = True
    """Whether elementwise work is done by this computer's own cores, slice by slice."""


def compile_plan(
    request: Request, site: Site, knowledge: Knowledge = NOTHING
) -> tuple[Plan, Blocked]:
    """Plan a request; if something is blocked, the plan is not finished."""
    ops = needed_ops(request, knowledge.done)
    placed = site.placement.devices
    plan, blocked = specialize(request, ops, lambda op: placed[op].is_host, knowledge)
    if blocked.ops:
        return plan, blocked
    types = [device.device_type for device in site.devices]
    index = {device: number for number, device in enumerate(site.devices)}
    plan.site = site
    partition(plan, lambda op: index[placed[op]], types)
    if site.can_slice and not request.is_traced:
        fuse(plan)
    lay_out(plan, len(types), site.n_threads)
    return plan, blocked
