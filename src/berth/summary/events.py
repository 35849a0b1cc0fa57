"""Event files: TFRecord files of `Event` messages, which TensorBoard reads.

`EventFileWriter` keeps events until there are `max_queue` of them or `flush_secs` have passed,
and writes the rest when it is closed, or at the end of the program. It needs no thread. Several
threads may use one writer.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

from berth import file_errors
from berth.data.gfile import local_path
from berth.data.tf_record import framed, read_records
from berth.errors import DataLossError
from berth.finalizers import Finalizer
from berth.proto.wire import DecodeError
from berth.public import public_v1
from berth.summary.messages import Event

FILE_VERSION = "brain.Event:2"
_WRITER = "tensorflow.core.util.events_writer"
_numbers = count()


class EventFileWriter:
    """Writes events to a new file in a folder, which is created."""

    def __init__(
        self,
        logdir: Any,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = None,
    ) -> None:
        self._logdir = local_path(logdir)
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._suffix = filename_suffix or ""
        self._lock = threading.Lock()
        self._file = _EventFile(self._logdir, self._suffix)
        self._close_at_exit = Finalizer(self, self._file.close, at_exit=True)
        self._next_flush = time.monotonic() + flush_secs
        self._is_closed = False

    def get_logdir(self) -> str:
        """Return the folder."""
        return self._logdir

    @property
    def path(self) -> str:
        """The file that is written."""
        return self._file.path

    def reopen(self) -> None:
        """Start a new file, if this one was closed."""
        with self._lock:
            if self._is_closed:
                self._file = _EventFile(self._logdir, self._suffix)
                self._close_at_exit = Finalizer(self, self._file.close, at_exit=True)
                self._is_closed = False

    def add_event(self, event: Event) -> None:
        """Add an event; a closed writer ignores it."""
        with self._lock:
            if self._is_closed:
                return
            self._file.waiting.append(framed(event.SerializeToString()))
            is_due = time.monotonic() >= self._next_flush
            if len(self._file.waiting) >= self._max_queue or is_due:
                self._flush()

    def flush(self) -> None:
        """Write all events to the file."""
        with self._lock:
            if not self._is_closed:
                self._flush()

    def close(self) -> None:
        """Write all events, and close the file."""
        with self._lock:
            self._is_closed = True
            self._close_at_exit()

    def _flush(self) -> None:
        self._file.flush()
        self._next_flush = time.monotonic() + self._flush_secs


class _EventFile:
    """One file, with the records that are not written yet."""

    def __init__(self, logdir: str, suffix: str) -> None:
        with file_errors.naming(logdir):
            os.makedirs(logdir, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}"
        # The process and a number tell writers of the same second apart.
        self.path = os.path.join(logdir, f"{name}.{os.getpid()}.{next(_numbers)}{suffix}")
        first = Event(wall_time=time.time(), file_version=FILE_VERSION)
        first.source_metadata.writer = _WRITER
        self.waiting = [framed(first.SerializeToString())]
        with file_errors.naming(self.path):
            self._file = open(self.path, "xb")  # noqa: SIM115 (it stays open)
        self.flush()

    def flush(self) -> None:
        """Write what waits. It is kept if that fails, so that nothing is lost."""
        records = b"".join(self.waiting)
        with file_errors.naming(self.path):
            self._file.write(records)
            self._file.flush()
        self.waiting.clear()

    def close(self) -> None:
        if not self._file.closed:
            try:
                self.flush()
            finally:
                self._file.close()


@public_v1("train.summary_iterator")
def summary_iterator(path: Any) -> Iterator[Event]:
    """Iterate over the events of an event file."""
    for record in read_records(path):
        try:
            yield Event.FromString(record)
        except DecodeError as error:
            message = f"A record of {os.fspath(path)} is not an event. {error}"
            raise DataLossError(None, None, message) from None
