"""Readers of TensorFlow 1: they take file names from a queue and give records."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from berth.data import reader_objects
from berth.data.queue_objects import Take
from berth.data.queue_ops import handle_op, host_call_op, nothing
from berth.data.reader_objects import Enter, Reader
from berth.data.tf_record import TFRecordOptions
from berth.dtypes import int64, string
from berth.errors import InvalidArgumentError
from berth.front.device_scope import device_v1
from berth.ops.builder import apply, apply_list, apply_op
from berth.ops.opdef import Attrs, OpDef, OutputType, Typed
from berth.ops.types import Tensor
from berth.public import public_v1
from berth.run.host_calls import HostObjects, Pending

Inputs = Sequence[Any]
Waits = Generator[Pending, Any, Any]

ReaderReadV2 = namedtuple("ReaderReadV2", ["key", "value"])
ReaderReadUpToV2 = namedtuple("ReaderReadUpToV2", ["keys", "values"])


# --- operations -----------------------------------------------------------------------------


def _make_whole_file(attrs: Attrs, name: str) -> Reader:
    return reader_objects.WholeFileReader(name)


def _make_text_line(attrs: Attrs, name: str) -> Reader:
    return reader_objects.TextLineReader(name, attrs["skip_header_lines"])


def _make_fixed_length(attrs: Attrs, name: str) -> Reader:
    sizes = [attrs[f"{part}_bytes"] for part in ("header", "record", "footer", "hop")]
    for part, size in zip(("header", "record", "footer", "hop"), sizes, strict=True):
        least = 1 if part == "record" else 0
        if size < least:
            message = f"{part}_bytes must be {'positive' if least else '>= 0'}: {size}"
            raise InvalidArgumentError(None, None, message)
    return reader_objects.FixedLengthRecordReader(name, *sizes)


def _make_tf_record(attrs: Attrs, name: str) -> Reader:
    return reader_objects.TFRecordReader(name, attrs["compression_type"])


def _make_identity(attrs: Attrs, name: str) -> Reader:
    return reader_objects.IdentityReader(name)


WHOLE_FILE_READER = handle_op("WholeFileReaderV2", _make_whole_file)
TEXT_LINE_READER = handle_op("TextLineReaderV2", _make_text_line)
FIXED_LENGTH_RECORD_READER = handle_op("FixedLengthRecordReaderV2", _make_fixed_length)
TF_RECORD_READER = handle_op("TFRecordReaderV2", _make_tf_record)
IDENTITY_READER = handle_op("IdentityReaderV2", _make_identity)


def _text(value: bytes) -> Any:
    array = np.empty((), object)
    array[()] = value
    return array


def _texts(values: Sequence[bytes]) -> Any:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _read(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Waits:
    reader: Reader = objects.of(inputs[0])
    turn = Enter(reader.turn)
    yield turn
    try:
        while True:
            if reader.is_between_files:
                [element] = yield Take(objects.of(inputs[1]), 1)
                reader.begin(element[0][()])
            record = reader.next()
            if record is not None:
                return [_text(part) for part in record]
    finally:
        turn.leave()


def _read_up_to(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Waits:
    reader: Reader = objects.of(inputs[0])
    n = int(inputs[2])
    found: list[tuple[bytes, bytes]] = []
    turn = Enter(reader.turn)
    yield turn
    try:
        while len(found) < n:
            if reader.is_between_files:
                if found:  # another file would be waited for
                    break
                [element] = yield Take(objects.of(inputs[1]), 1)
                reader.begin(element[0][()])
            record = reader.next()
            if record is not None:
                found.append(record)
    finally:
        turn.leave()
    return [_texts([key for key, _ in found]), _texts([value for _, value in found])]


def _n_produced(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> list[Any]:
    return [np.array(objects.of(inputs[0]).position.n_produced, np.int64)]


def _n_completed(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> list[Any]:
    return [np.array(objects.of(inputs[0]).position.n_completed, np.int64)]


def _state(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> list[Any]:
    return [_text(objects.of(inputs[0]).state())]


def _restore(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> list[Any]:
    objects.of(inputs[0]).restore(inputs[1][()])
    return []


def _reset(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> list[Any]:
    objects.of(inputs[0]).reset()
    return []


def _record(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((string, ()), (string, ()))


def _records(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((string, (None,)), (string, (None,)))


def _one_count(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((int64, ()),)


def _one_text(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((string, ()),)


_READER, _QUEUE = "reader_handle:resource", "queue_handle:resource"
READ = host_call_op("ReaderReadV2", f"{_READER} {_QUEUE}", _read, _record)
READ_UP_TO = host_call_op(
    "ReaderReadUpToV2", f"{_READER} {_QUEUE} num_records:int64", _read_up_to, _records
)
N_PRODUCED = host_call_op("ReaderNumRecordsProducedV2", _READER, _n_produced, _one_count)
N_COMPLETED = host_call_op("ReaderNumWorkUnitsCompletedV2", _READER, _n_completed, _one_count)
SERIALIZE_STATE = host_call_op("ReaderSerializeStateV2", _READER, _state, _one_text)
RESTORE_STATE = host_call_op(
    "ReaderRestoreStateV2", f"{_READER} state:string", _restore, nothing
)
RESET = host_call_op("ReaderResetV2", _READER, _reset, nothing)


# --- what users hold ------------------------------------------------------------------------


@public_v1("ReaderBase")
class ReaderBase:
    """What all readers have in common."""

    def __init__(self, reader_ref: Any, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Any:
        """The handle."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether its state can be written down."""
        return self._supports_serialize

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Read the next record, of the next file in the queue if need be: key and value."""
        inputs = (self._reader_ref, _queue_ref(queue))
        return ReaderReadV2(*apply_list(READ, inputs, {}, name))

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Read several records, fewer at the end of a file: keys and values."""
        inputs = (self._reader_ref, _queue_ref(queue), num_records)
        return ReaderReadUpToV2(*apply_list(READ_UP_TO, inputs, {}, name))

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Count the records that were read."""
        return apply(N_PRODUCED, (self._reader_ref,), {}, name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Count the files that were read to their end."""
        return apply(N_COMPLETED, (self._reader_ref,), {}, name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Return the state as a string."""
        return apply(SERIALIZE_STATE, (self._reader_ref,), {}, name)

    def restore_state(self, state: Any, name: str | None = None) -> Any:
        """Take over a state."""
        return apply_op(RESTORE_STATE, (self._reader_ref, state), {}, name)

    def reset(self, name: str | None = None) -> Any:
        """Start again, with the next file."""
        return apply_op(RESET, (self._reader_ref,), {}, name)


def _queue_ref(queue: Any) -> Any:
    return getattr(queue, "queue_ref", queue)


def _handle(op: OpDef, name: str | None, **attrs: Any) -> Any:
    with device_v1("CPU"):
        return apply(op, (), {"container": "", "shared_name": "", **attrs}, name)


@public_v1("WholeFileReader")
class WholeFileReader(ReaderBase):
    """Reader whose records are whole files; the key is the file's name."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(_handle(WHOLE_FILE_READER, name), supports_serialize=True)


@public_v1("TextLineReader")
class TextLineReader(ReaderBase):
    """Reader whose records are the lines of text files."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        skipped = skip_header_lines or 0
        super().__init__(_handle(TEXT_LINE_READER, name, skip_header_lines=skipped))


@public_v1("FixedLengthRecordReader")
class FixedLengthRecordReader(ReaderBase):
    """Reader of files whose records have one size."""

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        ref = _handle(
            FIXED_LENGTH_RECORD_READER,
            name,
            record_bytes=record_bytes,
            header_bytes=header_bytes or 0,
            footer_bytes=footer_bytes or 0,
            hop_bytes=hop_bytes or 0,
            encoding=encoding or "",
        )
        super().__init__(ref)


@public_v1("TFRecordReader")
class TFRecordReader(ReaderBase):
    """Reader of TFRecord files."""

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        compression = TFRecordOptions.get_compression_type_string(options)
        super().__init__(_handle(TF_RECORD_READER, name, compression_type=compression))


@public_v1("IdentityReader")
class IdentityReader(ReaderBase):
    """Reader that gives the names of the files themselves."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(_handle(IDENTITY_READER, name), supports_serialize=True)
