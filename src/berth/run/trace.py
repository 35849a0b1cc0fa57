"""Tracing: the device and time of each call of a run."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from berth.errors import DeadlineExceededError
from berth.graph.operation import Operation
from berth.plan.structure import ArrayType, Copy
from berth.run.stage import BoundStage, fail


class Event(NamedTuple):
    """One call, or one copy."""

    device: int
    op: Operation
    start_ns: int
    """Nanoseconds since 1970."""
    end_ns: int
    thread: int
    outputs: Sequence[ArrayType] = ()
    """What it made or moved."""
    copy: Copy | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes it made or moved."""
        return sum(output.nbytes for output in self.outputs)


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
            moved = [stage.types[copy.target.number]]
            self._note(stage, copy.source.tensor.op, start, moved, copy)
        for (function, arguments), step in zip(stage.calls, stage.owners, strict=True):
            start = self._now()
            try:
                # One by one: a stream that puts work off must not put the clock off.
                stage.stream.launch(partial(function, *arguments))
                stage.stream.synchronize()
            except Exception as error:
                fail(error, step.op)
            made = [stage.types[value.number] for value in step.outputs]
            self._note(stage, step.op, start, made)

    def _now(self) -> int:
        return time.perf_counter_ns() + self._offset

    def _note(
        self,
        stage: BoundStage,
        op: Operation,
        start: int,
        outputs: Sequence[ArrayType],
        copy: Copy | None = None,
    ) -> None:
        end, thread = self._now(), threading.get_ident()
        self.events.append(Event(stage.device, op, start, end, thread, outputs, copy))


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
