"""The CPU and its memory: one device, whatever the number of cores."""

from __future__ import annotations

import os

from berth.backends.base import DeviceInfo, MemoryInfo, PlatformIndex
from berth.backends.in_process import InProcessBackend


class HostBackend(InProcessBackend):
    """This computer's processor."""

    name = "host"

    def __init__(self) -> None:
        self.machine = _uname("nodename")
        super().__init__([DeviceInfo("CPU", _uname("machine") or "CPU", _total_bytes())])

    def memory(self, device: PlatformIndex) -> MemoryInfo:
        """Tell what may be reserved here, and no more than the system has available."""
        free, total = super().memory(device)
        return MemoryInfo(min(free, _available_bytes(total)), total)


def _uname(field: str) -> str:
    # Not by `platform`, which takes longer to import than all this takes to run.
    return getattr(os.uname(), field) if hasattr(os, "uname") else ""


def _total_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return 2**33


def _available_bytes(total: int) -> int:
    """Ask for what could be used without swapping: more than what is unused."""
    try:
        with open("/proc/meminfo", encoding="ascii") as table:
            for line in table:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return total
