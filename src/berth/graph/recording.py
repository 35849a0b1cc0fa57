"""The active gradient tapes of a thread, the outermost first."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from berth.ops.opdef import Attrs


class Recorder(Protocol):
    """The interface of a gradient tape: it records operations."""

    @property
    def is_persistent(self) -> bool:
        """Whether several gradients may be taken."""
        ...

    def record(
        self,
        definition: Any,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        attrs: Attrs,
        device: str,
    ) -> None:
        """Record an operation, if one of its inputs is watched."""
        ...

    def watch_read(self, variable: Any) -> None:
        """Watch a variable that is read."""
        ...

    def watch_output(self, output: Any, others: Sequence[Any]) -> None:
        """Watch what an operation gives from now on, if what it gave before is watched."""
        ...


class _Recording(threading.local):
    def __init__(self) -> None:
        self.tapes: tuple[Recorder, ...] = ()


_recording = _Recording()


def active_tapes() -> tuple[Recorder, ...]:
    """Return the tapes that record this thread's operations."""
    return _recording.tapes


def set_active_tapes(tapes: tuple[Recorder, ...]) -> None:
    """Set the tapes that record this thread's operations."""
    _recording.tapes = tapes


@contextmanager
def stop_recording() -> Iterator[None]:
    """Record nothing inside the block, on any tape."""
    before, _recording.tapes = _recording.tapes, ()
    try:
        yield
    finally:
        _recording.tapes = before


def watch_variable(variable: Any) -> None:
    """Let the tapes of this thread watch a variable that is being read."""
    for tape in _recording.tapes:
        tape.watch_read(variable)


def record(
    definition: Any,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    attrs: Attrs,
    device: str = "",
) -> None:
    """Record an operation on every tape that watches one of its inputs."""
    for tape in _recording.tapes:
        tape.record(definition, inputs, outputs, attrs, device)
