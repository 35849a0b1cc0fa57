"""Datasets of files: lines of text, records of a fixed length, TFRecords."""

from __future__ import annotations

import os
from typing import Any

from berth.data.dataset import Dataset
from berth.data.files import FixedLengthRecords, TextLines, TFRecords
from berth.data.pipeline import Node
from berth.data.structure import as_input
from berth.dtypes import int64, string
from berth.errors import InvalidArgumentError
from berth.ops.type_spec import TensorSpec
from berth.public import public_v2

_TEXT = TensorSpec([], string)


def _node(kind: Any, filenames: Any, num_parallel_reads: Any, options: list[Any]) -> Node:
    """Return the node of a dataset of files; of several at a time if that is asked for."""
    if not isinstance(filenames, Dataset):
        names = _checked(as_input(_as_paths(filenames), string))
        if num_parallel_reads is None:
            return Node(kind, _TEXT, inputs=[names, *options])
        filenames = Dataset(Node(_Names, _TEXT, inputs=[names]))
    one = lambda name: Dataset(Node(kind, _TEXT, inputs=[name, *options]))  # noqa: E731
    if num_parallel_reads is None:
        made: Dataset = filenames.flat_map(one)
    else:
        made = filenames.interleave(one, num_parallel_reads, 1, num_parallel_reads)
    return made._node


class _Names(TextLines):
    """The names of files themselves."""

    def iterate(self) -> Any:
        return ((as_input(name, string),) for name in self._names)

    def cardinality(self) -> int:
        return len(self._names)


def _as_paths(filenames: Any) -> Any:
    if isinstance(filenames, list | tuple):
        return [_as_paths(name) for name in filenames]
    return os.fspath(filenames) if hasattr(filenames, "__fspath__") else filenames


def _checked(names: Any) -> Any:
    dims = names.dims if hasattr(names, "dims") else names.shape
    if dims is not None and len(dims) > 1:
        raise TypeError(
            f"The `filenames` argument must contain `tf.string` elements. Got shape {dims}."
        )
    return names


def _compression(compression_type: Any) -> Any:
    found = as_input("" if compression_type is None else compression_type, string)
    if hasattr(found, "value") or not hasattr(found, "dims"):
        value = found.value if hasattr(found, "value") else found
        if value[()] not in (b"", b"ZLIB", b"GZIP"):
            raise InvalidArgumentError(None, None, "Unsupported compression_type.")
    return found


class TextLineFiles(Dataset):
    """The arguments of `TextLineDataset`, for both APIs."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        options = [_compression(compression_type)]
        super().__init__(_node(TextLines, filenames, num_parallel_reads, options))


class FixedLengthRecordFiles(Dataset):
    """The arguments of `FixedLengthRecordDataset`, for both APIs."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        sizes = (record_bytes, header_bytes or 0, footer_bytes or 0)
        options = [*(as_input(n, int64) for n in sizes), _compression(compression_type)]
        super().__init__(_node(FixedLengthRecords, filenames, num_parallel_reads, options))


class TFRecordFiles(Dataset):
    """The arguments of `TFRecordDataset`, for both APIs."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        options = [_compression(compression_type)]
        super().__init__(_node(TFRecords, filenames, num_parallel_reads, options))


@public_v2("data.TextLineDataset")
class TextLineDataset(TextLineFiles):
    """A dataset of the lines of text files."""


@public_v2("data.FixedLengthRecordDataset")
class FixedLengthRecordDataset(FixedLengthRecordFiles):
    """A dataset of records of so many bytes, from binary files."""


@public_v2("data.TFRecordDataset")
class TFRecordDataset(TFRecordFiles):
    """A dataset of the records of TFRecord files."""
