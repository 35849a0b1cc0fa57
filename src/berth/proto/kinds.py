"""The scalar types of protocol buffers: how a value is checked, and how it is written.

`check` takes what a user assigns and returns what is kept, or raises TypeError or ValueError in
protobuf's words; `write` and `read` are the wire format; `text` is the text format.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from berth.proto import wire
from berth.proto.wire import DecodeError


@dataclass(frozen=True)
class Kind:
    """One scalar type."""

    default: Any
    wire_type: int
    check: Callable[[Any], Any]
    write: Callable[[bytearray, Any], None]
    read: Callable[[memoryview, int], tuple[Any, int]]
    text: Callable[[Any], str] = str

    @property
    def is_packed(self) -> bool:
        """Whether a list of such values is written as one block."""
        return self.wire_type != wire.LENGTH_DELIMITED


# --- integers -------------------------------------------------------------------------------


def _to_int(value: Any) -> int:
    if not hasattr(value, "__index__"):
        raise TypeError(f"{type(value).__name__!r} object cannot be interpreted as an integer")
    return int(value)


def _integer(low: int, high: int) -> Kind:
    """An integer in a varint."""

    def check(value: Any) -> int:
        number = _to_int(value)
        if not low <= number < high:
            raise ValueError(f"Value out of range: {number}")
        return number

    def read(data: memoryview, position: int) -> tuple[int, int]:
        value, position = wire.read_varint(data, position)
        value %= high - low  # what is too long is cut off, as by protobuf
        return value - (high - low) if value >= high else value, position

    return Kind(0, wire.VARINT, check, wire.write_varint, read)


def _read_bool(data: memoryview, position: int) -> tuple[bool, int]:
    value, position = wire.read_varint(data, position)
    return bool(value), position


INT32 = _integer(-(2**31), 2**31)
INT64 = _integer(-(2**63), 2**63)
UINT32 = _integer(0, 2**32)
UINT64 = _integer(0, 2**64)
BOOL = Kind(
    False,
    wire.VARINT,
    lambda value: bool(_to_int(value)),
    wire.write_varint,
    _read_bool,
    lambda value: str(value).lower(),
)


# --- numbers of a fixed size ----------------------------------------------------------------


def _fixed(form: str, default: Any, check: Callable[[Any], Any], **text: Any) -> Kind:
    layout = struct.Struct(form)
    wire_type = wire.FIXED64 if layout.size == 8 else wire.FIXED32

    def write(out: bytearray, value: Any) -> None:
        out += layout.pack(value)

    def read(data: memoryview, position: int) -> tuple[Any, int]:
        end = position + layout.size
        if end > len(data):
            raise DecodeError("Error parsing message: a number is cut off")
        return layout.unpack_from(data, position)[0], end

    return Kind(default, wire_type, check, write, read, **text)


def _to_double(value: Any) -> float:
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


def _to_float(value: Any) -> float:
    """Round to 32 bits, which is what a message keeps; too large is infinite, as there."""
    with np.errstate(over="ignore"):
        return float(np.float32(_to_double(value)))


def _shortest(few: int, many: int, rounded: Callable[[float], float]) -> Callable[[float], str]:
    """Write with few digits if these are enough to read the same number back."""

    def text(value: float) -> str:
        short = f"{value:.{few}g}"
        return short if rounded(float(short)) == value else f"{value:.{many}g}"

    return text


FLOAT = _fixed("<f", 0.0, _to_float, text=_shortest(6, 9, _to_float))
DOUBLE = _fixed("<d", 0.0, _to_double, text=_shortest(15, 17, float))
FIXED32 = _fixed("<I", 0, UINT32.check)
FIXED64 = _fixed("<Q", 0, UINT64.check)


# --- text and bytes -------------------------------------------------------------------------


def _to_str(value: Any) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            message = f"{value!r} has type bytes, but isn't valid UTF-8 encoding."
            raise ValueError(message) from None
    if not isinstance(value, str):
        raise TypeError(f"must be a string, not {type(value).__name__}")
    return value


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, str):  # protobuf's C implementation takes it, so programs do it
        return value.encode()
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"expected bytes, {type(value).__name__} found")
    return bytes(value)


def _read_str(data: memoryview, position: int) -> tuple[str, int]:
    value, position = wire.read_bytes(data, position)
    try:
        return str(value, "utf-8"), position
    except UnicodeDecodeError:
        raise DecodeError("Error parsing message: a string is not UTF-8") from None


def _read_bytes(data: memoryview, position: int) -> tuple[bytes, int]:
    value, position = wire.read_bytes(data, position)
    return bytes(value), position


_ESCAPES = {ord("\n"): r"\n", ord("\r"): r"\r", ord("\t"): r"\t"}
_ESCAPES.update({ord(mark): f"\\{mark}" for mark in "\\\"'"})


def quoted(value: str | bytes) -> str:
    r"""Write text or bytes as the text format does: control characters are escaped.

    >>> quoted(b"a\n\x00"), quoted("é")
    ('"a\\n\\000"', '"é"')
    """
    codes: Iterable[int] = value if isinstance(value, bytes) else map(ord, value)
    keep_others = isinstance(value, str)

    def pieces() -> Iterator[str]:
        for code in codes:
            is_plain = 0x20 <= code < 0x7F or (keep_others and code > 0x7F)
            yield _ESCAPES.get(code) or (chr(code) if is_plain else f"\\{code:03o}")

    return f'"{"".join(pieces())}"'


STRING = Kind(
    "",
    wire.LENGTH_DELIMITED,
    _to_str,
    lambda out, value: wire.write_bytes(out, value.encode()),
    _read_str,
    quoted,
)
BYTES = Kind(b"", wire.LENGTH_DELIMITED, _to_bytes, wire.write_bytes, _read_bytes, quoted)


# --- enumerations ---------------------------------------------------------------------------


class EnumType:
    """A protobuf enumeration: names for numbers.

    >>> Level = EnumType("Level", NO_TRACE=0, FULL_TRACE=3)
    >>> Level.FULL_TRACE, Level.Name(3), Level.Value("NO_TRACE"), Level.keys()
    (3, 'FULL_TRACE', 0, ['NO_TRACE', 'FULL_TRACE'])
    """

    def __init__(self, name: str, /, **values: int) -> None:
        self._name = name
        self._values = values
        self._names = {number: name for name, number in reversed(values.items())}
        self.kind = Kind(
            next(iter(values.values())),
            wire.VARINT,
            self._check,
            wire.write_varint,
            INT32.read,
            lambda number: self._names.get(number, str(number)),
        )

    def __getattr__(self, name: str) -> int:
        if name in self.__dict__.get("_values", {}):
            return self._values[name]
        raise AttributeError(f"Enum {self._name} has no value {name!r}")

    def Name(self, number: int) -> str:
        """Return the name of a number."""
        if number not in self._names:
            raise ValueError(f"Enum {self._name} has no name defined for value {number}")
        return self._names[number]

    def Value(self, name: str) -> int:
        """Return the number of a name."""
        if name not in self._values:
            raise ValueError(f"Enum {self._name} has no value defined for name {name!r}")
        return self._values[name]

    def keys(self) -> list[str]:
        return list(self._values)

    def values(self) -> list[int]:
        return list(self._values.values())

    def items(self) -> list[tuple[str, int]]:
        return list(self._values.items())

    def _check(self, value: Any) -> int:
        if isinstance(value, str):
            if value not in self._values:
                raise ValueError(f'unknown enum label "{value}"')
            return self._values[value]
        return int(INT32.check(value))
