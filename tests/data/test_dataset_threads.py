"""Threads of pipelines: they end with their iterators, and errors reach the reader."""

from __future__ import annotations

import gc
import threading
import time

import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")

D = tf.data.Dataset


def own_threads():
    return [t for t in threading.enumerate() if t.name in ("berth-prefetch", "berth-map")]


def wait_for_no_threads():
    end = time.monotonic() + 10
    while own_threads() and time.monotonic() < end:
        time.sleep(0.001)
    assert own_threads() == []


def through_python(dataset, function, calls):
    return dataset.map(
        lambda x: tf.numpy_function(function, [x], tf.int64), num_parallel_calls=calls
    )


def test_prefetch_computes_ahead_in_a_thread_and_no_further():
    seen = []

    def note(x):
        seen.append(threading.current_thread())
        return x

    iterator = iter(through_python(D.range(20), note, None).prefetch(3))
    assert own_threads() == []
    next(iterator)
    end = time.monotonic() + 10
    while len(seen) < 4 and time.monotonic() < end:
        time.sleep(0.001)
    assert len(seen) == 4
    assert threading.main_thread() not in seen
    assert [int(x) for x in iterator] == list(range(1, 20))
    wait_for_no_threads()


def test_threads_end_with_an_iterator_that_is_dropped():
    iterator = iter(through_python(D.range(10).repeat(), lambda x: x, 3).prefetch(2))
    next(iterator)
    assert own_threads()
    del iterator
    gc.collect()
    wait_for_no_threads()


def test_parallel_calls_are_made_at_the_same_time_and_kept_in_order():
    barrier = threading.Barrier(2)

    def meet(x):
        barrier.wait(10)
        return x

    dataset = through_python(D.range(6), meet, 2)
    assert [int(x) for x in dataset] == list(range(6))
    del dataset
    gc.collect()
    wait_for_no_threads()


@pytest.mark.parametrize("calls", [None, 2, tf.data.AUTOTUNE])
def test_errors_in_threads_are_raised_by_the_reader(calls):
    def fail(x):
        if x == 2:
            raise KeyError("two")
        return x

    iterator = iter(through_python(D.range(4), fail, calls).prefetch(1))
    assert [int(next(iterator)), int(next(iterator))] == [0, 1]
    with pytest.raises(tf.errors.UnknownError, match="KeyError: 'two'"):
        next(iterator)
    assert int(next(iterator)) == 3
    with pytest.raises(StopIteration):
        next(iterator)


def test_several_threads_may_read_one_iterator():
    iterator = iter(D.range(300).map(lambda x: x % 7).prefetch(4).enumerate())
    found: list[int] = []

    def read():
        for number, _ in iterator:
            found.append(int(number))

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert sorted(found) == list(range(300))
