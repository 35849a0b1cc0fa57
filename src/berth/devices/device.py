"""Logical devices: the places where a program's operations run."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import NamedTuple

from berth.devices.full_name import LOCAL_HOST
from berth.devices.physical import Hardware
from berth.memory.limits import Limit
from berth.memory.stats import MemoryStats

CPU_LIMIT = Limit(2**28, "nominal: memory of the CPU is not bounded")


class LogicalDevice(NamedTuple):
    """A device of this program, as ``tf.config`` names it."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """What one logical device on a physical one is to be. Memory is in MB of 2^20."""

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


class Device:
    """One logical device: a name, the hardware behind it, and its share of memory."""

    def __init__(
        self,
        index: int,
        hardware: Hardware,
        limit: Limit,
        *,
        growth: bool = False,
        priority: int = 0,
    ) -> None:
        self.index = index
        self.hardware = hardware
        self.limit = limit
        self.growth = growth
        self.priority = priority
        self.device_type = hardware.info.device_type
        self.full_name = replace(LOCAL_HOST, type=self.device_type, index=index)
        self.name = str(self.full_name)
        self.logical = LogicalDevice(f"/device:{self.device_type}:{index}", self.device_type)
        self.stats = MemoryStats()
        self.incarnation = secrets.randbits(63) + 1
        """A number that no other device has had, not even one of the same name."""
