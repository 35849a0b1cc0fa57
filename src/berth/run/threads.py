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


def wait_uninterrupted(
    wait: Callable[[], Any], interrupted: Callable[[BaseException], None]
) -> None:
    """Wait to the end, also through Ctrl-C: memory is in use until then."""
    while True:
        try:
            wait()
            return
        except KeyboardInterrupt as error:
            interrupted(error)


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
        first, *others = (_Task(task) for task in tasks)
        if others and self._start():
            for task in others:
                self._tasks.put(task)
        errors: list[BaseException] = []
        for task in (first, *others):
            # A task that no thread has begun is done here, so the pool cannot block itself.
            task.do()
            wait_uninterrupted(task.done.wait, errors.append)
            if task.error is not None:
                errors.append(task.error)
        try:
            if errors:
                raise errors[0]
        finally:
            del errors, first, others, task  # or the frame would hold what holds the frame

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
    __slots__ = ("_begin", "_work", "done", "error")

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._begin = threading.Lock()
        self.done = threading.Event()
        self.error: BaseException | None = None

    def do(self) -> None:
        """Do the work, unless it was begun before."""
        if not self._begin.acquire(blocking=False):
            return
        try:
            self._work()
        except BaseException as error:  # handed over to the caller
            self.error = error
        finally:
            self._work = _nothing  # drops the arrays before the caller continues
            self.done.set()


def _nothing() -> None:
    pass
