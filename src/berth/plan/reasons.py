"""Explanations of placement (`berth.why`): the chain of causes of an operation's device.

Nothing here is done while placing. A reason is worked out of the finished placement, from
the operation, its group and the few notes that the placer took.

    MatMul (MatMul) at train.py:12 runs on GPU:0
      asked for: nothing
      because: GPU:0 is the first of the devices that can run MatMul (GPU before CPU, …)

Where the cause is another operation, what that one asked for follows, and so on.

Invariants:
  1. Every placed operation has a reason.
  2. A chain names each operation at most once, so it ends.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from berth.devices.full_name import FullName
from berth.graph.operation import Operation
from berth.plan.candidates import ANYWHERE, by_priority
from berth.plan.groups import makes_variable, variable_inputs
from berth.plan.requests import asked_by, describe, device_names, short

if TYPE_CHECKING:
    from berth.plan.placement import Placement

_MAX_CHAIN = 10


class Cause(Enum):
    """What settled the device of an operation."""

    DEFAULT = "the first device that can run it"
    REQUEST = "what it asks for"
    INPUT = "where its input is"
    CONSUMERS = "where its consumers are"
    VARIABLE = "where its variable is"
    COLOCATION = "where another is with which it must be"
    EARLIER = "where an earlier run put it"


class Reason(NamedTuple):
    """Why an operation is where it is."""

    cause: Cause
    beside: Operation | None = None
    """The other operation that has to do with it."""
    is_soft: bool = False
    """Whether soft placement put it elsewhere than it asked for."""


def reason(placement: Placement, op: Operation) -> Reason:
    """Work out why an operation is where it is."""
    is_granted = _request(placement, op).matches(placement.devices[op].full_name)
    is_soft = not is_granted and placement.candidates.soft and op not in placement.overridden
    if op in placement.pinned:
        return Reason(Cause.EARLIER)
    if op in placement.follows:
        beside = placement.follows[op]
        is_input = any(tensor.op is beside for tensor in op.inputs)
        return Reason(Cause.INPUT if is_input else Cause.CONSUMERS, beside, is_soft)
    if op.device and is_granted:
        return Reason(Cause.REQUEST)
    for source in variable_inputs(op):
        if source in placement.devices:
            return Reason(Cause.VARIABLE, source, is_soft)
    beside_in_group = _beside_in_group(placement, op)
    if beside_in_group is not None:
        return Reason(Cause.COLOCATION, beside_in_group, is_soft)
    return Reason(Cause.DEFAULT, None, is_soft)


def explain_placement(placement: Placement, op: Operation) -> str:
    """Write the chain of causes that put an operation on its device."""
    lines = [f"{describe(op)} runs on {placement.devices[op].short_name}"]
    listed: list[Operation] = []
    link: Operation | None = op
    while link is not None and link not in listed and len(listed) < _MAX_CHAIN:
        why = reason(placement, link)
        whose = f"{link.name} " if listed else ""
        lines.append(f"{whose}asked for: {_asked(placement, link)}")
        lines += _obstacle_lines(placement, link, why)
        if why.beside is not None:
            lines.append(_because_of(placement, link, why.cause, why.beside))
        elif not (why.is_soft or (listed and why.cause is Cause.REQUEST)):
            lines.append(f"because: {_own_cause(placement, link, why.cause)}")
        listed.append(link)
        link = why.beside
    return "\n  ".join(lines)


# --- the lines ----------------------------------------------------------------------------


def _asked(placement: Placement, op: Operation) -> str:
    if not op.device:
        return "nothing"
    return short(_request(placement, op), op.device) + asked_by(op)


def _obstacle_lines(placement: Placement, op: Operation, why: Reason) -> list[str]:
    """Say why an operation is not where it asked to be, if that is so."""
    if not why.is_soft:
        return []
    chosen = placement.devices[op].short_name
    return [f"but: {_obstacle(placement, op)}", f"so: soft placement chose {chosen}"]


def _obstacle(placement: Placement, op: Operation) -> str:
    candidates, request = placement.candidates, _request(placement, op)
    if not candidates.exists(request):
        there_are = device_names(candidates.devices)
        return f"there is no {short(request, op.device)}, only {there_are}"
    if not candidates.matching(request, candidates.kind_of(op).types):
        return _no_kernel(placement, op)
    for other in _others(placement, op):
        theirs = _request(placement, other)
        if not candidates.matching(request, candidates.kind_of(other).types):
            return (
                f"{describe(other)} must share its device, and {_no_kernel(placement, other)}"
            )
        if not theirs.is_compatible(request):
            return (
                f"{describe(other)} must share its device, and asked for "
                f"{_asked(placement, other)}"
            )
    return "not all that must share its device could have that one"


def _because_of(placement: Placement, op: Operation, cause: Cause, beside: Operation) -> str:
    """Say what another operation has to do with where one is."""
    other = describe(beside)
    word = "but" if op in placement.overridden else "because"
    variable = "the variable" if makes_variable(beside) else "the variable of"
    does = "needs only the shape of" if op.definition.is_metadata else "only passes on"
    return {
        Cause.INPUT: f"because: it {does} {other}, and so runs where that does",
        Cause.CONSUMERS: f"because: all that use it run there, like {other}",
        Cause.VARIABLE: f"{word}: it uses {variable} {other}, and must run where that is",
        Cause.COLOCATION: f"{word}: it must share its device with {other}",
    }[cause]


def _own_cause(placement: Placement, op: Operation, cause: Cause) -> str:
    """Say why an operation is where it is, if no other has to do with it."""
    if cause is Cause.DEFAULT:
        return _default(placement, op)
    if cause is Cause.REQUEST:
        return _granted(placement, op)
    return "an earlier run put it there, and what it keeps stays in place"


def _default(placement: Placement, op: Operation) -> str:
    """Say why a device is the first choice where nothing is asked for."""
    candidates, device = placement.candidates, placement.devices[op]
    group = placement.groups.of(op)
    types = candidates.kind_of(op).types if group is None else group.types
    limited = next(
        (each for each in (op, *_others(placement, op)) if _lacks_kernel(placement, each)), None
    )
    several = len(candidates.matching(ANYWHERE, types)) > 1
    if limited is not None:
        whose = "" if limited is op else f"{limited.name} must share its device, and "
        first = f", and {device.short_name} is the first {device.device_type}"
        return whose + _no_kernel(placement, limited) + (first if several else "")
    together = "" if group is None else " and what must be with it"
    if not several:
        return f"{device.short_name} is the only device that can run {op.type}{together}"
    order = " before ".join(by_priority(types))
    rule = f"{order}, lowest number first" if len(types) > 1 else "lowest number first"
    return (
        f"{device.short_name} is the first of the devices that can run "
        f"{op.type}{together} ({rule})"
    )


def _granted(placement: Placement, op: Operation) -> str:
    request, device = _request(placement, op), placement.devices[op]
    types = placement.candidates.kind_of(op).types
    if len(placement.candidates.matching(request, types)) == 1:
        return "that is the device it asked for"
    return (
        f"{device.short_name} is the first of the devices it asked for that can run {op.type}"
    )


# --- facts --------------------------------------------------------------------------------


def _request(placement: Placement, op: Operation) -> FullName:
    return placement.candidates.read(op.device) or ANYWHERE


def _lacks_kernel(placement: Placement, op: Operation) -> bool:
    """Tell whether a device better than the one chosen has no kernel for an operation."""
    candidates = placement.candidates
    missing = candidates.types - candidates.kind_of(op).types
    ranked = by_priority(candidates.types)
    chosen = ranked.index(placement.devices[op].device_type)
    return any(ranked.index(name) < chosen for name in missing)


def _no_kernel(placement: Placement, op: Operation) -> str:
    candidates = placement.candidates
    types = candidates.kind_of(op).types
    missing = " or ".join(by_priority(candidates.types - types))
    return (
        f"{op.type} has no kernel for {missing} (only for {' and '.join(by_priority(types))})"
    )


def _others(placement: Placement, op: Operation) -> list[Operation]:
    """List the other operations of the group."""
    group = placement.groups.of(op)
    return [] if group is None else [o for o in placement.groups.members(group) if o is not op]


def _beside_in_group(placement: Placement, op: Operation) -> Operation | None:
    """Find the one of a group whose device this operation shares: by name, else by request."""
    for name in op.colocated_with:
        other = op.graph.by_name.get(name)
        kept = other in placement.devices and (op, name) not in placement.ignored
        if other is not None and other is not op and kept:
            return other
    name = placement.devices[op].full_name
    for other in _others(placement, op):
        if other.device and _request(placement, other).matches(name):
            return other
    return None
