"""The ``.index`` file of a checkpoint: which tensors it has, and where their bytes are."""

from __future__ import annotations

import os
from math import prod

from berth.dtypes import DType, as_dtype
from berth.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
    explain,
)
from berth.file_errors import naming
from berth.proto.framework import DataType
from berth.proto.wire import DecodeError
from berth.train.checkpoints.protos import BundleEntryProto, BundleHeaderProto
from berth.train.checkpoints.table import Table, TableError

VERSION = 1
"""The version of the format that is written, and the newest that is read."""

_MAX_RANK = 32
_MAX_SHARDS = 99_999


def index_name(prefix: str) -> str:
    """Return the name of a checkpoint's ``.index`` file."""
    return f"{prefix}.index"


def data_name(prefix: str, shard: int, n_shards: int) -> str:
    """Return the name of one of a checkpoint's data files."""
    return f"{prefix}.data-{shard:05d}-of-{n_shards:05d}"


class BundleIndex:
    """What a checkpoint says about its tensors, by name."""

    def __init__(self, prefix: str | os.PathLike[str]) -> None:
        self.prefix = os.fspath(prefix)
        self.index_name = index_name(self.prefix)
        self._table = self._read_index()
        self.header = self._read_header()
        self._entries: dict[bytes, BundleEntryProto] = {}

    def _read_index(self) -> dict[bytes, bytes]:
        with naming(self.index_name), open(self.index_name, "rb") as file:
            try:
                table = Table(file)
            except TableError as error:
                where = f"The file: {self.index_name}"
                raise DataLossError(None, None, explain(str(error), where)) from None
            try:
                entries = dict(table.items())
            except TableError as error:
                raise self._unreadable(str(error)) from None
        if b"" not in entries:
            raise self._unreadable("failed to seek to header entry")
        return entries

    def _read_header(self) -> BundleHeaderProto:
        try:
            header = BundleHeaderProto.FromString(self._table[b""])
        except DecodeError:
            raise self._unreadable("unable to parse header") from None
        if not 0 < header.num_shards <= _MAX_SHARDS:
            raise self._unreadable(f"{header.num_shards} data files")
        if header.version.min_consumer > VERSION:
            raise InvalidArgumentError(
                None,
                None,
                explain(
                    f"Checkpoint min consumer version {header.version.min_consumer} above "
                    f"current version {VERSION} for berth.  Please upgrade berth.",
                    f"The file: {self.index_name}",
                ),
            )
        return header

    def _unreadable(self, reason: str) -> DataLossError:
        return DataLossError(
            None,
            None,
            f"Unable to read file ({self.index_name}). Perhaps the file is corrupt or was "
            "produced by a newer version of TensorFlow with format changes: " + reason,
        )

    @property
    def keys(self) -> list[bytes]:
        """The keys, sorted: names of tensors, and codes of slices."""
        return [key for key in self._table if key]

    def names(self) -> list[str]:
        """Return the names of the tensors, sorted."""
        names = [key for key in self.keys if key[0]]
        return [name.decode(errors="surrogateescape") for name in names]

    def __contains__(self, name: str) -> bool:
        return bool(name) and name.encode(errors="surrogateescape") in self._table

    def entry(self, name: str | bytes) -> BundleEntryProto:
        """Return what the index says about a tensor."""
        key = name if isinstance(name, bytes) else name.encode(errors="surrogateescape")
        found = self._entries.get(key)
        if found is not None:
            return found
        if not key or key not in self._table:
            raise self.missing(key.decode(errors="replace"))
        try:
            entry = BundleEntryProto.FromString(self._table[key])
        except DecodeError as error:
            raise self.damaged(key, str(error)) from None
        sizes = [dim.size for dim in entry.shape.dim]
        is_small = prod(max(size, 1) for size in sizes) < 1 << 63 and len(sizes) <= _MAX_RANK
        if entry.shape.unknown_rank or min(sizes, default=0) < 0 or not is_small:
            raise self.damaged(key, f"bad shape {sizes}")
        self._entries[key] = entry
        return entry

    def missing(self, name: str) -> NotFoundError:
        """Return the error about a tensor that is not there."""
        return NotFoundError(None, None, f"Key {name} not found in checkpoint")

    def damaged(self, key: bytes, reason: str) -> DataLossError:
        """Return the error about an entry."""
        name = key.decode(errors="replace")
        first = f"Entry for {name!r} is not valid: {reason}"
        return DataLossError(None, None, explain(first, f"The file: {self.index_name}"))

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor."""
        return tuple(dim.size for dim in self.entry(name).shape.dim)

    def dtype(self, name: str | bytes) -> DType:
        """Return the type of a tensor's elements."""
        number = self.entry(name).dtype
        try:
            return as_dtype(number)
        except TypeError:
            raise UnimplementedError(
                None,
                None,
                f"The tensor {name!r} of {self.prefix} is {self.type_name(name)}, which "
                "berth does not have.",
            ) from None

    def type_name(self, name: str | bytes) -> str:
        """Return the name of a tensor's type, ``DT_FLOAT``; its number if it has no name."""
        number = self.entry(name).dtype
        return DataType.Name(number) if number in DataType.values() else str(number)

    def lines(self) -> list[bytes]:
        """Return a line for each entry: name, type and shape."""
        lines = []
        for key in self.keys:
            entry = self.entry(key)
            if not entry.slices:
                sizes = ",".join(str(dim.size) for dim in entry.shape.dim)
                lines.append(key + f" ({self.type_name(key)}) [{sizes}]".encode())
        return lines

    def data_files(self) -> list[str]:
        """Return the names of the data files."""
        return [self.data_name(shard) for shard in range(self.header.num_shards)]

    def data_name(self, shard: int) -> str:
        """Return the name of one of the data files."""
        return data_name(self.prefix, shard, self.header.num_shards)
