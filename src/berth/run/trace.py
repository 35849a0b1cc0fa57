"""Tracing: the device and time of each call of a run."""

from __future__ import annotations

import math
import threading
import time
from functools import partial
from typing import Any, NamedTuple

from berth.errors import DeadlineExceededError
from berth.graph.operation import Operation
from berth.plan.plan import Copy, Step
from berth.run.stage import BoundStage, fail


class Event(NamedTuple):
    """One call, or one copy."""

    device: int
    op: Operation
    start_ns: int
    """Nanoseconds since 1970."""
    end_ns: int
    thread: int
    step: Step | None
    copy: Copy | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes it made or moved."""
        if self.copy is not None:
            return self.copy.target.nbytes
        return sum(value.nbytes for value in self.step.outputs) if self.step else 0


class Recorder:
    """Runs stages call by call, and notes the times."""

    end = math.inf

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._offset = time.time_ns() - time.perf_counter_ns()
        self.start_ns = self._now()

    def __call__(self, stage: BoundStage) -> None:
        """Run one stage."""
        for wait in stage.after:
            wait()
        for copy, arrive in stage.arrivals:
            start = self._now()
            arrive()
            stage.stream.synchronize()
            self._note(stage, copy.source.tensor.op, start, None, copy)
        for (function, arguments), step in zip(stage.calls, stage.owners, strict=True):
            start = self._now()
            try:
                # One by one: a stream that puts work off must not put the clock off.
                stage.stream.launch(partial(function, *arguments))
                stage.stream.synchronize()
            except Exception as error:
                fail(error, step.op)
            self._note(stage, step.op, start, step, None)

    def _now(self) -> int:
        return time.perf_counter_ns() + self._offset

    def _note(self, stage: BoundStage, op: Operation, start: int, step: Any, copy: Any) -> None:
        end, thread = self._now(), threading.get_ident()
        self.events.append(Event(stage.device, op, start, end, thread, step, copy))


class Deadline:
    """Runs stages call by call, and gives up when the time has run out."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        """When the time has run out, by `time.monotonic`."""

    def __call__(self, stage: BoundStage) -> None:
        """Run one stage."""
        stage.receive()
        stage.stream.launch(lambda: self._compute(stage))

    def _compute(self, stage: BoundStage) -> None:
        for (function, arguments), step in zip(stage.calls, stage.owners, strict=True):
            if time.monotonic() > self.end:
                raise timed_out()
            try:
                function(*arguments)
            except Exception as error:
                fail(error, step.op)


def timed_out() -> DeadlineExceededError:
    """Make the error of a run whose time has run out."""
    return DeadlineExceededError(None, None, "Timed out waiting for notification")
