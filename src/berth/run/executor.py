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
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any

import numpy as np

from berth.errors import CancelledError
from berth.fp_errors import ignore_fp_errors
from berth.run.binding import Binding
from berth.run.stage import BoundStage
from berth.run.threads import n_cores, share_cores

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
        is_begun = is_over = False
        # Not in a function: an interrupt at its start would escape. The inner handler makes no
        # call in which a second interrupt could arrive; the outer one is for the inner loop's
        # jump back.
        while not is_over:
            try:
                while not is_over:
                    try:
                        if not is_begun:
                            is_begun = True
                            self._hand_out(run, others, share)
                            run.work_for(own, share)
                        run.wait()
                        is_over = True
                    except BaseException as error:
                        run.error = run.error or error
            except BaseException as error:
                run.error = run.error or error
        run.release()
        failed, run.error = run.error, None
        try:
            if failed is not None:
                raise failed
        finally:
            del failed  # or the frame would hold what holds the frame

    def _hand_out(self, run: _Run, devices: set[int], share: int) -> None:
        """Give each device's part of a run to its worker."""
        with self._lock:
            if self._is_closed:  # by another thread, since we looked
                raise CancelledError(None, None, "Session has been closed.")
            for device in sorted(devices):
                worker = self._workers.get(device)
                if worker is None:
                    worker = self._workers[device] = _Worker(f"berth-device-{device}")
                run.n_parts += 1
                worker.submit(partial(run.work_as_part, device, share))

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
    """One run that several threads work for."""

    def __init__(self, stages: Sequence[BoundStage]) -> None:
        self._stages = stages
        self._is_over = [False] * len(stages)
        self._changed = threading.Condition()
        self.n_parts = 0
        self._n_ended = 0
        self.error: BaseException | None = None

    def work_for(self, device: int, n_cores: int) -> None:
        """Run the stages of one device, each when its time has come."""
        with share_cores(n_cores), np.errstate(all="ignore"):
            for number, stage in enumerate(self._stages):
                if stage.device == device and not self._run_stage(number, stage):
                    break

    def work_as_part(self, device: int, n_cores: int) -> None:
        """Do as `work_for`, in a worker that the caller waits for."""
        try:
            self.work_for(device, n_cores)
        finally:
            with self._changed:
                self._n_ended += 1
                self._changed.notify_all()

    def _run_stage(self, number: int, stage: BoundStage) -> bool:
        with self._changed:
            self._changed.wait_for(
                lambda: self.error is not None or all(self._is_over[w] for w in stage.waits)
            )
            if self.error is not None:
                return False
        try:
            stage.run_unless(self.is_stopped)
        except BaseException as error:  # the caller's thread raises it
            self.stop(error)
            return False
        with self._changed:
            self._is_over[number] = True
            self._changed.notify_all()
        return True

    def is_stopped(self) -> bool:
        return self.error is not None

    def stop(self, error: BaseException) -> None:
        """Make no further call."""
        with self._changed:
            if self.error is None:
                self.error = error
            self._changed.notify_all()

    def release(self) -> None:
        """Drop the stages, and with them the arrays: a worker may still hold this run."""
        self._stages = ()

    def wait(self) -> None:
        """Wait until every part that was handed out has ended, and tell it of an error."""
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._n_ended >= self.n_parts)


class _Worker:
    """A thread that runs submitted work in order."""

    def __init__(self, name: str) -> None:
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._loop, name=name, daemon=True).start()

    def submit(self, work: Callable[[], None] | None) -> None:
        self._work.put(work)

    def _loop(self) -> None:
        while True:
            work = self._work.get()
            if work is None:
                return
            work()
            del work
