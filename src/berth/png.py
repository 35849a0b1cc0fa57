"""PNG files, written: pixels to bytes with zlib, without an imaging library."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # by channels: grey, grey + alpha, RGB, RGB + alpha


def encode_png(pixels: Any, compression: int = -1) -> bytes:
    """Return an image of shape [height, width, channels], 8 or 16 bits, as a PNG file."""
    height, width, n_channels = pixels.shape
    wide = pixels.dtype == np.uint16
    rows = pixels.astype(">u2" if wide else np.uint8).reshape(height, -1).view(np.uint8)
    # Each row says first how its bytes are filtered: 0 is not at all.
    filtered = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)
    depth = 16 if wide else 8
    header = struct.pack(">IIBBBBB", width, height, depth, _COLOUR_TYPES[n_channels], 0, 0, 0)
    body = zlib.compress(filtered.tobytes(), compression)
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
