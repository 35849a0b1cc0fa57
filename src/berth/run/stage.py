"""The calls of one stage, ready to be made on one device's stream."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import length_hint
from typing import NoReturn

from berth.backends.base import Stream
from berth.errors import OpError, OutOfMemoryError, UnknownError
from berth.graph.operation import Operation
from berth.ops.opdef import Call
from berth.plan.plan import Copy, Stage, Step


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
        "waits",
    )

    def __init__(self, stage: Stage, stream: Stream, failures: list[str]) -> None:
        self.device = stage.device
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
        """The calls that are bound anew in each run."""

    def run(self) -> None:
        """Let the copies come in, and make the calls."""
        self.let_in()
        self.stream.launch(self._compute)

    def run_unless(self, is_stopped: Callable[[], bool]) -> None:
        """Do as `run`, but make no further call once something is stopped."""
        self.let_in()
        self.stream.launch(partial(self._compute, is_stopped))

    def let_in(self) -> None:
        """Wait for other devices, and let the copies come in."""
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
    """Raise an error as that of an operation, which it names; one error, told once."""
    try:
        if _is_told(error):
            raise error
        raise failure(error, op) from (None if isinstance(error, OpError) else error)
    finally:
        # A frame that holds the error that it is part of would keep its arrays for long.
        del error


def _is_told(error: Exception) -> bool:
    """Tell whether an error says already whose it is."""
    is_whole = isinstance(error, OutOfMemoryError)
    return isinstance(error, OpError) and (is_whole or "[[" in error.message)


def failure(error: Exception, op: Operation) -> OpError:
    """Say which operation failed, and where it was asked for."""
    where = f"\n\t [[node {op.name} (defined at {op.where.file}:{op.where.line})]]"
    if not isinstance(error, OpError):
        return UnknownError(None, op, f"{type(error).__name__}: {error}{where}")
    if _is_told(error):
        return error
    return type(error)(None, op, f"{error.message}{where}")
