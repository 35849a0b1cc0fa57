"""Candidate devices of an operation, in order of preference (the default first).

A *kind* is a definition with a type of elements: what decides which kernels there are. A
*request* is a name with fields left open. Candidates are the devices that the request means
and that have a kernel; soft placement widens the request where there are none.

Invariants:
  1. Candidates are ordered: by type (GPU before CPU before others), then devices of this
     process, then by full name. The first is the default.
  2. Job, replica and task of a request always hold; soft placement opens type and index.
  3. Everything here is a function of the devices, so answers are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from berth.backends.kinds import kind_of
from berth.devices.full_name import FullName, parse_full_name
from berth.dtypes import DType
from berth.graph.operation import Operation
from berth.ops.opdef import OpDef

Types = frozenset[str]
"""The types of devices that have a kernel."""

TypeFinder = Callable[[Operation], DType | None]

ANYWHERE = FullName()


def by_priority(types: Types) -> list[str]:
    """Sort types of devices, the preferred first."""
    return sorted(types, key=lambda name: (-kind_of(name).priority, name))


class Found(NamedTuple):
    """Candidates, and whether soft placement widened the request to find them."""

    devices: tuple[Any, ...]
    is_soft: bool = False
    """Whether the request had to be widened."""
    moves_resource: bool = False
    """Whether even a variable's request had to be overridden."""


class OpKind:
    """What the operations of one definition and type of elements have in common."""

    __slots__ = ("alone", "definition", "types")

    def __init__(self, definition: OpDef, types: Types) -> None:
        self.definition = definition
        self.types = types
        self.alone: dict[str, Found] = {}
        """Candidates by request, for operations that share their device with none."""


class Candidates:
    """All devices there are, and which of them suit."""

    def __init__(self, devices: Sequence[Any], soft: bool) -> None:
        self.devices = tuple(devices)
        self.soft = soft
        self.types = frozenset(device.device_type for device in devices)
        self._ordered = sorted(devices, key=self._rank)
        self._names: dict[str, FullName | None] = {"": ANYWHERE}
        self._kinds: dict[tuple[OpDef, DType | None], OpKind] = {}
        self._matching: dict[tuple[FullName, Types], tuple[Any, ...]] = {}

    def _rank(self, device: Any) -> tuple[int, bool, str]:
        priority = kind_of(device.device_type).priority
        return -priority, _task(device) != _task(self.devices[0]), device.name

    def read(self, request: str) -> FullName | None:
        """Read what a node asks for; None if it is no device's name."""
        if request not in self._names:
            self._names[request] = parse_full_name(request)
        return self._names[request]

    def kind_of(self, op: Operation) -> OpKind:
        """Find the kind of an operation."""
        key = op.definition, op.main_type
        kind = self._kinds.get(key)
        if kind is None:
            definition, dtype = key
            types = definition.device_types(dtype) & self.types
            kind = self._kinds[key] = OpKind(definition, types)
        return kind

    def matching(self, request: FullName, types: Types) -> tuple[Any, ...]:
        """List the devices of some types that a request means, the best first."""
        key = request, types
        if key not in self._matching:
            self._matching[key] = tuple(
                device
                for device in self._ordered
                if device.device_type in types and request.matches(device.full_name)
            )
        return self._matching[key]

    def exists(self, request: FullName) -> bool:
        """Tell whether some device is one that the request means."""
        return bool(self.matching(request, self.types))

    def alone(self, kind: OpKind, request: str) -> Found:
        """Find the candidates of an operation that shares its device with none."""
        name = self.read(request)
        assert name is not None, "requests are read before"
        found = kind.alone[request] = self.find(name, kind.types)
        return found

    def find(
        self,
        request: FullName,
        types: Types,
        assigned: FullName = ANYWHERE,
        resource: FullName = ANYWHERE,
    ) -> Found:
        """Find the candidates of a request; with soft placement, of what it can become."""
        devices = self.matching(request, types)
        if devices or not self.soft:
            return Found(devices)
        devices = self.matching(_widened(request, (assigned, resource)), types)
        if devices:
            return Found(devices, is_soft=True)
        devices = self.matching(_widened(request, (assigned,)), types)
        return Found(devices, is_soft=bool(devices), moves_resource=bool(devices))


def _widened(request: FullName, fixed: tuple[FullName, ...]) -> FullName:
    """Open type and index, except where one of the fixed names sets them."""
    keeps_type = any(name.type is not None for name in fixed)
    keeps_index = any(name.index is not None for name in fixed)
    return FullName(
        request.job,
        request.replica,
        request.task,
        request.type if keeps_type else None,
        request.index if keeps_index else None,
    )


def _task(device: Any) -> tuple[Any, ...]:
    name = device.full_name
    return name.job, name.replica, name.task
