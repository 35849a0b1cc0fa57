"""Workspaces: the memory of a bound plan on one device, one allocation of its arena."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from berth.backends.base import Array
from berth.devices.device import Device
from berth.devices.out_of_memory import workspace_does_not_fit
from berth.memory.buffer import Buffer, Holder
from berth.plan.plan import Plan, Storage, Value


class Workspace(NamedTuple):
    """Memory, and the array of bytes over it."""

    buffer: Buffer
    array: Array


def take_workspace(
    plan: Plan, device: int, nbytes: int, devices: Sequence[Device]
) -> Workspace:
    """Take a plan's workspace on a device, or raise OutOfMemoryError."""
    target = devices[device]
    largest = _largest(plan, device)
    op = largest.tensor.op
    owner = Holder(f"workspace of {op.name}", op.type, op.where, is_workspace=True)
    buffer = target.try_allocate(nbytes, owner)
    if buffer is None:
        raise workspace_does_not_fit(
            target,
            Holder(op.name, op.type, op.where),
            largest.dims,
            largest.dtype.np_dtype,
            workspace_bytes=nbytes,
            elsewhere=devices,
        )
    return Workspace(buffer, target.view(buffer, (nbytes,), np.uint8))


def _largest(plan: Plan, device: int) -> Value:
    """Find the largest value in a device's workspace: the one to name if it is too large."""
    steps = (step for stage in plan.stages for step in stage.steps)
    made = [value for step in steps for value in (*step.outputs, *step.scratch)]
    moved = [copy.target for copy in plan.copies()]
    fed = [value for value in plan.feeds if value is not None]
    here = [
        value
        for value in (*made, *moved, *fed)
        if value.device == device and value.storage in (Storage.WORKSPACE, Storage.FEED)
    ]
    return max(here, key=lambda value: value.nbytes)
