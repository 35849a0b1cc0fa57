"""Bit shifts of integers.

As in TensorFlow, by 0 bits at least, and at most by all but one.
"""

from __future__ import annotations

from typing import Any

from berth.dtypes import INTEGERS
from berth.ops.builder import apply
from berth.ops.elementwise.blocks import by_blocks
from berth.ops.opdef import NOT_DIFFERENTIABLE
from berth.ops.rules import elementwise
from berth.ops.types import Tensor, TensorLike
from berth.public import public


def _shift_left(xp: Any, x: Any, y: Any) -> Any:
    return xp.left_shift(x, _places(xp, y))


def _shift_right(xp: Any, x: Any, y: Any) -> Any:
    return xp.right_shift(x, _places(xp, y))


def _places(xp: Any, y: Any) -> Any:
    number = y.dtype.type  # NumPy 1 promotes uint64 with a Python int to float
    return xp.clip(y, number(0), number(8 * y.dtype.itemsize - 1))


LEFT_SHIFT = elementwise(
    "LeftShift", "x:T y:T", by_blocks(_shift_left), INTEGERS, gradient=NOT_DIFFERENTIABLE
)
RIGHT_SHIFT = elementwise(
    "RightShift", "x:T y:T", by_blocks(_shift_right), INTEGERS, gradient=NOT_DIFFERENTIABLE
)


@public("bitwise.left_shift")
def left_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Shift the bits of x to the left by y, element-wise.

    >>> left_shift([1, 3], 2).numpy().tolist()
    [4, 12]
    """
    return apply(LEFT_SHIFT, (x, y), {}, name)


@public("bitwise.right_shift")
def right_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Arithmetic shift of the bits of x to the right by y, element-wise: the sign is kept.

    >>> right_shift([12, -12], 2).numpy().tolist()
    [3, -3]
    """
    return apply(RIGHT_SHIFT, (x, y), {}, name)
