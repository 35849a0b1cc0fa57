"""Sorted string tables: the format of a checkpoint's ``.index`` file, as in LevelDB.

    data block …, an empty block, index block, footer (48 bytes)

A block has entries, each a key and a value; a key is written without the bytes it has in common
with the key before it, except at every 16th entry, a *restart*. The entries end with the
positions of the restarts. Each block is followed by a byte for its compression and a checksum.
The index block has the place of each data block, under a key that is not less than those in it.
The footer has the place of the index block, and a magic number.

What is read is not trusted: the readers raise `TableError`, and take no more memory than
a table of that size can need.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import BinaryIO

from berth.crc32c import crc32c, mask
from berth.proto import wire
from berth.train.checkpoints.snappy import SnappyError, decompress

_BLOCK_SIZE = 262_144
_RESTART_INTERVAL = 16
_FOOTER_SIZE = 48
_TRAILER_SIZE = 5
_MAGIC = 0xDB4775248B80FB57
_UINT32 = struct.Struct("<I")
_PLAIN, _SNAPPY = 0, 1


class TableError(Exception):
    """Bytes that are no table, or a damaged one."""


# --- writing ----------------------------------------------------------------------------------


def write_table(items: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return a table of keys, which must be sorted and different, with their values."""
    out = bytearray()
    index = _BlockBuilder(restart_interval=1)
    block = _BlockBuilder(_RESTART_INTERVAL)
    handle: bytes | None = None
    for key, value in items:
        if handle is not None:
            index.add(_separator(block.last_key, key), handle)
            block, handle = _BlockBuilder(_RESTART_INTERVAL), None
        block.add(key, value)
        if block.size >= _BLOCK_SIZE:
            handle = _append_block(out, block.finish())
    if handle is None and block.size:
        handle = _append_block(out, block.finish())
    metaindex_handle = _append_block(out, _BlockBuilder(_RESTART_INTERVAL).finish())
    if handle is not None:
        index.add(_successor(block.last_key), handle)
    footer = metaindex_handle + _append_block(out, index.finish())
    out += footer.ljust(_FOOTER_SIZE - 8, b"\0") + _MAGIC.to_bytes(8, "little")
    return bytes(out)


class _BlockBuilder:
    """The entries of one block."""

    def __init__(self, restart_interval: int) -> None:
        self.last_key = b""
        self._interval = restart_interval
        self._data = bytearray()
        self._restarts = [0]
        self._n_since_restart = 0

    @property
    def size(self) -> int:
        """The size of the block, as far as there are entries."""
        return len(self._data) and len(self._data) + 4 * (len(self._restarts) + 1)

    def add(self, key: bytes, value: bytes) -> None:
        assert not self._data or key > self.last_key, "keys are sorted and different"
        shared = 0
        if self._n_since_restart < self._interval:
            shared = _common_prefix(self.last_key, key)
        else:
            self._restarts.append(len(self._data))
            self._n_since_restart = 0
        for number in (shared, len(key) - shared, len(value)):
            wire.write_varint(self._data, number)
        self._data += key[shared:]
        self._data += value
        self.last_key = key
        self._n_since_restart += 1

    def finish(self) -> bytes:
        restarts = [*self._restarts, len(self._restarts)]
        return bytes(self._data) + struct.pack(f"<{len(restarts)}I", *restarts)


def _append_block(out: bytearray, block: bytes) -> bytes:
    """Append a block with its trailer, and return its handle: its place, in two varints."""
    handle = bytearray()
    wire.write_varint(handle, len(out))
    wire.write_varint(handle, len(block))
    contents = block + bytes([_PLAIN])
    out += contents + _UINT32.pack(mask(crc32c(contents)))
    return bytes(handle)


def _common_prefix(one: bytes, other: bytes) -> int:
    limit = min(len(one), len(other))
    return next((k for k in range(limit) if one[k] != other[k]), limit)


def _separator(before: bytes, after: bytes) -> bytes:
    """Return a short key that is not less than one key, and less than the next."""
    k = _common_prefix(before, after)
    if k < min(len(before), len(after)) and before[k] < 0xFF and before[k] + 1 < after[k]:
        return before[:k] + bytes([before[k] + 1])
    return before


def _successor(key: bytes) -> bytes:
    """Return a short key that is not less than the last one."""
    for k, byte in enumerate(key):
        if byte != 0xFF:
            return key[:k] + bytes([byte + 1])
    return key


# --- reading ----------------------------------------------------------------------------------


class Table:
    """A table in a file, whose blocks are read one at a time."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the index block."""
        self._file = file
        self.n_bytes = file.seek(0, os.SEEK_END)
        if self.n_bytes < _FOOTER_SIZE:
            raise TableError("file is too short to be an sstable")
        footer = memoryview(self._read(self.n_bytes - _FOOTER_SIZE, _FOOTER_SIZE))
        if int.from_bytes(footer[-8:], "little") != _MAGIC:
            raise TableError("not an sstable (bad magic number)")
        _, position = _read_handle(footer, 0)
        (offset, size), _ = _read_handle(footer, position)
        self._blocks = [
            (key, _read_handle(memoryview(value), 0)[0])
            for key, value in _entries(self._block(offset, size))
        ]

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys, in order, and their values."""
        last: bytes | None = None
        for _, (offset, size) in self._blocks:
            for key, value in _entries(self._block(offset, size)):
                if last is not None and key <= last:
                    raise TableError("keys are not in order")
                yield key, value
                last = key

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key; None if there is none."""
        at = bisect_left(self._blocks, key, key=itemgetter(0))
        if at == len(self._blocks):
            return None
        _, (offset, size) = self._blocks[at]
        return next(
            (value for k, value in _entries(self._block(offset, size)) if k == key), None
        )

    def _read(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        data = self._file.read(size)
        if len(data) < size:  # it was cut off meanwhile
            raise TableError("truncated block read")
        return data

    def _block(self, offset: int, size: int) -> memoryview:
        """Return the contents of a block, whose checksum is right."""
        if offset + size + _TRAILER_SIZE > self.n_bytes - _FOOTER_SIZE:
            raise TableError("truncated block read")
        stored = memoryview(self._read(offset, size + _TRAILER_SIZE))
        if mask(crc32c(stored[: size + 1])) != _UINT32.unpack(stored[size + 1 :])[0]:
            raise TableError("block checksum mismatch")
        if stored[size] == _PLAIN:
            return stored[:size]
        if stored[size] != _SNAPPY:
            raise TableError("bad block type")
        try:
            return memoryview(decompress(stored[:size]))
        except SnappyError as error:
            raise TableError(str(error)) from None


def _read_handle(data: memoryview, position: int) -> tuple[tuple[int, int], int]:
    offset, position = _read_varint(data, position)
    size, position = _read_varint(data, position)
    return (offset, size), position


def _read_varint(data: memoryview, position: int) -> tuple[int, int]:
    try:
        return wire.read_varint(data, position)
    except wire.DecodeError:
        raise TableError("bad block handle") from None


def _entries(block: memoryview) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a block."""
    n_restarts = _UINT32.unpack(block[-4:])[0] if len(block) >= 4 else 0
    end = len(block) - 4 * (n_restarts + 1)
    if not n_restarts or end < 0:
        raise TableError("bad block contents")
    key, position = b"", 0
    # A restart has the whole key. What repeats it more often than that was not written by a
    # writer of tables, but to fill our memory.
    allowed = _RESTART_INTERVAL * len(block)
    while position < end:
        try:
            shared, position = wire.read_varint(block, position)
            n_new, position = wire.read_varint(block, position)
            n_value, position = wire.read_varint(block, position)
        except wire.DecodeError:
            raise TableError("bad entry in block") from None
        start_of_value = position + n_new
        allowed -= shared + n_new
        if shared > len(key) or start_of_value + n_value > end or allowed < 0:
            raise TableError("bad entry in block")
        key = key[:shared] + bytes(block[position:start_of_value])
        position = start_of_value + n_value
        yield key, bytes(block[start_of_value:position])
