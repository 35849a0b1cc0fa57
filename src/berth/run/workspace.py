"""Workspaces: the memory of a bound plan on one device, one allocation of its arena."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.backends.base import Array
from berth.devices.device import Device
from berth.devices.out_of_memory import workspace_does_not_fit
from berth.graph.operation import Operation
from berth.memory.buffer import Buffer, Holder
from berth.plan.plan import Plan
from berth.plan.structure import ArrayType


class Workspace(NamedTuple):
    """Memory, and the array of bytes over it."""

    buffer: Buffer
    array: Array


def take_workspace(
    plan: Plan, device: int, nbytes: int, devices: Sequence[Device]
) -> Workspace:
    """Take a plan's workspace on a device, or raise OutOfMemoryError."""
    target = devices[device]
    op, largest = _largest(plan, device)
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


def cut_array(xp: Any, workspace: Array | None, array_type: ArrayType, offset: int) -> Array:
    """Make an array out of a device's workspace."""
    dims, dtype, nbytes = array_type.dims, array_type.dtype.np_dtype, array_type.nbytes
    if nbytes == 0:
        return xp.empty(dims, dtype)
    assert workspace is not None
    if xp is np:
        return np.ndarray(dims, dtype, workspace, offset)
    return workspace[offset : offset + nbytes].view(dtype).reshape(dims)


def _largest(plan: Plan, device: int) -> tuple[Operation, ArrayType]:
    """Find the largest array in a device's workspace: the one to name if it is too large."""
    types = plan.types
    values = plan.structure.workspaces[device]
    if plan.large:
        values = [value for value in values if value not in plan.large]
    sizes = [types[value.number].nbytes for value in values]
    arrays = []
    if sizes:
        value = values[sizes.index(max(sizes))]
        arrays.append((value.op, types[value.number]))
    for step, scratch in plan.scratch.items():
        if step.device == device:
            arrays += [(step.op, each.type) for each in scratch]
    return max(arrays, key=lambda array: array[1].nbytes)
