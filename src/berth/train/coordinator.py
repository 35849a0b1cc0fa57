"""``tf.train.Coordinator``: ends several threads together, and passes on the error of one."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from berth.errors import OutOfRangeError
from berth.front import logger
from berth.public import public, public_v1

ExcInfo = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]


@public("train.Coordinator")
class Coordinator:
    """Tells threads to stop, and waits for them. The error that stopped them is raised there.

    >>> coordinator = Coordinator()
    >>> def work():
    ...     with coordinator.stop_on_exception():
    ...         raise OSError("no more paper")
    >>> threads = [threading.Thread(target=work)]
    >>> threads[0].start()
    >>> coordinator.join(threads)
    Traceback (most recent call last):
    OSError: no more paper
    """

    def __init__(self, clean_stop_exception_types: Iterable[type] | None = None) -> None:
        """Make one; errors of the given types, by default OutOfRangeError, are no failure."""
        kinds = (OutOfRangeError,) if clean_stop_exception_types is None else None
        self._clean_kinds = kinds or tuple(clean_stop_exception_types or ())
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._registered: set[threading.Thread] = set()

    @property
    def joined(self) -> bool:
        """Whether `join` has returned or raised since the last `clear_stop`."""
        return self._joined

    # --- stopping -----------------------------------------------------------------------------

    def request_stop(self, ex: Any = None) -> None:
        """Ask all threads to stop, because of an error if one is being handled or given.

        The error is an exception, or a tuple as of ``sys.exc_info()``. The first one counts;
        after `join` it is raised here.
        """
        with self._lock:
            if isinstance(ex[1] if isinstance(ex, tuple) else ex, self._clean_kinds):
                ex = None
            if ex and self._joined:
                raise _reported(ex)
            if self._stop_event.is_set():
                return
            if ex and self._error is None:
                _log_reported(ex)
                self._error = _reported(ex)
            self._stop_event.set()

    def clear_stop(self) -> None:
        """Forget the request to stop, and its error."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop_event.clear()

    def should_stop(self) -> bool:
        """Tell whether a stop was requested."""
        return self._stop_event.is_set()

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Request a stop when the block raises; the block then ends without the exception."""
        try:
            yield
        except:  # noqa: E722 # as a thread it would end here in any case
            self.request_stop(sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait for a request to stop; return whether there is one."""
        return self._stop_event.wait(timeout)

    def raise_requested_exception(self) -> None:
        """Raise the error that a stop was requested for, if there is one."""
        with self._lock:
            if self._error is not None:
                raise self._error

    # --- threads ------------------------------------------------------------------------------

    def register_thread(self, thread: threading.Thread) -> None:
        """Add a thread to those that `join` waits for."""
        with self._lock:
            self._registered.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait for the threads to end, after a request to stop at most the grace period.

        Then raise the error that was reported, or an error for threads that still run.
        """
        with self._lock:
            waited = self._registered | set(threads or ())
        while _any_alive(waited) and not self.wait_for_stop(0.0):
            _join_one(waited, 0.05)
        deadline = time.monotonic() + stop_grace_period_secs
        while _any_alive(waited) and (left := deadline - time.monotonic()) > 0:
            _join_one(waited, left)
        stragglers = " ".join(thread.name for thread in waited if thread.is_alive())
        with self._lock:
            self._joined = True
            self._registered = set()
            if self._error is not None:
                raise self._error
        if stragglers:
            message = f"Coordinator stopped with threads still running: {stragglers}"
            if not ignore_live_threads:
                raise RuntimeError(message)
            logger.info(message)


def _any_alive(threads: set[threading.Thread]) -> bool:
    return any(thread.is_alive() for thread in threads)


def _join_one(threads: set[threading.Thread], seconds: float) -> None:
    """Wait a while for one of the threads that are alive."""
    next(thread for thread in threads if thread.is_alive()).join(seconds)


def _reported(ex: BaseException | ExcInfo) -> BaseException:
    """Return the error that was reported: that of a tuple, or the one being handled."""
    info: Any = ex if isinstance(ex, tuple) else sys.exc_info()
    if len(info) == 3 and info[0] and isinstance(info[1], BaseException):
        return info[1]
    return ValueError(
        f"ex must be a tuple or sys.exc_info must return the current exception: {info}"
    )


def _log_reported(ex: Any) -> None:
    if isinstance(ex, tuple):
        logger.info("Error reported to Coordinator: %s", ex[1], exc_info=ex)
    else:
        logger.info("Error reported to Coordinator: %s, %s", type(ex), ex)


@public_v1("train.LooperThread")
class LooperThread(threading.Thread):
    """A thread that calls a function again and again until its coordinator stops it."""

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """Make one that calls the target at that interval, or without a pause for None."""
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__(daemon=True)
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._call = (target, args or (), kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Start a thread that calls a function; return the thread."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """Loop until the coordinator stops, or report the error that ends the loop."""
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                due = time.monotonic()
                while not self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
                    due += self._timer_interval_secs
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Prepare the loop; a subclass may define it."""

    def stop_loop(self) -> None:
        """Tidy up after the loop; a subclass may define it."""

    def run_loop(self) -> None:
        """Do one turn: call the target."""
        target, args, kwargs = self._call
        if target is not None:
            target(*args, **kwargs)
