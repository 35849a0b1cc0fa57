"""``berth check``: is it computing on the GPU?

Three steps, each reported as soon as it is done:

  1. the devices of the machine, in brief;
  2. a small matmul in a session that logs its placement: a program without any options, which
     takes memory as such programs do, and is refused where they are;
  3. a larger matmul on the CPU and on each GPU, one after the other: whether its values are
     right, and how long it takes.

The larger matmul is of small whole numbers, whose products and sums single precision holds
exactly. So there is one answer, in whatever order a device adds, and a value that differs
from NumPy's is wrong.

Each GPU is checked with memory of its own, which is given back before the next one is: what is
wrong with one does not touch the others.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, redirect_stdout
from typing import Any

import numpy as np

from berth.backends.base import ProcessInfo
from berth.backends.cuda import unavailable_reason
from berth.backends.nvidia_driver import has_driver, library_name
from berth.devices.device import Device
from berth.devices.devices import Devices
from berth.devices.out_of_memory import is_taken, other_processes
from berth.errors import OutOfMemoryError
from berth.front.context import Context
from berth.graph.graph import Graph
from berth.ops.arrays.array import constant
from berth.ops.linalg.matmul import matmul
from berth.plan.plan import Request
from berth.proto.config import ConfigProto
from berth.run.engine import Engine
from berth.run.planner import Options
from berth.run.resources import Resources
from berth.session.session import Session
from berth.tools import devices as devices_report
from berth.tools.check_report import (
    CheckReport,
    DeviceCheck,
    Finding,
    ProgramRun,
    brief,
    describe,
    sentence,
    verdict,
)
from berth.units import format_bytes

_LEAST_RUNS, _MAX_RUNS, _ENOUGH_SECONDS = 3, 10, 0.2
"""A device is timed again until so much time has passed, but so often at least and at most."""
_SMALL_ANSWER = [[22.0, 28.0], [49.0, 64.0]]

Tell = Callable[[str], object]
Busy = Callable[[str], AbstractContextManager[None]]


def check(program: Context, size: int, tell: Tell, busy: Busy) -> CheckReport:
    """Check all devices of a program that has done nothing yet, and tell of it meanwhile.

    `busy` shows, while a step is going on, what is being done.
    """
    try:
        with program.as_default():
            return _check(program, size, tell, busy)
    finally:
        program.reset()


def _check(program: Context, size: int, tell: Tell, busy: Busy) -> CheckReport:
    devices = program.devices
    listed = devices_report.report(devices)
    tell("\n".join(brief(listed)) + "\n")

    with busy("Running a small matmul"):
        ran = run_small_program()
        program.trim()  # a session's memory stays taken, and the next step needs it
    tell("A small matmul, with log_device_placement=True:")
    tell(ran.output + (f"It failed: {ran.error}\n" if ran.error else ""))

    found = _check_devices(devices, size, tell, busy)
    for row in listed.devices:
        if row.hidden_because:
            found.append(describe(row, None, Finding("hidden", row.hidden_because)))
            tell(sentence(found[-1], size))
    has_gpu = any(not device.is_host for device in found)
    no_gpu_because = "" if has_gpu else why_no_gpu()
    if no_gpu_because:
        tell(f"There is no GPU: {no_gpu_because}.")
        tell("To try berth without one: berth check --sim 2xT4")
    report = CheckReport(listed.simulated_machine, size, ran, found, no_gpu_because)
    tell("\n" + verdict(report))
    return report


def _check_devices(devices: Devices, size: int, tell: Tell, busy: Busy) -> list[DeviceCheck]:
    """Check the CPU, to compare with, and then each GPU that programs see."""
    planned = devices.maker.plan(devices.options())
    cpu, task = planned[0], LargeMatmul(size)
    found: list[DeviceCheck] = []
    for number, device in enumerate(planned, 1):
        with busy(f"Checking {device.short_name} ({number} of {len(planned)})"):
            finding = task.check(device, cpu)
        times_cpu = _ratio(found[0].finding.seconds, finding.seconds) if found else None
        found.append(describe(device.hardware.info, device.short_name, finding, times_cpu))
        tell(sentence(found[-1], size))
    return found


def _ratio(cpu_seconds: float | None, seconds: float | None) -> float | None:
    return cpu_seconds / seconds if cpu_seconds and seconds else None


def run_small_program() -> ProgramRun:
    """Multiply two small matrices, with the placement logged, in the default context."""
    printed = io.StringIO()
    graph = Graph()
    try:
        with redirect_stdout(printed), graph.as_default():
            a = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name="a")
            b = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name="b")
            c = matmul(a, b)
            config = ConfigProto(log_device_placement=True)
            with Session(graph=graph, config=config) as session:
                values = session.run(c)
                print(values)
                placements = session.placements()
    except Exception as error:  # whatever it is, it is what the check has found
        return ProgramRun(printed.getvalue(), error=f"{type(error).__name__}: {error}")
    is_right = values.tolist() == _SMALL_ANSWER
    wrong = "" if is_right else f"the values are wrong: they should be {_SMALL_ANSWER}."
    return ProgramRun(printed.getvalue(), placements, wrong)


class LargeMatmul:
    """A product of two matrices of small whole numbers, and its answer."""

    def __init__(self, size: int) -> None:
        numbers = np.random.default_rng(0).integers(-2, 3, (2, size, size), np.int8)
        self._size = size
        self._a, self._b = numbers.astype(np.float32)
        self._answer = self._a @ self._b

    def check(self, device: Device, cpu: Device) -> Finding:
        """Compute it on a device, and compare; the device's memory is given back."""
        if is_taken(device):
            others = other_processes(device)
            because = f"its memory is taken by {_held(device, others)}"
            return Finding("memory_taken", because, taken_by=others)
        graph = Graph()
        with graph.as_default(), graph.device(device.logical.name):
            product = matmul(constant(self._a), constant(self._b))
        used = [device] if device is cpu else [cpu, device]
        engine = Engine(graph, Resources(used), Options())
        try:
            return self._run(engine, product)
        except OutOfMemoryError:
            return self._does_not_fit(device)
        except Exception as error:  # whatever it is, it is what the check has found
            first_line = str(error).partition("\n")[0].rstrip(".")
            return Finding("error", f"{type(error).__name__}: {first_line}")
        finally:
            engine.close()
            device.arena.trim()

    def _run(self, engine: Engine, product: Any) -> Finding:
        [values] = engine.runner(Request((product,), (), ())).run(())
        wrong = np.argwhere(values != self._answer)
        if len(wrong):
            at = tuple(wrong[0].tolist())
            return Finding(
                "wrong_values",
                f"{len(wrong):,} of the {values.size:,} values of a {self._size}x{self._size} "
                f"matmul are wrong (at {list(at)} is {values[at]:g}, and should be "
                f"{self._answer[at]:g})",
            )
        engine.drop_idle()
        # The time is that of computing: nothing comes back to the host.
        runner = engine.runner(Request((), (product.op,), ()))
        return Finding(seconds=_shortest(lambda: runner.run(())))

    def _does_not_fit(self, device: Device) -> Finding:
        others = other_processes(device)
        shared = f"; its card is shared with {_held(device, others)}" if others else ""
        return Finding(
            "out_of_memory",
            f"a {self._size}x{self._size} matmul needs {format_bytes(3 * self._a.nbytes)}, and "
            f"it may hold {format_bytes(device.limit.nbytes)} ({device.limit.source}){shared}",
            taken_by=others,
        )


def _shortest(run: Callable[[], object]) -> float:
    """Time something a few times; return the shortest time, in seconds."""
    times: list[float] = []
    while len(times) < _LEAST_RUNS or (len(times) < _MAX_RUNS and sum(times) < _ENOUGH_SECONDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def _held(device: Device, others: Sequence[ProcessInfo]) -> str:
    shares = [f"pid {p.pid} ({p.command[:60]}): {format_bytes(p.nbytes)}" for p in others]
    return f"{', '.join(shares)} of {format_bytes(device.hardware.info.memory_bytes)}"


def why_no_gpu() -> str:
    """Say why this computer has no GPU that berth can use."""
    missing = "" if has_driver() else f"no NVIDIA driver was found ({library_name()}), and "
    return missing + unavailable_reason()
