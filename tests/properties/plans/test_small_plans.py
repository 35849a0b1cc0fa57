"""What the laws of plans found, made small."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import berth.compat.v1 as tf

# --- what was found by these laws, made small ---------------------------------------------------


def test_shapes_follow_the_feeds():
    """What is known beforehand depends on the shapes that are fed: it is no constant."""
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [])
    with tf.device("/gpu:0"):
        n = tf.size(x) * y
    with tf.Session() as session:
        for size in (3, 5, 3):
            assert session.run(n, {x: np.zeros(size), y: 2}) == 2 * size


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_known_values_wait_too(device):
    """An operation that is computed beforehand, or not at all, still waits for others."""
    x = tf.placeholder(tf.float32, [None])
    with tf.device(device):
        count = tf.Variable(0.0)
        with tf.control_dependencies([count.assign_add(1)]):
            known = [tf.constant(5), tf.identity(tf.constant([7])), tf.size(x), tf.no_op()]
    with tf.Session() as session:
        session.run(count.initializer)
        for step, fetch in enumerate(known, 1):
            session.run(fetch, {x: [1.0]})
            assert session.run(count) == step, fetch.name


def test_known_values_pass_waits_on():
    with tf.device("/gpu:0"):
        count = tf.Variable(0.0)
    with tf.control_dependencies([count.assign_add(1)]):
        gate = tf.constant(1)
    with tf.control_dependencies([gate]):
        now = count.read_value()
    with tf.Session() as session:
        session.run(count.initializer)
        assert [session.run(now) for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("is_traced", [False, True])
def test_known_values_wait_for_shapes(is_traced):
    """A constant waits for what has to be planned later."""
    x, shape = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [2])
    with tf.control_dependencies([tf.reshape(x, shape)]):
        one = tf.constant(1.0)
    total = tf.reduce_sum(x) + one
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) if is_traced else None
    with tf.Session() as session:
        feeds = {x: [2.0, 3.0], shape: [2, 1]}
        assert session.run([total, one], feeds, options=options) == [6, 1]


def test_known_values_wait_in_segments():
    """What a constant waits for needs values that an earlier segment computed."""
    x, shape = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [2])
    above = x + 1
    with tf.control_dependencies([above * 3]):
        one = tf.constant(1.0)
    total = tf.reduce_sum(tf.reshape(above * 2, shape)) + one
    with tf.Session() as session:
        assert session.run(total, {x: [1.0, 2.0], shape: [2, 1]}) == 11


def test_fed_placeholders_wait_for_nothing():
    x, shape = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [2])
    with tf.control_dependencies([tf.reshape(x, shape)]):
        late = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([late]):
        double = x * 2
    with tf.Session() as session:
        result = session.run(double, {x: [1.0, 2.0], shape: [2, 1], late: 0.0})
        assert list(result) == [2, 4]


def test_known_products_wait_too():
    with tf.device("/cpu:0"):
        count = tf.Variable(0.0)
        with tf.control_dependencies([count.assign_add(1)]):
            product = tf.matmul([[2.0]], [[3.0]])
    with tf.Session() as session:
        session.run(count.initializer)
        assert session.run(product) == 6
        assert session.run(count) == 1


def test_references_are_read_again():
    """A reference that crosses to a device before and after a write crosses twice."""
    with tf.device("/cpu:0"):
        variable = tf.Variable(np.zeros(20_000, np.float32))
    with tf.device("/gpu:0"):
        before = variable.read_value()
    with tf.control_dependencies([before]):
        write = variable.assign_add(np.ones(20_000, np.float32))
    with tf.control_dependencies([write]), tf.device("/gpu:0"):
        after = variable.read_value()
    with tf.Session() as session:
        session.run(variable.initializer)
        for step in range(3):
            results = session.run({"before": before, "after": after})
            assert set(results["before"]) == {step}
            assert set(results["after"]) == {step + 1}


def test_waits_cross_devices():
    """A read comes after the write it waits for, though that has a longer way to come."""
    x = tf.placeholder(tf.float32, [20_000])
    with tf.device("/gpu:0"):
        variable = tf.Variable(np.zeros(20_000, np.float32), use_resource=True)
        way = x + 1
    for index in (1, 0, 1):
        with tf.device(f"/gpu:{index}"):
            way = way * 2
    with tf.control_dependencies([variable.assign(way)]):
        value = variable.read_value()
    with tf.Session() as session:
        for fed in (1, 2):
            assert session.run(value, {x: np.full(20_000, fed)})[-1] == (fed + 1) * 8


def test_graphs_keep_their_own_numbers():
    """An array that becomes a constant may be changed afterwards."""
    mine = np.ones(3, np.float32)
    with tf.device("/cpu:0"):
        variable = tf.Variable(mine)
        fetches = [tf.identity(mine), tf.concat([mine, mine], 0), tf.convert_to_tensor(mine)]
    mine[:] = 5
    with tf.Session() as session:
        session.run(variable.initializer)
        for result in session.run([variable, *fetches]):
            assert set(result) == {1}


def test_plans_keep_their_own_numbers():
    """An array that decided how a run was planned may be changed afterwards."""
    x, begin = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [1])
    with tf.device("/cpu:0"):
        part = tf.slice(x, begin, [60_000])
    data, mine = np.arange(70_000, dtype=np.float32), np.array([0], np.int32)
    with tf.Session() as session:
        assert session.run(part, {x: data, begin: mine})[0] == 0
        mine[:] = 3
        assert session.run(part, {x: data, begin: np.array([0], np.int32)})[0] == 0
        assert session.run(part, {x: data, begin: mine})[0] == 3


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("is_resource", [False, True])
def test_nothing_needs_no_memory(device, is_resource):
    empty = np.zeros((0, 3), np.float32)
    with tf.device(device):
        variable = tf.Variable(empty, use_resource=is_resource)
        constant = tf.constant(empty)
        write = variable.assign(tf.identity(constant))
    with tf.Session() as session:
        session.run([variable.initializer, write])
        assert [array.shape for array in session.run([variable, constant])] == [(0, 3)] * 2


def test_errors_in_slices_name_their_operation():
    x, divisor = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [])
    with tf.device("/cpu:0"):
        culprit = tf.floordiv(x, divisor)
        innocent = -(culprit + 1)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as raised:
        session.run(innocent, {x: np.ones(150_000, np.int32), divisor: 0})
    assert raised.value.op is culprit.op
    assert f"[[node {culprit.op.name} " in str(raised.value)


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_runs_keep_nothing_of_the_caller(device):
    """Feeds and results are let go of when a run is over, and not with the next."""
    x = tf.placeholder(tf.float32, [None])
    with tf.device(device):
        y = tf.sin(x) * 2 + 1
    with tf.Session() as session:
        fed = np.ones(150_000, np.float32)
        result = session.run(y, {x: fed})
        kept = [weakref.ref(fed), weakref.ref(result)]
        del fed, result
        assert [reference() is None for reference in kept] == [True, True]


def test_close_frees_variables_at_once():
    """Nothing waits for the garbage collector."""
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/gpu:0"):
        variable = tf.Variable(np.ones(10_000, np.float32))
    with tf.device("/cpu:0"):
        large = x * 2
    gc.disable()
    try:
        with tf.Session() as session:
            arena = session._engine.devices[1].arena
            session.run(variable.initializer)
            session.run([variable, large], {x: np.ones(150_000)})
        assert arena.stats.in_use_bytes == 0
    finally:
        gc.enable()
