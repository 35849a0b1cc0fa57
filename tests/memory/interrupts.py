"""Ctrl-C at a chosen moment: an interrupt after the n-th bytecode of chosen modules.

Python handles a signal at certain bytecodes only: after calls, at the start of functions, in
loops. So that a test meets exactly these moments, nothing is raised here: the signal is marked
as arrived, as the operating system would, and Python itself raises KeyboardInterrupt at the
next moment that it has for it, wherever that is.
"""

from __future__ import annotations

import _thread
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any


class _Arrival:
    """`arrival[SIGINT]` marks the signal as arrived, without a call in bytecode.

    Python would handle it right after a call, in the trace function, and not in the program.
    """

    __getitem__ = _thread.interrupt_main


arrival = _Arrival()


class Interrupter:
    """Runs an operation, interrupted at its n-th bytecode in the files under a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._n_left = 0

    def run(self, operation: Callable[[], Any], n: int) -> tuple[bool, bool]:
        """Tell whether it had that many bytecodes, and whether it came to its end."""
        self._n_left = n
        is_over = False
        with default_handler():
            try:
                sys.settrace(self._enter)
                operation()
                is_over = True
                let_signals_arrive()
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(None)
        return self._n_left <= 0, is_over

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self._folder):
            return None
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            self._n_left -= 1
            if self._n_left == 0:
                sys.settrace(None)
                return arrival[signal.SIGINT]
        return self._step


@contextmanager
def default_handler() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt, as it does in programs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def let_signals_arrive(_: Any = None) -> None:
    """Give Python a moment to raise what has arrived."""
    for _ in range(2):
        pass
