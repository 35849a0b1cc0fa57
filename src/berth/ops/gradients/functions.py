"""Gradients of trigonometric and special functions, of quotients and of complex parts.

Of a complex function the gradient takes the conjugate of the derivative, as TensorFlow's.
"""

from __future__ import annotations

import math
from typing import Any

from berth.ops.arrays.broadcasting import sum_like
from berth.ops.arrays.filling import zeros_like
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import not_equal
from berth.ops.elementwise.complex_numbers import (
    ANGLE,
    IMAGINARY_PART,
    JOIN,
    REAL_PART,
    complex,
    imag,
    real,
)
from berth.ops.elementwise.gamma import (
    DIGAMMA,
    LGAMMA,
    POLYGAMMA,
    ZETA,
    digamma,
    polygamma,
    zeta,
)
from berth.ops.elementwise.quotients import (
    DIV_NO_NAN,
    MUL_NO_NAN,
    NEXT_AFTER,
    RINT,
    TRUNCATE_DIV,
    TRUNCATE_MOD,
    XDIVY,
    XLOG1PY,
    XLOGY,
    divide_no_nan,
    multiply_no_nan,
    truncatediv,
    xdivy,
    xlog1py,
    xlogy,
)
from berth.ops.elementwise.special import ERF, ERFC, ERFINV, NDTRI
from berth.ops.elementwise.trigonometry import (
    ACOS,
    ACOSH,
    ASIN,
    ASINH,
    ATAN,
    ATAN2,
    ATANH,
    COSH,
    SINH,
    TAN,
    cosh,
    sinh,
)
from berth.ops.elementwise.unary import conj, cos, exp, negative, reciprocal, rsqrt, square
from berth.ops.gradient import RecordedOp, gradient, not_differentiable

# --- angles -------------------------------------------------------------------------------


@gradient(TAN)
def _tan(op: RecordedOp, grad: Any) -> Any:
    return grad * square(reciprocal(cos(conj(op.inputs[0]))))


@gradient(ASIN)
def _asin(op: RecordedOp, grad: Any) -> Any:
    return grad * rsqrt(1 - square(conj(op.inputs[0])))


@gradient(ACOS)
def _acos(op: RecordedOp, grad: Any) -> Any:
    return -grad * rsqrt(1 - square(conj(op.inputs[0])))


@gradient(ATAN)
def _atan(op: RecordedOp, grad: Any) -> Any:
    return grad / (1 + square(conj(op.inputs[0])))


@gradient(ATAN2)
def _atan2(op: RecordedOp, grad: Any) -> Any:
    y, x = op.inputs
    part = grad / (square(x) + square(y))
    return sum_like(x * part, y), sum_like(-y * part, x)


@gradient(SINH)
def _sinh(op: RecordedOp, grad: Any) -> Any:
    return grad * cosh(conj(op.inputs[0]))


@gradient(COSH)
def _cosh(op: RecordedOp, grad: Any) -> Any:
    return grad * sinh(conj(op.inputs[0]))


@gradient(ASINH)
def _asinh(op: RecordedOp, grad: Any) -> Any:
    return grad / cosh(conj(op.outputs[0]))


@gradient(ACOSH)
def _acosh(op: RecordedOp, grad: Any) -> Any:
    return grad / sinh(conj(op.outputs[0]))


@gradient(ATANH)
def _atanh(op: RecordedOp, grad: Any) -> Any:
    return grad / (1 - square(conj(op.inputs[0])))


# --- special functions --------------------------------------------------------------------


@gradient(ERF)
def _erf(op: RecordedOp, grad: Any) -> Any:
    return grad * (2 / math.sqrt(math.pi)) * exp(negative(square(op.inputs[0])))


@gradient(ERFC)
def _erfc(op: RecordedOp, grad: Any) -> Any:
    return grad * (-2 / math.sqrt(math.pi)) * exp(negative(square(op.inputs[0])))


@gradient(ERFINV)
def _erfinv(op: RecordedOp, grad: Any) -> Any:
    return grad * (math.sqrt(math.pi) / 2) * exp(square(op.outputs[0]))


@gradient(NDTRI)
def _ndtri(op: RecordedOp, grad: Any) -> Any:
    return grad * math.sqrt(2 * math.pi) * exp(square(op.outputs[0]) / 2)


@gradient(LGAMMA)
def _lgamma(op: RecordedOp, grad: Any) -> Any:
    return grad * digamma(op.inputs[0])


@gradient(DIGAMMA)
def _digamma(op: RecordedOp, grad: Any) -> Any:
    x = op.inputs[0]
    return grad * polygamma(1 + zeros_like(x), x)


@gradient(POLYGAMMA)
def _polygamma(op: RecordedOp, grad: Any) -> Any:
    """The order is no number to differentiate by; TensorFlow gives None too."""
    order, x = op.inputs
    return None, sum_like(grad * polygamma(order + 1, x), x)


@gradient(ZETA)
def _zeta(op: RecordedOp, grad: Any) -> Any:
    """By q only, as in TensorFlow."""
    x, q = op.inputs
    return None, sum_like(grad * -x * zeta(x + 1, q), q)


# --- products and quotients ---------------------------------------------------------------


def _unless_zero(x: Any) -> Any:
    """Return 1 where x is not 0, and 0 there."""
    return cast(not_equal(x, zeros_like(x)), x.dtype.base_dtype)


@gradient(XLOGY)
def _xlogy(op: RecordedOp, grad: Any) -> Any:
    x, y = map(conj, op.inputs)
    by_x, by_y = xlogy(_unless_zero(x), y), xdivy(x, y)
    return sum_like(grad * by_x, op.inputs[0]), sum_like(grad * by_y, op.inputs[1])


@gradient(XLOG1PY)
def _xlog1py(op: RecordedOp, grad: Any) -> Any:
    x, y = map(conj, op.inputs)
    by_x, by_y = xlog1py(_unless_zero(x), y), xdivy(x, y + 1)
    return sum_like(grad * by_x, op.inputs[0]), sum_like(grad * by_y, op.inputs[1])


@gradient(XDIVY)
def _xdivy(op: RecordedOp, grad: Any) -> Any:
    x, y = map(conj, op.inputs)
    by_x, by_y = xdivy(_unless_zero(x), y), xdivy(-x, square(y))
    return sum_like(grad * by_x, op.inputs[0]), sum_like(grad * by_y, op.inputs[1])


@gradient(DIV_NO_NAN)
def _div_no_nan(op: RecordedOp, grad: Any) -> Any:
    x, y = map(conj, op.inputs)
    by_y = grad * divide_no_nan(divide_no_nan(-x, y), y)
    return sum_like(divide_no_nan(grad, y), op.inputs[0]), sum_like(by_y, op.inputs[1])


@gradient(MUL_NO_NAN)
def _mul_no_nan(op: RecordedOp, grad: Any) -> Any:
    x, y = map(conj, op.inputs)
    by_x, by_y = multiply_no_nan(grad, y), multiply_no_nan(x, grad)
    return sum_like(by_x, op.inputs[0]), sum_like(by_y, op.inputs[1])


@gradient(TRUNCATE_MOD)
def _truncate_mod(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    return sum_like(grad, x), sum_like(grad * negative(truncatediv(x, y)), y)


@gradient(NEXT_AFTER)
def _next_after(op: RecordedOp, grad: Any) -> Any:
    x1, x2 = op.inputs
    return sum_like(grad, x1), zeros_like(x2)


not_differentiable(RINT, TRUNCATE_DIV)

# --- complex numbers ----------------------------------------------------------------------


@gradient(JOIN)
def _join(op: RecordedOp, grad: Any) -> Any:
    return sum_like(real(grad), op.inputs[0]), sum_like(imag(grad), op.inputs[1])


@gradient(REAL_PART)
def _real_part(op: RecordedOp, grad: Any) -> Any:
    return complex(grad, zeros_like(grad))


@gradient(IMAGINARY_PART)
def _imaginary_part(op: RecordedOp, grad: Any) -> Any:
    return complex(zeros_like(grad), grad)


@gradient(ANGLE)
def _angle(op: RecordedOp, grad: Any) -> Any:
    """Turning to the side changes the angle most: i z / |z|²."""
    x, y = real(op.inputs[0]), imag(op.inputs[0])
    slope = grad / (square(x) + square(y))
    return complex(-y * slope, x * slope)
