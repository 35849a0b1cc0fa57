"""How much memory this computer has, and how much of it is available."""

from __future__ import annotations

import os


def total_bytes() -> int:
    """Return how much memory this computer has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return 2**33


def available_bytes(total: int) -> int:
    """Ask for what could be used without swapping: more than what is unused."""
    try:
        with open("/proc/meminfo", encoding="ascii") as table:
            for line in table:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return total
