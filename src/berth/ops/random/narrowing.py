"""Uniform samples of bfloat16, from the bits that a sample of float32 is made of."""

from __future__ import annotations

from typing import Any

from berth.dtypes import bfloat16, int32
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import bitwise_and


def to_bfloat16(sample: Any) -> Any:
    """Return what TensorFlow draws for bfloat16 where a sample of float32 is drawn.

    Both are made of the last bits of one random word: 23 for float32, 7 for bfloat16. To round
    the sample instead could give 1, which is no uniform sample.
    """
    bits = cast(sample * 2.0**23, int32)
    return cast(bitwise_and(bits, 127), bfloat16) / 128
