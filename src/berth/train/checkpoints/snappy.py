"""Snappy decompression, for the blocks of tables that other programs compressed.

    length (varint), then elements: bytes as they are, or a copy of bytes that came before

What is read is not trusted: a block that says that it is longer than any compression could
make it is refused before memory is taken for it.
"""

from __future__ import annotations

from berth.proto import wire

MAX_EXPANSION = 22
"""The best that an element can do: three bytes that stand for 64."""

_LITERAL = 0
_OFFSET_BYTES = (0, 1, 2, 4)


class SnappyError(Exception):
    """Bytes that are not what Snappy writes."""


def decompress(data: memoryview) -> bytes:
    """Return what was compressed.

    >>> decompress(memoryview(bytes([9, 0b10_00, *b"abc", 0b010_01, 3])))
    b'abcabcabc'
    """
    try:
        length, position = wire.read_varint(data, 0)
    except wire.DecodeError:
        raise SnappyError("the length of a compressed block is cut off") from None
    if length > MAX_EXPANSION * len(data):
        raise SnappyError("a compressed block says that it is longer than it can be")
    out = bytearray()
    while position < len(data):
        tag = data[position]
        if tag & 3 == _LITERAL:
            position = _append_literal(out, data, position)
        else:
            position = _append_copy(out, data, position)
        if len(out) > length:
            break
    if len(out) != length:
        raise SnappyError("a compressed block is not as long as it says")
    return bytes(out)


def _append_literal(out: bytearray, data: memoryview, position: int) -> int:
    length, position = data[position] >> 2, position + 1
    if length >= 60:  # the length follows, in one to four bytes
        n_bytes = length - 59
        length = int.from_bytes(data[position : position + n_bytes], "little")
        position += n_bytes
    end = position + length + 1
    if end > len(data):
        raise SnappyError("a compressed block is cut off")
    out += data[position:end]
    return end


def _append_copy(out: bytearray, data: memoryview, position: int) -> int:
    tag = data[position]
    n_bytes = _OFFSET_BYTES[tag & 3]
    end = position + 1 + n_bytes
    if end > len(data):
        raise SnappyError("a compressed block is cut off")
    offset = int.from_bytes(data[position + 1 : end], "little")
    length = (tag >> 2) + 1
    if n_bytes == 1:
        offset += (tag >> 5) << 8
        length = (tag >> 2 & 7) + 4
    if not 0 < offset <= len(out):
        raise SnappyError("a compressed block copies what is not there")
    piece = out[-offset:][:length]
    while len(piece) < length:  # a copy may run into what it has written itself
        piece += piece[: length - len(piece)]
    out += piece
    return end
