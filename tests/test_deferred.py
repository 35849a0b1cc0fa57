"""Deferred work under Ctrl-C: the lock is free afterwards, and later work is done."""

from __future__ import annotations

import threading
from pathlib import Path

import berth.deferred
from berth.deferred import DeferredWork
from tests.memory.interrupts import Interrupter


def test_interrupt_leaves_no_lock_behind():
    interrupter, n, is_reached = Interrupter(Path(berth.deferred.__file__)), 0, True
    while is_reached:
        n += 1
        done: list[int] = []
        lock = threading.Lock()
        work: DeferredWork[int] = DeferredWork(lock, done.append)
        is_reached, _ = interrupter.run(lambda work=work: work.post(1), n)
        assert not lock.locked()
        work.post(2)
        assert done in ([1, 2], [2])
        assert not work.pending
    assert n > 20
