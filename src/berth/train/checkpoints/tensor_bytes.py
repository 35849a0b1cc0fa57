"""Tensors as the bytes of a checkpoint's data file, with their checksum.

Numbers are stored as they are in memory. Strings are their lengths, as varints, a checksum of
the lengths, and the strings themselves.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from berth.crc32c import crc32c, mask
from berth.proto import wire

_UINT32, _UINT64 = struct.Struct("<I"), struct.Struct("<Q")


class ChecksumError(Exception):
    """Bytes that differ from those that were stored."""


def encode_strings(array: npt.NDArray[Any]) -> tuple[bytes, int]:
    """Return the bytes of strings, and their checksum.

    The checksum is over the lengths as numbers of a fixed size, not as the varints they are.
    """
    strings: list[bytes] = array.reshape(-1).tolist()
    lengths, fixed = bytearray(), bytearray()
    for string in strings:
        wire.write_varint(lengths, len(string))
        fixed += _fixed(len(string))
    of_lengths = crc32c(fixed)
    stored = _UINT32.pack(mask(of_lengths))
    text = b"".join(strings)
    return bytes(lengths) + stored + text, crc32c(text, crc32c(stored, of_lengths))


def decode_strings(data: memoryview, n_strings: int) -> tuple[list[bytes], int]:
    """Return so many strings, and the checksum of their bytes."""
    lengths: list[int] = []
    fixed = bytearray()
    position = 0
    try:
        for _ in range(n_strings):
            length, position = wire.read_varint(data, position)
            lengths.append(length)
            fixed += _fixed(length)
    except wire.DecodeError:
        raise ChecksumError("a string's length is cut off") from None
    of_lengths = crc32c(fixed)
    stored = data[position : position + 4]
    expected = int.from_bytes(stored, "little")
    if len(stored) < 4 or expected != mask(of_lengths):
        raise ChecksumError(
            f"The length checksum does not match: expected {expected} but actual is "
            f"{mask(of_lengths)}"
        )
    position += 4
    if position + sum(lengths) != len(data):
        raise ChecksumError("the strings are not as long as their lengths say")
    checksum = crc32c(data[position:], crc32c(stored, of_lengths))
    strings = []
    for length in lengths:
        strings.append(bytes(data[position : position + length]))
        position += length
    return strings, checksum


def _fixed(length: int) -> bytes:
    return _UINT32.pack(length) if length < 1 << 32 else _UINT64.pack(length)


def bytes_of(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return the bytes of an array of numbers, without a copy if it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
