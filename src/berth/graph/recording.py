"""The active gradient tapes of a thread, the outermost first."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from berth.ops.opdef import Attrs


class Recorder(Protocol):
    """Something that writes operations down: a tape."""

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
        """Write an operation down, if something it takes is watched."""
        ...

    def watch_read(self, variable: Any) -> None:
        """Take note that a variable is read."""
        ...

    def watch_output(self, output: Any, others: Sequence[Any]) -> None:
        """Watch what an operation gives from now on, if what it gave before is watched."""
        ...


class _Recording(threading.local):
    def __init__(self) -> None:
        self.tapes: tuple[Recorder, ...] = ()


_recording = _Recording()


def active_tapes() -> tuple[Recorder, ...]:
    """Return the tapes that this thread's operations go to."""
    return _recording.tapes


def set_active_tapes(tapes: tuple[Recorder, ...]) -> None:
    """Say which tapes this thread's operations go to."""
    _recording.tapes = tapes


@contextmanager
def stop_recording() -> Iterator[None]:
    """Write nothing down inside the block, on any tape."""
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
    """Write an operation down on every tape that watches something of it."""
    for tape in _recording.tapes:
        tape.record(definition, inputs, outputs, attrs, device)
