"""What a CUDA driver does with its environment variables, for simulated GPUs.

CUDA_DEVICE_ORDER sorts the machine's GPUs. CUDA_VISIBLE_DEVICES then picks from that
order, and the picks are renumbered from 0 (NVIDIA's documentation of the variables; where
that is silent, PyTorch's account of the driver). Pure: texts in, indices out.

Invariants: a selection never names a GPU twice or one that is not there, and every GPU
is either selected or has a reason why not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from berth.units import parse_count

_INTEGER = re.compile(r"(?P<sign>[+-]?)(?P<digits>[0-9]+)")
_UUID_PREFIX = "GPU-"
DEVICE_ORDERS = ("FASTEST_FIRST", "PCI_BUS_ID")
"""What CUDA_DEVICE_ORDER may say; the first is the default."""


class Selection(NamedTuple):
    """Which GPUs a process sees, in its order, and why it does not see the others."""

    indices: tuple[int, ...]
    reason: str
    """Why a GPU that is not among the indices is hidden."""


def device_order(order: str | None, speeds: Sequence[float]) -> list[int]:
    """Sort GPUs as CUDA does: fastest first, or (given in that order) by PCI bus id.

    >>> device_order(None, [1.0, 3.0, 1.0]), device_order("PCI_BUS_ID", [1.0, 3.0])
    ([1, 0, 2], [0, 1])
    """
    by_bus = list(range(len(speeds)))
    if order == "PCI_BUS_ID":
        return by_bus
    return sorted(by_bus, key=lambda index: -speeds[index])


def select(value: str | None, uuids: Sequence[str]) -> Selection:
    """Read CUDA_VISIBLE_DEVICES as the driver does, for GPUs with these UUIDs.

    >>> select("2,0,-1,1", ["GPU-a", "GPU-b", "GPU-c"]).indices
    (2, 0)
    """
    if value is None:
        return Selection(tuple(range(len(uuids))), "")
    variable = f"CUDA_VISIBLE_DEVICES={value}"
    if not value.strip():
        return Selection((), "CUDA_VISIBLE_DEVICES is empty")

    entries = [entry.strip() for entry in value.split(",")]
    by_uuid = entries[0].startswith(_UUID_PREFIX)
    chosen: list[int] = []
    end = ""
    for entry in entries:
        index = _uuid_index(entry, uuids) if by_uuid else _ordinal(entry)
        if index is None:
            end = f": {entry!r} is no GPU here, and ends the list"
            break
        if index in chosen:
            return Selection((), f"{variable}: {entry!r} is named twice, so none counts")
        chosen.append(index)

    # Out of range ends the list too, but only now: a number named twice empties the
    # list wherever it stands.
    for position, index in enumerate(chosen):
        if index >= len(uuids):
            end = f": there is no GPU {index}, which ends the list"
            del chosen[position:]
            break
    return Selection(tuple(chosen), variable + end)


def _ordinal(entry: str) -> int | None:
    """Read a number as C's strtoul does: what follows the digits is ignored."""
    match = _INTEGER.match(entry)
    if match is None:
        return None
    number = parse_count(match["digits"])
    return None if match["sign"] == "-" and number else number


def _uuid_index(entry: str, uuids: Sequence[str]) -> int | None:
    if not entry.startswith(_UUID_PREFIX):
        return None
    matches = [index for index, uuid in enumerate(uuids) if uuid.startswith(entry)]
    return matches[0] if len(matches) == 1 else None
