"""TFRecord files: a sequence of byte strings, each with checksums.

A record is its length (64 bits), the length's checksum, the data, the data's checksum;
checksums are masked CRC-32C (`berth.crc32c`). A file may be compressed as a whole. Event files
of summaries are TFRecord files, too.

What a file says of lengths is not trusted: data is read in blocks, so that a wrong length costs
no more memory than the file has.
"""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any, BinaryIO

from berth import file_errors
from berth.crc32c import crc32c, mask
from berth.errors import DataLossError, FailedPreconditionError
from berth.public import public, public_v1

_LENGTH = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
_BLOCK_BYTES = 1 << 20


@public_v1("python_io.TFRecordCompressionType", "io.TFRecordCompressionType")
class TFRecordCompressionType:
    """The kinds of compression of a TFRecord file."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_NAMES = {
    TFRecordCompressionType.NONE: "",
    TFRecordCompressionType.ZLIB: "ZLIB",
    TFRecordCompressionType.GZIP: "GZIP",
    None: "",
}


@public("io.TFRecordOptions")
@public_v1("python_io.TFRecordOptions")
class TFRecordOptions:
    """How a TFRecord file is compressed. Sizes of buffers are accepted, and not used."""

    compression_type_map = _NAMES

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.compression_level = compression_level

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Return ``""``, ``"ZLIB"`` or ``"GZIP"``, from options, a name or a number."""
        if isinstance(options, TFRecordOptions):
            options = options.compression_type
        name = _NAMES.get(options, options)
        if name not in ("", "ZLIB", "GZIP"):
            raise ValueError(f'Not a valid compression_type: "{options}"')
        return str(name)


@public("io.TFRecordWriter")
@public_v1("python_io.TFRecordWriter")
class TFRecordWriter:
    """Writes records to a TFRecord file.

    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    >>> list(read_records(path))
    [b'one']
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        self._path = os.fspath(path)
        compression = TFRecordOptions.get_compression_type_string(options)
        level = getattr(options, "compression_level", None)
        with file_errors.naming(self._path):
            self._file: Any = _open_to_write(self._path, compression, level)

    def write(self, record: Any) -> None:
        """Append a record of bytes; text is encoded as UTF-8."""
        if self._file is None:
            raise FailedPreconditionError(None, None, "Writer is closed.")
        with file_errors.naming(self._path):
            self._file.write(framed(record))

    def flush(self) -> None:
        """Write out what is still in memory."""
        if self._file is None:
            raise FailedPreconditionError(None, None, "Writer is closed.")
        with file_errors.naming(self._path):
            self._file.flush()

    def close(self) -> None:
        """Close the file; nothing happens if it is closed."""
        file, self._file = self._file, None
        if file is not None:
            with file_errors.naming(self._path):
                file.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def framed(record: Any) -> bytes:
    """Return a record as it is in a file: length, checksum, data, checksum."""
    data = record.encode() if isinstance(record, str) else record
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(
            f"A record is bytes or a string, not {type(record).__name__}: {record!r}"
        )
    length = struct.pack("<Q", len(data))
    header = length + _CHECKSUM.pack(mask(crc32c(length)))
    return b"".join((header, data, _CHECKSUM.pack(mask(crc32c(data)))))


@public_v1("python_io.tf_record_iterator", "io.tf_record_iterator")
def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Iterate over the records of a TFRecord file."""
    return read_records(path, TFRecordOptions.get_compression_type_string(options))


def read_records(path: Any, compression: str = "") -> Iterator[bytes]:
    """Read the records of a file; DataLossError where it is corrupt or ends within one.

    A file that ends within the length of a record ends there: such a record was never
    written, and TensorFlow takes it so.
    """
    path = os.fspath(path)
    with file_errors.naming(path):
        file = _open_to_read(path, compression)
    position = 0
    with file, _corrupt_compression(path):
        while len(header := _read(file, _LENGTH.size)) == _LENGTH.size:
            length, checksum = _LENGTH.unpack(header)
            if mask(crc32c(header[:8])) != checksum:
                hint = " (Is this even a TFRecord file?)" if not position else ""
                raise _data_loss(path, f"corrupted record at {position}{hint}")
            data, footer = _read(file, length), _read(file, _CHECKSUM.size)
            position += _LENGTH.size
            if len(data) < length or len(footer) < _CHECKSUM.size:
                detail = "failed with Read less bytes than requested"
                raise _data_loss(path, f"truncated record at {position + length}' {detail}")
            if mask(crc32c(data)) != _CHECKSUM.unpack(footer)[0]:
                raise _data_loss(path, f"corrupted record at {position}")
            position += length + _CHECKSUM.size
            yield data


def _data_loss(path: str, message: str) -> DataLossError:
    return DataLossError(None, None, f"{message}\n  In {path}.")


class _corrupt_compression:
    """Turns the errors of zlib and gzip into DataLossError, with the file's name."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, zlib.error | gzip.BadGzipFile | EOFError):
            raise _data_loss(self._path, f"inflate() failed: {error}") from error
        if isinstance(error, OSError):
            raise file_errors.from_os_error(error, self._path) from error


def _read(file: BinaryIO, n_bytes: int) -> bytes:
    """Read so many bytes, or up to the end."""
    if n_bytes <= _BLOCK_BYTES:
        return file.read(n_bytes)
    blocks = bytearray()
    while len(blocks) < n_bytes:
        block = file.read(min(_BLOCK_BYTES, n_bytes - len(blocks)))
        if not block:
            break
        blocks += block
    return bytes(blocks)


def _open_to_read(path: str, compression: str) -> Any:
    if compression == "GZIP":
        return gzip.open(path, "rb")
    file = open(path, "rb")  # noqa: SIM115 (the caller closes it)
    return _ZlibReader(file) if compression == "ZLIB" else file


def _open_to_write(path: str, compression: str, level: int | None) -> Any:
    if compression == "GZIP":
        return gzip.open(path, "wb", compresslevel=9 if level is None or level < 0 else level)
    file = open(path, "wb")  # noqa: SIM115
    return _ZlibWriter(file, -1 if level is None else level) if compression == "ZLIB" else file


class _ZlibReader:
    """A file that is one zlib stream."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._stream = zlib.decompressobj()

    def read(self, n_bytes: int) -> bytes:
        found = bytearray()
        while len(found) < n_bytes and not self._stream.eof:
            left = self._stream.unconsumed_tail or self._file.read(_BLOCK_BYTES)
            if not left:
                break
            found += self._stream.decompress(left, n_bytes - len(found))
        return bytes(found)

    def __enter__(self) -> _ZlibReader:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


class _ZlibWriter:
    """Writes a file that is one zlib stream."""

    def __init__(self, file: BinaryIO, level: int) -> None:
        self._file = file
        self._stream = zlib.compressobj(level)

    def write(self, data: bytes) -> None:
        self._file.write(self._stream.compress(data))

    def flush(self) -> None:
        self._file.write(self._stream.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def close(self) -> None:
        self._file.write(self._stream.flush())
        self._file.close()
