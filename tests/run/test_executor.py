"""The executor: the order of stages, the threads that run them, and how a failed run ends."""

from __future__ import annotations

import gc
import threading
import weakref
from types import SimpleNamespace

import pytest

from berth.errors import CancelledError
from berth.run.executor import WORTH_A_THREAD, Executor, _Run, is_concurrent

PATIENCE = 30


class Stage:
    """A stage that notes the thread that runs it."""

    def __init__(self, device, work=lambda: None, waits=()):
        self.device, self.waits = device, waits
        self._work = work
        self.thread = None

    def run(self):
        self.thread = threading.current_thread()
        self._work()

    def run_unless(self, is_stopped):
        if not is_stopped():
            self.run()


class Binding:
    """A binding that notes what is done with it."""

    def __init__(self, stages, work_seconds=None):
        self.stages = stages
        self.plan = SimpleNamespace(work_seconds=work_seconds or {})
        self.done = []

    def begin(self, feeds):
        self.done.append(("begin", feeds))

    def finish(self):
        self.done.append("finish")
        return ["fetched"]

    def drain(self):
        self.done.append("drain")

    def end(self):
        self.done.append("end")


BOTH_BUSY = {1: 2 * WORTH_A_THREAD, 2: WORTH_A_THREAD}


@pytest.fixture
def executor():
    executor = Executor()
    yield executor
    executor.close()


def fail():
    raise RuntimeError("no luck")


def test_stages_run_in_order_between_begin_and_finish(executor):
    done = []
    binding = Binding([Stage(0, lambda: done.append(0)), Stage(1, lambda: done.append(1))])

    assert executor.run(binding, ["fed"]) == ["fetched"]
    assert done == [0, 1]
    assert binding.done == [("begin", ["fed"]), "finish", "end"]


def test_failed_run_gives_up_and_ends(executor):
    binding = Binding([Stage(0, fail), after := Stage(0)])
    with pytest.raises(RuntimeError, match="no luck"):
        executor.run(binding, [])

    assert after.thread is None
    assert binding.done == [("begin", []), "drain", "end"]


def test_stages_are_given_to_who_traces_them(executor):
    stages = [Stage(1), Stage(2)]
    seen = []
    executor.run(Binding(stages, BOTH_BUSY), [], seen.append)

    assert seen == stages


@pytest.mark.parametrize(
    ("work_seconds", "expected"),
    [
        ({}, False),
        ({1: 1.0}, False),
        ({1: 1.0, 2: 0.9 * WORTH_A_THREAD}, False),
        ({1: 1.0, 2: WORTH_A_THREAD}, True),
    ],
)
def test_workers_are_for_two_busy_devices(executor, work_seconds, expected):
    stages = [Stage(1), Stage(2)]
    binding = Binding(stages, work_seconds)
    executor.run(binding, [])

    assert is_concurrent(binding) == expected
    here = threading.current_thread()
    assert [stage.thread is here for stage in stages] == [True, not expected]


def test_caller_works_for_the_busiest_device(executor):
    stages = [Stage(1), Stage(2), Stage(0)]
    executor.run(Binding(stages, {1: WORTH_A_THREAD, 2: 2 * WORTH_A_THREAD}), [])

    assert stages[1].thread is threading.current_thread()
    assert [stages[k].thread.name for k in (0, 2)] == ["berth-device-1", "berth-device-0"]


def test_devices_work_at_once(executor):
    meeting = threading.Barrier(2, timeout=PATIENCE)
    executor.run(Binding([Stage(1, meeting.wait), Stage(2, meeting.wait)], BOTH_BUSY), [])


def test_stage_waits_for_those_of_other_devices(executor):
    done = []
    stages = [
        Stage(device, lambda k=k: done.append(k), waits=[k - 1] if k else [])
        for k, device in enumerate([2, 1, 2, 1, 1, 2])
    ]
    for _ in range(20):
        done.clear()
        executor.run(Binding(stages, BOTH_BUSY), [])
        assert done == [0, 1, 2, 3, 4, 5]


def test_worker_stays_for_the_next_run(executor):
    stages = [Stage(1), Stage(2)]
    threads = set()
    for _ in range(3):
        executor.run(Binding(stages, BOTH_BUSY), [])
        threads.add(stages[1].thread)

    assert len(threads) == 1


@pytest.mark.parametrize("device", [1, 2])
def test_no_stage_follows_a_failure(executor, device):
    stages = [Stage(device, fail), Stage(1, waits=[0]), Stage(2, waits=[0])]
    binding = Binding(stages, BOTH_BUSY)
    with pytest.raises(RuntimeError, match="no luck"):
        executor.run(binding, [])

    assert [stage.thread for stage in stages[1:]] == [None, None]
    assert binding.done == [("begin", []), "drain", "end"]


def test_failed_run_is_left_when_all_that_began_is_over(executor):
    has_begun, has_failed = threading.Event(), threading.Event()
    is_over = []

    def work():
        has_begun.set()
        assert has_failed.wait(PATIENCE)
        is_over.append(True)

    def fail_meanwhile():
        assert has_begun.wait(PATIENCE)
        threading.Timer(0.02, has_failed.set).start()
        fail()

    with pytest.raises(RuntimeError, match="no luck"):
        executor.run(Binding([Stage(1, fail_meanwhile), Stage(2, work)], BOTH_BUSY), [])
    assert is_over == [True]


def test_workers_serve_after_a_failure(executor):
    with pytest.raises(RuntimeError):
        executor.run(Binding([Stage(1), Stage(2, fail)], BOTH_BUSY), [])

    assert executor.run(Binding([Stage(1), Stage(2)], BOTH_BUSY), []) == ["fetched"]


@pytest.mark.parametrize("device", [1, 2])
def test_failed_run_keeps_no_feeds(executor, device):
    """The error holds its frames, and they the feeds: no frame may hold the error."""

    class Feed:
        pass

    def run():
        feed = Feed()
        stages = [Stage(device, fail), Stage(3 - device)]
        with pytest.raises(RuntimeError):
            executor.run(Binding(stages, BOTH_BUSY), [feed])
        return weakref.ref(feed)

    gc.collect()
    gc.disable()
    try:
        feed = run()
        executor.run(Binding([Stage(1), Stage(2)], BOTH_BUSY), [])  # the workers are through
        assert feed() is None
    finally:
        gc.enable()


def test_closed_executor_runs_in_the_callers_thread(executor):
    executor.close()
    stages = [Stage(1), Stage(2)]
    executor.run(Binding(stages, BOTH_BUSY), [])

    assert {stage.thread for stage in stages} == {threading.current_thread()}


def test_closing_ends_the_workers(executor):
    stages = [Stage(1), Stage(2)]
    executor.run(Binding(stages, BOTH_BUSY), [])
    executor.close()
    stages[1].thread.join(PATIENCE)

    assert not stages[1].thread.is_alive()


def test_run_that_meets_a_closing_is_cancelled(executor):
    """The executor is closed after the run has looked, before it gives work to workers."""
    binding = Binding([Stage(1), Stage(2)], BOTH_BUSY)
    executor.close()
    with pytest.raises(CancelledError, match="Session has been closed"):
        executor._run_on_workers(binding)
    assert [stage.thread for stage in binding.stages] == [None, None]


def test_second_interrupt_waits_for_the_workers_too(executor, monkeypatch):
    """The run is left when the worker's part is over, however often Ctrl-C arrives."""
    at_work, go_on, ended = threading.Event(), threading.Event(), []

    def part():
        at_work.set()
        go_on.wait(PATIENCE)
        ended.append(True)

    def interrupted():
        at_work.wait(PATIENCE)
        raise KeyboardInterrupt

    class InterruptedRun(_Run):
        n_left = 3

        def wait(self, error):
            self.n_left -= 1
            if self.n_left:
                raise KeyboardInterrupt
            go_on.set()
            super().wait(error)

    monkeypatch.setattr("berth.run.executor._Run", InterruptedRun)
    binding = Binding([Stage(1, interrupted), Stage(2, part)], BOTH_BUSY)
    with pytest.raises(KeyboardInterrupt):
        executor.run(binding, [])
    assert ended == [True]
    assert binding.done[-2:] == ["drain", "end"]
