"""Splitting a physical device: what ``tf.config`` is given, checked and translated.

One physical device is split by a list of LogicalDeviceConfiguration, one for each part.
A ConfigProto says the same as `VirtualDevices`, which is what `numbering` reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.backends.kinds import kind_of
from berth.devices.device import LogicalDeviceConfiguration
from berth.devices.numbering import VirtualDevices

MAX_LIMIT_MB = 2**24
"""Sixteen TiB: more than any card has."""


def parts_of(division: VirtualDevices) -> list[LogicalDeviceConfiguration]:
    """Turn the split of a ConfigProto into parts."""
    n_parts = len(division.memory_limit_mb)
    return [
        LogicalDeviceConfiguration(*part)
        for part in zip(
            division.memory_limit_mb,
            division.priority or [None] * n_parts,
            division.device_ordinal or [None] * n_parts,
            strict=True,
        )
    ]


def virtual_devices(parts: Sequence[LogicalDeviceConfiguration]) -> VirtualDevices:
    """Turn parts into the split of a ConfigProto."""
    priorities = [part.experimental_priority for part in parts]
    ordinals = [part.experimental_device_ordinal for part in parts]
    return VirtualDevices(
        memory_limit_mb=tuple(p.memory_limit for p in parts if p.memory_limit is not None),
        priority=_all_or_none(priorities, "priority"),
        device_ordinal=_all_or_none(ordinals, "device_ordinals"),
    )


def _all_or_none(values: Sequence[int | None], what: str) -> tuple[int, ...]:
    given = tuple(value for value in values if value is not None)
    if given and len(given) < len(values):
        raise ValueError(f"{what} must be specified for all virtual devices")
    return given


def check_parts(device_type: str, parts: Sequence[LogicalDeviceConfiguration]) -> None:
    """Raise if a device of this type cannot be split so."""
    has_limit = kind_of(device_type).has_limit
    for part in parts:
        if not isinstance(parts, list | tuple) or not hasattr(part, "memory_limit"):
            raise TypeError(
                "logical_devices must be a list of LogicalDeviceConfiguration, and not "
                f"{parts!r}."
            )
        if part.memory_limit is not None and not _is_amount(part.memory_limit):
            raise ValueError(
                f"memory_limit must be a number of MiB, from 0 to {MAX_LIMIT_MB}, and not "
                f"{part.memory_limit!r}."
            )
        if has_limit:
            if part.memory_limit is None:
                raise ValueError(
                    f"Setting memory limit is required for {device_type} virtual devices"
                )
            continue
        if part.memory_limit is not None:
            raise ValueError(
                f"Setting memory limit on {device_type} virtual devices is currently not "
                "supported"
            )
        for option in ("experimental_priority", "experimental_device_ordinal"):
            if getattr(part, option) is not None:
                # The two spaces are TensorFlow's.
                raise ValueError(
                    f"Setting {option} on {device_type} virtual  devices is currently not "
                    "supported"
                )


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(0 <= value <= MAX_LIMIT_MB)
