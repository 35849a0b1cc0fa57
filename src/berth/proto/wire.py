"""The wire format of protocol buffers: varints, tags, and skipping what is not known.

Readers take a ``memoryview`` and a position and return the position after what they read. They
trust nothing: a length beyond the end of the data is an error before anything is copied.
"""

from __future__ import annotations

VARINT, FIXED64, LENGTH_DELIMITED, START_GROUP, END_GROUP, FIXED32 = range(6)
MAX_DEPTH = 100
"""Messages within messages; deeper ones are refused, as by protobuf."""

_MAX_VARINT_BYTES = 10


class DecodeError(ValueError):
    """Bytes that are no message of the class that they are parsed as."""


def write_varint(out: bytearray, value: int) -> None:
    """Append an unsigned integer, seven bits a byte; negative ones as 64 bits."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_varint(data: memoryview, position: int) -> tuple[int, int]:
    """Read an unsigned integer of at most 64 bits.

    >>> read_varint(memoryview(bytes([0x96, 0x01])), 0)
    (150, 2)
    """
    value = shift = 0
    for at in range(position, min(position + _MAX_VARINT_BYTES, len(data))):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + 1
        shift += 7
    raise DecodeError("Error parsing message: a varint does not end")


def write_tag(out: bytearray, number: int, wire_type: int) -> None:
    write_varint(out, number << 3 | wire_type)


def read_tag(data: memoryview, position: int) -> tuple[int, int, int]:
    """Read the number and wire type of a field."""
    tag, position = read_varint(data, position)
    number = tag >> 3
    if not 0 < number < 1 << 29:
        raise DecodeError(f"Error parsing message: {number} is not the number of a field")
    return number, tag & 7, position


def read_bytes(data: memoryview, position: int) -> tuple[memoryview, int]:
    """Read a length and as many bytes, without a copy."""
    length, position = read_varint(data, position)
    return _take(data, position, length)


def write_bytes(out: bytearray, value: bytes | bytearray | memoryview) -> None:
    """Append a length and the bytes."""
    write_varint(out, len(value))
    out += value


def skip(data: memoryview, position: int, wire_type: int, depth: int = 0) -> int:
    """Return the position after the value of a field that is not known."""
    if wire_type == VARINT:
        return read_varint(data, position)[1]
    if wire_type == LENGTH_DELIMITED:
        return read_bytes(data, position)[1]
    if wire_type in (FIXED64, FIXED32):
        return _take(data, position, 8 if wire_type == FIXED64 else 4)[1]
    if wire_type == START_GROUP and depth < MAX_DEPTH:
        while True:
            _, inner, position = read_tag(data, position)
            if inner == END_GROUP:
                return position
            position = skip(data, position, inner, depth + 1)
    raise DecodeError(f"Error parsing message: wire type {wire_type} is not valid here")


def _take(data: memoryview, position: int, length: int) -> tuple[memoryview, int]:
    end = position + length
    if end > len(data):
        missing = end - len(data)
        raise DecodeError(f"Error parsing message: {missing} bytes are missing at the end")
    return data[position:end], end
