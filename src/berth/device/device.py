"""Logical devices: the places where a program's operations run."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import NamedTuple

from berth.device.full_name import LOCAL_HOST, FullName
from berth.device.physical import Hardware
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


def _new_incarnation() -> int:
    return secrets.randbits(63) + 1


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """One logical device: a name, the hardware behind it, and its share of memory."""

    index: int
    hardware: Hardware
    limit: Limit
    growth: bool = False
    priority: int = 0
    stats: MemoryStats = field(default_factory=MemoryStats)
    incarnation: int = field(default_factory=_new_incarnation)

    @property
    def device_type(self) -> str:
        return self.hardware.info.device_type

    @property
    def full_name(self) -> FullName:
        return FullName(
            LOCAL_HOST.job,
            LOCAL_HOST.replica,
            LOCAL_HOST.task,
            self.device_type,
            self.index,
        )

    @property
    def logical(self) -> LogicalDevice:
        return LogicalDevice(f"/device:{self.device_type}:{self.index}", self.device_type)

    @property
    def allocator_name(self) -> str:
        return "cpu" if self.device_type == "CPU" else f"GPU_{self.index}_bfc"
