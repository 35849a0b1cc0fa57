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

from berth.graph.operation import Operation
from berth.ops.opdef import Kernel
from berth.plan.plan import Plan, Request
from berth.plan.structure import Copy, Stage, Step, Storage, Structure

HOST = 0
"""The device where feeds arrive and fetches leave: the first CPU."""
BYTES_PER_SECOND = 8e9
FLOPS = 5e10


def partition(
    structure: Structure,
    request: Request,
    devices: Mapping[Operation, int],
    kernels: Mapping[Operation, Kernel],
) -> None:
    """Put the steps of plans on devices, and make their stages."""
    stages: dict[tuple[int, int], Stage] = {}
    waits: dict[tuple[int, int], set[tuple[int, int]]] = {}
    _place_sources(structure, request, devices)
    for step in structure.steps:
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
        _cross(step, stages, structure)
    order = sorted(stages)
    number = {key: position for position, key in enumerate(order)}
    structure.stages = [stages[key] for key in order]
    for key in order:
        stages[key].waits = sorted(number[other] for other in waits[key])
    structure.copies = [copy for stage in structure.stages for copy in stage.arrivals]


def _place_sources(
    structure: Structure, request: Request, devices: Mapping[Operation, int]
) -> None:
    for value, feed in zip(structure.feeds, request.feeds, strict=True):
        if value is not None:
            value.device = feed.device
    for value in structure.sources:
        value.device = devices[value.tensor.op]


def _producers(step: Step) -> list[Step]:
    """List the steps that a step comes after."""
    hosts = step.hosts
    if hosts:
        taken = [v.step for k, v in enumerate(step.inputs) if v.step and k not in hosts]
    else:
        taken = [v.step for v in step.inputs if v.step]
    return [*taken, *step.waits_for] if step.waits_for else taken


def _cross(step: Step, stages: dict[tuple[int, int], Stage], structure: Structure) -> None:
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
            array_type = structure.types[value.number]
            copy = value.copies[key] = structure.new_value(value.tensor, array_type)
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


def guess_work(plan: Plan) -> dict[int, float]:
    """Guess how long each of several devices will take, to tell small from large."""
    seconds = dict.fromkeys([stage.device for stage in plan.stages], 0.0)
    if len(seconds) < 2:
        return seconds
    types = plan.types
    for step in [step for whole in plan.steps for step in whole.members or (whole,)]:
        if step.is_known:
            continue
        inputs = [types[value.number] for value in step.inputs]
        outputs = [types[value.number] for value in step.outputs]
        guess = sum([each.nbytes for each in (*inputs, *outputs)]) / BYTES_PER_SECOND
        work = step.op.definition.flops
        if work is not None:
            guess += work(inputs, outputs) / FLOPS
        seconds[step.device] += guess
    return seconds
