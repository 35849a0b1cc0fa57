"""Element-wise functions of one operand, with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import COMPLEX, FLOATING, INTEGERS, NUMBERS
from berth.ops.arrays import filling
from berth.ops.builder import apply
from berth.ops.compose import convert, type_of
from berth.ops.declare import unary
from berth.ops.elementwise import casting, division
from berth.ops.elementwise.blocks import by_blocks
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import NOT_DIFFERENTIABLE, Attrs, OutputType, Typed
from berth.ops.rules import INEXACT, SIGNED, elementwise, truth_like_first
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

# --- functions that NumPy does not have ---------------------------------------------------


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


_SIGNED_NUMBERS = (*FLOATING, *SIGNED, *COMPLEX)

# --- not quite regular ----------------------------------------------------------------------

ABS = elementwise("Abs", "x:T", "absolute", (*FLOATING, *SIGNED))
COMPLEX_ABS = elementwise("ComplexAbs", "x:T", "absolute", COMPLEX, _real_type)
CONJ = elementwise("Conj", "input:T", "conjugate", COMPLEX)
SIGN = elementwise("Sign", "x:T", _sign, _SIGNED_NUMBERS)
ROUND = elementwise("Round", "x:T", "rint", FLOATING, gradient=NOT_DIFFERENTIABLE)


@public("abs", "math.abs")
def abs(x: TensorLike, name: str | None = None) -> Tensor:
    """Absolute value of x, element-wise; the magnitude of complex numbers.

    >>> abs([1, -2]).numpy().tolist()
    [1, 2]
    """
    op = COMPLEX_ABS if type_of(x) in COMPLEX else ABS
    return apply(op, (x,), {}, name or "Abs")


@gradient(ABS)
def _abs_grad(op: RecordedOp, grad: Tensor) -> Tensor:
    return grad * sign(op.inputs[0])


@gradient(COMPLEX_ABS)
def _complex_abs_grad(op: RecordedOp, grad: Tensor) -> Tensor:
    x = op.inputs[0]
    return casting.cast(grad, x.dtype) * sign(x)


@public("math.conj")
@public_v1("conj")
def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """Complex conjugate of x, element-wise; real tensors are returned as they are.

    >>> conj([1 + 2j]).numpy().tolist()
    [(1-2j)]
    """
    x = convert(x, None, "x")
    return apply(CONJ, (x,), {}, name) if x.dtype.base_dtype in COMPLEX else x


@gradient(CONJ)
def _conj_grad(op: RecordedOp, grad: Tensor) -> Tensor:
    return conj(grad)


@public("sign", "math.sign")
def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """Sign of x, element-wise: -1, 0 or 1; x / |x| for complex numbers.

    >>> sign([3, 0, -2]).numpy().tolist()
    [1, 0, -1]
    """
    return apply(SIGN, (x,), {}, name)


@gradient(SIGN)
def _sign_grad(op: RecordedOp, grad: Tensor) -> Tensor:
    x, direction = op.inputs[0], op.outputs[0]
    if not x.dtype.is_complex:
        return filling.zeros_like(x)
    # |sign(x)| is 1 for every x, so only the change of the angle contributes.
    turned = grad * conj(direction)
    numerator = direction * (turned - conj(turned))
    return division.divide_no_nan(numerator, casting.cast(2 * abs(x), x.dtype))


@public("round", "math.round")
def round(x: TensorLike, name: str | None = None) -> Tensor:
    """Round x to the nearest integer, halves to even, element-wise.

    >>> round([0.5, 1.5, -1.7]).numpy().tolist()
    [0.0, 2.0, -2.0]
    """
    x = convert(x, None, "x")
    return x if x.dtype.is_integer else apply(ROUND, (x,), {}, name)


# --- regular: one operand, one NumPy function -----------------------------------------------

NEG, negative = unary(
    "Neg",
    "negative",
    _SIGNED_NUMBERS,
    doc="Negation, -x, element-wise.",
    example=("[1, -2]", "[-1, 2]"),
    gradient=lambda op, grad: -grad,
    public=("negative", "math.negative"),
)

SQUARE, square = unary(
    "Square",
    "square",
    NUMBERS,
    doc="Square of x, element-wise.",
    example=("[3, -2]", "[9, 4]"),
    gradient=lambda op, grad: grad * (2 * conj(op.inputs[0])),
    public=("square", "math.square"),
)

EXP, exp = unary(
    "Exp",
    "exp",
    INEXACT,
    doc="Exponential of x, element-wise.",
    example=("[0.0]", "[1.0]"),
    gradient=lambda op, grad: grad * conj(op.outputs[0]),
    public=("exp", "math.exp"),
)

EXPM1, expm1 = unary(
    "Expm1",
    "expm1",
    INEXACT,
    doc="exp(x) - 1, accurate for x near 0, element-wise.",
    example=("[0.0]", "[0.0]"),
    gradient=lambda op, grad: grad * exp(conj(op.inputs[0])),
    public=("math.expm1",),
    public_v1=("expm1",),
)

LOG, log = unary(
    "Log",
    "log",
    INEXACT,
    doc="Natural logarithm of x, element-wise.",
    example=("[1.0, 0.0]", "[0.0, -inf]"),
    gradient=lambda op, grad: grad / conj(op.inputs[0]),
    public=("math.log",),
    public_v1=("log",),
)

LOG1P, log1p = unary(
    "Log1p",
    "log1p",
    INEXACT,
    doc="log(1 + x), accurate for x near 0, element-wise.",
    example=("[0.0]", "[0.0]"),
    gradient=lambda op, grad: grad / (1 + conj(op.inputs[0])),
    public=("math.log1p",),
    public_v1=("log1p",),
)

SIN, sin = unary(
    "Sin",
    "sin",
    INEXACT,
    doc="Sine of x, element-wise.",
    example=("[0.0]", "[0.0]"),
    gradient=None,  # below, where cos is defined
    public=("sin", "math.sin"),
)

COS, cos = unary(
    "Cos",
    "cos",
    INEXACT,
    doc="Cosine of x, element-wise.",
    example=("[0.0]", "[1.0]"),
    gradient=lambda op, grad: -grad * sin(conj(op.inputs[0])),
    public=("cos", "math.cos"),
)

FLOOR, floor = unary(
    "Floor",
    "floor",
    FLOATING,
    doc="Largest integer not greater than x, element-wise.",
    example=("[1.7, -1.2]", "[1.0, -2.0]"),
    gradient=NOT_DIFFERENTIABLE,
    public=("floor", "math.floor"),
)

CEIL, ceil = unary(
    "Ceil",
    "ceil",
    FLOATING,
    doc="Smallest integer not less than x, element-wise.",
    example=("[1.2, -1.7]", "[2.0, -1.0]"),
    gradient=NOT_DIFFERENTIABLE,
    public=("math.ceil",),
    public_v1=("ceil",),
)

INVERT, invert = unary(
    "Invert",
    "invert",
    INTEGERS,
    doc="Bitwise complement of integers, element-wise.",
    example=("[0, 5]", "[-1, -6]"),
    gradient=NOT_DIFFERENTIABLE,
    public=("bitwise.invert",),
)

IS_NAN, is_nan = unary(
    "IsNan",
    "isnan",
    FLOATING,
    truth_like_first,
    doc="Which elements are NaN.",
    example=('[1.0, float("nan")]', "[False, True]"),
    gradient=NOT_DIFFERENTIABLE,
    public=("math.is_nan",),
    public_v1=("is_nan",),
)

IS_INF, is_inf = unary(
    "IsInf",
    "isinf",
    FLOATING,
    truth_like_first,
    doc="Which elements are infinite.",
    example=('[1.0, float("inf")]', "[False, True]"),
    gradient=NOT_DIFFERENTIABLE,
    public=("math.is_inf",),
    public_v1=("is_inf",),
)

IS_FINITE, is_finite = unary(
    "IsFinite",
    "isfinite",
    FLOATING,
    truth_like_first,
    doc="Which elements are finite.",
    example=('[1.0, float("inf"), float("nan")]', "[True, False, False]"),
    gradient=NOT_DIFFERENTIABLE,
    public=("math.is_finite",),
    public_v1=("is_finite",),
)


@gradient(SIN)
def _sin_grad(op: RecordedOp, grad: Tensor) -> Tensor:
    return grad * cos(conj(op.inputs[0]))
