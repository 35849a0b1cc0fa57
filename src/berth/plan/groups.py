"""Colocation groups: operations that must share a device (TensorFlow's ColocationGraph).

Operations come together by an edge that carries a variable (a reference or a resource), and
by colocation. A group holds the merged requests of its members, and the types of devices
that can run them all:

    assigned    the device of a member that an earlier placement put there
    resource    what a variable among them asked for: edges do not override it
    requested   what all of them ask for; at least as narrow as the two above

Invariants:
  1. Groups are the sets of a union-find: `Groups.of` gives the root. An operation that
     stands alone has none.
  2. Two groups that cannot be one stay as they were (`Clash`).
  3. Along an edge the variable's request takes precedence; in a colocation neither does:
     names that contradict each other are a clash, or are ignored where placement is soft.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from berth.devices.full_name import FullName, OnConflict, merge
from berth.dtypes import resource
from berth.errors import InvalidArgumentError
from berth.graph.operation import Operation
from berth.plan.candidates import ANYWHERE, Candidates, Found, Types


class Group:
    """One set of operations, or a part of one that has a parent."""

    __slots__ = ("assigned", "found", "parent", "rank", "requested", "resource", "types")

    def __init__(self, requested: FullName, types: Types) -> None:
        self.parent: Group | None = None
        self.rank = 0
        self.assigned = ANYWHERE
        self.resource = ANYWHERE
        self.requested = requested
        self.types = types
        self.found: Found | None = None
        """The candidates, once they were looked for; one, once a member has its device."""


class Clash(Exception):
    """Two operations that cannot share a device."""

    def __init__(self, x: Operation, y: Operation, reason: str) -> None:
        super().__init__(x, y, reason)
        self.x, self.y = x, y
        self.reason = reason
        """Why their names cannot be merged; empty if it is for want of kernels."""


class ResourceClash(Exception):
    """An edge that connects two variables, or what is beside them, on different devices."""

    def __init__(self, source: Operation, user: Operation, field: str, names: Any) -> None:
        super().__init__(source, user, field, names)
        self.source, self.user = source, user
        self.field = field
        """``resource`` or ``assigned``: which of the names differ."""
        self.names: tuple[FullName, FullName] = names


class Groups:
    """The groups of one placement."""

    def __init__(self, candidates: Candidates, pinned: Mapping[Operation, Any]) -> None:
        self._candidates = candidates
        self._pinned = pinned
        self._on_conflict = OnConflict.SOFTEN if candidates.soft else OnConflict.FAIL
        self._groups: dict[Operation, Group] = {}

    def of(self, op: Operation) -> Group | None:
        """Return the group of an operation, or None if it stands alone."""
        group = self._groups.get(op)
        return None if group is None else _root(group)

    def members(self, group: Group) -> Iterator[Operation]:
        """Go through the operations of a group in the order they were made."""
        return iter(sorted(self._members(group), key=lambda op: op.number))

    def _members(self, group: Group) -> Iterator[Operation]:
        return (op for op, part in self._groups.items() if _root(part) is group)

    def connect(self, source: Operation, user: Operation) -> FullName | None:
        """Join both ends of a variable's edge; return the request that was overridden."""
        theirs = self.enter(source)
        if self._fits_unchanged(user, theirs):
            self._groups[user] = theirs
            theirs.rank = max(theirs.rank, 1)
            return None
        ours = self.enter(user)
        for field in ("assigned", "resource"):
            names = getattr(theirs, field), getattr(ours, field)
            if not _are_compatible(*names):
                raise ResourceClash(source, user, field, names)
        overridden = None
        if not _are_compatible(theirs.requested, ours.requested):
            overridden = ours.requested
            ours.requested = _narrowed(theirs.requested, ours)
        self._join(source, theirs, user, ours)
        return overridden

    def _fits_unchanged(self, user: Operation, group: Group) -> bool:
        """Tell whether an operation would leave a group's requests unchanged, as most do."""
        return (
            user not in self._groups
            and user not in self._pinned
            and (not user.device or self._candidates.read(user.device) is group.requested)
            and group.types <= self._candidates.kind_of(user).types
        )

    def colocate(self, op: Operation, other: Operation) -> None:
        """Join the groups of two operations."""
        self._join(op, self.enter(op), other, self.enter(other))

    def enter(self, op: Operation) -> Group:
        """Return the group of an operation, at first one of its own."""
        group = self._groups.get(op)
        if group is None:
            group = self._groups[op] = self._new(op)
        return _root(group)

    def _new(self, op: Operation) -> Group:
        if op in self._pinned:
            device = self._pinned[op]
            group = Group(device.full_name, frozenset([device.device_type]))
            group.assigned = device.full_name
            return group
        requested = self._candidates.read(op.device)
        assert requested is not None, "requests are read before"
        group = Group(requested, self._candidates.kind_of(op).types)
        if makes_variable(op):
            group.resource = requested
        return group

    def _join(self, x: Operation, x_group: Group, y: Operation, y_group: Group) -> None:
        if x_group is y_group:
            return
        root, child = (x_group, y_group) if x_group.rank >= y_group.rank else (y_group, x_group)
        try:
            assigned = _merged(root.assigned, child.assigned)
            of_variable = _merged(root.resource, child.resource)
            requested = _merged(root.requested, child.requested, self._on_conflict)
        except InvalidArgumentError as error:
            raise Clash(x, y, error.message) from None
        types = root.types & child.types
        if not types:
            raise Clash(x, y, "")
        child.parent = root
        root.rank += root.rank == child.rank
        root.assigned, root.resource, root.types = assigned, of_variable, types
        root.requested = _narrowed(requested, root)


def makes_variable(op: Operation) -> bool:
    """Tell whether an operation makes a variable: no input, and a reference or handle."""
    return not op.inputs and len(op.outputs) == 1 and _carries(op.outputs[0].dtype)


def variable_inputs(op: Operation) -> list[Operation]:
    """List the operations whose variables this one takes.

    A handle is always taken as such, but by a call, whose subgraphs go to the variable. A
    reference is one to operations that read or write through it, as one of their first
    inputs; to all others it is a value like any.
    """
    inputs = op.inputs
    if op.definition.is_call:
        return []
    n_variables = op.definition.n_variables
    return [
        tensor.op
        for position, tensor in enumerate(inputs)
        if tensor.dtype is resource or (position < n_variables and tensor.dtype.is_ref)
    ]


def _carries(dtype: Any) -> bool:
    return dtype is resource or bool(dtype.is_ref)


def _root(group: Group) -> Group:
    while group.parent is not None:
        if group.parent.parent is not None:
            group.parent = group.parent.parent
        group = group.parent
    return group


def _are_compatible(a: FullName, b: FullName) -> bool:
    return a is b or a is ANYWHERE or b is ANYWHERE or a.is_compatible(b)


def _merged(
    target: FullName, other: FullName, on_conflict: OnConflict = OnConflict.FAIL
) -> FullName:
    if other is target or other is ANYWHERE:
        return target
    return other if target is ANYWHERE else merge(target, other, on_conflict)


def _narrowed(request: FullName, group: Group) -> FullName:
    """Make a request at least as narrow as what the group is held to."""
    for fixed in (group.assigned, group.resource):
        if fixed is not ANYWHERE and fixed is not request:
            given = {f: getattr(fixed, f) for f in FullName.__slots__}
            request = replace(request, **{f: v for f, v in given.items() if v is not None})
    return request
