"""What a session's engines share: threads, and memory that idle plans give back."""

from __future__ import annotations

import gc

import pytest

import berth.compat.v1 as tf
from berth.errors import OutOfMemoryError
from berth.run.resources import Resources, no_collection
from berth.run.threads import Pool


class Idle:
    """Bindings that no run is using."""

    def __init__(self, *bindings):
        self._bindings = list(bindings)
        self.n_drops = 0

    def drop_idle(self):
        self.n_drops += 1
        while self._bindings:
            self._bindings.pop().free()


def fill(session, n_bytes):
    """Plan a run that needs so many bytes of a GPU."""
    x = tf.placeholder(tf.float32, [])
    with tf.device("/gpu:0"):
        total = tf.reduce_sum(tf.fill([n_bytes // 4], x))
    return session.plan(total, {x: 1.0})


@pytest.fixture
def pool():
    pool = Pool(2)
    yield pool
    pool.close()


def test_idle_memory_is_freed_for_a_plan_without_room(session, pool):
    devices, state = session._engine.devices, session._engine.state
    plan = fill(session, 600 * 2**20)
    idle = Idle(Resources(devices, pool=pool).bind(plan, state))
    binding = Resources(devices, idle, pool=pool).bind(plan, state)

    assert idle.n_drops == 1
    binding.free()


def test_idle_memory_is_kept_while_there_is_room(session, pool):
    idle = Idle()
    resources = Resources(session._engine.devices, idle, pool=pool)
    resources.bind(fill(session, 1000), session._engine.state).free()

    assert idle.n_drops == 0


@pytest.mark.parametrize("idle", [None, Idle()])
def test_plan_that_does_not_fit_fails(session, pool, idle):
    resources = Resources(session._engine.devices, idle, pool=pool)
    with pytest.raises(OutOfMemoryError):
        resources.bind(fill(session, 2**31), session._engine.state)
    assert gc.isenabled()


@pytest.mark.parametrize("is_given", [False, True])
def test_threads_are_ended_by_their_owner(session, pool, is_given):
    resources = Resources(session._engine.devices, pool=pool if is_given else None, n_threads=2)
    resources.pool.run([int, int])  # starts them
    resources.close()

    assert bool(resources.pool._threads) == is_given


def test_number_of_threads_can_be_given(session):
    resources = Resources(session._engine.devices, n_threads=3)
    resources.close()

    assert resources.pool.n_threads == 3


def test_simulated_gpus_compute_in_slices(session, pool):
    assert Resources(session._engine.devices, pool=pool).can_slice


@pytest.mark.parametrize("was_enabled", [False, True])
def test_collector_is_left_as_it_was(was_enabled):
    seen = []

    def fail():
        seen.append(gc.isenabled())
        raise KeyError

    if not was_enabled:
        gc.disable()
    try:
        with pytest.raises(KeyError), no_collection():
            fail()
        seen.append(gc.isenabled())
    finally:
        gc.enable()
    assert seen == [False, was_enabled]
