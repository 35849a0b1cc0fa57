"""A ledger under finalizers and threads."""

from __future__ import annotations

import gc
import random
import threading
import time

import pytest

from berth.backends import ledger as ledger_module
from berth.backends import ledger_file
from berth.backends.ledger import Ledger
from berth.errors import DeviceMemoryError
from tests.backends.ledger_processes import CAPACITY, MACHINE
from tests.threads import run_threads

# --- finalizers and threads ----------------------------------------------------------


class Garbage:
    """Gives bytes back when it is collected, and notes whether that was in a change."""

    def __init__(self, ledger, nbytes, where):
        self.itself = self
        self.give_back = lambda: ledger.release(0, nbytes)
        self.where = where

    def __del__(self):
        self.where.append(ledger_module._lock._is_owned())
        self.give_back()


def test_finalizers_release_in_the_middle_of_changes(ledger, open_ledger):
    other = open_ledger("1xT4:1MiB")
    where: list[bool] = []
    rng = random.Random(3)
    before = gc.get_threshold()
    gc.freeze()  # or collecting would take long
    try:
        for i in range(600):
            owner = (ledger, other)[i % 2]
            owner.reserve(0, 7)
            gc.collect()
            # So many objects from here, in the middle of anything, it is collected.
            gc.set_threshold(rng.randrange(1, 20))
            Garbage(owner, 7, where)
            ledger.reserve(1, 1)
            ledger.release(1, 1)
            ledger.used(1)
            gc.set_threshold(*before)
        gc.collect()
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()

    assert len(where) == 600
    assert True in where
    assert (ledger.used(0), ledger.used(1), other.used(0)) == (0, 0, 0)


def test_release_is_seen_by_the_next_call(ledger):
    ledger.reserve(0, 10)
    with ledger_module._lock:  # as if another thread were in the middle of a change
        ledger.release(0, 10)

    assert ledger.used(0) == 0


def test_finalizers_close_in_the_middle_of_changes(directory, monkeypatch, ledger, open_ledger):
    other, again = open_ledger("1xT4:1MiB"), open_ledger()
    used = ledger_file.SharedTable.used
    ledger.reserve(0, 5)

    def close_both_and_go_on(table, card):
        other.close()
        again.close()
        again.release(0, 5)
        return used(table, card)

    with monkeypatch.context() as patch:
        patch.setattr(ledger_file.SharedTable, "used", close_both_and_go_on)
        ledger.reserve(0, 100)

    assert list(directory.glob("1xT4*")) == []  # at once, and not with the next call
    assert ledger.used(0) == 100
    with pytest.raises(RuntimeError, match="is closed"):
        other.used(0)


def test_threads_share_a_ledger(ledger):
    n_refused = [0] * 4

    def work(index):
        rng = random.Random(index)
        held: list[int] = []
        for _ in range(500):
            if held and rng.random() < 0.4:
                ledger.release(0, held.pop())
                continue
            nbytes = rng.randrange(1, CAPACITY // 3)
            try:
                ledger.reserve(0, nbytes)
            except DeviceMemoryError:
                n_refused[index] += 1
            else:
                held.append(nbytes)
            assert sum(held) <= ledger.used(0) <= CAPACITY
        for nbytes in held:
            ledger.release(0, nbytes)

    run_threads(4, work)

    assert min(n_refused) > 0
    assert ledger.used(0) == 0


def test_threads_take_one_context(ledger):
    threads = [threading.Thread(target=ledger.attach, args=[0, 300]) for _ in range(2)]
    with ledger_module._lock:
        for thread in threads:
            thread.start()
        time.sleep(0.05)  # until both have come to the lock
    for thread in threads:
        thread.join()

    assert ledger.used(0) == 300


def test_threads_open_and_close_one_ledger(directory):
    def work(_):
        for _ in range(100):
            ledger = Ledger.open(MACHINE, directory)
            ledger.reserve(0, 10)
            ledger.release(0, 10)
            ledger.close()

    run_threads(4, work)

    assert list(directory.iterdir()) == []
