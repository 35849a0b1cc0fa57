"""Functions called by several threads."""

from __future__ import annotations

import threading
import time

import pytest

import berth as tf
from tests.threads import run_threads

pytestmark = pytest.mark.usefixtures("eager")


def in_threads(work, n_threads=4):
    """Run it in several threads at once; raise the first error of any."""
    errors = []

    def run():
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_share_one_trace():
    v = tf.Variable(0)
    f = tf.function(lambda: v.assign_add(1))

    def work():
        for _ in range(25):
            f()

    in_threads(work)
    assert v.numpy() == 100
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
def test_threads_get_their_own_results(sim, place):
    sim("1xT4")
    wrong = []
    with tf.device(place):
        f = tf.function(lambda x: tf.reduce_sum(tf.sin(x) * 0.0 + x * x))
        f(tf.zeros([64]))

    def work():
        with tf.device(place):
            for number in range(20):
                result = float(f(tf.fill([64], float(number))))
                if result != 64.0 * number * number:
                    wrong.append((number, result))

    in_threads(work)
    assert wrong == []


def test_threads_differentiate_apart():
    v = tf.Variable(3.0)
    f = tf.function(lambda x: x * v * v)
    wrong = []

    def work():
        for number in range(10):
            with tf.GradientTape() as tape:
                y = f(tf.constant(float(number)))
            gradient = float(tape.gradient(y, v))
            if gradient != 6.0 * number:
                wrong.append((number, gradient))

    in_threads(work)
    assert wrong == []


# --- devices that go while threads compute ----------------------------------------------------


def gone(device):
    return (
        f"A tensor or variable on {device} cannot be used any more: its devices went by "
        "berth.reset()."
    )


def message(call):
    try:
        return call().numpy().tolist()
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize("place", ["CPU:0", "GPU:1"])
def test_arguments_of_devices_that_went(sim, place):
    sim("2xT4")
    with tf.device(place):
        x = tf.constant([3.0, -1.0])
    double = tf.function(lambda x: x * 2.0)
    positive = tf.function(lambda x: tf.boolean_mask(x, x > 0.0))
    captured = tf.function(lambda: x * 2.0)
    concrete = double.get_concrete_function(x)
    calls = [lambda: double(x), lambda: concrete(x), captured, lambda: positive(x)]
    results = [[6.0, -2.0]] * 3 + [[3.0]]
    assert [message(call) for call in calls] == results
    tf.reset()
    # The host's memory is still there, as it is for operations outside functions.
    expected = results if place == "CPU:0" else [gone(place)] * 4
    assert [message(call) for call in calls] == expected
    assert double(tf.constant([3.0])).numpy() == [6.0]


def test_resets_while_threads_compute(sim):
    sim("2xT4:1GiB")
    f = tf.function(lambda x: tf.reduce_sum(x * 2.0))
    outcomes = set()
    ends = time.monotonic() + 1.0

    def work(number):
        while time.monotonic() < ends:
            if number == 0:
                time.sleep(0.003)
                tf.reset()
                continue
            try:
                with tf.device(f"/gpu:{number % 2}"):
                    a = tf.ones([32, 32])
                    outcomes.add(float(f(tf.matmul(a, a))))
                    v = tf.Variable(1.0)
                    outcomes.add(float(v.assign_add(1.0)))
            except RuntimeError as error:
                outcomes.add(str(error))

    run_threads(5, work)
    errors = {gone("GPU:0"), gone("GPU:1")}
    assert outcomes - errors == {65536.0, 2.0}
    assert outcomes & errors
    tf.reset()
    with tf.device("/gpu:1"):
        assert float(f(tf.ones([32, 32]))) == 2048.0
