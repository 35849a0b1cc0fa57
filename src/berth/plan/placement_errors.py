"""Errors and warnings of the placer, and of `berth.expect_device`.

TensorFlow's message comes first: that of TensorFlow 1.4 where a requested device does not
exist, elsewhere that of TensorFlow 2. Below it are the lines of the program with the request
that cannot be met, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from berth.backends.kinds import kind_of
from berth.devices.full_name import FullName
from berth.dtypes import ALL
from berth.errors import FailedPreconditionError, InvalidArgumentError, explain
from berth.graph.expect import Expectation
from berth.graph.node_text import attrs_text, node_text
from berth.graph.operation import Operation
from berth.plan.candidates import ANYWHERE, Candidates, by_priority
from berth.plan.groups import Clash, Group, ResourceClash
from berth.plan.requests import (
    asker_of,
    describe,
    device_names,
    scopes_of,
    written_by_user,
)

if TYPE_CHECKING:
    from berth.plan.placement import Placement

_MAX_LISTED = 10
_SOFT = "ConfigProto(allow_soft_placement=True)"


def no_devices() -> FailedPreconditionError:
    """Make the error for a session without devices."""
    return FailedPreconditionError(None, None, "No devices are registered")


# --- one operation by itself ----------------------------------------------------------------


def malformed(op: Operation) -> InvalidArgumentError:
    """Make the error for a malformed device specification."""
    definition = node_text(op).removeprefix(f"{op.name} = ")
    return _invalid(
        op,
        f"Malformed device specification '{op.device}' in node: {{name:'{op.name}' "
        f"id:{op.number + 2} op device:{{requested: '{op.device}', assigned: ''}} "
        f"def:{{{_node(op)} = {definition}}}}}",
        _made(op),
        "A device is written like '/device:GPU:0', '/gpu:0' or '/job:worker/task:1/cpu:0'.",
    )


def no_kernel(op: Operation, candidates: Candidates) -> InvalidArgumentError:
    """Make the error for an operation without a kernel for any device type."""
    with_kernel = by_priority(op.definition.device_types(op.main_type))
    return _invalid(
        op,
        f"No OpKernel was registered to support Op '{op.type}' used by {_node(op)} with these "
        f"attrs: [{attrs_text(op)}]\nRegistered devices: "
        f"[{', '.join(sorted(candidates.types))}]\nRegistered kernels:\n{_kernel_list(op)}",
        _made(op),
        f"It runs on {' and '.join(with_kernel)} only. {_there_are(candidates)}"
        if with_kernel
        else "",
        _how_to_get_one(candidates, with_kernel[0] if len(with_kernel) == 1 else None),
    )


def no_device(op: Operation, placement: Placement) -> InvalidArgumentError:
    """Make the error for an operation without a candidate device."""
    candidates = placement.candidates
    group = placement.groups.enter(op)
    request = candidates.read(op.device) or ANYWHERE
    if request != group.requested:
        return _cannot_assign(
            op, _group_differs(op, group, placement), *_askers(group, placement)
        )
    if not candidates.exists(request):
        return _no_such_device(op, request, candidates)
    if request.type is None:
        reason = f"Could not satisfy explicit device specification '{op.device}"
        return _cannot_assign(op, reason + _debug_info(group, placement), _made(op))
    return _cannot_assign(
        op,
        f"Could not satisfy explicit device specification '{op.device}' because no supported "
        f"kernel for {request.type} devices is available.{_debug_info(group, placement)}"
        f"\nOp: {op.type}\nNode attrs: {attrs_text(op)}\nRegistered kernels:\n"
        + _kernel_list(op),
        _made(op),
        _who_lacks_kernel(group, request.type, placement),
        f"Ask for another device, or let one be chosen: {_SOFT}.",
    )


def _no_such_device(
    op: Operation, request: FullName, candidates: Candidates
) -> InvalidArgumentError:
    """Make the text for a device that does not exist, as TensorFlow 1.4 has it."""
    written = written_by_user(op)
    first = (
        f"Cannot assign a device to node '{op.name}': Could not satisfy explicit device "
        f"specification '{written}'\n\t [[Node: {node_text(op, device=written)}]]"
    )
    advice = (
        "Soft placement chooses another type or number, never another job, replica or task."
        if candidates.soft
        else f"Ask for one of these, or let one be chosen: {_SOFT}."
    )
    details = (
        _made(op),
        _there_are(candidates),
        advice,
        _how_to_get_one(candidates, request.type),
    )
    return InvalidArgumentError(None, op, explain(first, *details))


def _group_differs(op: Operation, group: Group, placement: Placement) -> str:
    """Make the text for a request that the operation's colocation group cannot have."""
    names = ", ".join(device.name for device in placement.candidates.devices)
    return (
        f"Could not satisfy explicit device specification '{op.device}' because the node "
        f"{_colocation_node(op)} was colocated with a group of nodes that required "
        f"incompatible device '{group.requested}'. All available devices [{names}]. "
        + _debug_info(group, placement)
    )


# --- operations together --------------------------------------------------------------------


def clash_text(clash: Clash, placement: Placement) -> str:
    """Write a colocation conflict as TensorFlow does."""
    return f"{_clash_reason(clash, placement)}\n\t [[{_node(clash.x)}]]"


def colocation_clash(clash: Clash, placement: Placement) -> InvalidArgumentError:
    """Make the error for two operations that cannot be colocated."""
    return _clash_error(clash.x, clash_text(clash, placement), clash, placement)


def edge_clash(clash: Clash, placement: Placement) -> InvalidArgumentError:
    """Make the error for an operation that cannot run on the device of its variable."""
    text = (
        "Nodes were connected by a reference or resource connection (requiring them to be on "
        "the same device), but the two nodes were assigned two different devices: "
        f"{_clash_reason(clash, placement)}\n\t [[{_node(clash.y)}]]"
    )
    return _clash_error(clash.y, text, clash, placement)


def resource_clash(clash: ResourceClash) -> InvalidArgumentError:
    """Make the error for an operation that uses variables of different devices."""
    source, user, (theirs, ours) = clash.source, clash.user, clash.names
    text = (
        "Cannot place the graph because a reference or resource edge connects colocation "
        f"groups with incompatible {clash.field} devices: {theirs} vs {ours}. The edge src "
        f"node is name='{source.name}' (op='{source.type}'), and the dst node is "
        f"name='{user.name}' (op='{user.type}')."
    )
    sources = dict.fromkeys(tensor.op for tensor in user.inputs)
    variables = [op for op in sources if op is source or op.definition.is_source]
    details = [_made(user), *(_made(op) for op in variables if op.device)]
    return InvalidArgumentError(None, user, explain(text, *details))


def _clash_error(
    op: Operation, text: str, clash: Clash, placement: Placement
) -> InvalidArgumentError:
    details = [_made(clash.x), _made(clash.y)]
    if not clash.reason:
        details += [*_limits(clash.x, placement), *_limits(clash.y, placement)]
    return InvalidArgumentError(None, op, explain(text, *details))


def _limits(op: Operation, placement: Placement) -> list[str]:
    """Name those of an operation's group that not every type of device can run."""
    candidates, groups = placement.candidates, placement.groups
    limited: dict[str, str] = {}
    for each in groups.members(groups.enter(op)):
        types = candidates.kind_of(each).types
        if types != candidates.types:
            only = " and ".join(by_priority(types))
            limited.setdefault(each.type, f"{describe(each)} runs on {only} only.")
    return list(limited.values())[:_MAX_LISTED]


def _clash_reason(clash: Clash, placement: Placement) -> str:
    both = f"Cannot colocate nodes {_colocation_node(clash.x)} and {_colocation_node(clash.y)}"
    if clash.reason:
        return f"{both}: {clash.reason}"
    groups = placement.groups
    return (
        f"{both} because no device type supports both of those nodes and the other nodes "
        "colocated with them."
        + _debug_info(groups.enter(clash.x), placement)
        + _debug_info(groups.enter(clash.y), placement)
    )


def moved_resource(group: Group, placement: Placement) -> str:
    """Warn that soft placement moves a variable away from its requested device."""
    assert group.found is not None
    names = "\n  ".join(device.name for device in group.found.devices)
    return (
        "Failed to place the graph without changing the devices of some resources. Some of "
        "the operations (that had to be colocated with resource generating operations) are "
        "not supported on the resources' devices. Current candidate devices are [\n  "
        f"{names}].\nSee below for details of this colocation group:"
        + _debug_info(group, placement)
    )


def _debug_info(group: Group, placement: Placement) -> str:
    """TensorFlow's account of a group, with its unclosed parenthesis."""
    candidates = placement.candidates
    members = list(placement.groups.members(group))
    types = {op.type: by_priority(candidates.kind_of(op).types) for op in members}
    lines = [
        "",
        "Colocation Debug Info:",
        "Colocation group had the following types and supported devices: ",
        "Root Member(assigned_device_name_index_=-1 "
        f"requested_device_name_='{group.requested}' assigned_device_name_='{group.assigned}' "
        f"resource_device_name_='{group.resource}' "
        f"supported_device_types_=[{', '.join(by_priority(group.types))}] possible_devices_=[]",
        *(f"{name}: {' '.join(types[name])} " for name in reversed(types)),
        "",
        "Colocation members, user-requested devices, and framework assigned devices, if any:",
        *(_member_line(op, placement) for op in members),
        "",
    ]
    return "\n".join(lines)


def _member_line(op: Operation, placement: Placement) -> str:
    assigned = placement.pinned.get(op)
    suffix = "" if assigned is None else f" framework assigned device={assigned.name}"
    return f"  {op.name} ({op.type}) {op.device}{suffix}"


# --- parts ----------------------------------------------------------------------------------


def _node(op: Operation) -> str:
    return f"{{{{node {op.name}}}}}"


def _colocation_node(op: Operation) -> str:
    return f"{{{{colocation_node {op.name}}}}}"


def _invalid(op: Operation, text: str, *details: str) -> InvalidArgumentError:
    """Make an InvalidArgumentError, with the node's name below: a tag, if the text has none."""
    tag = op.name if "{{node " in text else _node(op)
    return InvalidArgumentError(None, op, explain(f"{text}\n\t [[{tag}]]", *details))


def _cannot_assign(op: Operation, reason: str, *details: str) -> InvalidArgumentError:
    """Make the error "Cannot assign a device", around every cause."""
    text = f"Cannot assign a device for operation {op.name}: {reason}"
    return _invalid(op, text, *details)


def _made(op: Operation) -> str:
    """Say where an operation was made, and under which scopes it asks for what it does."""
    asker = asker_of(op)
    scopes = scopes_of(asker)
    made = f"{op.name} was made at {op.where.place}"
    if not op.device:
        return f"{made}, and asks for no device."
    if asker is not op:
        return f"{made}, and asks for {op.device} like {asker.name}" + (
            f", which was made under {scopes}." if scopes else "."
        )
    return f"{made}, under {scopes}." if scopes else f"{made}, and asks for {op.device}."


def _askers(group: Group, placement: Placement) -> list[str]:
    """List the members of a group that ask for something."""
    return [_made(op) for op in placement.groups.members(group) if op.device][:_MAX_LISTED]


def _there_are(candidates: Candidates) -> str:
    return f"The devices are {device_names(candidates.devices)}."


def _how_to_get_one(candidates: Candidates, wanted: str | None) -> str:
    if wanted is None or wanted in candidates.types:
        return ""
    advice = kind_of(wanted).how_to_get_one
    return f"There is no {wanted}. {advice}" if advice else ""


def _who_lacks_kernel(group: Group, device_type: str, placement: Placement) -> str:
    for op in placement.groups.members(group):
        types = placement.candidates.kind_of(op).types
        if device_type not in types:
            only = " and ".join(by_priority(types))
            return f"{op.type} has no kernel for {device_type}, only for {only}."
    return ""


def _kernel_list(op: Operation) -> str:
    """List the kernels of an operation, one on a line."""
    variables = [a.type for a in op.definition.arguments if isinstance(a.type, str)]
    attr = "dtype" if "dtype" in op.attrs or not variables else variables[0]
    lines = []
    for kernel in op.definition.kernels:
        names = ", ".join(dtype.enum_name for dtype in kernel.dtypes)
        types = "" if kernel.dtypes == ALL else f"; {attr} in [{names}]"
        lines.append(f"  device='{kernel.device_type}'{types}\n")
    return "".join(lines) or "  <no registered kernels>\n"


# --- what is expected -----------------------------------------------------------------------


def check_expectations(
    placement: Placement,
    ops: Iterable[Operation],
    expectation: Expectation | None = None,
) -> None:
    """Raise InvalidArgumentError if operations are elsewhere than `expect_device` demands.

    Each operation is held to what was demanded where it was made, and to `expectation`,
    unless the device where it is was asked for by name: by itself, or by an operation that
    it was put beside.
    """
    strays = [(op, broken) for op in ops for broken in _broken(placement, op, expectation)]
    if not strays:
        return
    chains = [
        f"{placement.why(op)}\n  but expected on: {broken.written}, by "
        f"expect_device('{broken.written}') at {broken.where.place}"
        for op, broken in strays[:_MAX_LISTED]
    ]
    more = len(strays) - _MAX_LISTED
    n_strays = f"{len(strays)} operations are" if len(strays) > 1 else "An operation is"
    text = explain(
        f"{n_strays} not on the expected device",
        *(chain.replace("\n", "\n  ") for chain in chains),
        f"and {more} more" if more > 0 else "",
    )
    raise InvalidArgumentError(None, strays[0][0], text)


def _broken(placement: Placement, op: Operation, expectation: Any) -> list[Expectation]:
    """List the expectations that an operation's place breaks: one, or none."""
    expected = [each for each in (op.expected, expectation) if each is not None]
    if not expected:
        return []
    device = placement.devices[op].full_name
    broken = [each for each in expected if not each.devices.matches(device)][:1]
    return [] if broken and _was_asked_for(placement, op) else broken


def _was_asked_for(placement: Placement, op: Operation) -> bool:
    """Tell whether an operation is where a program asks by name for it to be."""
    seen: set[Operation] = set()
    beside: Operation | None = op
    while beside is not None and beside not in seen:
        seen.add(beside)
        request = placement.candidates.read(beside.device) or ANYWHERE
        if request.type is not None and request.matches(placement.devices[beside].full_name):
            return True
        beside = placement.reason(beside).beside
    return False
