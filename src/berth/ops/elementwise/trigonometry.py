"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

from typing import Any

from berth.dtypes import FLOATING
from berth.ops.arrays.broadcasting import sum_like
from berth.ops.builder import apply
from berth.ops.declare import unary
from berth.ops.elementwise.roots import reciprocal, rsqrt
from berth.ops.elementwise.unary import conj, cos, square
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.rules import INEXACT, elementwise
from berth.ops.types import Tensor, TensorLike
from berth.public import public

# --- of angles, in radians ----------------------------------------------------------------

TAN, tan = unary(
    "Tan",
    "tan",
    INEXACT,
    doc="Tangent of x, in radians, element-wise.",
    example=("[0.0]", "[0.0]"),
    gradient=lambda op, grad: grad * square(reciprocal(cos(conj(op.inputs[0])))),
    public=("tan", "math.tan"),
)

ASIN, asin = unary(
    "Asin",
    "arcsin",
    INEXACT,
    doc="Inverse sine of x, from -π/2 to π/2, element-wise.",
    example=("[0.0, 2.0]", "[0.0, nan]"),
    gradient=lambda op, grad: grad * rsqrt(1 - square(conj(op.inputs[0]))),
    public=("asin", "math.asin"),
)

ACOS, acos = unary(
    "Acos",
    "arccos",
    INEXACT,
    doc="Inverse cosine of x, from 0 to π, element-wise.",
    example=("[1.0, 2.0]", "[0.0, nan]"),
    gradient=lambda op, grad: -grad * rsqrt(1 - square(conj(op.inputs[0]))),
    public=("acos", "math.acos"),
)

ATAN, atan = unary(
    "Atan",
    "arctan",
    INEXACT,
    doc="Inverse tangent of x, from -π/2 to π/2, element-wise.",
    example=("[0.0]", "[0.0]"),
    gradient=lambda op, grad: grad / (1 + square(conj(op.inputs[0]))),
    public=("atan", "math.atan"),
)

ATAN2 = elementwise("Atan2", "y:T x:T", "arctan2", FLOATING)


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


# --- hyperbolic ---------------------------------------------------------------------------

SINH, sinh = unary(
    "Sinh",
    "sinh",
    INEXACT,
    doc="Hyperbolic sine of x, element-wise.",
    example=("[0.0]", "[0.0]"),
    gradient=None,  # below, where cosh is defined
    public=("sinh", "math.sinh"),
)

COSH, cosh = unary(
    "Cosh",
    "cosh",
    INEXACT,
    doc="Hyperbolic cosine of x, element-wise.",
    example=("[0.0]", "[1.0]"),
    gradient=lambda op, grad: grad * sinh(conj(op.inputs[0])),
    public=("cosh", "math.cosh"),
)

ASINH, asinh = unary(
    "Asinh",
    "arcsinh",
    INEXACT,
    doc="Inverse hyperbolic sine of x, element-wise.",
    example=("[0.0]", "[0.0]"),
    gradient=lambda op, grad: grad / cosh(conj(op.outputs[0])),
    public=("asinh", "math.asinh"),
)

ACOSH, acosh = unary(
    "Acosh",
    "arccosh",
    INEXACT,
    doc="Inverse hyperbolic cosine of x, element-wise.",
    example=("[1.0, 0.5]", "[0.0, nan]"),
    gradient=lambda op, grad: grad / sinh(conj(op.outputs[0])),
    public=("acosh", "math.acosh"),
)

ATANH, atanh = unary(
    "Atanh",
    "arctanh",
    INEXACT,
    doc="Inverse hyperbolic tangent of x, element-wise.",
    example=("[0.0, 1.0]", "[0.0, inf]"),
    gradient=lambda op, grad: grad / (1 - square(conj(op.inputs[0]))),
    public=("atanh", "math.atanh"),
)


@gradient(SINH)
def _sinh_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad * cosh(conj(op.inputs[0]))
