"""The hardware: host, simulated, CUDA. Backends are chosen by name here."""

from __future__ import annotations

from berth.backends.base import Backend
from berth.backends.cuda import unavailable_reason
from berth.backends.host import HostBackend
from berth.backends.machine import Machine
from berth.backends.sim import SimBackend
from berth.errors import BackendUnavailableError, did_you_mean, explain

BACKENDS = ("host", "sim", "cuda")


def open_backend(name: str, machine: str = "1xT4") -> Backend:
    """Open a backend asked for by name, or say why that cannot be done.

    >>> open_backend("sim", "2xT4").machine
    '2xT4'
    """
    if name == "host":
        return HostBackend()
    if name == "sim":
        return SimBackend(Machine.parse(machine))
    if name == "cuda":
        raise BackendUnavailableError(
            explain(
                f"The cuda backend is unavailable: {unavailable_reason()}.",
                "Simulated GPUs work anywhere: set BERTH_SIM=4xT4, for instance.",
            )
        )
    raise BackendUnavailableError(
        explain(
            f"There is no backend called {name!r}: known are {', '.join(BACKENDS)}.",
            did_you_mean(name, BACKENDS),
        )
    )
