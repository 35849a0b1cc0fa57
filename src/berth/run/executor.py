"""Running bound plans: in the caller's thread, or with one worker for each device.

Handing work to another thread costs more than a small plan takes, so workers are used only
where at least two devices have enough to do. Then the caller's thread works for the busiest
device itself, and a stage begins when the stages it waits for are over.

Invariants:
  1. The parts of one run are given to the workers under one lock, so every worker meets
     the runs in the same order, and none waits for a run that is behind its own.
  2. If a call fails, or the caller is interrupted, no further call of the run is made, and
     the run is left only when all that had begun are over.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from operator import methodcaller
from queue import SimpleQueue
from threading import Lock
from typing import Any

import numpy as np

from berth.errors import CancelledError
from berth.fp_errors import ignore_fp_errors
from berth.run.binding import Binding
from berth.run.stage import BoundStage
from berth.run.threads import held_lock, n_cores, run_to_end, share_cores

WORTH_A_THREAD = 5e-4
"""How many seconds of work make it worth while to hand them over."""


class Executor:
    """Runs bindings, and owns the workers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: dict[int, _Worker] = {}
        self._is_closed = False

    def run(self, binding: Binding, feeds: Sequence[Any], run_stage: Any = None) -> list[Any]:
        """Run a plan once; return the fetched values."""
        return ignore_fp_errors(self._run, (binding, feeds, run_stage))

    def _run(self, binding: Binding, feeds: Sequence[Any], run_stage: Any) -> list[Any]:
        try:
            binding.begin(feeds)
            if run_stage is not None:
                for stage in binding.stages:
                    run_stage(stage)
            elif is_concurrent(binding) and not self._is_closed:
                self._run_on_workers(binding)
            else:
                for stage in binding.stages:
                    stage.run()
            return binding.finish()
        except BaseException:
            binding.drain()
            raise
        finally:
            binding.end()

    def _run_on_workers(self, binding: Binding) -> None:
        run = _Run(binding.stages)
        busy = [d for d, s in binding.plan.work_seconds.items() if s >= WORTH_A_THREAD]
        own = max(busy, key=lambda device: binding.plan.work_seconds[device])
        share = max(1, n_cores() // len(busy))
        others = {stage.device for stage in binding.stages} - {own}

        def work() -> None:
            self._hand_out(run, others, share)
            run.work_for(own, share)

        failed = run_to_end(work, run.wait) or run.error
        run.release()
        try:
            if failed is not None:
                raise failed
        finally:
            failed = None  # or the frame would hold what holds the frame

    def _hand_out(self, run: _Run, devices: set[int], share: int) -> None:
        """Give each device's part of a run to its worker."""
        with self._lock:
            if self._is_closed:  # by another thread, since we looked
                raise CancelledError(None, None, "Session has been closed.")
            for device in sorted(devices):
                worker = self._workers.get(device)
                if worker is None:
                    worker = self._workers[device] = _Worker(f"berth-device-{device}")
                run.hand_out(worker.submit, device, share)

    def close(self) -> None:
        """End the workers. A run that goes on is done by its own thread."""
        with self._lock:
            self._is_closed = True
            for worker in self._workers.values():
                worker.submit(None)
            self._workers = {}


def is_concurrent(binding: Binding) -> bool:
    """Tell whether at least two devices have enough to do."""
    seconds = binding.plan.work_seconds
    if len(seconds) < 2:
        return False
    enough = [s for s in seconds.values() if s >= WORTH_A_THREAD]
    return len(enough) > 1


class _Run:
    """One run that several threads work for, each for one device.

    The caller may be interrupted between any two instructions. So what others wait for are
    locks, each released once: by an iterator, which C code advances as it releases.
    """

    def __init__(self, stages: Sequence[BoundStage]) -> None:
        self._stages = stages
        self._over = [held_lock() for _ in stages]
        """For each stage: held until it is over, or will not be run."""
        self._ends = {
            device: map(methodcaller("release"), self._locks_of(device))
            for device in {stage.device for stage in stages}
        }
        """For each device: releases the lock of its next stage."""
        self._parts: list[tuple[int, Lock]] = []
        """Devices that others work for, with a lock that is held until they are done."""
        self._handed_out: list[None] = []
        """As many elements as parts were handed out: the first ones."""
        self.error: BaseException | None = None

    def _locks_of(self, device: int) -> list[Lock]:
        each = zip(self._stages, self._over, strict=True)
        return [over for stage, over in each if stage.device == device]

    def hand_out(self, submit: Callable[[Any], None], device: int, n_cores: int) -> None:
        """Let another thread work for a device."""
        over = held_lock()
        self._parts.append((device, over))
        work = partial(self._work_as_part, device, n_cores, over)
        # One C call hands it out and notes it: no interrupt comes in between.
        self._handed_out.extend(map(submit, (work,)))

    def work_for(self, device: int, n_cores: int) -> None:
        """Run the stages of one device, each when its time has come."""
        with share_cores(n_cores), np.errstate(all="ignore"):
            for stage in self._stages:
                if stage.device == device:
                    self._run_stage(stage)
                    next(self._ends[device])

    def _run_stage(self, stage: BoundStage) -> None:
        for number in stage.waits:
            with self._over[number]:
                pass
        if self.error is None:
            try:
                stage.run_unless(self.is_stopped)
            except BaseException as error:  # the caller's thread raises it
                self.error = self.error or error

    def _work_as_part(self, device: int, n_cores: int, over: Lock) -> None:
        try:
            self.work_for(device, n_cores)
        except BaseException as error:
            self.error = self.error or error
        finally:
            self._give_up(device)
            over.release()

    def _give_up(self, device: int) -> None:
        """Let no thread wait for the stages of a device that are left, if there are any."""
        deque(self._ends[device], maxlen=0)

    def is_stopped(self) -> bool:
        return self.error is not None

    def release(self) -> None:
        """Drop the stages, and with them the arrays: a worker may still hold this run."""
        self._stages = ()
        self.error = None

    def wait(self, error: BaseException | None) -> None:
        """Wait until every part that was handed out is done, and tell it of an error."""
        self.error = self.error or error
        handed_out = self._parts[: len(self._handed_out)]
        for device in self._ends.keys() - {device for device, _ in handed_out}:
            self._give_up(device)
        for _, over in handed_out:
            with over:
                pass


class _Worker:
    """A thread that runs submitted work in order."""

    def __init__(self, name: str) -> None:
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.submit: Callable[[Callable[[], None] | None], None] = self._work.put
        threading.Thread(target=self._loop, name=name, daemon=True).start()

    def _loop(self) -> None:
        while True:
            work = self._work.get()
            if work is None:
                return
            work()
            del work
