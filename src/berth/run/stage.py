"""Bound stages: the calls of one stage, prepared for one device's stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import length_hint
from typing import NoReturn

from berth.backends.base import Stream
from berth.errors import OpError, OutOfMemoryError, UnknownError
from berth.graph.operation import Operation
from berth.ops.opdef import Call
from berth.plan.structure import ArrayType, Copy, Stage, Step


class BoundStage:
    """The calls of one stage."""

    __slots__ = (
        "after",
        "arrivals",
        "calls",
        "device",
        "failures",
        "late",
        "owners",
        "stream",
        "types",
        "waits",
    )

    def __init__(
        self,
        stage: Stage,
        types: Sequence[ArrayType],
        stream: Stream,
        failures: list[str],
    ) -> None:
        self.device = stage.device
        self.types = types
        """The types of the plan's values, by number."""
        self.failures = failures
        """What has failed in this run, by name: a stream may come to its work later."""
        self.waits = stage.waits
        self.stream = stream
        self.after: list[Callable[[], None]] = []
        """Makes the stream wait for those of other devices, as far as it has to."""
        self.arrivals: list[tuple[Copy, Callable[[], None]]] = []
        self.calls: list[Call] = []
        self.owners: list[Step] = []
        """The step of each call."""
        self.late: list[tuple[int, Step]] = []
        """The calls that are bound again in each run."""

    def run(self) -> None:
        """Receive the copies, and make the calls."""
        if self.after or self.arrivals:
            self.receive()
        self.stream.launch(self._compute)

    def run_unless(self, is_stopped: Callable[[], bool]) -> None:
        """Do as `run`, but make no further call once something is stopped."""
        self.receive()
        self.stream.launch(partial(self._compute, is_stopped))

    def receive(self) -> None:
        """Wait for other devices, and receive the copies."""
        for wait in self.after:
            wait()
        for _, arrive in self.arrivals:
            arrive()

    def _compute(self, is_stopped: Callable[[], bool] | None = None) -> None:
        if self.failures:
            return
        calls = iter(self.calls)
        try:
            if is_stopped is None:
                for function, arguments in calls:
                    function(*arguments)
                return
            for function, arguments in calls:
                if is_stopped():
                    return
                function(*arguments)
        except Exception as error:
            position = len(self.calls) - length_hint(calls) - 1
            op = self.owners[position].op
            self.failures.append(op.name)
            fail(error, op)


def fail(error: Exception, op: Operation) -> NoReturn:
    """Raise an error with the name of its operation, unless it has one."""
    try:
        if _names_op(error):
            raise error
        raise failure(error, op) from (None if isinstance(error, OpError) else error)
    finally:
        # A frame that holds the error that it is part of would keep its arrays for long.
        del error


def _names_op(error: Exception) -> bool:
    """Tell whether an error's message names its operation already."""
    is_whole = isinstance(error, OutOfMemoryError)
    return isinstance(error, OpError) and (is_whole or "[[" in error.message)


def failure(error: Exception, op: Operation) -> OpError:
    """Say which operation failed, and where it was asked for."""
    where = f"\n\t [[node {op.name} (defined at {op.where.file}:{op.where.line})]]"
    if not isinstance(error, OpError):
        return UnknownError(None, op, f"{type(error).__name__}: {error}{where}")
    if _names_op(error):
        return error
    return type(error)(None, op, f"{error.message}{where}")
