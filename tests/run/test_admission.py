"""Admission: which runs are counted, and for what a run without memory waits."""

from __future__ import annotations

import threading

import pytest

from berth.errors import OutOfMemoryError
from berth.run import admission

PATIENCE = 30


@pytest.fixture
def enter():
    """Enter runs, each in a thread of its own, which leave at the end of the test."""
    runs = []

    def enter(run, runner, *, here=False):
        runs.append(run)
        if here:
            admission.enter(run, runner)
        else:
            thread = threading.Thread(target=admission.enter, args=(run, runner))
            thread.start()
            thread.join(PATIENCE)

    yield enter
    for run in runs:
        admission.leave(run, None)


def no_memory(may_fit_later=True):
    figures = dict.fromkeys(
        ("requested_bytes", "limit_bytes", "in_use_bytes", "reserved_bytes"), 1
    )
    return OutOfMemoryError(
        "no memory",
        **figures,
        largest_free_bytes=0,
        holders=[],
        processes=[],
        dump="",
        may_fit_later=may_fit_later,
    )


class Memory:
    """Something to bind that has room after some tries."""

    def __init__(self, n_failing, error=None):
        self.n_tries, self._n_failing = 0, n_failing
        self._error = error or no_memory()

    def bind(self):
        self.n_tries += 1
        if self.n_tries <= self._n_failing:
            raise self._error
        return "bound"


def never():
    """Take no binding: none becomes free."""


def test_runs_are_counted_by_runner(enter):
    enter("one", "runner")
    enter("two", "runner")
    enter("three", "another")

    assert admission.n_running("runner") == 2
    admission.leave("one", None)
    admission.leave("one", None)  # it is over, however often that is told
    assert admission.n_running("runner") == 1


def test_memory_that_is_there_is_taken_at_once():
    memory = Memory(0)

    assert admission.obtain("run", "runner", memory.bind, never) == "bound"
    assert memory.n_tries == 1


def test_what_can_never_fit_fails_at_once(enter):
    enter("other", "another")
    memory = Memory(99, no_memory(may_fit_later=False))
    with pytest.raises(OutOfMemoryError, match=r"^no memory$"):
        admission.obtain("run", "runner", memory.bind, never)
    assert memory.n_tries == 1


def test_run_that_is_alone_tries_twice():
    memory = Memory(99)
    with pytest.raises(OutOfMemoryError, match=r"^no memory$"):
        admission.obtain("run", "runner", memory.bind, never)
    assert memory.n_tries == 2


def test_runs_of_the_same_thread_are_not_waited_for(enter):
    enter("outer", "another", here=True)
    memory = Memory(99)
    with pytest.raises(OutOfMemoryError):
        admission.obtain("run", "runner", memory.bind, never)
    assert memory.n_tries == 2


def test_runs_that_wait_do_not_wait_for_each_other(enter, monkeypatch):
    enter("other", "another")
    monkeypatch.setitem(admission._waiting, "other", "another")
    memory = Memory(99)
    with pytest.raises(OutOfMemoryError):
        admission.obtain("run", "runner", memory.bind, never)
    assert memory.n_tries == admission.MAX_TRIES_ALONE


def test_memory_is_tried_again_when_a_run_has_ended(enter):
    enter("other", "another")
    memory = Memory(1)
    n_looks = []

    def look():
        n_looks.append(memory.n_tries)
        if len(n_looks) == 3:
            admission.leave("other", None)

    assert admission.obtain("run", "runner", memory.bind, look) == "bound"
    assert n_looks == [1, 1, 1]  # nothing was tried while the other went on
    assert memory.n_tries == 2


def test_binding_that_becomes_free_is_taken(enter):
    enter("other", "runner")
    memory = Memory(99)
    free = iter([None, "taken"])

    assert admission.obtain("run", "runner", memory.bind, lambda: next(free)) == "taken"
    assert memory.n_tries == 1


def test_waiting_in_vain_is_an_error(enter):
    enter("other", "another")

    def look():
        admission.leave("other", None)

    with pytest.raises(OutOfMemoryError, match=r"It waited \d\.\d s .* 1 of them ended"):
        admission.obtain("run", "runner", Memory(99).bind, look)


def test_others_learn_of_a_run_that_waits(enter):
    enter("other", "another")
    seen = []

    def look():
        seen.append(
            (admission.is_awaited_by_others("runner"), admission.is_awaited_by_others("else"))
        )
        return "taken"

    admission.obtain("run", "runner", Memory(1).bind, look)

    assert seen == [(False, True)]
    assert not admission.is_awaited_by_others("else")  # it waits no more


def test_run_that_is_interrupted_waits_no_more(enter):
    enter("other", "another")

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        admission.obtain("run", "runner", Memory(99).bind, interrupt)
    assert not admission.is_awaited_by_others("else")
