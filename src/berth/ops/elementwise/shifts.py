"""Bit shifts of integers.

As in TensorFlow, the number of bits is clipped to between 0 and all but one.
"""

from __future__ import annotations

from typing import Any

from berth.dtypes import INTEGERS
from berth.ops.declare import binary
from berth.ops.elementwise.blocks import by_blocks
from berth.ops.opdef import NOT_DIFFERENTIABLE


def _shift_left(xp: Any, x: Any, y: Any) -> Any:
    return xp.left_shift(x, _places(xp, y))


def _shift_right(xp: Any, x: Any, y: Any) -> Any:
    return xp.right_shift(x, _places(xp, y))


def _places(xp: Any, y: Any) -> Any:
    number = y.dtype.type  # NumPy 1 promotes uint64 with a Python int to float
    return xp.clip(y, number(0), number(8 * y.dtype.itemsize - 1))


LEFT_SHIFT, left_shift = binary(
    "LeftShift",
    by_blocks(_shift_left),
    INTEGERS,
    doc="Shift the bits of x to the left by y, element-wise.",
    example=("[1, 3], 2", "[4, 12]"),
    gradient=NOT_DIFFERENTIABLE,
    public=("bitwise.left_shift",),
)
RIGHT_SHIFT, right_shift = binary(
    "RightShift",
    by_blocks(_shift_right),
    INTEGERS,
    doc="Arithmetic shift of the bits of x to the right by y, element-wise: the sign is kept.",
    example=("[12, -12], 2", "[3, -3]"),
    gradient=NOT_DIFFERENTIABLE,
    public=("bitwise.right_shift",),
)
