"""The placer: which device runs each operation of a graph (TensorFlow's Placer).

Pure: it reads operations and names of devices, and returns a `Placement`. In two passes, in
the order the operations were made. *Generators* (no inputs, one output: constants, feeds,
handles) wait for the second, where they follow their consumers. All others get their first
candidate, or the device of their input where they only look at or pass on what it made.

Invariants:
  1. A device that is assigned has a kernel, and is one that the operation's group asks for,
     unless placement is soft.
  2. All of a group are on one device: the first assignment decides.
  3. The same operations and devices give the same placement.
  4. It fails as a whole, before anything is assigned, with the error of the first
     operation in `error_order` that has one.

Operations that ask for nothing and share with none are most of a graph. They cost a few
lookups each: no group, no name is made for them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from berth.dtypes import resource
from berth.graph.operation import Operation
from berth.plan import placement_errors as errors
from berth.plan.candidates import Candidates, Found, OpKind
from berth.plan.groups import Clash, Groups, ResourceClash, variable_inputs
from berth.plan.placement import Message, Placement


def place(
    ops: Sequence[Operation],
    devices: Sequence[Any],
    *,
    soft: bool = False,
    pinned: Mapping[Operation, Any] | None = None,
    error_order: Iterable[Operation] | None = None,
) -> Placement:
    """Choose a device for each operation; InvalidArgumentError if one cannot have any.

    `ops` are in the order they were made; inputs that are not among them do not count.
    `pinned` operations keep the devices they had. `error_order` decides which error is
    raised if several operations cannot be placed.
    """
    if not devices:
        raise errors.no_devices()
    order = ops if error_order is None else error_order
    placer = _Placer(ops, Candidates(devices, soft), pinned or {}, order)
    placer.look_at_all()
    placer.join_groups()
    return placer.assign_all()


class _Placer:
    """One placement in the making."""

    def __init__(
        self,
        ops: Sequence[Operation],
        candidates: Candidates,
        pinned: Mapping[Operation, Any],
        error_order: Iterable[Operation],
    ) -> None:
        self._ops = ops
        self._candidates = candidates
        self._pinned = pinned
        self._error_order = error_order
        self._groups = Groups(candidates, pinned)
        self._placement = Placement(self._groups, candidates, pinned)
        self._kinds: dict[Operation, OpKind] = {}
        self._users: list[Operation] = []
        """The operations that take a reference or a handle."""
        self._waiting: dict[Operation, list[Operation]] = {}
        """The operations that wait for one without taking anything from it."""

    # --- what is asked ------------------------------------------------------------------

    def look_at_all(self) -> None:
        """Find kernels and requests; raise unless every operation has some it can have."""
        candidates, kinds, users = self._candidates, self._kinds, self._users
        are_all_good = True
        for op in self._ops:
            kind = kinds[op] = candidates.kind_of(op)
            if not kind.types or (op.device and candidates.read(op.device) is None):
                are_all_good = False
            for tensor in op.inputs:
                dtype = tensor.dtype
                if dtype.is_ref or dtype is resource:
                    users.append(op)
                    break
            for waited in op.control_inputs:
                self._waiting.setdefault(waited, []).append(op)
        if not are_all_good:
            for op in self._in_error_order():
                self._check(op)

    def _in_error_order(self) -> Iterator[Operation]:
        """Go through all that are still to be placed, those whose failure counts first."""
        for op in chain(self._error_order, self._ops):
            if op in self._kinds and op not in self._pinned:
                yield op

    def _check(self, op: Operation) -> None:
        if not self._kinds[op].types:
            raise errors.no_kernel(op, self._candidates)
        if self._candidates.read(op.device) is None:
            raise errors.malformed(op)

    # --- who shares ---------------------------------------------------------------------

    def join_groups(self) -> None:
        """Bring together what must share a device: along edges first, then by name."""
        for user in self._users:
            for source in variable_inputs(user):
                if source in self._kinds:
                    self._connect(source, user)
        names = {name for op in self._ops for name in op.colocated_with}
        if not names:
            return
        first: dict[str, Operation] = {}
        for op in self._ops:
            own = (op.name,) if op.name in names else ()
            for name in (*op.colocated_with, *own):
                other = first.setdefault(name, op)
                if other is not op:
                    self._colocate(op, other, name)

    def _connect(self, source: Operation, user: Operation) -> None:
        try:
            overridden = self._groups.connect(source, user)
        except ResourceClash as clash:
            raise errors.resource_clash(clash) from None
        except Clash as clash:
            raise errors.edge_clash(clash, self._placement) from None
        if overridden is not None:
            self._placement.overridden[user] = source
            group = self._groups.of(source)
            assert group is not None
            self._log(
                logging.INFO,
                f"Ignoring device specification {overridden} for node '{user.name}' because "
                f"the input edge from '{source.name}' is a reference connection and already "
                f"has a device field set to {group.requested}",
            )

    def _colocate(self, op: Operation, other: Operation, name: str) -> None:
        try:
            self._groups.colocate(op, other)
        except Clash as clash:
            if not self._candidates.soft:
                raise errors.colocation_clash(clash, self._placement) from None
            self._placement.ignored.add((op, name))
            self._log(
                logging.INFO,
                f"Ignoring request to colocate node '{op.name}' with nodes in colocation "
                f"group '{name}' because soft placement is on and an attempt at doing so "
                "resulted in the following error: INVALID_ARGUMENT: "
                + errors.clash_text(clash, self._placement),
            )

    def _log(self, level: int, text: str) -> None:
        self._placement.messages.append(Message(level, text))

    # --- who runs where -----------------------------------------------------------------

    def assign_all(self) -> Placement:
        """Give every operation its device."""
        generators = []
        for op, kind in self._kinds.items():
            outputs = op.outputs
            if op in self._pinned:
                self._assign(op, Found((self._pinned[op],)))
            elif not op.inputs and len(outputs) == 1 and not outputs[0].dtype.is_ref:
                generators.append(op)
            else:
                found = self._find(op, kind)
                several = len(found.devices) > 1
                self._assign(op, found, self._input_to_follow(op) if several else None)
        for op in generators:
            found = self._find(op, self._kinds[op])
            several = len(found.devices) > 1
            self._assign(op, found, self._consumer_to_follow(op) if several else None)
        return self._placement

    def _assign(self, op: Operation, found: Found, beside: Operation | None = None) -> None:
        placement = self._placement
        device = found.devices[0]
        # An operation whose default this is anyway follows no other.
        if beside is not None and placement.devices.get(beside) in found.devices[1:]:
            device = placement.devices[beside]
            placement.follows[op] = beside
        placement.devices[op] = device
        group = self._groups.of(op)
        if group is not None:
            if group.found is None or len(group.found.devices) > 1:
                group.found = found._replace(devices=(device,))
        elif not found.is_soft:
            return
        if self._candidates.soft and op.device and op not in placement.overridden:
            request = self._candidates.read(op.device)
            if request is not None and not request.matches(device.full_name):
                placement.moved.append(op)

    def _find(self, op: Operation, kind: OpKind) -> Found:
        """Find the candidates of an operation; raise if there are none."""
        found = self._look_for(op, kind)
        if not found.devices:
            for other in self._in_error_order():
                if not self._look_for(other, self._kinds[other]).devices:
                    raise errors.no_device(other, self._placement)
        return found

    def _look_for(self, op: Operation, kind: OpKind) -> Found:
        group = self._groups.of(op)
        if group is None:
            return kind.alone.get(op.device) or self._candidates.alone(kind, op.device)
        if group.found is None:
            group.found = self._candidates.find(
                group.requested, group.types, group.assigned, group.resource
            )
            if group.found.moves_resource:
                self._log(logging.INFO, errors.moved_resource(group, self._placement))
        return group.found

    def _input_to_follow(self, op: Operation) -> Operation | None:
        """Return the input beside which an operation should be, if it is of that sort."""
        definition = op.definition
        if definition.is_metadata or (definition.is_identity and self._only_passes_on(op)):
            return op.inputs[0].op
        return None

    def _only_passes_on(self, op: Operation) -> bool:
        """Tell whether an identity stands between two operations that ask for the same.

        Where nothing uses it, TensorFlow counts the end of the graph, which asks for
        nothing, as its user.
        """
        source = op.inputs[0].op
        if op.device or op.control_inputs or source not in self._kinds:
            return False
        users = self._users_of(op)
        wanted = users[0].device if users else ""
        return len(users) <= 1 and source.device == wanted

    def _consumer_to_follow(self, op: Operation) -> Operation | None:
        """Return one of the users of a generator if all of them are on one device."""
        users = self._users_of(op)
        devices = self._placement.devices
        # One that is not placed yet is a generator too, which waits for this one.
        first = devices.get(users[0]) if users else None
        is_common = first is not None and all(devices.get(user) is first for user in users)
        return users[0] if is_common else None

    def _users_of(self, op: Operation) -> list[Operation]:
        """List the operations that take something from one, or wait for it, per edge."""
        takers = [
            user for tensor in op.outputs for user in tensor.consumers() if user in self._kinds
        ]
        return takers + self._waiting.get(op, [])
