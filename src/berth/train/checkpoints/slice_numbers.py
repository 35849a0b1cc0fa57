"""The elements of a tensor as the repeated fields of a TensorProto, without its shape and type.

That is how checkpoints of the first version have them. They are turned into arrays directly,
since a message with a Python object for each element would take many times their size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from berth.dtypes import DType
from berth.proto import wire

_FIELDS = {
    **{"float32": 5, "float64": 6, "complex64": 9, "complex128": 12},
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), 7),
    **{"string": 8, "int64": 10, "bool": 11, "float16": 13},
}
_BITS = {"float16": np.dtype(np.uint16)}
_CHUNK_BYTES = 1 << 16
_MAX_VARINT_BYTES = 10
_LAST_BYTE = 0x80
"""The bytes of a varint are not less than this, but for the last one."""

Array = npt.NDArray[Any]


def can_be_stored(dtype: DType) -> bool:
    """Tell whether checkpoints of the first version have tensors of a type."""
    return dtype.name in _FIELDS


# --- writing ----------------------------------------------------------------------------------


def encode(array: Array, dtype: DType) -> bytes:
    """Return a TensorProto with the elements of an array, and nothing else."""
    out, number = bytearray(), _FIELDS[dtype.name]
    flat = np.ascontiguousarray(array).reshape(-1)
    if dtype.name == "string":
        for text in flat.tolist():
            wire.write_tag(out, number, wire.LENGTH_DELIMITED)
            wire.write_bytes(out, text)
    elif flat.size:
        wire.write_tag(out, number, wire.LENGTH_DELIMITED)
        is_varint = dtype.name in ("float16", "bool") or dtype.is_integer
        wire.write_bytes(out, _varints(flat, dtype) if is_varint else flat.view(np.uint8).data)
    return bytes(out)


def _varints(flat: Array, dtype: DType) -> bytes:
    out = bytearray()
    for value in flat.view(_BITS.get(dtype.name, flat.dtype)).tolist():
        wire.write_varint(out, int(value))
    return bytes(out)


# --- reading ----------------------------------------------------------------------------------


def decode(data: memoryview, dtype: DType, n_elements: int) -> Array:
    """Return so many elements; `wire.DecodeError` if there are more, or fewer."""
    pieces = _pieces(data, _FIELDS[dtype.name])
    if dtype.name == "string":
        return _strings(pieces, n_elements)
    if dtype.kind in "fc" and dtype.name != "float16":
        return _fixed(pieces, dtype, n_elements)
    if n_elements > len(data):
        raise _miscounted(n_elements)
    out = np.empty(n_elements, _BITS.get(dtype.name, dtype.np_dtype))
    _read_varints(pieces, out)
    return out.view(dtype.np_dtype)


def _pieces(data: memoryview, wanted: int) -> Iterator[memoryview]:
    """Yield what a field has: the parts of a packed one, or the strings."""
    position = 0
    while position < len(data):
        number, kind, position = wire.read_tag(data, position)
        if number == wanted and kind == wire.LENGTH_DELIMITED:
            piece, position = wire.read_bytes(data, position)
            yield piece
        elif number == wanted:
            raise wire.DecodeError("the elements are not packed")
        else:
            position = wire.skip(data, position, kind)


def _strings(pieces: Iterator[memoryview], n_elements: int) -> Array:
    strings = [bytes(piece) for piece in pieces]
    if len(strings) != n_elements:
        raise _miscounted(n_elements)
    return np.array([*strings, None], object)[:-1]


def _fixed(pieces: Iterator[memoryview], dtype: DType, n_elements: int) -> Array:
    parts = [np.frombuffer(piece, np.uint8) for piece in pieces]
    if sum(part.size for part in parts) != n_elements * dtype.itemsize:
        raise _miscounted(n_elements)
    joined = np.concatenate([*parts, np.empty(0, np.uint8)])
    little = joined.view(dtype.np_dtype.newbyteorder("<"))
    array: Array = little.astype(dtype.np_dtype, copy=False)
    return array


def _read_varints(pieces: Iterator[memoryview], out: Array) -> None:
    n_read = 0
    for piece in pieces:
        raw = np.frombuffer(piece, np.uint8)
        while raw.size:
            chunk = raw[:_CHUNK_BYTES]
            ends = np.flatnonzero(chunk < _LAST_BYTE) + 1
            if not ends.size or n_read + ends.size > out.size:
                raise _miscounted(out.size)
            out[n_read : n_read + ends.size] = _numbers(chunk, ends)
            n_read += ends.size
            raw = raw[ends[-1] :]
    if n_read != out.size:
        raise _miscounted(out.size)


def _numbers(chunk: Array, ends: Array) -> Array:
    """Return the varints of a chunk, which end where `ends` says, as signed numbers."""
    starts = np.concatenate([[0], ends[:-1]])
    lengths = ends - starts
    if lengths.max() > _MAX_VARINT_BYTES:
        raise wire.DecodeError("a varint does not end")
    values = np.zeros(ends.size, np.uint64)
    for k in range(int(lengths.max())):
        has_byte = lengths > k
        bits = (chunk[starts[has_byte] + k] & 0x7F).astype(np.uint64)
        values[has_byte] |= bits << np.uint64(7 * k)
    return values.view(np.int64)


def _miscounted(n_elements: int) -> wire.DecodeError:
    return wire.DecodeError(f"there are not {n_elements} elements")
