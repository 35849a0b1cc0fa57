"""Raise KeyboardInterrupt at each instruction of a piece of work, one after the other."""

from __future__ import annotations

import dis
import gc
import sys
from collections.abc import Callable, Iterator
from itertools import count
from types import FrameType
from typing import Any


def interrupt_everywhere(
    work: Callable[[], object], *, within: str, as_signals_do: bool = False
) -> Iterator[bool]:
    """Do the work again and again, each time interrupted one instruction later.

    Counted are instructions of files whose path contains `within`. Yields whether the work was
    interrupted: after the first False, it was so everywhere. With `as_signals_do` only those
    instructions count before which CPython looks for signals: after calls and jumps back.
    """
    for n in count():
        is_interrupted = _interrupt_at(n, work, within, as_signals_do)
        yield is_interrupted
        if not is_interrupted:
            return


def _interrupt_at(n: int, work: Callable[[], object], within: str, as_signals_do: bool) -> bool:
    n_seen = 0
    before: dict[FrameType, str] = {}

    def count_instruction(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal n_seen
        if event == "opcode":
            if as_signals_do:
                last = before.get(frame, "RESUME")
                before[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
                if not last.startswith(("CALL", "RESUME", "JUMP")):
                    return count_instruction
            if n_seen == n:
                raise KeyboardInterrupt
            n_seen += 1
        return count_instruction

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if within not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        return count_instruction

    gc.disable()  # finalizers of other tests are not this work
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
        gc.enable()
    return False
