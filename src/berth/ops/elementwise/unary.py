"""Elementwise functions of one operand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import COMPLEX, FLOATING, INTEGERS, NUMBERS, REAL
from berth.ops.builder import apply
from berth.ops.compose import convert, type_of
from berth.ops.elementwise.blocks import by_blocks
from berth.ops.opdef import Attrs, OutputType, Typed
from berth.ops.rules import INEXACT, SIGNED, elementwise, truth_like_first

# --- functions that NumPy does not have ---------------------------------------------------

_CLIP_ABOVE = 2**12
"""From how many elements on NumPy's clip is faster than its maximum, which takes numbers one
by one where an operand is a single one."""


def _rsqrt(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    def rsqrt(x: Any, out: Any) -> None:
        xp.sqrt(x, out)
        xp.reciprocal(out, out)

    return rsqrt


def _sigmoid(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    def sigmoid(x: Any, out: Any) -> None:
        xp.negative(x, out)
        xp.exp(out, out)
        xp.add(out, 1, out)
        xp.reciprocal(out, out)

    return sigmoid


def _relu(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    def relu(x: Any, out: Any) -> None:
        if x.size > _CLIP_ABOVE and x.dtype.kind == "f":
            xp.clip(x, 0, math.inf, out)
        else:
            xp.maximum(x, x.dtype.type(0), out=out)  # a plain 0 widens single integers

    return relu


def _direction(xp: Any, x: Any) -> Any:
    size = xp.absolute(x)
    size = size + (size == 0)
    result = xp.empty_like(x)
    xp.divide(x.real, size, result.real)
    xp.divide(x.imag, size, result.imag)
    return result


def _sign(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    of_complex = by_blocks(_direction)(xp, attrs)

    def sign(x: Any, out: Any) -> None:
        # NumPy before 2, and CuPy, take the sign of the real part alone.
        (of_complex if x.dtype.kind == "c" else xp.sign)(x, out)

    return sign


def _real_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((inputs[0].dtype.base_dtype.real_dtype, inputs[0].dims),)


# --- of numbers ---------------------------------------------------------------------------

_NUMBERS_WITH_SIGN = (*FLOATING, *SIGNED, *COMPLEX)

NEG = elementwise("Neg", "x:T", "negative", _NUMBERS_WITH_SIGN)
ABS = elementwise("Abs", "x:T", "absolute", (*FLOATING, *SIGNED))
COMPLEX_ABS = elementwise("ComplexAbs", "x:T", "absolute", COMPLEX, _real_type)
CONJ = elementwise("Conj", "input:T", "conjugate", COMPLEX)
SIGN = elementwise("Sign", "x:T", _sign, _NUMBERS_WITH_SIGN)
SQUARE = elementwise("Square", "x:T", "square", NUMBERS)
SQRT = elementwise("Sqrt", "x:T", "sqrt", INEXACT)
RSQRT = elementwise("Rsqrt", "x:T", _rsqrt, INEXACT)
RECIPROCAL = elementwise("Reciprocal", "x:T", "reciprocal", INEXACT)
EXP = elementwise("Exp", "x:T", "exp", INEXACT)
EXPM1 = elementwise("Expm1", "x:T", "expm1", INEXACT)
LOG = elementwise("Log", "x:T", "log", INEXACT)
LOG1P = elementwise("Log1p", "x:T", "log1p", INEXACT)
TANH = elementwise("Tanh", "x:T", "tanh", INEXACT)
SIN = elementwise("Sin", "x:T", "sin", INEXACT)
COS = elementwise("Cos", "x:T", "cos", INEXACT)
SIGMOID = elementwise("Sigmoid", "x:T", _sigmoid, INEXACT)
FLOOR = elementwise("Floor", "x:T", "floor", FLOATING)
CEIL = elementwise("Ceil", "x:T", "ceil", FLOATING)
ROUND = elementwise("Round", "x:T", "rint", FLOATING)
RELU = elementwise("Relu", "features:T", _relu, REAL)
INVERT = elementwise("Invert", "x:T", "invert", INTEGERS)


def negative(x: Any, name: str | None = None) -> Any:
    """Return -x, element by element.

    >>> negative([1, -2]).numpy().tolist()
    [-1, 2]
    """
    return apply(NEG, (x,), {}, name)


def abs(x: Any, name: str | None = None) -> Any:
    """Return the size of x without its sign, element by element.

    >>> abs([1, -2]).numpy().tolist()
    [1, 2]
    """
    op = COMPLEX_ABS if type_of(x) in COMPLEX else ABS
    return apply(op, (x,), {}, name or "Abs")


def conj(x: Any, name: str | None = None) -> Any:
    """Return the complex conjugate of x; real tensors as they are.

    >>> conj([1 + 2j]).numpy().tolist()
    [(1-2j)]
    """
    x = convert(x, None, "x")
    return apply(CONJ, (x,), {}, name) if x.dtype.base_dtype in COMPLEX else x


def sign(x: Any, name: str | None = None) -> Any:
    """Return -1, 0 or 1 by the sign of x, element by element; x / |x| of complex numbers.

    >>> sign([3, 0, -2]).numpy().tolist()
    [1, 0, -1]
    """
    return apply(SIGN, (x,), {}, name)


def square(x: Any, name: str | None = None) -> Any:
    """Return x², element by element.

    >>> square([3, -2]).numpy().tolist()
    [9, 4]
    """
    return apply(SQUARE, (x,), {}, name)


def sqrt(x: Any, name: str | None = None) -> Any:
    """Return the square root of x, element by element.

    >>> sqrt([4.0, 9.0]).numpy().tolist()
    [2.0, 3.0]
    """
    return apply(SQRT, (x,), {}, name)


def rsqrt(x: Any, name: str | None = None) -> Any:
    """Return 1 / √x, element by element.

    >>> rsqrt([4.0, 0.25]).numpy().tolist()
    [0.5, 2.0]
    """
    return apply(RSQRT, (x,), {}, name)


def reciprocal(x: Any, name: str | None = None) -> Any:
    """Return 1 / x, element by element.

    >>> reciprocal([4.0, -0.5]).numpy().tolist()
    [0.25, -2.0]
    """
    return apply(RECIPROCAL, (x,), {}, name)


def exp(x: Any, name: str | None = None) -> Any:
    """Return e to the power of x, element by element.

    >>> exp([0.0]).numpy().tolist()
    [1.0]
    """
    return apply(EXP, (x,), {}, name)


def expm1(x: Any, name: str | None = None) -> Any:
    """Return exp(x) - 1, exact near 0, element by element.

    >>> expm1([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(EXPM1, (x,), {}, name)


def log(x: Any, name: str | None = None) -> Any:
    """Return the natural logarithm of x, element by element.

    >>> log([1.0, 0.0]).numpy().tolist()
    [0.0, -inf]
    """
    return apply(LOG, (x,), {}, name)


def log1p(x: Any, name: str | None = None) -> Any:
    """Return log(1 + x), exact near 0, element by element.

    >>> log1p([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(LOG1P, (x,), {}, name)


def tanh(x: Any, name: str | None = None) -> Any:
    """Return the hyperbolic tangent of x, element by element.

    >>> tanh([0.0, 100.0]).numpy().tolist()
    [0.0, 1.0]
    """
    return apply(TANH, (x,), {}, name)


def sin(x: Any, name: str | None = None) -> Any:
    """Return the sine of x, element by element.

    >>> sin([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(SIN, (x,), {}, name)


def cos(x: Any, name: str | None = None) -> Any:
    """Return the cosine of x, element by element.

    >>> cos([0.0]).numpy().tolist()
    [1.0]
    """
    return apply(COS, (x,), {}, name)


def sigmoid(x: Any, name: str | None = None) -> Any:
    """Return 1 / (1 + exp(-x)), element by element.

    >>> sigmoid([0.0]).numpy().tolist()
    [0.5]
    """
    return apply(SIGMOID, (x,), {}, name)


def floor(x: Any, name: str | None = None) -> Any:
    """Return x rounded down, element by element.

    >>> floor([1.7, -1.2]).numpy().tolist()
    [1.0, -2.0]
    """
    return apply(FLOOR, (x,), {}, name)


def ceil(x: Any, name: str | None = None) -> Any:
    """Return x rounded up, element by element.

    >>> ceil([1.2, -1.7]).numpy().tolist()
    [2.0, -1.0]
    """
    return apply(CEIL, (x,), {}, name)


def round(x: Any, name: str | None = None) -> Any:
    """Return x rounded to the nearest, halves to the even; integers as they are.

    >>> round([0.5, 1.5, -1.7]).numpy().tolist()
    [0.0, 2.0, -2.0]
    """
    x = convert(x, None, "x")
    return x if x.dtype.is_integer else apply(ROUND, (x,), {}, name)


def relu(features: Any, name: str | None = None) -> Any:
    """Return 0 for what is negative, and the rest as it is.

    >>> relu([-1.0, 2.0]).numpy().tolist()
    [0.0, 2.0]
    """
    return apply(RELU, (features,), {}, name)


def invert(x: Any, name: str | None = None) -> Any:
    """Return integers with every bit turned over.

    >>> invert([0, 5]).numpy().tolist()
    [-1, -6]
    """
    return apply(INVERT, (x,), {}, name)


# --- questions ----------------------------------------------------------------------------

IS_NAN = elementwise("IsNan", "x:T", "isnan", FLOATING, truth_like_first)
IS_INF = elementwise("IsInf", "x:T", "isinf", FLOATING, truth_like_first)
IS_FINITE = elementwise("IsFinite", "x:T", "isfinite", FLOATING, truth_like_first)


def is_nan(x: Any, name: str | None = None) -> Any:
    """Tell which elements are no numbers.

    >>> is_nan([1.0, float("nan")]).numpy().tolist()
    [False, True]
    """
    return apply(IS_NAN, (x,), {}, name)


def is_inf(x: Any, name: str | None = None) -> Any:
    """Tell which elements are infinite.

    >>> is_inf([1.0, float("inf")]).numpy().tolist()
    [False, True]
    """
    return apply(IS_INF, (x,), {}, name)


def is_finite(x: Any, name: str | None = None) -> Any:
    """Tell which elements are numbers, and not infinite.

    >>> is_finite([1.0, float("inf"), float("nan")]).numpy().tolist()
    [True, False, False]
    """
    return apply(IS_FINITE, (x,), {}, name)
