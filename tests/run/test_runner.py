"""Runners: their bindings are kept for the next run, shared by no two, and freed in time."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.errors import InvalidArgumentError
from berth.plan.plan import Feed, Request
from berth.run import admission

PATIENCE = 30


@pytest.fixture
def runner(session):
    """A runner whose plan looks up one of 1,000 squares, computed on a GPU."""
    index = tf.placeholder(tf.int32, [])
    x = tf.placeholder(tf.float32, [1000])
    with tf.device("/gpu:0"):
        squares = tf.square(x)
    with tf.device("/cpu:0"):
        found = tf.gather(squares, index)
    request = Request((found,), (), (Feed(x, (1000,)), Feed(index, ())))
    return session._engine.runner(request)


@pytest.fixture
def in_use(session):
    """How many bytes of the GPU are in use."""
    return lambda: session._engine.devices[1].arena.stats.in_use_bytes


X = np.arange(1000, dtype=np.float32)


def run(runner, index=3, run_stage=None):
    return runner.run([X, np.int32(index)], run_stage)


def counts(runner):
    return runner.n_running, runner.n_idle


def test_binding_is_kept_for_the_next_run(runner, in_use):
    assert counts(runner) == (0, 0)
    assert run(runner) == [9]
    [binding] = runner._free
    assert run(runner, 4) == [16]

    assert runner._free == [binding]
    assert in_use() > 0


def test_failed_run_gives_its_binding_back(runner):
    with pytest.raises(InvalidArgumentError):
        run(runner, 1000)

    assert counts(runner) == (0, 1)
    assert run(runner) == [9]
    assert counts(runner) == (0, 1)


def test_run_inside_a_run_has_a_binding_of_its_own(runner):
    seen = []

    def run_stage(stage):
        if not seen:
            seen.append(None)
            seen.append(run(runner, 5))
            seen.append(counts(runner))
        stage.run()

    assert run(runner, 3, run_stage) == [9]
    assert seen[1:] == [[25], (1, 1)]
    assert counts(runner) == (0, 2)


def test_idle_bindings_can_be_dropped(runner, in_use):
    run(runner)
    runner.drop_idle()

    assert counts(runner) == (0, 0)
    assert in_use() == 0
    assert run(runner) == [9]


def test_released_runner_keeps_no_binding(runner, in_use):
    run(runner)
    runner.release()
    assert (runner.n_idle, in_use()) == (0, 0)

    assert run(runner) == [9]
    assert (runner.n_idle, in_use()) == (0, 0)


def test_binding_of_a_variable_that_moved_is_freed(runner, in_use, monkeypatch):
    run(runner)
    before = in_use()
    [old] = runner._free
    monkeypatch.setattr(type(old), "is_current", property(lambda binding: binding is not old))

    assert run(runner) == [9]
    assert in_use() == before
    assert old not in runner._free
    assert runner.n_idle == 1


def test_memory_is_given_back_to_runs_that_wait(runner, in_use, monkeypatch):
    monkeypatch.setitem(admission._waiting, "run", "another runner")
    run(runner)
    assert (runner.n_idle, in_use()) == (0, 0)

    monkeypatch.setitem(admission._waiting, "run", runner)  # which can use it as it is
    run(runner)
    assert runner.n_idle == 1


def test_run_that_finds_no_memory_is_not_counted(runner, monkeypatch):
    def fail():
        raise KeyError

    monkeypatch.setattr(runner, "_bind", fail)
    with pytest.raises(KeyError):
        run(runner)
    assert counts(runner) == (0, 0)


def test_threads_have_a_binding_each(runner):
    meeting = threading.Barrier(3, timeout=PATIENCE)
    found = {}

    def work(index):
        def run_stage(stage):
            stage.run()
            if stage.device == 1:
                meeting.wait()  # all have computed, and none has fetched

        found[index] = run(runner, index, run_stage)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert found == {0: [0], 1: [1], 2: [4]}
    assert counts(runner) == (0, 3)


def test_run_that_begins_while_the_session_closes_keeps_nothing(session, in_use):
    """Another thread may close it after a run was admitted, and before its plan was found."""
    x = tf.placeholder(tf.float32, [1000])
    with tf.device("/gpu:0"):
        shifted = tf.square(x) + tf.constant(X)
    session.close()
    runner = session._engine.runner(Request((shifted,), (), (Feed(x, (1000,)),)))
    assert runner.run([X])[0].tolist() == (X * X + X).tolist()

    assert runner.n_idle == 0
    assert in_use() == 0
