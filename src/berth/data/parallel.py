"""Threads of pipelines: elements computed ahead, and several at a time.

A thread ends with the iterator that it works for, also if that is dropped before its end. It
never holds the iterator, only queues, and is told by the iterator's finalizer. Threads are
daemons: a program ends while they work. An error is raised where the element was asked for.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

from berth.data.element_function import BoundElementFunction
from berth.data.mapping import Map
from berth.data.pipeline import Pipeline
from berth.data.structure import Element
from berth.data.transformations import Stage
from berth.errors import InvalidArgumentError
from berth.finalizers import Finalizer
from berth.public import public_value

AUTOTUNE = -1
public_value(__name__, "AUTOTUNE", "data.AUTOTUNE", "data.experimental.AUTOTUNE")

_AHEAD = 4
"""How many elements `prefetch` computes ahead if it may choose."""
_WORTH_A_THREAD = 1e-3
"""Seconds from which on a call is worth giving to another thread."""
_N_TRIALS = 4
"""How many calls are timed first."""
_END = object()


class _Failure:
    """An error on its way to where it is raised."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Prefetch(Stage):
    """The same elements, computed ahead in a thread."""

    kind = "PrefetchDataset"

    def __init__(self, parent: Pipeline, buffer_size: Any) -> None:
        super().__init__(parent)
        size = int(buffer_size)
        if size < AUTOTUNE:
            raise InvalidArgumentError(
                None,
                None,
                "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning",
            )
        self._size = _AHEAD if size == AUTOTUNE else size

    def iterate(self) -> Iterator[Element]:
        elements = self._parent.iterate()
        return _Prefetched(elements, self._size) if self._size else elements


class _Prefetched:
    """An iterator over what a thread computes, which begins when the first is asked for."""

    def __init__(self, elements: Iterator[Element], size: int) -> None:
        self._elements: Iterator[Element] | None = elements
        self._ready: SimpleQueue[Any] = SimpleQueue()
        self._permits: SimpleQueue[bool] = SimpleQueue()
        for _ in range(size):
            self._permits.put(True)
        self._is_over = False
        Finalizer(self, self._permits.put, False)

    def __iter__(self) -> _Prefetched:
        return self

    def __next__(self) -> Element:
        if self._elements is not None:
            elements, self._elements = self._elements, None
            start_thread("berth-prefetch", _produce, elements, self._ready, self._permits)
        if self._is_over:
            raise StopIteration
        found = self._ready.get()
        self._permits.put(True)
        if found is _END:
            self._is_over = True
            raise StopIteration
        if type(found) is _Failure:
            raise found.error
        return found  # type: ignore[no-any-return]


def _produce(
    elements: Iterator[Element], ready: SimpleQueue[Any], permits: SimpleQueue[bool]
) -> None:
    """Put elements into a queue, one for each permit."""
    while permits.get():
        try:
            found: Any = next(elements, _END)
        except BaseException as error:
            found = _Failure(error)
        ready.put(found)
        if found is _END:
            return
        del found


def start_thread(name: str, work: Callable[..., None], *arguments: Any) -> None:
    """Start a thread that does not keep the program alive."""
    threading.Thread(target=work, args=arguments, name=name, daemon=True).start()


class ParallelMap(Map):
    """What a function makes of each element, in order; several calls at a time."""

    kind = "ParallelMapDataset"

    def __init__(
        self,
        parent: Pipeline,
        num_parallel_calls: Any,
        *,
        function: BoundElementFunction,
        label: str,
    ) -> None:
        super().__init__(parent, function=function, label=label)
        n_calls = int(num_parallel_calls)
        if n_calls < 1 and n_calls != AUTOTUNE:
            raise InvalidArgumentError(
                None, None, "num_parallel_calls must be greater than zero."
            )
        self._n_calls = (os.cpu_count() or 1) if n_calls == AUTOTUNE else n_calls

    def iterate(self) -> Iterator[Element]:
        if self._n_calls == 1 or self.blocks() is not None:
            return super().iterate()
        is_pure = self._function.function.is_pure
        return _ParallelMapped(
            self._parent.iterate(), self._function, self._n_calls, is_timed=is_pure
        )


class _Call:
    """One call of a function that a worker makes."""

    __slots__ = ("_answer", "_element", "_function")

    def __init__(self, function: Callable[[Element], Element], element: Element) -> None:
        self._function = function
        self._element = element
        self._answer: SimpleQueue[Any] = SimpleQueue()

    def make(self) -> None:
        """Make the call, in a worker."""
        try:
            self._answer.put(self._function(self._element))
        except BaseException as error:
            self._answer.put(_Failure(error))

    def result(self) -> Any:
        """Wait for what it returns."""
        return self._answer.get()


class _Raised:
    """An error of the input, in its place among the calls."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def result(self) -> Any:
        return _Failure(self._error)


class _ParallelMapped:
    """An iterator that makes calls in threads, if they take long enough to be worth it.

    Whether they do is measured first, but for functions that call Python: those may wait for
    each other, or for something outside.
    """

    def __init__(
        self,
        elements: Iterator[Element],
        function: Callable[[Element], Element],
        n_calls: int,
        is_timed: bool,
    ) -> None:
        self._elements = elements
        self._function = function
        self._n_calls = n_calls
        self._n_trials = _N_TRIALS if is_timed else 0
        self._seconds = 0.0
        self._work: SimpleQueue[_Call | None] | None = None
        self._pending: deque[_Call | _Raised] = deque()
        self._is_over = False

    def __iter__(self) -> _ParallelMapped:
        return self

    def __next__(self) -> Element:
        if self._n_trials:
            return self._try()
        if self._seconds < 0:  # not worth it
            return self._function(next(self._elements))
        if self._work is None:
            self._start()
        self._submit()
        if not self._pending:
            raise StopIteration
        found = self._pending.popleft().result()
        if type(found) is _Failure:
            raise found.error
        return found  # type: ignore[no-any-return]

    def _try(self) -> Element:
        """Make one call here, and measure it; the first is planned, and does not count."""
        element = next(self._elements)
        before = time.perf_counter()
        try:
            return self._function(element)
        finally:
            if self._n_trials < _N_TRIALS:
                self._seconds += time.perf_counter() - before
            self._n_trials -= 1
            if not self._n_trials and self._seconds < _WORTH_A_THREAD * (_N_TRIALS - 1):
                self._seconds = -1.0

    def _start(self) -> None:
        self._work = SimpleQueue()
        Finalizer(self, _end_calls, self._work, self._n_calls)
        for _ in range(self._n_calls):
            start_thread("berth-map", _make_calls, self._work)

    def _submit(self) -> None:
        """Give the workers so many calls as they can make at a time."""
        assert self._work is not None
        while len(self._pending) < self._n_calls and not self._is_over:
            try:
                call = _Call(self._function, next(self._elements))
            except StopIteration:
                self._is_over = True
                return
            except Exception as error:
                self._pending.append(_Raised(error))
                return
            self._pending.append(call)
            self._work.put(call)


def _end_calls(work: SimpleQueue[_Call | None], n_threads: int) -> None:
    for _ in range(n_threads):
        work.put(None)


def _make_calls(work: SimpleQueue[_Call | None]) -> None:
    """Make the calls of a queue, up to None."""
    while (call := work.get()) is not None:
        call.make()
        del call
