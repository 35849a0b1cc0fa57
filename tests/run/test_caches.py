"""Bounded caches of plans and runners, and what they release."""

from __future__ import annotations

import gc
import threading
import tracemalloc

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.lru import cache_info
from berth.plan.plan import Feed, Request
from berth.run.engine import MAX_PLANS, MAX_RUNNERS
from berth.run.segments import MAX_SEGMENTS


@pytest.fixture(autouse=True)
def _machine(sim):
    sim("1xT4")
    with tf.Graph().as_default():
        yield


def _entries(name):
    return [info.entries for info in cache_info() if info.name == name]


def test_many_feed_shapes_keep_few_runners():
    x = tf.placeholder(tf.float32, [None])
    y = tf.reduce_sum(tf.square(x))
    with tf.Session() as session:
        for size in range(1, 3 * MAX_PLANS):  # until the caches are full
            session.run(y, {x: np.ones(size)})
        gc.collect()
        tracemalloc.start()
        for size in range(3 * MAX_PLANS, 5 * MAX_PLANS):
            assert session.run(y, {x: np.ones(size)}) == size
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert max(_entries("runners")) == MAX_RUNNERS
        assert max(_entries("plans")) == MAX_PLANS
        assert grown < 2**19


def test_adding_and_running_grows_as_the_graph():
    """A placement has an entry for each operation: runs that keep one grow quadratically."""

    def grow(session, n_times):
        tracemalloc.start()
        for _ in range(n_times):
            assert session.run(tf.random_uniform([2])).shape == (2,)
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return grown

    with tf.Session() as session:
        grow(session, 70)  # until the caches are full
        first = grow(session, 50)
        later = grow(session, 50)
    assert later < 1.25 * first


def test_evicted_runner_frees_its_memory_after_the_run():
    shape = [30_000]
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, shape)
        y = tf.square(x) + 1.0
    with tf.Session() as session:
        arena = session._engine.devices[1].arena
        request = Request((y,), (), (Feed(x, tuple(shape)),))
        runner = session._engine.runner(request)
        started, may_end = threading.Event(), threading.Event()
        results = []

        def run_stage(stage):
            started.set()
            assert may_end.wait(60)
            stage.run()

        def work():
            results.extend(runner.run([np.full(shape, 2, np.float32)], run_stage))

        thread = threading.Thread(target=work)
        thread.start()
        assert started.wait(60)
        runner.release()
        assert arena.stats.in_use_bytes > 0  # the run goes on
        may_end.set()
        thread.join(60)
        assert results[0].tolist() == [5.0] * shape[0]
        assert (runner.n_running, runner.n_idle) == (0, 0)
        assert arena.stats.in_use_bytes < 1_000  # the constant


def test_evicted_runner_still_counts_while_it_runs():
    x = tf.placeholder(tf.float32, [None])
    y = tf.square(x)
    with tf.Session() as session:
        runner = session._engine.runner(Request((y,), (), (Feed(x, (3,)),)))
        seen = []

        def run_stage(stage):
            runner.release()
            seen.append(runner.n_running)
            stage.run()

        runner.run([np.ones(3, np.float32)], run_stage)
        assert seen == [1]
        assert runner.n_running == 0


def test_fetches_find_a_new_runner_after_eviction():
    x = tf.placeholder(tf.float32, [None])
    constant = tf.random_uniform([2])
    with tf.Session() as session:
        session.run(constant)
        for size in range(1, MAX_RUNNERS + 2):
            session.run(tf.square(x), {x: np.ones(size)})
        session.run(constant)
        _, runner = session._unfed.get(constant)
        assert not runner.is_released
        assert runner.n_idle == 1


def test_values_that_decide_shapes_keep_few_segments():
    x = tf.placeholder(tf.float32, [300])
    y = tf.boolean_mask(x, x > 0.5) * 2.0
    with tf.Session() as session:
        for size in range(300):
            values = np.where(np.arange(300) < size, 1.0, 0.0)
            assert session.run(y, {x: values}).tolist() == [2.0] * size
        assert max(_entries("segments")) == MAX_SEGMENTS


def test_plan_outlives_its_placement():
    a = tf.constant([1.0])
    with tf.device("/gpu:0"):
        b = a + 1.0
    with tf.Session() as session:
        session.run(b)
        with tf.device("/cpu:0"):
            tf.square(a)  # `a` has users on two devices now
        told = session.plan(b).explain()
    assert "runs on GPU:0" in told
