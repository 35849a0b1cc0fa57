"""`tf.compat`'s conversions between bytes and text, with TensorFlow's values and messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import berth
import berth.compat.v1 as tf


@pytest.mark.parametrize("compat", [tf.compat, berth.compat])
def test_text_and_bytes(compat):
    assert compat.as_bytes("é") == b"\xc3\xa9"
    assert compat.as_bytes("é", "latin-1") == b"\xe9"
    assert compat.as_bytes(bytearray(b"z")) == b"z"
    assert compat.as_text(b"\xc3\xa9") == compat.as_str("é") == "é"
    assert (compat.as_str_any(3), compat.as_str_any(b"x")) == ("3", "x")
    assert (compat.path_to_str(Path("a")), compat.path_to_str("b")) == ("a", "b")


@pytest.mark.parametrize("convert", [tf.compat.as_bytes, tf.compat.as_text])
def test_numbers_are_no_text(convert):
    with pytest.raises(TypeError, match=r"^Expected binary or unicode string, got 3$"):
        convert(3)


def test_types():
    assert isinstance("a", tf.compat.bytes_or_text_types)
    assert isinstance(np.int8(1), tf.compat.integral_types)
    assert not isinstance(1.5, tf.compat.integral_types)
    assert isinstance(np.float32(1), tf.compat.real_types)
    assert isinstance(1j, tf.compat.complex_types)
    assert not isinstance(1j, tf.compat.real_types)
