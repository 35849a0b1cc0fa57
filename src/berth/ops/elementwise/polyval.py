"""Evaluation of polynomials: ``tf.math.polyval``."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.filling import zeros_like
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import add, multiply
from berth.ops.types import Tensor, TensorLike
from berth.public import public


@public("math.polyval")
def polyval(coeffs: Any, x: TensorLike, name: str | None = None) -> Tensor:
    """Evaluate a polynomial at x; the coefficient of the highest power comes first.

    >>> polyval([1, 2, 3], 10).numpy().tolist()
    123
    """
    if not isinstance(coeffs, list | tuple):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    with scope("polyval", name):
        x = convert(x, None, "x")
        dtype = x.dtype.base_dtype
        if not coeffs:
            return zeros_like(x)
        total = convert(coeffs[0], dtype)
        for coefficient in coeffs[1:]:
            total = add(convert(coefficient, dtype), multiply(total, x))
        return total
