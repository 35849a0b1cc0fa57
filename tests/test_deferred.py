"""Deferred work: done once the lock is free, by whoever holds it; also after errors and Ctrl-C."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import berth.deferred
from berth.deferred import DeferredWork
from tests.memory.interrupts import Interrupter
from tests.threads import run_threads


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


def test_deferred_work_waits_for_the_lock_s_holder():
    lock, done = threading.Lock(), []
    work = DeferredWork(lock, done.append)
    work.post(1)
    assert done == [1]
    with lock:
        work.post(2)
        work.post(3)
        assert done == [1]
    assert list(work.pending) == [2, 3]
    work.flush()

    assert done == [1, 2, 3]
    assert not lock.locked()


def test_deferred_work_that_comes_late_is_not_missed():
    class Lock:
        """Before it is released, another thread finds it taken."""

        def __init__(self):
            self.lock = threading.Lock()
            self.release = self.release_late
            self.acquire = self.lock.acquire

        def release_late(self):
            self.release = self.lock.release
            work.post("late")
            self.release()

    done: list[str] = []
    work = DeferredWork(Lock(), done.append)
    work.post("early")

    assert done == ["early", "late"]


def test_deferred_work_may_post_more():
    done = []

    def handle(item):
        assert lock.locked()
        if item:
            work.post(item - 1)
        done.append(item)

    lock = threading.Lock()
    work = DeferredWork(lock, handle)
    work.post(3)

    assert done == [3, 2, 1, 0]


def test_deferred_work_goes_on_after_errors():
    done = []

    def handle(item):
        if item == "bad":
            raise ValueError(item)
        done.append(item)

    lock = threading.Lock()
    work = DeferredWork(lock, handle)
    with lock:
        for item in ("good", "bad", "last"):
            work.post(item)
    with pytest.raises(ValueError, match=r"^bad$"):
        work.flush()
    assert (done, lock.locked()) == (["good"], False)
    work.flush()

    assert done == ["good", "last"]


def test_deferred_work_leaves_nothing_behind():
    """Who finds the lock taken leaves the work to the other, who must not miss it."""
    done: list[int] = []
    work = DeferredWork(threading.Lock(), done.append)
    run_threads(2, lambda _: [work.post(i) for i in range(20_000)])

    assert len(done) == 40_000
    assert not work.pending
