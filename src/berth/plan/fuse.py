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
from collections.abc import Sequence

from berth.dtypes import PACKAGED
from berth.plan.structure import ArrayType, Stage, Step, Storage, Structure, Value

AT_LEAST = 2**16
"""How many elements make slicing worth its trouble."""
SLICE = 2**18
"""How many elements are done at a time, at most: few enough for the cache, and enough that
threads seldom meet at the interpreter's lock."""


def fuse(structure: Structure) -> None:
    """Join elementwise steps on large arrays, stage by stage."""
    types = structure.types
    uses = None
    for stage in structure.stages:
        if any(_can_slice(step, types) for step in stage.steps):
            uses = _count_uses(structure) if uses is None else uses
            _fuse_stage(stage, types, uses)
    if uses is not None:
        structure.steps = [step for stage in structure.stages for step in stage.steps]


def is_fused_alike(structure: Structure, types: Sequence[ArrayType]) -> bool:
    """Tell whether with other types the same steps would be fused."""
    before = structure.types
    if max(_largest(types), _largest(before)) < AT_LEAST:
        return True
    for step in structure.steps:
        if step.members:
            dims = types[step.members[0].outputs[0].number].dims
            for member in step.members:
                is_joined = types[member.outputs[0].number].dims == dims
                if not is_joined or not _can_slice(member, types):
                    return False
        elif _can_slice(step, types) != _can_slice(step, before):
            return False
    return True


def _largest(types: Sequence[ArrayType]) -> int:
    """Return the size of the largest array; most of them have the same few types."""
    return max([each.nbytes for each in set(types)], default=0)


def _can_slice(step: Step, types: Sequence[ArrayType]) -> bool:
    if step.op.definition.elementwise is None or step.is_known:
        return False
    output = types[step.outputs[0].number]
    dims = output.dims
    if output.nbytes < AT_LEAST or output.dtype.is_object or math.prod(dims) < AT_LEAST:
        return False
    inputs = [types[value.number] for value in step.inputs]
    if any(each.dtype in PACKAGED for each in (*inputs, output)):
        return False
    return all(each.dims == dims or math.prod(each.dims) == 1 for each in inputs)


def _count_uses(structure: Structure) -> dict[Value, int]:
    """Count for each value who takes it: steps, other devices, the caller."""
    uses: dict[Value, int] = {}
    for step in structure.steps:
        for value in step.inputs:
            uses[value] = uses.get(value, 0) + 1
        for value in step.outputs:
            if value.copies:
                uses[value] = uses.get(value, 0) + 1
    for value in structure.fetches:
        uses[value] = uses.get(value, 0) + 1
    return uses


def _fuse_stage(stage: Stage, types: Sequence[ArrayType], uses: dict[Value, int]) -> None:
    done: list[Step] = []
    group: list[Step] = []
    made: set[Step] = set()
    for step in stage.steps:
        joins = _can_slice(step, types)
        if group and (
            not _have_one_shape(step, group[0], types) if joins else _must_follow(step, made)
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


def _have_one_shape(step: Step, other: Step, types: Sequence[ArrayType]) -> bool:
    return types[step.outputs[0].number].dims == types[other.outputs[0].number].dims


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
    """Number the slices that hold what lies between a group's steps: `Value.slot`."""
    last = {value: k for k, step in enumerate(group) for value in step.inputs}
    free: list[int] = []
    n_slots = 0
    for k, step in enumerate(group):
        output = step.outputs[0]
        dead = {v for v in step.inputs if v.storage is Storage.SCRATCH and last[v] == k}
        over = next((v for v in dead if v.dtype.itemsize == output.dtype.itemsize), None)
        if output.storage is Storage.SCRATCH:
            if over is not None:
                output.slot = over.slot
                dead.remove(over)
            elif free:
                output.slot = free.pop()
            else:
                output.slot, n_slots = n_slots, n_slots + 1
        free += sorted(value.slot for value in dead)


def sliced_elements(step: Step, types: Sequence[ArrayType]) -> int:
    """Return how many elements the arrays of a fused step have."""
    return math.prod(types[step.members[0].outputs[0].number].dims)


def slice_length(n_elements: int, n_threads: int) -> int:
    """Return how many elements a fused step does at a time: a share for every thread."""
    return min(SLICE, -(-n_elements // n_threads))


def slot_bytes(step: Step, length: int) -> int:
    """Return the size of one slot of a fused step, for slices of so many elements."""
    largest: int = max(member.outputs[0].dtype.itemsize for member in step.members)
    return -(-length * largest // 64) * 64


def slice_scratch_bytes(step: Step, length: int) -> int:
    """Return how much memory a thread needs for what lies between a group's steps."""
    between = [m.outputs[0] for m in step.members if m.outputs[0].storage is Storage.SCRATCH]
    n_slots = max((value.slot + 1 for value in between), default=0)
    return n_slots * slot_bytes(step, length)
