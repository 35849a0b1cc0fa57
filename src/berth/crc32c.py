"""CRC-32C (Castagnoli), the checksum in TensorFlow's checkpoints, TFRecords and event files.

Python has no fast one, so this is made of NumPy calls on whole blocks. A checksum is the
remainder of the data, as a polynomial over GF(2), by ``P``. The polynomial

    f(x) = x^5685 + x^1362 + x^426 + 1

is a multiple of ``P``, and so are ``f(x)^2 = f(x^2)``, ``f(x^4)``, ``f(x^8)`` and so on. By
``f(x^8)`` a byte may be removed if it is added (XOR) to the three bytes that are 4323, 5259 and
5685 further on: the remainder stays the same. `_fold` does that to 4323 bytes at once, or to
8 times as many by ``f(x^64)``; the few thousand bytes that are left are looked up in tables.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

_POLYNOMIAL = 0x82F63B78  # P, with its highest power in the lowest bit, as in the data
_SHIFTS = (4323, 5259, 5685)
_LENGTH = _SHIFTS[-1]
_MASK_DELTA = 0xA282EAD8
_ALL = 0xFFFFFFFF
_ROW = 256


def crc32c(data: Any, crc: int = 0) -> int:
    """CRC-32C of bytes, or of any contiguous buffer such as a NumPy array.

    ``crc`` is the checksum of what comes before: ``crc32c(b, crc32c(a)) == crc32c(a + b)``.
    """
    view = memoryview(data)
    state = crc ^ _ALL
    if view.nbytes <= 64:
        table = _table()
        for byte in view.cast("B") if view.nbytes else b"":
            state = table[(state ^ byte) & 255] ^ (state >> 8)
        return state ^ _ALL
    left = np.frombuffer(view.cast("B"), np.uint8)
    for scale in (8, 1):
        if left.size > 2 * scale * _LENGTH:
            left, state = _fold(left, state, scale), 0
    return _remainder(left, state) ^ _ALL


def mask(crc: int) -> int:
    """The checksum as it is stored: a checksum of data that has checksums would be weak."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL


def unmask(masked: int) -> int:
    """The checksum that was stored by `mask`."""
    rotated = (masked - _MASK_DELTA) & _ALL
    return ((rotated >> 17) | (rotated << 15)) & _ALL


def _fold(data: Bytes, state: int, scale: int) -> Bytes:
    """Bytes with the same remainder, as many as ``scale`` times the degree of f."""
    near, middle, far = (scale * shift for shift in _SHIFTS)
    removed = data.size - far
    # The bytes removed last, `far` of them, with those before them; begins with nothing.
    window = np.zeros(far + near, np.uint8)
    first = np.zeros(near, np.uint8)
    first[:4] = np.frombuffer(state.to_bytes(4, "little"), np.uint8)
    for start in range(0, removed, near):
        count = min(near, removed - start)
        block = window[far : far + count]
        np.bitwise_xor(data[start : start + count], window[:count], out=block)
        np.bitwise_xor(block, window[far - middle :][:count], out=block)
        np.bitwise_xor(block, window[far - near :][:count], out=block)
        if start == 0:
            np.bitwise_xor(block, first[:count], out=block)
        window[:far] = window[count : far + count]
    rest: Bytes = data[removed:].copy()
    for shift in (near, middle, far):
        rest[:shift] ^= window[far - shift : far]
    return rest


def _remainder(data: Bytes, state: int) -> int:
    """The remainder of a few thousand bytes after ``state``: row by row, then of the rows."""
    rows = -(-data.size // _ROW)
    padded = np.zeros((rows, _ROW), np.uint8)
    padding = rows * _ROW - data.size
    flat = padded.reshape(-1)
    flat[padding:] = data
    flat[padding : padding + 4] ^= np.frombuffer(state.to_bytes(4, "little"), np.uint8)
    tables = _row_tables()
    of_rows = np.bitwise_xor.reduce(tables[np.arange(_ROW), padded], axis=1)
    t0, t1, t2, t3 = _skip_tables()
    total = 0
    for remainder in of_rows.tolist():
        total = (
            t0[total & 255]
            ^ t1[(total >> 8) & 255]
            ^ t2[(total >> 16) & 255]
            ^ t3[total >> 24]
            ^ remainder
        )
    return total


@cache
def _table() -> list[int]:
    """The remainder of each byte."""
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


@cache
def _row_tables() -> npt.NDArray[np.uint32]:
    """The remainder of each byte at each place of a row."""
    table = np.array(_table(), np.uint32)
    tables = np.empty((_ROW, 256), np.uint32)
    tables[-1] = table
    for place in range(_ROW - 2, -1, -1):
        after = tables[place + 1]
        tables[place] = table[after & 255] ^ (after >> 8)
    return tables


@cache
def _skip_tables() -> list[list[int]]:
    """The remainder of each byte of a remainder that a row of zeros follows."""
    return [tables.tolist() for tables in _row_tables()[:4]]
