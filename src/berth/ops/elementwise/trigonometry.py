"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

from typing import Any

from berth.dtypes import FLOATING
from berth.ops.arrays.broadcasting import sum_like
from berth.ops.builder import apply
from berth.ops.elementwise.roots import reciprocal, rsqrt
from berth.ops.elementwise.unary import conj, cos, square
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.rules import INEXACT, elementwise
from berth.ops.types import Tensor, TensorLike
from berth.public import public

TAN = elementwise("Tan", "x:T", "tan", INEXACT)
ASIN = elementwise("Asin", "x:T", "arcsin", INEXACT)
ACOS = elementwise("Acos", "x:T", "arccos", INEXACT)
ATAN = elementwise("Atan", "x:T", "arctan", INEXACT)
ATAN2 = elementwise("Atan2", "y:T x:T", "arctan2", FLOATING)
SINH = elementwise("Sinh", "x:T", "sinh", INEXACT)
COSH = elementwise("Cosh", "x:T", "cosh", INEXACT)
ASINH = elementwise("Asinh", "x:T", "arcsinh", INEXACT)
ACOSH = elementwise("Acosh", "x:T", "arccosh", INEXACT)
ATANH = elementwise("Atanh", "x:T", "arctanh", INEXACT)


@public("tan", "math.tan")
def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """Tangent of x, in radians, element-wise.

    >>> tan([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(TAN, (x,), {}, name)


@gradient(TAN)
def _tan_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad * square(reciprocal(cos(conj(op.inputs[0]))))


@public("asin", "math.asin")
def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """Inverse sine of x, from -π/2 to π/2, element-wise.

    >>> asin([0.0, 2.0]).numpy().tolist()
    [0.0, nan]
    """
    return apply(ASIN, (x,), {}, name)


@gradient(ASIN)
def _asin_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad * rsqrt(1 - square(conj(op.inputs[0])))


@public("acos", "math.acos")
def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """Inverse cosine of x, from 0 to π, element-wise.

    >>> acos([1.0, 2.0]).numpy().tolist()
    [0.0, nan]
    """
    return apply(ACOS, (x,), {}, name)


@gradient(ACOS)
def _acos_gradient(op: RecordedOp, grad: Any) -> Any:
    return -grad * rsqrt(1 - square(conj(op.inputs[0])))


@public("atan", "math.atan")
def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """Inverse tangent of x, from -π/2 to π/2, element-wise.

    >>> atan([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(ATAN, (x,), {}, name)


@gradient(ATAN)
def _atan_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad / (1 + square(conj(op.inputs[0])))


@public("atan2", "math.atan2")
def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Inverse tangent of y / x in the quadrant of the point (x, y), element-wise.

    >>> atan2([0.0, 0.0], [1.0, -1.0]).numpy().tolist()
    [0.0, 3.1415927410125732]
    """
    return apply(ATAN2, (y, x), {}, name)


@gradient(ATAN2)
def _atan2_gradient(op: RecordedOp, grad: Any) -> Any:
    y, x = op.inputs
    part = grad / (square(x) + square(y))
    return sum_like(x * part, y), sum_like(-y * part, x)


@public("sinh", "math.sinh")
def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Hyperbolic sine of x, element-wise.

    >>> sinh([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(SINH, (x,), {}, name)


@gradient(SINH)
def _sinh_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad * cosh(conj(op.inputs[0]))


@public("cosh", "math.cosh")
def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Hyperbolic cosine of x, element-wise.

    >>> cosh([0.0]).numpy().tolist()
    [1.0]
    """
    return apply(COSH, (x,), {}, name)


@gradient(COSH)
def _cosh_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad * sinh(conj(op.inputs[0]))


@public("asinh", "math.asinh")
def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Inverse hyperbolic sine of x, element-wise.

    >>> asinh([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(ASINH, (x,), {}, name)


@gradient(ASINH)
def _asinh_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad / cosh(conj(op.outputs[0]))


@public("acosh", "math.acosh")
def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Inverse hyperbolic cosine of x, element-wise.

    >>> acosh([1.0, 0.5]).numpy().tolist()
    [0.0, nan]
    """
    return apply(ACOSH, (x,), {}, name)


@gradient(ACOSH)
def _acosh_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad / sinh(conj(op.outputs[0]))


@public("atanh", "math.atanh")
def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Inverse hyperbolic tangent of x, element-wise.

    >>> atanh([0.0, 1.0]).numpy().tolist()
    [0.0, inf]
    """
    return apply(ATANH, (x,), {}, name)


@gradient(ATANH)
def _atanh_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad / (1 - square(conj(op.inputs[0])))
