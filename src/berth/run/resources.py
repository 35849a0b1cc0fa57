"""Resources that the engines of one session share: devices, threads, idle bindings."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from berth.blocks import FunctionBlock, Use
from berth.devices.device import Device
from berth.errors import OutOfMemoryError
from berth.plan.plan import Plan
from berth.run.binding import Binding
from berth.run.executor import Executor
from berth.run.state import SessionState
from berth.run.threads import Pool, n_cores


class IdleMemory(Protocol):
    """Memory that plans keep for their next run, in all sessions of the program."""

    def drop_idle(self) -> None:
        """Free it."""
        ...


class Resources:
    """Devices and threads."""

    def __init__(
        self,
        devices: Sequence[Device],
        idle_memory: IdleMemory | None = None,
        *,
        pool: Pool | None = None,
        n_threads: int = 0,
    ) -> None:
        self.devices = devices
        self.executor = Executor()
        self.pool = pool or Pool(n_threads or n_cores())
        self._owns_pool = pool is None
        self._idle_memory = idle_memory

    @property
    def can_slice(self) -> bool:
        """Whether elementwise work is done by this computer's own cores, slice by slice."""
        return all(device.hardware.backend.xp is np for device in self.devices)

    def bind(
        self, plan: Plan, state: SessionState, feeds: Sequence[np.ndarray[Any, Any]] = ()
    ) -> Binding:
        """Bind a plan to memory; if there is none, what is idle is freed first.

        With `feeds`, arrays of the host, these are the feeds of all runs.
        """
        try:
            with no_collection():
                return Binding(plan, self.devices, state, self.pool, feeds)
        except OutOfMemoryError:
            if self._idle_memory is None:
                raise
            self._idle_memory.drop_idle()
        return Binding(plan, self.devices, state, self.pool, feeds)

    def close(self) -> None:
        """End the threads."""
        self.executor.close()
        if self._owns_pool:
            self.pool.close()


def no_collection() -> FunctionBlock[None]:
    """Hold the garbage collector off while many objects are made, and all of them kept."""
    return FunctionBlock(_stop_collecting)


def _stop_collecting(use: Use) -> None:
    if gc.isenabled():
        use.at_end(gc.enable, [()])
        gc.disable()  # last: an interrupt right after it must not leave it off
