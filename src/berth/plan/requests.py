"""Requested devices as text, for errors and explanations of placement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from berth.devices.full_name import FullName
from berth.graph.device_scopes import DeviceScope
from berth.graph.operation import Operation


def describe(op: Operation) -> str:
    """Name an operation, its type and the line that made it."""
    return f"{op.name} ({op.type}) at {op.where.place}"


def short(name: FullName, text: str = "") -> str:
    """Write a name as briefly as people do: ``GPU:1``, ``GPU``; else the text given."""
    if (name.job, name.replica, name.task) != (None, None, None) or name.type is None:
        return text or str(name)
    return name.type if name.index is None else f"{name.type}:{name.index}"


def listed(words: Sequence[str]) -> str:
    """Join words as in a sentence.

    >>> listed(["CPU:0", "GPU:0", "GPU:1"])
    'CPU:0, GPU:0 and GPU:1'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def device_names(devices: Iterable[Any]) -> str:
    """List the short names of devices."""
    return listed([device.short_name for device in devices])


def asker_of(op: Operation) -> Operation:
    """Return the operation whose scopes explain what one asks for.

    Inside `colocate_with` a node takes over what the other asks for.
    """
    for name in op.colocated_with:
        other = op.graph.by_name.get(name)
        if other is not None and other.device == op.device:
            return other
    return op


def scopes_of(op: Operation) -> str:
    """Write the scopes that made an operation ask for what it does, innermost first."""
    telling = [scope for scope in op.scopes if scope.request is not None and scope.written]
    return " in ".join(f"{_code(scope)} at {scope.where.place}" for scope in telling)


def asked_by(op: Operation) -> str:
    """Tell who asked for the device of an operation: ``, by tf.device(…) at …``."""
    asker = asker_of(op)
    scopes = scopes_of(asker)
    like = "" if asker is op else f", like {asker.name}"
    return like + (f", by {scopes}" if scopes else "")


def written_by_user(op: Operation) -> str:
    """Return what an operation asks for in the user's own words, if they mean just that."""
    if len(op.scopes) == 1:
        [scope] = op.scopes
        request = scope.request
        if request is not None and not callable(request) and request.to_string() == op.device:
            return scope.written
    return op.device


def _code(scope: DeviceScope) -> str:
    """Write a scope as the program does; a function by its name and place."""
    return f"tf.device({scope.written if callable(scope.request) else repr(scope.written)})"
