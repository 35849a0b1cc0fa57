"""Runs in segments: what waits for a value runs when it is known, and everything runs once."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.plan.plan import Feed, Request
from berth.run.segments import SegmentedRunner


@pytest.fixture(autouse=True, params=["", "1xT4"])
def _machine(sim, request):
    sim(request.param)
    with tf.Graph().as_default():
        yield


def _with_a_fed_placeholder_that_waits():
    """Return a reshape whose shape is fed, behind a fed placeholder that waits for a sum."""
    x = tf.placeholder(tf.float32, [2, 2])
    axis = tf.placeholder(tf.int32, [])
    with tf.control_dependencies([tf.reduce_sum(x, axis)]):
        waiting = tf.placeholder(tf.float32, [])
    shape = tf.placeholder(tf.int32, [2])
    with tf.control_dependencies([waiting]):
        reshaped = tf.reshape(x, shape)
    return reshaped, {x: np.ones((2, 2)), axis: 0, shape: [4, 1], waiting: 1.0}


def test_fed_placeholder_loses_no_write():
    reshaped, feeds = _with_a_fed_placeholder_that_waits()
    variable = tf.Variable(1.0)
    add = variable.assign_add(10.0)
    with tf.Session() as session:
        session.run(variable.initializer)
        session.run([reshaped, add.op], feeds)
        assert session.run(variable) == 11.0


def test_fed_placeholder_loses_no_read():
    reshaped, feeds = _with_a_fed_placeholder_that_waits()
    variable = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(variable.initializer)
        values = session.run([reshaped, variable.value()], feeds)
    assert values[0].shape == (4, 1)
    assert values[1] == 1.0


def test_writes_before_and_after_a_value_happen_once():
    variable = tf.Variable(1.0)
    shape = tf.placeholder(tf.int32, [1])
    before = variable.assign_add(10.0)
    with tf.control_dependencies([before]):
        filled = tf.fill(shape * 2, 1.0)
    with tf.control_dependencies([filled]):
        after = variable.assign_add(100.0)
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run([filled, after], {shape: [2]})[0].shape == (4,)
        assert session.run(variable) == 111.0


# --- what is fetched, and what is kept ------------------------------------------------------


@pytest.fixture
def doubled():
    """A run in two segments: `filled` has a size that is computed from `size`."""
    size = tf.placeholder(tf.int32, [])
    filled = tf.fill([size * 2], 1.5)
    return size, filled, tf.reduce_sum(filled)


def test_scalar_of_any_segment_is_a_scalar(doubled):
    size, filled, total = doubled
    early = tf.cast(size, tf.float32) * 0.5
    with tf.Session() as session:
        found = session.run([early, total, filled, size], {size: 3})

    assert [type(value) for value in found] == [np.float32, np.float32, np.ndarray, np.int32]
    assert found[:2] == [1.5, 9.0]


def test_fetched_feed_is_a_copy(doubled):
    size, filled, _ = doubled
    x = tf.placeholder(tf.float32, [2])
    fed = np.ones(2, np.float32)
    with tf.Session() as session:
        found = session.run([x, filled], {size: 1, x: fed})[0]

    assert found.tolist() == [1, 1]
    assert not np.shares_memory(found, fed)


def test_early_results_are_the_callers_own(doubled):
    """They are fed to the next segment, which keeps no hold of them."""
    size, filled, _ = doubled
    x = tf.placeholder(tf.float32, [2])
    early = tf.square(x)
    late = tf.reduce_sum(early) * tf.reduce_sum(filled)
    with tf.Session() as session:
        first = session.run([early, late], {size: 1, x: [1, 2]})[0]
        session.run([early, late], {size: 1, x: [3, 4]})

    assert first.tolist() == [1, 4]


def _segmented(session, fetch, size):
    runner = session._engine.runner(Request((fetch,), (), (Feed(size, ()),)))
    assert isinstance(runner, SegmentedRunner)
    return runner


def test_plans_are_kept_by_the_values_they_are_for(doubled):
    size, filled, _ = doubled
    with tf.Session() as session:
        runner = _segmented(session, filled, size)
        entries = []
        for value in (1, 1, 2, 1):
            assert runner.run([np.int32(value)])[0].tolist() == [1.5] * 2 * value
            entries.append(len(runner._segments))

    assert entries == [2, 2, 3, 3]  # the first segment serves all


def test_first_plan_is_that_of_the_first_segment(doubled):
    size, filled, _ = doubled
    with tf.Session() as session:
        plan = _segmented(session, filled, size).first_plan()

    computed = [step.op.type for step in plan.steps]
    assert "Mul" in computed
    assert "Fill" not in computed


def test_released_runner_keeps_no_memory(doubled):
    size, _, total = doubled
    with tf.Session() as session:
        runner = _segmented(session, total, size)
        runner.run([np.int32(3)])
        runners = [s.runner for s in runner._segments.values() if s.runner is not None]
        assert sum(each.n_idle for each in runners) == len(runners) > 0
        runner.drop_idle()
        assert sum(each.n_idle for each in runners) == 0

        runner.release()
        assert len(runner._segments) == 0
        assert runner.run([np.int32(4)]) == [12.0]
        assert all(segment.runner.is_released for segment in runner._segments.values())


def test_call_gives_what_is_wanted_of_it():
    """One output of a condition decides a shape, the other is fetched."""
    x = tf.placeholder(tf.int32, [])
    size, value = tf.cond(x > 0, lambda: (x, x * 10), lambda: (-x, x * 100))
    filled = tf.fill([size], 1.0)
    with tf.Session() as session:
        found = [session.run([filled, value], {x: k}) for k in (2, -3)]

    assert [(f.tolist(), v) for f, v in found] == [([1, 1], 20), ([1, 1, 1], -300)]
