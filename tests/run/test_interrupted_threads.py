"""Ctrl-C at every moment of a step that several threads work for.

The step is left only when no other thread works for it any more, or ever will; and the threads
are fit for the next one. A thread that is waited for in vain would be a hang: then the process ends.
"""

from __future__ import annotations

import faulthandler
import time
from pathlib import Path

import pytest

import berth
from berth.run.executor import Executor
from berth.run.threads import Pool, held_lock, run_to_end
from tests.memory.interrupts import Interrupter
from tests.run.test_executor import BOTH_BUSY, PATIENCE, Binding, Stage

RUN = Path(berth.__file__).parent / "run"


@pytest.fixture(autouse=True)
def end_if_it_hangs():
    faulthandler.dump_traceback_later(3 * PATIENCE, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


class Work:
    """Work that takes a moment, and counts how often it was begun and ended."""

    def __init__(self):
        self.n_begun = self.n_ended = 0

    def __call__(self):
        self.n_begun += 1
        time.sleep(0.001)
        self.n_ended += 1


def interrupt_everywhere(module, run, work):
    """Interrupt a run at each moment; work of other threads is over whenever it is left."""
    interrupter, n, is_reached = Interrupter(RUN / module), 0, True
    while is_reached:
        n += 1
        is_reached, is_over = interrupter.run(run, n)
        assert work.n_begun == work.n_ended, f"interrupted at moment {n}"
        before = work.n_begun
        run()
        assert work.n_begun == work.n_ended == before + 1, f"interrupted at moment {n}"
    assert is_over
    assert n > 100


def test_interrupted_caller_waits_for_the_pool():
    pool, work = Pool(2), Work()
    try:
        pool.run([time.monotonic, work])
        interrupt_everywhere("threads.py", lambda: pool.run([time.monotonic, work]), work)
    finally:
        pool.close()


def test_interrupted_run_waits_for_its_workers():
    executor, work = Executor(), Work()
    stages = [Stage(1), Stage(2, work, waits=[0]), Stage(1, waits=[1]), Stage(2, waits=[2])]

    def run():
        assert executor.run(Binding(stages, BOTH_BUSY), []) == ["fetched"]

    try:
        run()
        interrupt_everywhere("executor.py", run, work)
    finally:
        executor.close()


def test_wait_goes_on_through_any_number_of_interrupts():
    told, interrupts = [], [KeyboardInterrupt(number) for number in range(5)]
    pending = list(interrupts)

    def interrupted(error=None):
        told.append(error)
        if pending:
            raise pending.pop(0)

    assert run_to_end(interrupted, interrupted) is interrupts[0]
    assert told == [None, *[interrupts[0]] * 5]


def test_held_lock_is_waited_for():
    lock = held_lock()
    assert not lock.acquire(blocking=False)
    lock.release()
    with lock:
        pass
    assert lock.acquire(blocking=False)
