"""The readers of a session: each reads one file after the other, record by record.

A `Reader` is what the handle of a reader operation stands for (`run.host_calls`). It takes the
names of files from a queue. Runs that use it at once take turns (`Turn`): one that waits for
the next file name holds up the other runs of its reader, and no others.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from berth import file_errors
from berth.data.tf_record import read_records
from berth.errors import InvalidArgumentError, UnimplementedError
from berth.proto.fields import bytes_field, int64_field
from berth.proto.message import Message
from berth.proto.wire import DecodeError
from berth.run.host_calls import Pending

Record = tuple[bytes, bytes]
"""Its key, which says where it is from, and its data."""


class ReaderBaseState(Message):
    """The state of a reader, as TensorFlow writes it down."""

    work_started = int64_field(1)
    work_finished = int64_field(2)
    num_records_produced = int64_field(3)
    current_work = bytes_field(4)


class Turn:
    """Who may use a reader: one run at a time, in the order in which they asked."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.line: deque[Enter] = deque()

    def serve(self) -> None:
        """Let the next one in, if the one before has left. The lock is held."""
        while self.line and self.line[0].is_over:
            self.line.popleft()
        if self.line:
            self.line[0].finish()


class Enter(Pending):
    """A run that waits for its turn, and then has it until it leaves, or is over."""

    cancelled_message = "Read operation was cancelled"

    def __init__(self, turn: Turn) -> None:
        super().__init__()
        self._turn = turn
        self._has_left = False

    @property
    def is_over(self) -> bool:
        """Whether it does not read any more."""
        return self._has_left or super().is_over

    def start(self) -> None:
        """Join the line."""
        with self._turn.lock:
            self._turn.line.append(self)
            self._turn.serve()

    def serve(self) -> None:
        """Let the next one in, if the one before was interrupted when it left."""
        with self._turn.lock:
            self._turn.serve()

    def leave(self) -> None:
        """Let the next one in."""
        self._has_left = True
        with self._turn.lock:
            if self in self._turn.line:
                self._turn.line.remove(self)
            self._turn.serve()

    cancel = leave


class Position(NamedTuple):
    """How far a reader has come."""

    n_started: int = 0
    n_completed: int = 0
    n_produced: int = 0
    work: bytes = b""
    """The file."""
    n_read: int | None = None
    """How many records of it were read; None between two files."""


class Reader:
    """Reads files; the kinds differ in what a record is.

    The `position` is the fact, and changes by one store. What reads the file is made again if
    Ctrl-C came between the two.
    """

    kind = "Reader"
    supports_serialize = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.turn = Turn()
        self.position = Position()
        self._records: Iterator[Record] = iter(())
        self._records_at: Position | None = None
        """The position for which these are the next records."""

    @property
    def is_between_files(self) -> bool:
        """Whether the next record needs the name of another file."""
        return self.position.n_read is None

    def begin(self, work: bytes) -> None:
        """Begin with a file."""
        at = self.position
        self.position = at._replace(n_started=at.n_started + 1, work=work, n_read=0)

    def next(self) -> Record | None:
        """Return the next record; None at the end of a file."""
        at = self.position
        assert at.n_read is not None
        if self._records_at is not at:
            self._records = islice(self.records(at.work), at.n_read, None)
        self._records_at = None
        try:
            record = next(self._records, None)
        except Exception:
            if not self.supports_serialize:  # others try the file again
                self.position = at._replace(n_read=None)
            raise
        if record is None:
            self.position = at._replace(n_completed=at.n_completed + 1, n_read=None)
        else:
            moved = at._replace(n_produced=at.n_produced + 1, n_read=at.n_read + 1)
            self.position = self._records_at = moved
        return record

    def records(self, work: bytes) -> Iterator[Record]:
        """Read the records of a file, with their keys."""
        raise NotImplementedError

    def reset(self) -> None:
        """Forget the file that is being read, and the counts."""
        self.position = Position()

    def state(self) -> bytes:
        """Return its state, if it is one that can be written down."""
        if not self.supports_serialize:
            raise UnimplementedError(None, None, "Reader SerializeState")
        at = self.position
        return ReaderBaseState(
            work_started=at.n_started,
            work_finished=at.n_completed,
            num_records_produced=at.n_produced,
            current_work=at.work if at.n_started > at.n_completed else b"",
        ).SerializeToString()

    def restore(self, state: bytes) -> None:
        """Take over a state."""
        if not self.supports_serialize:
            raise UnimplementedError(None, None, "Reader RestoreState")
        try:
            message = ReaderBaseState.FromString(state)
        except DecodeError:
            text = state.decode("latin-1")
            problem = f"Could not parse state for {self.kind} '{self.name}': {text}"
            raise InvalidArgumentError(None, None, problem) from None
        counts = message.work_started, message.work_finished, message.num_records_produced
        is_within = message.work_started > message.work_finished
        self.position = Position(*counts, message.current_work, 0 if is_within else None)

    def end_of_session(self) -> None:
        """Close the file that is being read."""
        self._records = iter(())


class WholeFileReader(Reader):
    """A file is one record."""

    kind = "WholeFileReader"
    supports_serialize = True

    def records(self, work: bytes) -> Iterator[Record]:
        """Give the content of a file."""
        with file_errors.naming(work.decode()), open(work, "rb") as file:
            yield work, file.read()


class TextLineReader(Reader):
    """A line of a text file is a record."""

    kind = "TextLineReader"

    def __init__(self, name: str, skip_header_lines: int) -> None:
        super().__init__(name)
        self._n_skipped = skip_header_lines

    def records(self, work: bytes) -> Iterator[Record]:
        """Give the lines without their ends; keys count from 1."""
        with file_errors.naming(work.decode()), open(work, "rb") as file:
            for number, line in enumerate(file, 1):
                if number > self._n_skipped:
                    text = line.removesuffix(b"\n").replace(b"\r", b"")
                    yield b"%b:%d" % (work, number), text


class FixedLengthRecordReader(Reader):
    """Records of one size, between a header and a footer."""

    kind = "FixedLengthRecordReader"

    def __init__(
        self, name: str, header_bytes: int, record_bytes: int, footer_bytes: int, hop_bytes: int
    ) -> None:
        super().__init__(name)
        self._header, self._size = header_bytes, record_bytes
        self._footer, self._hop = footer_bytes, hop_bytes or record_bytes

    def records(self, work: bytes) -> Iterator[Record]:
        """Give the records; a rest that is too short for one is left out. Keys count from 0."""
        with file_errors.naming(work.decode()), open(work, "rb") as file:
            end = file.seek(0, 2) - self._footer
            position, number = self._header, 0
            while position + self._size <= end:
                file.seek(position)
                yield b"%b:%d" % (work, number), file.read(self._size)
                position += self._hop
                number += 1


class TFRecordReader(Reader):
    """Records of a TFRecord file."""

    kind = "TFRecordReader"

    def __init__(self, name: str, compression: str) -> None:
        super().__init__(name)
        self._compression = compression

    def records(self, work: bytes) -> Iterator[Record]:
        """Give the records; keys say where in the file they begin."""
        position = 0
        for data in read_records(work.decode(), self._compression):
            yield b"%b:%d" % (work, position), data
            position += len(data) + 16


class IdentityReader(Reader):
    """The names of files themselves."""

    kind = "IdentityReader"
    supports_serialize = True

    def records(self, work: bytes) -> Iterator[Record]:
        """Give the name."""
        yield work, work
