"""Bound plans: their memory, what they copy, and whose the arrays are that come and go."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.errors import FailedPreconditionError, InvalidArgumentError, OutOfMemoryError
from berth.plan.layout import LARGE_FEED
from berth.run.binding import Binding
from berth.run.executor import Executor
from berth.run.transfers import download, transfer, upload

CPU, FIRST, SECOND = 0, 1, 2
N_LARGE = LARGE_FEED // 4


@pytest.fixture
def bind(session):
    """Bind what a session would run: ``bind(fetches, feeds)``."""
    bindings = []

    def make(fetches, feeds=None):
        engine = session._engine
        plan = session.plan(fetches, feeds)
        bindings.append(Binding(plan, engine.devices, engine.state, engine._resources.pool))
        return bindings[-1]

    yield make
    for binding in bindings:
        binding.free()


def run(binding, *feeds):
    return Executor().run(binding, feeds)


def on(device, function, *arguments):
    with tf.device(device):
        return function(*arguments)


def in_use(session):
    return [device.arena.stats.in_use_bytes for device in session._engine.devices[1:]]


# --- memory -------------------------------------------------------------------------------


def test_each_device_gives_one_workspace(session, bind):
    x = tf.placeholder(tf.float32, [1000])
    y = on("/gpu:1", tf.sqrt, on("/gpu:0", tf.square, x))
    binding = bind(y, {x: np.ones(1000)})
    sizes = binding.plan.workspace_bytes

    assert all(used >= sizes[k] >= 4000 for k, used in enumerate(in_use(session), start=1))
    binding.free()
    assert in_use(session) == [0, 0]


def test_binding_that_fails_keeps_no_memory(session, bind):
    """The first device has room, the second has not."""
    x = tf.placeholder(tf.float32, [])
    small = on("/gpu:0", tf.fill, [1000], x)
    large = on("/gpu:1", tf.fill, [2**28], x)
    total = on("/cpu:0", tf.add, tf.reduce_sum(small), on("/gpu:1", tf.reduce_sum, large))
    with pytest.raises(OutOfMemoryError):
        bind(total, {x: 1.0})
    assert in_use(session) == [0, 0]


# --- copies -------------------------------------------------------------------------------


def test_copies_go_the_way_their_devices_need(bind):
    x = tf.placeholder(tf.float32, [2])
    y = on("/gpu:1", tf.sqrt, on("/gpu:0", tf.square, x))
    z = on("/cpu:0", tf.negative, y)
    binding = bind(z, {x: [1, 2]})
    (_, to_gpu), (_, over), (_, to_host) = (stage.arrivals[0] for stage in binding.stages)
    first, second = binding.stages[0].stream, binding.stages[1].stream

    assert [(c.source.device, c.target.device) for c in binding.plan.copies()] == [
        (CPU, FIRST),
        (FIRST, SECOND),
        (SECOND, CPU),
    ]
    assert (to_gpu.func, to_gpu.args[0]) == (upload, first)
    assert (over.func, over.args[0]) == (transfer, second)
    assert (to_host.func, to_host.args[0]) == (download, second)
    assert run(binding, np.float32([3, 4]))[0].tolist() == [-3, -4]


def test_stage_waits_for_the_streams_of_other_gpus(bind):
    """What the host did is done; the host waits itself; a GPU's stream waits in its queue."""
    x = tf.placeholder(tf.float32, [2])
    first = on("/cpu:0", tf.square, x)
    with tf.control_dependencies([first]):
        second = on("/gpu:0", tf.square, x)
    with tf.control_dependencies([second]):
        third = on("/gpu:1", tf.square, x)
    with tf.control_dependencies([third]):
        last = on("/cpu:0", tf.negative, x)
    stages = bind(last, {x: [1, 2]}).stages
    waits = [stage.after for stage in stages]

    assert [stage.device for stage in stages] == [CPU, FIRST, SECOND, CPU]
    assert [len(after) for after in waits] == [0, 1, 1, 1]
    assert waits[1][0]() is None
    assert waits[2][0].args == (stages[2].stream, stages[1].stream)
    assert waits[3][0].__self__ is stages[2].stream


# --- what is fetched ----------------------------------------------------------------------


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("size", [3, N_LARGE])
def test_fetched_array_is_the_callers_own(bind, device, size):
    x = tf.placeholder(tf.float32, [size])
    y = on(device, tf.square, x)
    binding = bind([y, tf.reshape(y, [size])], {x: np.ones(size)})  # of the same memory
    one, again = run(binding, np.full(size, 2, np.float32))
    run(binding, np.full(size, 3, np.float32))

    assert not np.shares_memory(one, again)
    assert set(one) == set(again) == {4}
    one[:] = 0
    assert set(run(binding, np.full(size, 2, np.float32))[0]) == {4}


@pytest.mark.parametrize("size", [3, N_LARGE])
def test_fetched_feed_is_a_copy(bind, size):
    x = tf.placeholder(tf.float32, [size])
    feed = np.ones(size, np.float32)
    [found] = run(bind([x], {x: feed}), feed)

    assert found.tolist() == feed.tolist()
    assert not np.shares_memory(found, feed)


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_fetched_scalar_is_a_scalar(bind, device):
    x = tf.placeholder(tf.float32, [])
    [found] = run(bind([on(device, tf.square, x)], {x: 3.0}), 3.0)

    assert type(found) is np.float32
    assert found == 9


# --- what is fed --------------------------------------------------------------------------


def test_large_feed_is_used_where_it_is(bind):
    x = tf.placeholder(tf.float32, [N_LARGE])
    binding = bind(tf.reduce_sum(tf.sqrt(x)), {x: np.ones(N_LARGE)})
    seen = []
    for value in (1, 4):
        feed = np.full(N_LARGE, value, np.float32)
        binding.begin([feed])
        seen.append(binding.array_of(binding.plan.feeds[0]) is feed)
        binding.end()

    assert seen == [True, True]


@pytest.mark.parametrize("is_failing", [False, True])
def test_large_feed_is_not_kept(bind, is_failing):
    x = tf.placeholder(tf.float32, [N_LARGE])
    index = tf.placeholder(tf.int32, [])
    y = on("/cpu:0", tf.gather, tf.sqrt(x), index)
    feed = np.ones(N_LARGE, np.float32)
    binding = bind(y, {x: feed, index: 0})
    feeds = {x: feed, index: np.int32(-1 if is_failing else 0)}
    try:
        run(binding, *(feeds[f.tensor] for f in binding.plan.request.feeds))
    except InvalidArgumentError:
        assert is_failing
    del feeds
    feed, is_alive = None, weakref.ref(feed)

    assert is_alive() is None


def test_call_of_a_large_feed_is_refused_outside_of_a_run(bind):
    x = tf.placeholder(tf.float32, [N_LARGE])
    binding = bind(on("/cpu:0", tf.sqrt, x), {x: np.ones(N_LARGE)})
    run(binding, np.ones(N_LARGE, np.float32))
    [stage] = binding.stages
    [(function, arguments)] = stage.calls

    with pytest.raises(AssertionError, match="outside of one"):
        function(*arguments)


# --- failures -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, N_LARGE])
def test_failed_run_leaves_the_binding_fit(bind, size):
    x = tf.placeholder(tf.float32, [size])
    index = tf.placeholder(tf.int32, [])
    found = on("/cpu:0", tf.gather, x, index)
    binding = bind(on("/gpu:0", tf.negative, found), {x: np.ones(size), index: 0})
    feed = np.full(size, 5, np.float32)
    order = [f.tensor for f in binding.plan.request.feeds]
    for _ in range(2):
        with pytest.raises(InvalidArgumentError):
            run(binding, *({x: feed, index: np.int32(size)}[t] for t in order))
        assert run(binding, *({x: feed, index: np.int32(1)}[t] for t in order)) == [-5]


def test_variable_must_have_a_value(session, bind):
    variable = tf.Variable([1.0, 2.0])
    binding = bind(variable.value())
    with pytest.raises(FailedPreconditionError):
        run(binding)
    session.run(variable.initializer)

    assert run(binding)[0].tolist() == [1, 2]
