"""A run that finds no memory: it fails at once if it can never fit, and waits if it may."""

from __future__ import annotations

import threading
import time

import pytest

import berth.compat.v1 as tf
from berth.run import admission

PATIENCE = 30


@pytest.fixture(autouse=True)
def graph(sim):
    sim("1xT4:1GiB")
    gpu = tf.config.list_physical_devices("GPU")[0]
    limit = tf.config.LogicalDeviceConfiguration(memory_limit=400)
    tf.config.set_logical_device_configuration(gpu, [limit])
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def in_thread(sim):
    """Start work in another thread, in the same program."""
    from berth.front.context import context

    program = context()

    def start(work):
        def run():
            with program.as_default():
                work()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    return start


def sum_of_squares(n):
    """Make a run that needs three arrays of n floats at once on the GPU."""
    x = tf.placeholder(tf.float32, [])
    with tf.device("/gpu:0"):
        return x, tf.reduce_sum(tf.fill([n], x) * tf.fill([n], x + 1.0))


class Held:
    """A run in another thread that goes on until it is told to end."""

    def __init__(self, runner, in_thread):
        self._may_end, is_running = threading.Event(), threading.Event()

        def hold(stage):
            is_running.set()
            assert self._may_end.wait(PATIENCE)

        self._thread = in_thread(lambda: runner.run([1.0], hold))
        assert is_running.wait(PATIENCE)

    def end(self):
        self._may_end.set()
        self._thread.join(PATIENCE)


def test_what_cannot_fit_fails_at_once_in_many_threads(in_thread):
    """480 MB on a GPU with 400: threads that ask in vain do not wait for each other."""
    x, total = sum_of_squares(40_000_000)
    errors = []
    with tf.Session() as session:

        def ask():
            try:
                session.run(total, {x: 1.0})
            except tf.errors.ResourceExhaustedError as error:
                errors.append(error)

        threads = [in_thread(ask) for _ in range(8)]
        for thread in threads:
            thread.join(PATIENCE)
    assert len(errors) == 8
    assert not any(error.may_fit_later for error in errors)


def test_what_cannot_fit_fails_while_another_thread_trains(in_thread):
    x, total = sum_of_squares(40_000_000)
    with tf.device("/gpu:0"):
        a = tf.random_normal([100, 100])
        step = tf.reduce_sum(tf.matmul(a, a))
    stop = threading.Event()
    with tf.Session() as session:

        def train():
            while not stop.is_set():
                session.run(step)

        trainer = in_thread(train)
        try:
            with pytest.raises(tf.errors.ResourceExhaustedError):
                session.run(total, {x: 1.0})
        finally:
            stop.set()
            trainer.join(PATIENCE)


def test_large_run_gets_its_turn_beside_training(in_thread):
    """It fits only while the other thread's workspace is gone, which it gives back."""
    x, total = sum_of_squares(20_000_000)
    y, other = sum_of_squares(20_000_000)
    stop, has_begun = threading.Event(), threading.Event()
    with tf.Session() as session:

        def train():
            while not stop.is_set():
                session.run(other, {y: 1.0})
                has_begun.set()

        trainer = in_thread(train)
        assert has_begun.wait(PATIENCE)
        try:
            for _ in range(3):
                assert session.run(total, {x: 1.0}) == pytest.approx(40_000_000)
        finally:
            stop.set()
            trainer.join(PATIENCE)


def test_error_says_what_was_waited_for(in_thread, monkeypatch):
    """The run that holds the memory ends, and keeps it: here, by decree."""
    monkeypatch.setattr(admission, "MAX_ENDED", 1)
    x, total = sum_of_squares(20_000_000)
    y, other = sum_of_squares(20_000_000)
    with tf.Session() as session:
        session.run(other, {y: 1.0})
        [runner] = session._engine._runners.values()
        held = Held(runner, in_thread)
        with monkeypatch.context() as decree:
            decree.setattr(runner, "drop_idle", lambda: None)
            ending = threading.Timer(0.1, held.end)
            ending.start()
            with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
                session.run(total, {x: 1.0})
            ending.join(PATIENCE)
        assert "s for memory that other runs hold; 1 of them ended" in str(caught.value)
        assert caught.value.may_fit_later
        assert session.run(total, {x: 1.0}) == pytest.approx(40_000_000)


def test_waiting_run_goes_on_when_the_other_ends(in_thread):
    x, total = sum_of_squares(20_000_000)
    y, other = sum_of_squares(20_000_000)
    results = []
    with tf.Session() as session:
        session.run(other, {y: 1.0})
        [runner] = session._engine._runners.values()
        held = Held(runner, in_thread)
        asker = in_thread(lambda: results.append(session.run(total, {x: 1.0})))
        time.sleep(0.1)
        assert results == []
        held.end()
        asker.join(PATIENCE)
        assert results == [pytest.approx(40_000_000)]


def test_interrupted_run_counts_as_over():
    class Interruption:
        def __array__(self, *args, **kwargs):
            raise KeyboardInterrupt

    x, total = sum_of_squares(10)
    with tf.Session() as session:
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                session.run(total, {x: Interruption()})
        assert all(runner.n_running == 0 for runner in session._engine._runners.values())
        assert admission._running == admission._waiting == {}
