"""Files as sources: lines of text, records of a fixed length, TFRecords, lists of files."""

from __future__ import annotations

import glob
import gzip
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from berth import file_errors
from berth.data.pipeline import UNKNOWN, Pipeline
from berth.data.sources import as_text
from berth.data.structure import Element
from berth.data.tf_record import read_records
from berth.errors import DataLossError, InvalidArgumentError

_CHUNK = 1 << 16


class Files(Pipeline):
    """The records of files, one file after the other."""

    def __init__(self, filenames: Any, *options: Any) -> None:
        self._names = [_text(name) for name in filenames.reshape(-1)]
        self._options = options

    def iterate(self) -> Iterator[Element]:
        return _Records(iter(self._names), self.read)

    def read(self, path: str) -> Iterator[bytes]:
        """Iterate over the records of one file."""
        raise NotImplementedError

    def cardinality(self) -> int:
        return UNKNOWN


class _Records:
    """An iterator that goes on with the next file after an error in one."""

    def __init__(self, paths: Iterator[str], read: Callable[[str], Iterator[bytes]]) -> None:
        self._paths = paths
        self._read = read
        self._records: Iterator[bytes] = iter(())

    def __iter__(self) -> _Records:
        return self

    def __next__(self) -> Element:
        while True:
            for record in self._records:
                return (as_text(record),)
            self._records = self._read(next(self._paths))


class TextLines(Files):
    """The lines of text files, without their ends."""

    kind = "TextLineDataset"

    def read(self, path: str) -> Iterator[bytes]:
        """Iterate over the lines of a file."""
        [compression] = self._options
        with file_errors.naming(path), open_to_read(path, _text(compression[()])) as file:
            for line in file:
                yield line.removesuffix(b"\n").removesuffix(b"\r")


class FixedLengthRecords(Files):
    """Records of so many bytes, between a header and a footer that are skipped."""

    kind = "FixedLengthRecordDataset"

    def read(self, path: str) -> Iterator[bytes]:
        """Iterate over the records of a file."""
        record_bytes, header_bytes, footer_bytes = (int(n) for n in self._options[:3])
        compression = _text(self._options[3][()])
        if record_bytes < 1:
            raise InvalidArgumentError(None, None, "`record_bytes` must be > 0")
        with file_errors.naming(path), open_to_read(path, compression) as file:
            left = len(_skimmed(file)) if compression else os.path.getsize(path)
            left -= header_bytes + footer_bytes
            if left < 0 or left % record_bytes:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Excluding the header ({header_bytes} bytes) and footer ({footer_bytes} "
                    f'bytes), input file "{path}" has body length {left} bytes, which is not '
                    f"an exact multiple of the record length ({record_bytes} bytes).",
                )
            file.seek(header_bytes)
            for _ in range(left // record_bytes):
                record = file.read(record_bytes)
                if len(record) < record_bytes:
                    raise DataLossError(None, None, f"{path} ended within a record.")
                yield record


class TFRecords(Files):
    """The records of TFRecord files."""

    kind = "TFRecordDataset"

    def read(self, path: str) -> Iterator[bytes]:
        """Iterate over the records of a file."""
        [compression] = self._options
        return read_records(path, _text(compression[()]))


class MatchingFiles(Pipeline):
    """The names of the files that match patterns, in order."""

    kind = "MatchingFilesDataset"

    def __init__(self, patterns: Any) -> None:
        texts = [_text(pattern) for pattern in patterns.reshape(-1)]
        found = {path for pattern in texts for path in glob.glob(pattern)}
        self._names = sorted(found)
        if not found:
            raise InvalidArgumentError(
                None, None, f"No files matched pattern: {', '.join(texts)}"
            )

    def iterate(self) -> Iterator[Element]:
        return ((as_text(name.encode()),) for name in self._names)

    def cardinality(self) -> int:
        return len(self._names)


def open_to_read(path: str, compression: str) -> Any:
    """Open a file of bytes, which may be compressed."""
    if compression == "GZIP":
        return gzip.open(path, "rb")
    if compression == "ZLIB":
        return _Inflated(path)
    if compression:
        raise InvalidArgumentError(None, None, f"Unsupported compression_type: {compression}.")
    return open(path, "rb")


class _Inflated:
    """A file that is one zlib stream, read as a whole."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            try:
                self._data = zlib.decompress(file.read())
            except zlib.error as error:
                raise DataLossError(
                    None, None, f"inflate() failed: {error}\n  In {path}."
                ) from error
        self._at = 0

    def read(self, n_bytes: int = -1) -> bytes:
        end = len(self._data) if n_bytes < 0 else self._at + n_bytes
        found = self._data[self._at : end]
        self._at += len(found)
        return found

    def seek(self, position: int) -> None:
        self._at = position

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._data.splitlines(keepends=True))

    def __enter__(self) -> _Inflated:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _skimmed(file: Any) -> bytes:
    data: bytes = file.read()
    return data


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)
