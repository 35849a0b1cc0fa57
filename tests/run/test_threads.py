"""Many threads on one session: each gets its own values, or its own error, and all end."""

from __future__ import annotations

import faulthandler
import functools
import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.backends.sim import SimBackend
from berth.errors import CancelledError, InvalidArgumentError
from berth.run import executor
from berth.run.segments import MAX_SEGMENTS

N_THREADS, N_RUNS = 16, 1000
SECONDS = 30.0
"""How long threads may take before they count as stuck."""


@pytest.fixture(autouse=True, params=["at once", "put off"])
def streams(request, sim, monkeypatch) -> Iterator[None]:
    """Run every test twice: on streams that work at once, and on those that wait."""
    if request.param == "put off":
        lazy = functools.partial(SimBackend, lazy=True)
        monkeypatch.setattr("berth.front.context.SimBackend", lazy)
    sim("2xT4")
    tf.reset_default_graph()
    # Should threads block each other for good, this shows where.
    faulthandler.dump_traceback_later(2 * SECONDS)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def workers(monkeypatch) -> None:
    """Give every plan with two devices to worker threads, however small it is."""
    monkeypatch.setattr(executor, "WORTH_A_THREAD", 0.0)


def in_threads(work: Callable[[int], None], n_threads: int = N_THREADS) -> None:
    """Do some work in many threads at once, given their numbers; raise the first error."""
    errors: list[BaseException] = []
    ready = threading.Barrier(n_threads)

    def run(number: int) -> None:
        try:
            ready.wait(SECONDS)
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=run, args=(number,), name=f"test-{number}", daemon=True)
        for number in range(n_threads)
    ]
    for thread in threads:
        thread.start()
    end = time.monotonic() + SECONDS
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    assert not [thread.name for thread in threads if thread.is_alive()], "stuck"
    if errors:
        raise errors[0]


def in_use(session: tf.Session) -> list[int]:
    return [device.arena.stats.in_use_bytes for device in session._engine.devices]


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def our_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "berth" in thread.name]


def wait_for_no_threads() -> list[str]:
    """Return the names of the threads of ours that do not end soon."""
    end = time.monotonic() + 5
    while our_threads() and time.monotonic() < end:
        time.sleep(0.005)
    return our_threads()


def start_without_threads() -> None:
    """End the threads of tests before this one, whose sessions were dropped but not collected."""
    gc.collect()
    assert wait_for_no_threads() == []


# --- values -----------------------------------------------------------------------------------


def test_threads_get_their_own_values():
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/cpu:0"):
        double, total = x * 2, tf.reduce_sum(x)
    with tf.device("/gpu:1"):
        offset = tf.Variable(5.0)
        moved = x + offset
    fetches = [double, [total, moved], (moved, double, total), {"moved": moved}]

    def check(session: tf.Session, number: int, step: int) -> None:
        fed = np.full(number % 3 + 1, number * 1000 + step, np.float32)
        wanted = [fed * 2, fed.sum(), fed + 5]
        which = (number + step) % 4
        result = session.run(fetches[which], {x: fed})
        if which == 3:
            result = [result["moved"]]
        result = [result] if which == 0 else list(result)
        shown = [[0], [1, 2], [2, 0, 1], [2]][which]
        for got, index in zip(result, shown, strict=True):
            np.testing.assert_array_equal(got, wanted[index])

    def work(session: tf.Session, n_runs: int, number: int) -> None:
        for step in range(n_runs):
            check(session, number, step)

    with tf.Session() as session:
        session.run(offset.initializer)
        for number in range(3):  # each plan once
            work(session, 4, number)
        alone = in_use(session)
        in_threads(functools.partial(work, session, 100))
        resident = resident_bytes()
        in_threads(functools.partial(work, session, N_RUNS))
        assert resident_bytes() < resident + 2**22
        # At most one set of memory for each thread.
        assert all(n <= N_THREADS * one for n, one in zip(in_use(session), alone, strict=True))


def test_threads_share_large_steps():
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/cpu:0"):
        y = tf.square(x * 2 + 1) - x
    with tf.device("/gpu:0"):
        z = tf.abs(y - 3) * x

    def work(number: int) -> None:
        fed = np.arange(100_000 + number, dtype=np.float32) / 1000
        wanted = np.square(fed * np.float32(2) + np.float32(1)) - fed
        kept = []
        for _ in range(4):
            kept.append(session.run([y, z], {x: fed}))
            np.testing.assert_array_equal(kept[-1][0], wanted)
            np.testing.assert_array_equal(kept[-1][1], np.abs(wanted - np.float32(3)) * fed)
        for first, _ in kept:
            np.testing.assert_array_equal(first, wanted)

    with tf.Session() as session:
        in_threads(work, 6)


def test_threads_share_dynamic_shapes():
    x, shape = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [2])
    with tf.device("/gpu:0"):
        turned = tf.transpose(tf.reshape(x * 2, shape))
    kept = tf.boolean_mask(x, x > 2)
    where = tf.where(x > 2)

    def work(number: int) -> None:
        for step in range(12):
            # More shapes than plans are kept for.
            rows = (number * 12 + step) % (MAX_SEGMENTS + 20) + 1
            fed = np.arange(rows * 2, dtype=np.float32)
            feeds = {x: fed, shape: [rows, 2]}
            got, chosen, positions = session.run([turned, kept, where], feeds)
            np.testing.assert_array_equal(got, (fed * 2).reshape(rows, 2).T)
            np.testing.assert_array_equal(chosen, fed[fed > 2])
            np.testing.assert_array_equal(positions, np.argwhere(fed > 2))

    with tf.Session() as session:
        in_threads(work, 6)


def test_threads_wait_for_memory():
    """There is memory for a few runs at once: the others wait, from the first run on."""
    gpu = tf.config.list_physical_devices("GPU")[0]
    limit = tf.config.LogicalDeviceConfiguration(memory_limit=20)
    tf.config.set_logical_device_configuration(gpu, [limit])
    x = tf.placeholder(tf.float32, [500_000])
    with tf.device("/gpu:0"):
        turned = tf.transpose(tf.reshape(tf.square(x) + 1, [1000, 500]))

    def work(number: int) -> None:
        for _ in range(5):
            result = session.run(turned, {x: np.full(500_000, number, np.float32)})
            assert result.min() == result.max() == number**2 + 1

    with tf.Session() as session:
        in_threads(work, 8)


def test_threads_share_a_variable():
    with tf.device("/gpu:0"):
        count = tf.Variable(np.zeros(3, np.int64), use_resource=True)
    with tf.control_dependencies([count.assign_add([1, 1, 1])]):
        done = tf.no_op()

    def work(number: int) -> None:
        for _ in range(100):
            session.run(done)
            assert len(set(session.run(count))) == 1

    with tf.Session() as session:
        session.run(count.initializer)
        in_threads(work)
        np.testing.assert_array_equal(session.run(count), [N_THREADS * 100] * 3)


# --- errors -----------------------------------------------------------------------------------


def test_errors_stay_in_their_threads():
    index, divisor = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [])
    with tf.device("/gpu:0"):
        taken = tf.gather([10, 20, 30], index)
    with tf.device("/cpu:0"):
        divided = tf.floordiv(60, divisor) + tf.reduce_sum(taken)

    def work(number: int) -> None:
        for step in range(100):
            feeds = {index: [step % 3], divisor: number + 1}
            if number % 4 == 1:
                feeds[index] = [3]
            if number % 4 == 2:
                feeds[divisor] = 0
            if number % 4 in (1, 2):
                with pytest.raises(InvalidArgumentError) as raised:
                    session.run(divided, feeds)
                reason = "is not in" if number % 4 == 1 else "division by zero"
                assert reason in str(raised.value)
            else:
                wanted = 60 // (number + 1) + 10 * (step % 3 + 1)
                assert session.run(divided, feeds) == wanted

    with tf.Session() as session:
        in_threads(work)


@pytest.mark.usefixtures("workers")
def test_an_error_stops_the_run_once():
    divisor = tf.placeholder(tf.int32, [])
    with tf.device("/gpu:1"):
        count = tf.Variable(0, dtype=tf.int64)
        failing = tf.floordiv(60, divisor)
    with tf.device("/gpu:0"):
        busy = tf.reduce_sum(tf.range(1000) * divisor)
        both = failing + busy
    with tf.control_dependencies([both]):
        after = count.assign_add(1)
    with tf.Session() as session:
        session.run(count.initializer)
        for step in range(30):
            with pytest.raises(InvalidArgumentError, match="division by zero") as raised:
                session.run([both, after], {divisor: 0})
            assert raised.value.op is failing.op
            assert session.run(count) == step, "nothing after the error was done"
            assert session.run([both, after], {divisor: 2}) == [999_030, step + 1]


@pytest.mark.usefixtures("workers")
def test_errors_on_all_devices_are_one_error():
    divisor = tf.placeholder(tf.int32, [])
    value = divisor
    for step in range(6):
        with tf.device(f"/gpu:{step % 2}"):
            value = tf.floordiv(value + 60, divisor)
    with tf.device("/gpu:1"):
        apart = tf.floordiv(7, divisor)
    with tf.Session() as session:
        wanted = session.run([value, apart], {divisor: 1})
        for _ in range(20):
            with pytest.raises(InvalidArgumentError, match="division by zero"):
                session.run([value, apart], {divisor: 0})
            assert session.run([value, apart], {divisor: 1}) == wanted


def test_a_failed_run_leaves_nothing_behind():
    divisor = tf.placeholder(tf.int32, [])
    value = divisor
    for step in range(6):
        with tf.device(f"/gpu:{step % 2}"):
            value = tf.floordiv(value + 60, divisor)
    with tf.Session() as session:
        wanted = session.run(value, {divisor: 1})
        for _ in range(3):
            with pytest.raises(InvalidArgumentError, match="division by zero"):
                session.run(value, {divisor: 0})
            assert session.run(value, {divisor: 1}) == wanted


# --- devices in threads -----------------------------------------------------------------------


@pytest.mark.usefixtures("workers")
def test_devices_work_for_many_threads():
    x = tf.placeholder(tf.float32, [None, 8])
    left, right = x, x + 1
    for _ in range(4):
        with tf.device("/gpu:0"):
            left, over = left * 0.5 + 1, tf.reduce_sum(left)
        with tf.device("/gpu:1"):
            right = right * 0.5 + over
        with tf.device("/cpu:0"):
            left = left + tf.reduce_sum(right)

    def naive(fed: np.ndarray) -> list[np.ndarray]:
        a, b = fed, fed + 1
        for _ in range(4):
            a, total = a * 0.5 + 1, a.sum()
            b = b * 0.5 + total
            a = a + b.sum()
        return [a, b]

    def work(number: int) -> None:
        fed = np.random.default_rng(number).random((number % 3 + 1, 8))
        for step in range(30):
            fetches = [left, right] if step % 2 else [right, left]
            results = session.run(fetches, {x: fed})
            wanted = naive(fed) if step % 2 else naive(fed)[::-1]
            for result, value in zip(results, wanted, strict=True):
                np.testing.assert_allclose(result, value, 1e-4)

    start_without_threads()
    with tf.Session() as session:
        in_threads(work)
        assert [name for name in our_threads() if "device" in name]
    assert wait_for_no_threads() == []


@pytest.mark.usefixtures("workers")
def test_plans_of_different_devices_meet():
    """Each thread's own device is another's worker's: no one may wait in a circle."""
    x = tf.placeholder(tf.float32, [])
    ways = []
    for start in range(3):
        value = x
        for step in range(6):
            with tf.device(["/cpu:0", "/gpu:0", "/gpu:1"][(start + step) % 3]):
                value = value * 2 + start
        ways.append(value)

    def naive(start: int, value: float) -> float:
        for _ in range(6):
            value = value * 2 + start
        return value

    def work(number: int) -> None:
        for step in range(40):
            which = (number + step) % 4
            if which == 3:
                wanted = [naive(start, step) for start in range(3)]
                assert session.run(ways, {x: step}) == wanted
            else:
                assert session.run(ways[which], {x: step}) == naive(which, step)

    with tf.Session() as session:
        in_threads(work)


# --- the end ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("workers")
def test_close_ends_idle_threads():
    x = tf.placeholder(tf.float32, [100_000])
    with tf.device("/gpu:0"):
        y = tf.sin(x) * 2
    with tf.device("/cpu:0"):
        z = tf.cos(y) + 1
    start_without_threads()
    session = tf.Session()
    before = in_use(session)
    session.run([y, z], {x: np.zeros(100_000)})
    assert our_threads()
    session.close()
    assert wait_for_no_threads() == []
    assert in_use(session) == before
    with pytest.raises(RuntimeError, match="closed"):
        session.run(z, {x: np.zeros(100_000)})


@pytest.mark.usefixtures("workers")
def test_close_frees_memory_at_once():
    """Neither the garbage collector nor a thread that is about to end holds it."""
    with tf.device("/gpu:0"):
        variable = tf.Variable(np.ones(10_000, np.float32))
    with tf.device("/gpu:1"):
        total = tf.reduce_sum(variable * 2)
    for _ in range(30):
        with tf.Session() as session:
            session.run(variable.initializer)
            assert session.run(total) == 20_000
        assert in_use(session) == [0, 0, 0]


@pytest.mark.usefixtures("workers")
def test_forgotten_sessions_end_their_threads():
    with tf.device("/gpu:0"):
        y = tf.sin(tf.zeros([100_000])) * 2
    with tf.device("/gpu:1"):
        z = tf.cos(y) + 1
    start_without_threads()
    session = tf.Session()
    session.run([y, z])
    assert our_threads()
    del session
    gc.collect()
    assert wait_for_no_threads() == []


@pytest.mark.usefixtures("workers")
def test_close_meets_runs():
    """A run that is under way when the session closes ends well; the next is refused."""
    x = tf.placeholder(tf.float32, [50_000])
    with tf.device("/gpu:0"):
        y = tf.square(x) + 1
    with tf.device("/gpu:1"):
        z = y * 2 - x
    fed = np.full(50_000, 3, np.float32)

    def run_forever(session: Any) -> None:
        while True:
            assert set(session.run(z, {x: fed})) == {17}

    def work(session: Any, number: int) -> None:
        if number == 0:
            time.sleep(0.01)
            session.close()
            return
        with pytest.raises((RuntimeError, CancelledError), match="closed"):
            run_forever(session)

    for _ in range(5):
        in_threads(functools.partial(work, tf.Session()), 5)
        assert wait_for_no_threads() == []
