"""Threads for work within a step, and how many of them a thread may use.

A run that keeps one device busy may use every core; one that keeps several busy divides
them. That includes the threads of the matrix library (`berth.run.blas`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np

from berth.blocks import Block, Stack, Use
from berth.run.blas import blas_threads


def n_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Share(threading.local):
    """How many threads the current one may use, itself included."""

    def __init__(self) -> None:
        self.blocks: Stack[int] = Stack()


_share = _Share()


def my_threads(most: int) -> int:
    """Return how many threads this one may use now."""
    blocks = _share.blocks
    return min(most, blocks.innermost) if blocks else most


def share_cores(n_threads: int) -> Block[None]:
    """Let this thread's work use that many cores, BLAS included."""
    return _SharedCores(n_threads)


class _SharedCores(Block[None]):
    def __init__(self, n_threads: int) -> None:
        self._n_threads = n_threads

    def _begin(self, use: Use) -> None:
        use.set(_share.blocks, self._n_threads)
        blas = blas_threads()
        if blas is not None:
            blas.begin(use, self._n_threads)

    def _finish(self, use: Use) -> None:
        super()._finish(use)
        blas = blas_threads()
        if blas is not None:
            blas.settle()


def run_to_end(
    work: Callable[[], object], wait: Callable[[BaseException | None], object]
) -> BaseException | None:
    """Do work, and wait until it is over in all threads: memory is in use until then.

    Ctrl-C does not end the wait, however often it comes. `wait`, which may be called again,
    is told the first error of the two. Returns that.
    """
    error: BaseException | None = None
    is_begun = is_over = False
    # The inner handler makes no call in which a second interrupt could arrive; the outer one is
    # for the inner loop's jump back.
    while not is_over:
        try:
            while not is_over:
                try:
                    if not is_begun:
                        is_begun = True
                        work()
                    wait(error)
                    is_over = True
                except BaseException as raised:
                    error = error or raised
        except BaseException as raised:
            error = error or raised
    try:
        return error
    finally:
        del error  # or the frame would hold what holds the frame


def held_lock() -> threading.Lock:
    """Make a lock that is held until something is over: `with lock: pass` waits for that.

    An Event would not do. Its methods are Python code, in which Ctrl-C may arrive when its own
    lock has just been acquired, and is never released.
    """
    lock = threading.Lock()
    lock.acquire()
    return lock


class Pool:
    """A few threads that take tasks; the caller takes its share."""

    def __init__(self, n_threads: int, name: str = "berth-intra") -> None:
        self.n_threads = n_threads
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._is_closed = False
        self._name = name

    def run(self, tasks: Sequence[Callable[[], None]]) -> None:
        """Do all tasks, the first in this thread; raise the first error."""
        if len(tasks) == 1:
            tasks[0]()
            return
        shared = [_Task(task) for task in tasks]

        def work() -> None:
            if len(shared) > 1 and self._start():
                for task in shared[1:]:
                    self._tasks.put(task)
            # A task that no thread has begun is done here, so the pool cannot block itself.
            for task in shared:
                task.do_here()

        def wait(error: BaseException | None) -> None:
            for task in shared:
                task.wait()

        error = run_to_end(work, wait)
        try:
            for failed in (error, *(task.error for task in shared)):
                if failed is not None:
                    raise failed
        finally:
            error = failed = None  # or the frame would hold what holds the frame
            shared.clear()

    def _start(self) -> bool:
        """Start the threads, unless they were ended."""
        with self._lock:
            while not self._is_closed and len(self._threads) < self.n_threads - 1:
                number = len(self._threads) + 1
                thread = threading.Thread(
                    target=self._work, name=f"{self._name}-{number}", daemon=True
                )
                self._threads.append(thread)
                thread.start()
            return not self._is_closed

    def _work(self) -> None:
        _share.blocks[Use()] = 1  # its own core, for as long as it lives
        while True:
            task = self._tasks.get()
            if task is None:
                return
            with np.errstate(all="ignore"):
                task.do()
            del task

    def close(self) -> None:
        """End the threads: from now on callers do everything themselves."""
        with self._lock:
            self._is_closed = True
            for _ in self._threads:
                self._tasks.put(None)
            self._threads = []


class _Task:
    __slots__ = ("_begin", "_is_callers", "_over", "_work", "error")

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._begin = threading.Lock()
        self._over = held_lock()
        self._is_callers: list[bool] = []
        self.error: BaseException | None = None

    def do(self) -> None:
        """Do the work in a thread of the pool, unless it was begun before."""
        if not self._begin.acquire(blocking=False):
            return
        try:
            self._work()
        except BaseException as error:  # handed over to the caller
            self.error = error
        finally:
            self._work = _nothing  # drops the arrays before the caller continues
            self._over.release()

    def do_here(self) -> None:
        """Do the work in the thread of the caller, unless another has begun it."""
        if self._take():
            self._work()

    def wait(self) -> None:
        """Wait, in the thread of the caller, until no thread of the pool has the task."""
        if self._take():
            self._work = _nothing
        else:
            with self._over:
                pass

    def _take(self) -> bool:
        """Let no thread of the pool begin the work; tell whether none has."""
        if not self._is_callers:
            # One C call acquires the lock and notes it: no interrupt comes in between.
            self._is_callers.extend(map(self._begin.acquire, (False,)))
        return self._is_callers[0]


def _nothing() -> None:
    pass
