"""The device scopes of a graph: a stack that decides what device a new node asks for.

Entries are applied innermost first (`Graph.device`). A name is merged under what the node asks
for already, so that inner scopes win, field by field. None ends the walk: no outer scope
counts. A function's answer replaces what there is, unread: it is checked when the graph
is placed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol

from berth.blocks import Stack, Use
from berth.callsite import CallSite, call_site
from berth.devices.spec import DeviceSpecV2

DeviceFunction = Callable[[Any], Any]
DeviceRequest = str | DeviceSpecV2 | DeviceFunction | None


class Placeable(Protocol):
    """What device functions are shown: an operation, with the device it asks for."""

    device: str


@dataclass(frozen=True, slots=True, eq=False)
class DeviceScope:
    """One entry: what the user wrote, and where."""

    request: DeviceSpecV2 | DeviceFunction | None
    written: str
    """The user's text, or ``name<file, line>`` for a function."""
    where: CallSite


class DeviceStack:
    """The device scopes that are open in one graph."""

    def __init__(self, outer: tuple[DeviceScope, ...] = ()) -> None:
        self._outer = outer
        """The scopes of the graph outside, which are not closed here."""
        self._opened: Stack[DeviceScope] = Stack(
            lambda _: RuntimeError("Exiting device scope without proper scope nesting.")
        )
        self._settled: tuple[tuple[DeviceScope, ...], str, tuple[DeviceScope, ...]] | None
        self._settled = None
        """What a node that asks for nothing yet gets, if no function has to be asked, and the
        scopes for which that is so."""

    @property
    def scopes(self) -> tuple[DeviceScope, ...]:
        """The open scopes, the innermost last."""
        return (*self._outer, *self._opened.values())

    def copy(self) -> DeviceStack:
        """Return a stack with the same scopes, to be opened and closed apart."""
        return DeviceStack(self.scopes)

    def enter(self, use: Use, device: DeviceRequest) -> None:
        """Open a scope for a block; ValueError if the name cannot be read."""
        use.set(self._opened, DeviceScope(_read(device), _written(device), call_site()))

    def wanted(self) -> str:
        """Return the device that a node made now would ask for."""
        node = SimpleNamespace(device="")
        self.apply(node)
        return str(node.device)

    def apply(self, op: Placeable) -> tuple[DeviceScope, ...]:
        """Set the device a new node asks for; return the scopes that had a say."""
        scopes = self.scopes
        settled = self._settled
        if settled is not None and not op.device and settled[0] == scopes:
            op.device = settled[1]
            return settled[2]
        can_settle, applied = not op.device, []
        for scope in reversed(scopes):
            applied.append(scope)
            if scope.request is None:
                break
            if isinstance(scope.request, DeviceSpecV2):
                inner = DeviceSpecV2.from_string(op.device)
                op.device = scope.request.make_merged_spec(inner).to_string()
            else:
                can_settle = False
                op.device = _answer(scope.request(op))
        if can_settle:
            self._settled = scopes, op.device, tuple(applied)
        return tuple(applied)


def merge_device(spec: str | DeviceSpecV2 | None) -> Callable[[Placeable], str]:
    """Make a device function that merges a name under what a node asks for already.

    >>> from types import SimpleNamespace
    >>> merge_device("/job:ps/gpu:0")(SimpleNamespace(device="/cpu:1"))
    '/job:ps/device:CPU:1'
    """
    outer = _read_name(spec or "")

    def merge(op: Placeable) -> str:
        inner = DeviceSpecV2.from_string(op.device)
        return outer.make_merged_spec(inner).to_string()

    return merge


def _read(device: DeviceRequest) -> DeviceSpecV2 | DeviceFunction | None:
    if device is None or callable(device):
        return device
    return _read_name(device)


def _read_name(device: str | DeviceSpecV2) -> DeviceSpecV2:
    text = device.to_string() if isinstance(device, DeviceSpecV2) else device
    return DeviceSpecV2.from_string(text)


def _written(device: DeviceRequest) -> str:
    if isinstance(device, DeviceSpecV2):
        return device.to_string()
    if callable(device):
        code = getattr(device, "__code__", None)
        where = f"<{code.co_filename}, {code.co_firstlineno}>" if code else ""
        return getattr(device, "__name__", type(device).__name__) + where
    return str(device)


def _answer(device: Any) -> str:
    if isinstance(device, DeviceSpecV2):
        return device.to_string()
    if isinstance(device, bytes):
        return device.decode()
    if isinstance(device, str):
        return device
    raise TypeError(f"Expected binary or unicode string, got {device!r}")
