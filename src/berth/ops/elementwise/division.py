"""Divisions and products that define the result at 0, and quotients rounded in other ways."""

from __future__ import annotations

from typing import Any

from berth.dtypes import FLOATING, REAL, float32, float64, int32, int64
from berth.ops.arrays import broadcasting, filling
from berth.ops.builder import apply
from berth.ops.compose import convert, scope, type_of
from berth.ops.declare import binary
from berth.ops.declare import unary as declare_unary
from berth.ops.elementwise import compare, unary
from berth.ops.elementwise.arithmetic import FLOOR_DIV, REAL_DIV, check_divisor, quotient_type
from berth.ops.elementwise.blocks import by_blocks
from berth.ops.elementwise.casting import cast
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import NOT_DIFFERENTIABLE
from berth.ops.rules import INEXACT, elementwise
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

# --- what is 0 times anything -------------------------------------------------------------


def _xlogy(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(x == 0, x, x * xp.log(y))


def _xlog1py(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(x == 0, x, x * xp.log1p(y))


def _xdivy(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(x == 0, x, x / y)


def _divide_no_nan(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(y == 0, y, x / y)


def _multiply_no_nan(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(y == 0, y, x * y)


XLOGY = elementwise("Xlogy", "x:T y:T", by_blocks(_xlogy), INEXACT)
XLOG1PY = elementwise("Xlog1py", "x:T y:T", by_blocks(_xlog1py), INEXACT)
XDIVY = elementwise("Xdivy", "x:T y:T", by_blocks(_xdivy), INEXACT)
DIV_NO_NAN = elementwise("DivNoNan", "x:T y:T", by_blocks(_divide_no_nan), INEXACT)
MUL_NO_NAN = elementwise("MulNoNan", "x:T y:T", by_blocks(_multiply_no_nan), INEXACT)


@public("math.xlogy")
def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x * log(y) element-wise, 0 where x is 0.

    >>> xlogy([0.0, 2.0], [0.0, 1.0]).numpy().tolist()
    [0.0, 0.0]
    """
    return apply(XLOGY, (x, y), {}, name)


@gradient(XLOGY)
def _xlogy_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = map(unary.conj, op.inputs)
    by_x, by_y = xlogy(_unless_zero(x), y), xdivy(x, y)
    return broadcasting.sum_like(grad * by_x, op.inputs[0]), broadcasting.sum_like(
        grad * by_y, op.inputs[1]
    )


def _unless_zero(x: Any) -> Any:
    """Return 1 where x is not 0, and 0 elsewhere."""
    return cast(compare.not_equal(x, filling.zeros_like(x)), x.dtype.base_dtype)


@public("math.xlog1py")
def xlog1py(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x * log1p(y) element-wise, 0 where x is 0.

    >>> xlog1py([0.0, 2.0], [-1.0, 0.0]).numpy().tolist()
    [0.0, 0.0]
    """
    return apply(XLOG1PY, (x, y), {}, name or "xlog1py")


@gradient(XLOG1PY)
def _xlog1py_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = map(unary.conj, op.inputs)
    by_x, by_y = xlog1py(_unless_zero(x), y), xdivy(x, y + 1)
    return broadcasting.sum_like(grad * by_x, op.inputs[0]), broadcasting.sum_like(
        grad * by_y, op.inputs[1]
    )


@public("math.xdivy")
def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y element-wise, 0 where x is 0.

    >>> xdivy([0.0, 1.0], [0.0, 2.0]).numpy().tolist()
    [0.0, 0.5]
    """
    return apply(XDIVY, (x, y), {}, name or "xdivy")


@gradient(XDIVY)
def _xdivy_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = map(unary.conj, op.inputs)
    by_x, by_y = xdivy(_unless_zero(x), y), xdivy(-x, unary.square(y))
    return broadcasting.sum_like(grad * by_x, op.inputs[0]), broadcasting.sum_like(
        grad * by_y, op.inputs[1]
    )


@public_v1("div")
def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y element-wise with Python 2's semantics: integers are rounded down.

    >>> div([7, -7], 2).numpy().tolist()
    [3, -4]
    """
    with scope("div", name) as inner:
        x = convert(x, type_of(y), "x")
        y = convert(y, x.dtype.base_dtype, "y")
        return apply(FLOOR_DIV if x.dtype.is_integer else REAL_DIV, (x, y), {}, inner)


@public("math.divide_no_nan")
@public_v1("div_no_nan")
def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y element-wise, 0 where y is 0; integers are converted to floats.

    >>> divide_no_nan([1.0, 3.0], [0.0, 2.0]).numpy().tolist()
    [0.0, 1.5]
    """
    with scope("div_no_nan", name) as inner:
        x = convert(x, type_of(x) or type_of(y), "x")
        y = convert(y, type_of(y) or x.dtype.base_dtype, "y")
        if x.dtype.base_dtype is not y.dtype.base_dtype:
            raise TypeError(
                f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}."
            )
        wanted = quotient_type(x.dtype.base_dtype)
        return apply(DIV_NO_NAN, (cast(x, wanted), cast(y, wanted)), {}, inner)


@gradient(DIV_NO_NAN)
def _div_no_nan_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = map(unary.conj, op.inputs)
    by_y = grad * divide_no_nan(divide_no_nan(-x, y), y)
    return broadcasting.sum_like(divide_no_nan(grad, y), op.inputs[0]), broadcasting.sum_like(
        by_y, op.inputs[1]
    )


@public("math.multiply_no_nan")
def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x * y element-wise, 0 where y is 0 even if x is NaN or infinite.

    >>> multiply_no_nan([float("inf"), 2.0], [0.0, 3.0]).numpy().tolist()
    [0.0, 6.0]
    """
    with scope("multiply_no_nan", name) as inner:
        x = convert(x, type_of(x) or type_of(y), "x")
        return apply(MUL_NO_NAN, (x, convert(y, x.dtype.base_dtype, "y")), {}, inner)


@gradient(MUL_NO_NAN)
def _mul_no_nan_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = map(unary.conj, op.inputs)
    by_x, by_y = multiply_no_nan(grad, y), multiply_no_nan(x, grad)
    return broadcasting.sum_like(by_x, op.inputs[0]), broadcasting.sum_like(by_y, op.inputs[1])


@public("math.reciprocal_no_nan")
def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 / x element-wise, 0 where x is 0.

    >>> reciprocal_no_nan([2.0, 0.0]).numpy().tolist()
    [0.5, 0.0]
    """
    with scope("reciprocal_no_nan", name) as inner:
        x = convert(x, None, "x")
        one = convert(1, x.dtype.base_dtype, "one")
        return apply(DIV_NO_NAN, (one, x), {}, inner)


# --- rounding -----------------------------------------------------------------------------


def _truncate_div(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return xp.trunc(x / y)
    check_divisor(y)
    return xp.floor_divide(x - xp.fmod(x, y), y)


def _truncate_mod(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind != "f":
        check_divisor(y)
    return xp.fmod(x, y)


TRUNCATE_MOD = elementwise(
    "TruncateMod", "x:T y:T", by_blocks(_truncate_mod), (int32, int64, *FLOATING)
)
NEXT_AFTER = elementwise("NextAfter", "x1:T x2:T", "nextafter", (float32, float64))


TRUNCATE_DIV, truncatediv = binary(
    "TruncateDiv",
    by_blocks(_truncate_div),
    REAL,
    doc="Return x / y element-wise, rounded towards zero.",
    example=("[7, -7], [2, 2]", "[3, -3]"),
    gradient=NOT_DIFFERENTIABLE,
    public=("truncatediv",),
)


@public("truncatemod")
def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the remainder of truncated division, element-wise: it has the sign of x.

    >>> truncatemod([7, -7], [2, 2]).numpy().tolist()
    [1, -1]
    """
    return apply(TRUNCATE_MOD, (x, y), {}, name)


@gradient(TRUNCATE_MOD)
def _truncate_mod_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    return broadcasting.sum_like(grad, x), broadcasting.sum_like(
        grad * unary.negative(truncatediv(x, y)), y
    )


@public("realdiv")
def realdiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y element-wise for floats and complex numbers.

    >>> realdiv([1.0], [2.0]).numpy().tolist()
    [0.5]
    """
    return apply(REAL_DIV, (x, y), {}, name)


def floor_div(x: Any, y: Any, name: str | None = None) -> Any:
    """Return x // y element-wise, rounded towards negative infinity, as `floordiv`.

    >>> floor_div([7, -7], [2, 2]).numpy().tolist()
    [3, -4]
    """
    return apply(FLOOR_DIV, (x, y), {}, name)


RINT, rint = declare_unary(
    "Rint",
    "rint",
    FLOATING,
    doc="Round x to the nearest integer, halves to even, element-wise.",
    example=("[0.5, 1.5, -1.7]", "[0.0, 2.0, -2.0]"),
    gradient=NOT_DIFFERENTIABLE,
    public=("math.rint",),
    public_v1=("rint",),
)


@public("math.nextafter")
def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """Return the next representable number after x1 towards x2, element-wise.

    >>> nextafter([1.0], [2.0]).numpy().tolist()
    [1.0000001192092896]
    """
    return apply(NEXT_AFTER, (x1, x2), {}, name)


@gradient(NEXT_AFTER)
def _next_after_gradient(op: RecordedOp, grad: Any) -> Any:
    x1, x2 = op.inputs
    return broadcasting.sum_like(grad, x1), filling.zeros_like(x2)
