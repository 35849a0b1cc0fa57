"""Admission of runs: how a run waits for memory that other runs hold.

A run that finds no memory waits only for what can free some: runs in other threads, each
of which ends. It tries again when one of them has ended. A request that would not fit even if
no run held a workspace fails at once.

Invariants:
  1. Runs that wait for memory do not wait for each other, nor for runs of their own thread.
  2. A run that is over is not counted, however it ended: entering and leaving are single
     changes of a dict, made inside `try` and `finally`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from threading import get_ident
from typing import TypeVar

from berth.errors import OutOfMemoryError, explain

T = TypeVar("T")

PAUSE = 0.005
"""How long to wait before another look, in seconds."""
MAX_TRIES_ALONE = 10
"""How often to try while nothing else runs: others may be trying at the same moment."""
MAX_ENDED = 1000
"""How many ends of other runs a run waits for at most."""

_running: dict[object, tuple[object, int]] = {}
"""The runs that were entered: of which runner, in which thread."""
_waiting: dict[object, object] = {}
"""Those that wait for memory, and of which runner."""


def enter(run: object, runner: object) -> None:
    """Count a run as going on."""
    _running[run] = runner, get_ident()


leave = _running.pop
"""Count a run no more: `leave(run, None)`. It is C code: an interrupt comes before or after."""


def n_running(runner: object) -> int:
    """Count the runs of a runner."""
    return sum(of is runner for of, _ in list(_running.values()))


def is_awaited_by_others(runner: object) -> bool:
    """Tell whether runs of other plans wait for memory."""
    if not _waiting:
        return False
    return any(of is not runner for of in list(_waiting.values()))


def obtain(
    run: object, runner: object, bind: Callable[[], T], take: Callable[[], T | None]
) -> T:
    """Bind; if there is no memory, wait for runs that hold some, and try again.

    `take` returns a binding that has become free meanwhile, if there is one. Raises
    OutOfMemoryError if no run of another thread is left that could make room.
    """
    if _waiting:
        time.sleep(2 * PAUSE)  # those who wait go first
    began, n_ended, n_alone, has_waited = time.monotonic(), 0, 0, False
    try:
        while True:
            others = _others(run)
            try:
                return bind()
            except OutOfMemoryError as error:
                n_alone += not others
                max_alone = MAX_TRIES_ALONE if _waiting.keys() - {run} else 2
                is_over = n_alone >= max_alone or n_ended >= MAX_ENDED
                if has_waited and is_over:
                    raise _after_waiting(error, time.monotonic() - began, n_ended) from None
                if is_over or not error.may_fit_later:
                    raise
            has_waited = has_waited or bool(others)
            _waiting[run] = runner
            time.sleep(PAUSE * random.uniform(0.5, 1.5))
            while True:
                binding = take()
                if binding is not None:
                    return binding
                ended = others - _others(run)
                if ended or not others:
                    break
                time.sleep(PAUSE)
            n_ended += len(ended)
    finally:
        _waiting.pop(run, None)


def _others(run: object) -> set[object]:
    """Return the runs that may free memory: in other threads, and not waiting."""
    me = get_ident()
    # A copy: making pairs of the items could start a collection, in which other threads run.
    runs = _running.copy()
    return {key for key, (_, thread) in runs.items() if thread != me and key not in _waiting}


def _after_waiting(error: OutOfMemoryError, seconds: float, n_ended: int) -> OutOfMemoryError:
    """Say in an error what was waited for."""
    waited = (
        f"It waited {seconds:.1f} s for memory that other runs hold; {n_ended} of them ended "
        "meanwhile, and it did not fit."
    )
    return error.with_message(explain(error.message, waited))
