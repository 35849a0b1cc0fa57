"""Device names as the runtime reads them: strict, with wildcards (DeviceNameUtils).

The second of TensorFlow's two languages: what a node's device string, the placer and
``get_memory_info`` understand. ``*`` leaves a field open; types are case-sensitive;
only ``/cpu:``, ``/CPU:``, ``/gpu:`` and ``/GPU:`` may do without ``/device:``.

Invariants:
  1. ``parse_full_name(str(name)) == name``, unless name has an index but no type.
  2. A name matches a device if and only if every field it sets is equal there.
  3. A merge that does not override is commutative where it succeeds, and the empty name
     changes nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

from berth.errors import InvalidArgumentError

_MAX_DIGITS = 1000
"""Of a number, leading zeros included: Python refuses to convert very long ones."""
_WORD = r"[A-Za-z][A-Za-z0-9_]*"
_PIECES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"/job:(?:\*|(?P<job>{_WORD}))",
        r"/replica:(?:\*|(?P<replica>[0-9]+))",
        r"/task:(?:\*|(?P<task>[0-9]+))",
        rf"/device:(?:\*|(?P<type>{_WORD}))(?::(?:\*|(?P<index>[0-9]+)))?",
        r"/(?P<type>cpu|CPU|gpu|GPU):(?:\*|(?P<index>[0-9]+))",
    )
)
_LOCAL = re.compile(rf"(?P<type>{_WORD}):(?P<index>[0-9]+)")


@dataclass(frozen=True, slots=True)
class FullName:
    """A device name with any field left open (None)."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    type: str | None = None
    index: int | None = None

    def __str__(self) -> str:
        parts = ""
        for field in ("job", "replica", "task"):
            value = getattr(self, field)
            if value is not None:
                parts += f"/{field}:{value}"
        if self.type is not None:
            parts += f"/device:{self.type}:{'*' if self.index is None else self.index}"
        return parts

    @property
    def is_complete(self) -> bool:
        """Whether no field is open, so that it names one device."""
        return None not in (self.job, self.replica, self.task, self.type, self.index)

    def matches(self, device: FullName) -> bool:
        """Tell whether a device, or a narrower name, is one that this name means."""
        return all(mine is None or mine == theirs for mine, theirs in _pairs(self, device))

    def is_compatible(self, other: FullName) -> bool:
        """Tell whether some device could match both names."""
        return all(a is None or b is None or a == b for a, b in _pairs(self, other))


LOCAL_HOST = FullName(job="localhost", replica=0, task=0)
"""The part that all names of this process's devices have in common."""


def parse_full_name(text: str) -> FullName | None:
    """Read a full or partial name; None if it is not one.

    >>> str(parse_full_name("/job:worker/task:1/gpu:0"))
    '/job:worker/task:1/device:GPU:0'
    >>> parse_full_name("/Gpu:0") is None
    True
    """
    if text == "/":
        return FullName()
    name, position = FullName(), 0
    while position < len(text):
        match = _match_piece(text, position)
        if match is None:
            return None
        found = _fields_of(match)
        if found is None:
            return None
        name, position = replace(name, **found), match.end()
    return name


def parse_local_name(text: str) -> FullName | None:
    """Read the short form ``GPU:0``; None if it is not one.

    >>> str(parse_local_name("GPU:0"))
    '/device:GPU:0'
    """
    match = _LOCAL.fullmatch(text)
    found = _fields_of(match) if match else None
    return None if found is None else FullName(**found)


class OnConflict(Enum):
    """What a merge does when two names ask for different types or indices."""

    FAIL = "fail"
    SOFTEN = "soften"
    """Leave the field open. A type in conflict opens the index as well."""
    OVERRIDE = "override"
    """Take the second name's."""


def merge(
    target: FullName, other: FullName, on_conflict: OnConflict = OnConflict.FAIL
) -> FullName:
    """Combine two requests for one device. Job, replica and task are never overridden."""
    merged = target
    for field in ("job", "replica", "task"):
        merged = _merge_field(field, merged, other)
    if _conflict("type", target, other):
        if on_conflict is OnConflict.SOFTEN:
            return replace(merged, type=None, index=None)
        if on_conflict is OnConflict.OVERRIDE:
            merged = replace(merged, type=other.type)
    merged = _merge_field("type", merged, other)
    if _conflict("index", target, other):
        if on_conflict is OnConflict.SOFTEN:
            return replace(merged, index=None)
        if on_conflict is OnConflict.OVERRIDE:
            return replace(merged, index=other.index)
    return _merge_field("index", merged, other)


def canonicalize(text: str, base_text: str) -> str:
    """Complete a name from a full one; InvalidArgumentError if one cannot be read."""
    base = parse_full_name(base_text)
    if base is None:
        raise _invalid(f"Could not parse basename: {base_text} into a device specification.")
    if not base.is_complete:
        raise _invalid(f"Basename: {base_text} should be fully specified.")
    name = parse_full_name(text) or parse_local_name(text)
    if name is None:
        raise _invalid(f"Could not parse {text} into a device specification.")
    given = {f.name: getattr(name, f.name) for f in fields(name)}
    return str(replace(base, **{k: v for k, v in given.items() if v is not None}))


def _match_piece(text: str, position: int) -> re.Match[str] | None:
    for pattern in _PIECES:
        match = pattern.match(text, position)
        if match is not None:
            return match
    return None


def _fields_of(match: re.Match[str]) -> dict[str, Any] | None:
    """Convert the groups of a match; None if a number needs more than 64 bits."""
    found: dict[str, Any] = {}
    for field, value in match.groupdict().items():
        if field in ("job", "type") or value is None:
            found[field] = value
        elif len(value) <= _MAX_DIGITS and int(value) < 2**64:
            found[field] = _as_int32(int(value))
        else:
            return None
    if match[0].startswith(("/cpu:", "/gpu:")):
        found["type"] = found["type"].upper()
    return found


def _as_int32(number: int) -> int:
    """Keep the lowest 32 bits, as TensorFlow's parser does: 4294967297 is 1.

    >>> _as_int32(2**31)
    -2147483648
    """
    return (number + 2**31) % 2**32 - 2**31


def _pairs(a: FullName, b: FullName) -> list[tuple[object, object]]:
    return [(getattr(a, f.name), getattr(b, f.name)) for f in fields(FullName)]


def _conflict(field: str, a: FullName, b: FullName) -> bool:
    mine, theirs = getattr(a, field), getattr(b, field)
    return mine is not None and theirs is not None and mine != theirs


def _merge_field(field: str, merged: FullName, other: FullName) -> FullName:
    if _conflict(field, merged, other):
        plural = {"type": "types", "index": "ids"}.get(field, field + "s")
        raise _invalid(
            f"Cannot merge devices with incompatible {plural}: '{merged}' and '{other}'"
        )
    theirs = getattr(other, field)
    return merged if theirs is None else replace(merged, **{field: theirs})


def _invalid(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)
