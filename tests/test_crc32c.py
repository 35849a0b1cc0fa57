"""CRC-32C against its definition, bit by bit, at every length where the method changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.crc32c import crc32c, mask, unmask

DATA = np.random.default_rng(5).integers(0, 256, 200_000, np.uint8).tobytes()


def bitwise(data: bytes, crc: int = 0) -> int:
    """The definition: divide by the polynomial, a bit at a time."""
    state = crc ^ 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = (state >> 1) ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "expected"),
    [  # RFC 3720, B.4
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (b"123456789", 0xE3069283),
        (b"", 0),
    ],
)
def test_published_checksums(data, expected):
    assert crc32c(data) == expected


@given(st.binary(max_size=700), st.integers(0, 2**32 - 1))
def test_equals_the_definition(data, crc):
    assert crc32c(data, crc) == bitwise(data, crc)


@pytest.mark.parametrize("size", [5684, 5685, 5686, 11370, 11371, 11374, 15693, 15694, 20017])
def test_equals_the_definition_when_folded(size):
    assert crc32c(DATA[:size], 77) == bitwise(DATA[:size], 77)


@given(st.integers(0, len(DATA)), st.integers(0, 70))
def test_checksums_continue(middle, short):
    """Cut anywhere: folded by 8 times, by once, and by tables must all agree."""
    assert crc32c(DATA[middle:], crc32c(DATA[:middle])) == crc32c(DATA)
    assert crc32c(DATA[short:], bitwise(DATA[:short])) == crc32c(DATA)


def test_buffers_of_any_type():
    array = np.arange(6, dtype="<f8").reshape(2, 3)
    for same in (array, bytearray(array), memoryview(array), array.tobytes()):
        assert crc32c(same) == bitwise(array.tobytes())
    assert crc32c(np.float32(1.5)) == crc32c(np.array(1.5, "<f4")) == bitwise(b"\0\0\xc0\x3f")
    assert crc32c(np.zeros((0, 3))) == 0


@given(st.integers(0, 2**32 - 1))
def test_masks_are_undone(crc):
    assert unmask(mask(crc)) == crc
    assert 0 <= mask(crc) < 2**32


def test_stored_form_is_tensorflows():
    """The length, 24, of a TFRecord that TensorFlow wrote."""
    assert mask(crc32c((24).to_bytes(8, "little"))) == 0x224B7FA3
