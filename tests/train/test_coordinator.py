"""Coordinator: threads stop together, and the first error is raised where they are joined."""

from __future__ import annotations

import logging
import sys
import threading

import pytest

import berth.compat.v1 as tf


def running(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def test_all_threads_stop_at_once():
    coordinator = tf.train.Coordinator()
    threads = [running(coordinator.wait_for_stop) for _ in range(3)]
    assert not coordinator.should_stop()
    coordinator.request_stop()
    coordinator.join(threads)
    assert coordinator.should_stop()
    assert coordinator.joined
    assert not any(thread.is_alive() for thread in threads)
    coordinator.clear_stop()
    assert not coordinator.should_stop()
    assert not coordinator.joined


def test_first_error_is_raised_by_join(caplog):
    caplog.set_level(logging.INFO, logger="tensorflow")
    coordinator = tf.train.Coordinator()

    def fail():
        with coordinator.stop_on_exception():
            raise KeyError("first")

    thread = running(fail)
    coordinator.wait_for_stop()
    try:
        raise OSError("second")
    except OSError as error:
        coordinator.request_stop(error)
    with pytest.raises(KeyError, match="first"):
        coordinator.join([thread])
    with pytest.raises(KeyError, match="first"):
        coordinator.raise_requested_exception()
    assert [r.getMessage() for r in caplog.records] == [
        "Error reported to Coordinator: 'first'"
    ]


def test_error_after_join_is_raised_at_once():
    coordinator = tf.train.Coordinator()
    coordinator.request_stop()
    coordinator.join()
    coordinator.request_stop()
    with pytest.raises(OSError, match="late"), coordinator.stop_on_exception():
        raise OSError("late")


@pytest.mark.parametrize("report", [lambda e: e, lambda e: sys.exc_info()])
def test_end_of_input_is_a_clean_stop(report):
    coordinator = tf.train.Coordinator()
    try:
        raise tf.errors.OutOfRangeError(None, None, "end of input")
    except tf.errors.OutOfRangeError as error:
        coordinator.request_stop(report(error))
    coordinator.join()
    assert coordinator.should_stop()

    strict = tf.train.Coordinator(clean_stop_exception_types=[])
    with strict.stop_on_exception():
        raise tf.errors.OutOfRangeError(None, None, "end of input")
    with pytest.raises(tf.errors.OutOfRangeError):
        strict.join()


def test_threads_that_go_on_are_named(caplog):
    caplog.set_level(logging.INFO, logger="tensorflow")
    end = threading.Event()
    for is_ignored in (False, True):
        coordinator = tf.train.Coordinator()
        straggler = threading.Thread(target=end.wait, name="slow-reader")
        coordinator.register_thread(straggler)
        straggler.start()
        coordinator.request_stop()
        message = "Coordinator stopped with threads still running: slow-reader"
        if is_ignored:
            coordinator.join(stop_grace_period_secs=0, ignore_live_threads=True)
            assert caplog.messages == [message]
        else:
            with pytest.raises(RuntimeError, match=message):
                coordinator.join(stop_grace_period_secs=0)
    end.set()


def test_error_that_nobody_handles_is_refused():
    coordinator = tf.train.Coordinator()
    coordinator.request_stop(OSError("made up"))
    with pytest.raises(ValueError, match=r"ex must be a tuple or sys\.exc_info must return"):
        coordinator.join()


def test_looper_calls_until_stopped():
    coordinator = tf.train.Coordinator()
    calls = []

    def count(step, last):
        calls.append(step)
        if len(calls) == last:
            coordinator.request_stop()

    looper = tf.train.LooperThread.loop(coordinator, 0.0, count, args=(7,), kwargs={"last": 3})
    coordinator.join([looper])
    assert calls == [7, 7, 7]


def test_looper_calls_its_own_methods():
    coordinator = tf.train.Coordinator()
    calls = []

    class Looper(tf.train.LooperThread):
        def start_loop(self):
            calls.append("start")

        def run_loop(self):
            calls.append("run")
            coordinator.request_stop()

        def stop_loop(self):
            calls.append("stop")

    Looper(coordinator, None).start()
    coordinator.join()
    assert calls == ["start", "run", "stop"]


def test_looper_needs_a_coordinator_and_a_target():
    with pytest.raises(ValueError, match="'coord' argument must be a Coordinator: 3"):
        tf.train.LooperThread(3, None)
    with pytest.raises(ValueError, match="'args' and 'kwargs' argument require that you also"):
        tf.train.LooperThread(tf.train.Coordinator(), None, args=(1,))
