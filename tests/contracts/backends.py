"""The backends that are held to the contract, each with two devices or one."""

from __future__ import annotations

from collections.abc import Callable

from berth.backends.base import Backend
from berth.backends.host import HostBackend
from berth.backends.machine import Machine
from berth.backends.sim import SimBackend
from tests.conftest import LEDGERS
from tests.contracts.cupy_backend import CupyBackend
from tests.contracts.fake_cupy import make_fake_cupy

MACHINE = Machine.parse("2xT4:64MiB")

BACKENDS: dict[str, Callable[[], Backend]] = {
    "host": HostBackend,
    "sim": lambda: SimBackend(MACHINE, ledger_directory=LEDGERS),
    "sim-lazy": lambda: SimBackend(MACHINE, ledger_directory=LEDGERS, lazy=True),
    "cupy-shaped": lambda: CupyBackend(make_fake_cupy(2, 64 * 2**20)),
}
