"""Simulations: one program on one simulated machine, as each test of the pytest plugin is.

A `Simulation` is begun, left and ended:

    begun    new devices, a new default graph, and a mode; the program is the default one
    left     the program is the default no more; its memory is as it was
    ended    its devices are gone

Memory is *left behind* if a GPU holds it between the last two, when nothing that a program
does can be under way. What berth keeps in order to be quick the next time does not count:
memory of idle plans, constants of functions, numbers that were made into tensors.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

from berth.backends.machine import Machine
from berth.devices.device import Device
from berth.devices.devices import Devices
from berth.eager.mode import set_eager
from berth.errors import BerthWarning
from berth.front.context import Context
from berth.front.memory_report import memory_report
from berth.functions.runtime import FunctionRuntime
from berth.graph.default_graph import reset_default_graph
from berth.graph.expect import expect_device
from berth.memory.stats import MemoryStats
from berth.ops.builder import is_entered
from berth.units import format_bytes

_N_HOLDERS = 5
"""How many holders of memory are named for each GPU."""


class SimulatedMachine:
    """The machine of a program: its GPUs, and what their memory holds."""

    def __init__(self, name: str, program: Context) -> None:
        self.name = name
        self._program = program

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def gpus(self) -> list[str]:
        """The program's GPUs, as ``tf.device`` takes them: ``["GPU:0", "GPU:1"]``."""
        return [row.name for row in memory_report(self._program.devices).devices]

    @property
    def in_use_bytes(self) -> dict[str, int]:
        """The bytes that each GPU holds now."""
        return self._of_each_gpu(lambda stats: stats.in_use_bytes)

    @property
    def peak_bytes(self) -> dict[str, int]:
        """The most bytes that each GPU held at once."""
        return self._of_each_gpu(lambda stats: stats.peak_bytes)

    def expect_device(self, device: str) -> AbstractContextManager[None]:
        """Turn any fallback to another device into an error: `berth.expect_device`."""
        return expect_device(device)

    def _of_each_gpu(self, measure: Callable[[MemoryStats], int]) -> dict[str, int]:
        gpus = _opened_gpus(self._program.devices)
        opened = {gpu.short_name: measure(gpu.arena.stats) for gpu in gpus}
        return {name: opened.get(name, 0) for name in self.gpus}


class Simulation:
    """A program on a machine, from its beginning to its end."""

    def __init__(self, machine: str, *, is_eager: bool | None = None) -> None:
        """Begin. The mode is eager or graphs, or with None what the process has.

        The environment is read as any program reads it, but for BERTH_SIM.
        """
        parsed = Machine.parse(machine)
        self._program = Context()
        self._program.simulate(parsed)
        self._entered = ExitStack()
        self._entered.enter_context(self._program.as_default())
        before = set_eager(True)
        set_eager(before if is_eager is None else is_eager)
        self._entered.callback(set_eager, before)
        self.machine = SimulatedMachine(parsed.name, self._program)
        _renew_default_graph()

    def leave(self) -> None:
        """Stop being the default program; a second call does nothing."""
        self._entered.close()

    def peaks(self) -> dict[str, int]:
        """Tell the most bytes that each GPU held at once, of those that were opened."""
        return {gpu.short_name: gpu.arena.stats.peak_bytes for gpu in self._gpus()}

    def left_behind(self) -> list[str]:
        """Say which memory is left behind, and who holds it: nothing, if none is."""
        self._drop_caches()
        gpus = self._gpus()
        if any(gpu.arena.stats.in_use_bytes for gpu in gpus):
            gc.collect()
        return [line for gpu in gpus for line in _holder_lines(gpu)]

    def end(self) -> None:
        """Close the devices, after the program was left."""
        self._program.reset()
        _renew_default_graph()

    def _gpus(self) -> list[Device]:
        if not self._program.has_listed_devices:
            return []
        with warnings.catch_warnings():
            # The test has restored the environment by now: that change needs no warning.
            warnings.simplefilter("ignore", BerthWarning)
            return _opened_gpus(self._program.devices)

    def _drop_caches(self) -> None:
        program = self._program
        program.builder = None
        program.drop_idle()
        for user in list(program.sessions):
            if isinstance(user, FunctionRuntime):
                user.invalidate("the end of the program")


def _opened_gpus(devices: Devices) -> list[Device]:
    opened = [device for device in devices.all() if not device.is_host]
    return sorted(opened, key=lambda device: device.index)


def _holder_lines(gpu: Device) -> Iterator[str]:
    chunks = gpu.arena.holders()
    if not chunks:
        return
    yield f"{gpu.short_name}: {format_bytes(sum(chunk.size for chunk in chunks))} in use"
    for chunk in chunks[:_N_HOLDERS]:
        yield f"  {format_bytes(chunk.size)} by {chunk.holder}"
    if len(chunks) > _N_HOLDERS:
        yield f"  and {len(chunks) - _N_HOLDERS} more"


def _renew_default_graph() -> None:
    if not is_entered():  # who has entered a graph of its own knows why
        reset_default_graph()
