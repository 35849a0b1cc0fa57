"""The CPU and its memory: one device, whatever the number of cores."""

from __future__ import annotations

import os

from berth.backends.base import DeviceInfo, MemoryInfo, PlatformIndex
from berth.backends.host_memory import available_bytes, total_bytes
from berth.backends.in_process import InProcessBackend


class HostBackend(InProcessBackend):
    """This computer's processor."""

    name = "host"

    def __init__(self) -> None:
        self.machine = _uname("nodename")
        super().__init__([DeviceInfo("CPU", _uname("machine") or "CPU", total_bytes())])

    def memory(self, device: PlatformIndex) -> MemoryInfo:
        """Tell what may be reserved here, and no more than the system has available."""
        free, total = super().memory(device)
        return MemoryInfo(min(free, available_bytes(total)), total)


def _uname(field: str) -> str:
    # Not by `platform`, which takes longer to import than all this takes to run.
    return getattr(os.uname(), field) if hasattr(os, "uname") else ""
