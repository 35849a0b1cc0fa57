"""Operator fusion, the third pass of planning: elementwise steps that run slice by slice.

Where arrays are large, moving them is what costs. A chain of elementwise steps that works
on one slice at a time keeps everything between its first and last step in the cache, and
slices can be done by several threads.

Invariants:
  1. The members of a fused step have one shape; each input has it too, or one element.
  2. Nothing outside of a fused step needs a value that is only sliced (Storage.SCRATCH).
  3. The order stays one that a single thread could run.
"""

from __future__ import annotations

import math

from berth.plan.plan import Plan, Stage, Step, Storage, Value

AT_LEAST = 2**16
"""How many elements make slicing worth its trouble."""
SLICE = 2**18
"""How many elements are done at a time, at most: few enough for the cache, and enough that
threads seldom meet at the interpreter's lock."""


def fuse(plan: Plan) -> None:
    """Join elementwise steps on large arrays, stage by stage."""
    uses = None
    for stage in plan.stages:
        if any(_can_slice(step) for step in stage.steps):
            uses = _count_uses(plan) if uses is None else uses
            _fuse_stage(stage, uses)
    if uses is not None:
        plan.steps = [step for stage in plan.stages for step in stage.steps]


def _can_slice(step: Step) -> bool:
    if step.op.definition.elementwise is None or step.is_known:
        return False
    dims = step.outputs[0].dims
    if math.prod(dims) < AT_LEAST or step.outputs[0].dtype.is_object:
        return False
    return all(value.dims == dims or math.prod(value.dims) == 1 for value in step.inputs)


def _count_uses(plan: Plan) -> dict[Value, int]:
    """Count for each value who takes it: steps, other devices, the caller."""
    uses: dict[Value, int] = {}
    for step in plan.steps:
        for value in step.inputs:
            uses[value] = uses.get(value, 0) + 1
        for value in step.outputs:
            if value.copies:
                uses[value] = uses.get(value, 0) + 1
    for value in plan.fetches:
        uses[value] = uses.get(value, 0) + 1
    return uses


def _fuse_stage(stage: Stage, uses: dict[Value, int]) -> None:
    done: list[Step] = []
    group: list[Step] = []
    made: set[Step] = set()
    for step in stage.steps:
        joins = _can_slice(step)
        if group and (
            (joins and step.outputs[0].dims != group[0].outputs[0].dims)
            or (not joins and _must_follow(step, made))
        ):
            done.append(_fused(group, uses))
            group, made = [], set()
        if joins:
            group.append(step)
            made.add(step)
        else:
            done.append(step)
    if group:
        done.append(_fused(group, uses))
    stage.steps = done


def _must_follow(step: Step, made: set[Step]) -> bool:
    """Tell whether a step cannot be done before the group that is open."""
    if step.op.definition.access is not None:
        return True  # the order of reads and writes is kept
    return any(v.step in made for v in step.inputs) or any(w in made for w in step.waits_for)


def _fused(group: list[Step], uses: dict[Value, int]) -> Step:
    inside: dict[Value, int] = {}
    inputs: dict[Value, None] = {}
    made = {step.outputs[0] for step in group}
    for step in group:
        for value in step.inputs:
            if value in made:
                inside[value] = inside.get(value, 0) + 1
            else:
                inputs[value] = None
    whole = Step(group[-1].op, list(inputs), [])
    whole.members = group
    whole.device, whole.level, whole.kernel = (
        group[-1].device,
        group[-1].level,
        group[-1].kernel,
    )
    for step in group:
        value = step.outputs[0]
        if uses.get(value, 0) > inside.get(value, 0) or not uses.get(value, 0):
            whole.outputs.append(value)
        else:
            value.storage = Storage.SCRATCH
    _share_slots(group)
    return whole


def _share_slots(group: list[Step]) -> None:
    """Number the slices that hold what lies between a group's steps: `offset` is the slot."""
    last = {value: k for k, step in enumerate(group) for value in step.inputs}
    free: list[int] = []
    n_slots = 0
    for k, step in enumerate(group):
        output = step.outputs[0]
        dead = {v for v in step.inputs if v.storage is Storage.SCRATCH and last[v] == k}
        over = next((v for v in dead if v.dtype.itemsize == output.dtype.itemsize), None)
        if output.storage is Storage.SCRATCH:
            if over is not None:
                output.offset = over.offset
                dead.remove(over)
            elif free:
                output.offset = free.pop()
            else:
                output.offset, n_slots = n_slots, n_slots + 1
        free += sorted(value.offset for value in dead)


def slice_length(step: Step, n_threads: int) -> int:
    """Return how many elements a fused step does at a time: a share for every thread."""
    n_elements: int = math.prod(step.members[0].outputs[0].dims)
    return min(SLICE, -(-n_elements // n_threads))


def slot_bytes(step: Step, n_threads: int) -> int:
    """Return the size of one slot of a fused step."""
    largest: int = max(member.outputs[0].dtype.itemsize for member in step.members)
    return -(-slice_length(step, n_threads) * largest // 64) * 64


def slice_scratch_bytes(step: Step, n_threads: int) -> int:
    """Return how much memory a thread needs for what lies between a group's steps."""
    between = [m.outputs[0] for m in step.members if m.outputs[0].storage is Storage.SCRATCH]
    n_slots = max((value.offset + 1 for value in between), default=0)
    return n_slots * slot_bytes(step, n_threads)
