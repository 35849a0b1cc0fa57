"""Functions called by several threads."""

from __future__ import annotations

import threading

import pytest

import berth as tf

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
