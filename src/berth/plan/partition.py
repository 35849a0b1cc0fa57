"""Partitioning, the second pass of planning: steps by device, and copies between devices.

A step's *level* is the number of times that work has to change devices before it. Steps of
one device and one level form a stage; a stage waits, before it begins, for stages of lower
levels on other devices, and for nothing in between.

Invariants of the result:
  1. A step takes values of its own device only (host inputs apart).
  2. A tensor is copied to a device once, however many steps there take it; a variable
     itself, which may change, once for each stage.
  3. Stages in their order, and steps within them, come after all that they need.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth.graph.operation import Operation
from berth.ops.opdef import Kernel
from berth.plan.plan import Copy, Plan, Stage, Step, Storage, Value

HOST = 0
"""The device where feeds arrive and fetches leave: the first CPU."""
BYTES_PER_SECOND = 8e9
FLOPS = 5e10


def partition(
    plan: Plan, devices: Mapping[Operation, int], kernels: Mapping[Operation, Kernel]
) -> None:
    """Put a plan's steps on devices, and make its stages."""
    stages: dict[tuple[int, int], Stage] = {}
    waits: dict[tuple[int, int], set[tuple[int, int]]] = {}
    _place_sources(plan, devices)
    for step in plan.steps:
        op = step.op
        step.device = device = devices[op]
        step.kernel = kernels[op]
        for output in step.outputs:
            output.device = device
        before = _producers(step)
        level = 0
        for other in before:
            level = max(level, other.level + (other.device != device))
        step.level = level
        key = (level, device)
        stage = stages.get(key)
        if stage is None:
            stage = stages[key] = Stage(device, level)
            waits[key] = set()
        stage.steps.append(step)
        for other in before:
            if other.device != device:
                waits[key].add((other.level, other.device))
        _cross(step, stages)
    order = sorted(stages)
    number = {key: position for position, key in enumerate(order)}
    plan.stages = [stages[key] for key in order]
    for key in order:
        stages[key].waits = sorted(number[other] for other in waits[key])
    plan.work_seconds = _guess_work(plan)


def _place_sources(plan: Plan, devices: Mapping[Operation, int]) -> None:
    for value, feed in zip(plan.feeds, plan.request.feeds, strict=True):
        if value is not None:
            value.device = feed.device
    for value in plan.sources:
        value.device = devices[value.tensor.op]


def _producers(step: Step) -> list[Step]:
    """List the steps that a step comes after."""
    hosts = step.hosts
    if hosts:
        taken = [v.step for k, v in enumerate(step.inputs) if v.step and k not in hosts]
    else:
        taken = [v.step for v in step.inputs if v.step]
    return [*taken, *step.waits_for] if step.waits_for else taken


def _cross(step: Step, stages: dict[tuple[int, int], Stage]) -> None:
    """Replace a step's inputs from other devices by copies on its own."""
    device = step.device
    for position, value in enumerate(step.inputs):
        if value.device == device or position in step.hosts:
            continue
        # A variable may be written in between: each stage reads it again.
        key = (device, step.level if value.storage is Storage.VARIABLE else None)
        if value.copies is None:
            value.copies = {}
        copy = value.copies.get(key)
        if copy is None:
            copy = value.copies[key] = Value(value.tensor, value.dtype, value.dims, None)
            copy.device = device
            copy.is_needed = True
        step.inputs[position] = copy
        _arrive(stages, Copy(value, copy), step.level)


def _arrive(stages: dict[tuple[int, int], Stage], copy: Copy, level: int) -> None:
    """Let a copy come in with the first stage that needs it."""
    target = copy.target
    # Until the layout is made, a copy notes here the level of the stage it comes in with.
    if target.last_use >= 0 and target.last_use <= level:
        return
    if target.last_use >= 0:
        stages[target.last_use, target.device].arrivals.remove(copy)
    target.last_use = level
    stages[level, target.device].arrivals.append(copy)


def _guess_work(plan: Plan) -> dict[int, float]:
    """Guess how long each device will take: good enough to tell small from large."""
    seconds: dict[int, float] = {}
    for step in plan.steps:
        if step.is_known:
            continue
        n_bytes = 0
        for values in (step.inputs, step.outputs):
            for value in values:
                n_bytes += value_bytes(value)
        work = step.op.definition.flops
        guess = n_bytes / BYTES_PER_SECOND
        if work is not None:
            guess += work(step.inputs, step.outputs) / FLOPS
        seconds[step.device] = seconds.get(step.device, 0.0) + guess
    return seconds


def value_bytes(value: Any) -> int:
    """Return how many bytes a value takes; nothing for one that needs no memory."""
    n_bytes: int = value.dtype.itemsize
    for size in value.dims:
        n_bytes *= size
    return n_bytes
