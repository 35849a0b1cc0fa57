"""Streams for devices that compute in this process: at once, or as late as allowed.

`ImmediateStream` does each piece of work when it is given: one legal order, and the
cheapest. `LazyStream` does nothing until its result must be seen: the other
legal extreme, in which a forgotten `wait` or `synchronize` shows as wrong values, as
it would on a real GPU.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from berth.backends.base import Array, Event, PlatformIndex


def _copy(target: Array, source: Array) -> None:
    target[...] = source


def check_copy(target: Array, source: Array) -> None:
    """Raise ValueError unless the arrays of a copy are what rule 8 of `base` asks for."""
    if target.shape != source.shape or target.dtype != source.dtype:
        raise ValueError(
            f"Cannot copy {source.dtype}{list(source.shape)} into "
            f"{target.dtype}{list(target.shape)}: a copy keeps shape and dtype."
        )
    if not (target.flags.c_contiguous and source.flags.c_contiguous):
        raise ValueError("Cannot copy an array that is not C-contiguous: copy it first.")
    # CuPy's arrays can always be written to, and have no such flag.
    if not getattr(target.flags, "writeable", True):
        raise ValueError("Cannot copy into an array that is read-only.")


class _Happened:
    """The event of a stream that does everything at once."""

    def done(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass


_HAPPENED = _Happened()


class ImmediateStream:
    """Work is done when the call that gives it returns."""

    def __init__(self, device: PlatformIndex) -> None:
        self.device = device

    def launch(self, work: Callable[[], None]) -> None:
        work()

    def upload(self, target: Array, source: Array) -> None:
        check_copy(target, source)
        _copy(target, source)

    # Host and device arrays are both NumPy's here, so one copy serves every direction.
    download = transfer = upload

    def record(self) -> Event:
        return _HAPPENED

    def wait(self, event: Event) -> None:
        event.synchronize()

    def synchronize(self) -> None:
        pass


class _Mark:
    """The event of a lazy stream: done once the stream has taken that many steps."""

    def __init__(self, stream: LazyStream, step: int) -> None:
        self._stream, self._step = stream, step

    def done(self) -> bool:
        # Polling must get somewhere, or a loop that polls would never end.
        self._stream.advance(min(self._stream.steps_taken + 1, self._step))
        return self._stream.steps_taken >= self._step

    def synchronize(self) -> None:
        self._stream.advance(self._step)


class LazyStream:
    """Work is done when a `synchronize` or a waited-for event forces it.

    Streams that may wait for each other share one lock: were it one each, two threads
    that force two such streams could each hold what the other needs. It is re-entrant,
    since forcing one stream may force another.
    """

    def __init__(self, device: PlatformIndex, lock: threading.RLock) -> None:
        self.device = device
        self.steps_taken = 0
        self._pending: deque[Callable[[], None]] = deque()
        self._lock = lock

    def advance(self, step: int) -> None:
        """Do pending work, in order, until that many steps have been taken in all."""
        with self._lock:
            while self.steps_taken < step:
                work = self._pending.popleft()
                # Counted before it runs: work that fails is over, and not retried.
                self.steps_taken += 1
                work()

    def launch(self, work: Callable[[], None]) -> None:
        with self._lock:
            self._pending.append(work)

    def upload(self, target: Array, source: Array) -> None:
        check_copy(target, source)
        self.launch(lambda: _copy(target, source))

    download = transfer = upload

    def record(self) -> Event:
        with self._lock:
            return _Mark(self, self.steps_taken + len(self._pending))

    def wait(self, event: Event) -> None:
        self.launch(event.synchronize)

    def synchronize(self) -> None:
        self.record().synchronize()
