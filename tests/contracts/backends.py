"""The backends that are held to the contract, each with two devices or one."""

from __future__ import annotations

from collections.abc import Callable

from berth.backends.base import Backend
from berth.backends.host import HostBackend
from berth.backends.machine import Machine
from berth.backends.sim import SimBackend

MACHINE = Machine.parse("2xT4:64MiB")

BACKENDS: dict[str, Callable[[], Backend]] = {
    "host": HostBackend,
    "sim": lambda: SimBackend(MACHINE),
    "sim-lazy": lambda: SimBackend(MACHINE, lazy=True),
}
