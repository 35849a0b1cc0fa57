"""Arithmetic: element-wise functions of two operands, with their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.dtypes import (
    COMPLEX,
    FLOATING,
    INTEGERS,
    NUMBERS,
    REAL,
    DType,
    float32,
    float64,
    int32,
    int64,
)
from berth.errors import InvalidArgumentError
from berth.ops.arrays import broadcasting, gathering
from berth.ops.arrays.strings import add_fallback
from berth.ops.builder import apply
from berth.ops.compose import convert, convert_like, scope, type_of
from berth.ops.declare import binary
from berth.ops.elementwise import compare, unary
from berth.ops.elementwise.casting import cast
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
)
from berth.ops.rules import INEXACT, SIGNED, elementwise
from berth.ops.shape import merge
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

# --- functions that NumPy does not have, or has with another meaning ----------------------


def _squared_difference(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    def squared_difference(x: Any, y: Any, out: Any) -> None:
        xp.subtract(x, y, out)
        if out.dtype.kind != "c":
            xp.multiply(out, out, out)
            return
        real, imaginary = out.real, out.imag  # |x - y|², as in TensorFlow
        xp.multiply(real, real, real)
        xp.multiply(imaginary, imaginary, imaginary)
        xp.add(real, imaginary, real)
        imaginary[...] = 0

    return squared_difference


def _extreme(name: str) -> Callable[[Any, Attrs], Callable[..., Any]]:
    """NumPy's maximum or minimum, which take `out` by keyword only."""

    def find(xp: Any, attrs: Attrs) -> Callable[..., Any]:
        extreme = getattr(xp, name)

        def function(x: Any, y: Any, out: Any) -> None:
            extreme(x, y, out=out)

        return function

    return find


def _floor_divide(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    def floor_divide(x: Any, y: Any, out: Any) -> None:
        if out.dtype.kind == "f":  # NumPy's own rounds 1 // 0.1 to 9
            xp.true_divide(x, y, out)
            xp.floor(out, out)
            return
        check_divisor(y)
        xp.floor_divide(x, y, out)

    return floor_divide


def _floor_mod(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    def floor_mod(x: Any, y: Any, out: Any) -> None:
        if out.dtype.kind != "f":
            check_divisor(y)
        xp.remainder(x, y, out)

    return floor_mod


def check_divisor(y: Any) -> None:
    """Raise InvalidArgumentError if one of the integers to divide by is 0."""
    if not y.all():
        raise InvalidArgumentError(None, None, "Integer division by zero")


def _power(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    def power(x: Any, y: Any, out: Any) -> None:
        if out.dtype.kind == "i" and y.size and y.min() < 0:
            message = "Integers to negative integer powers are not allowed"
            raise InvalidArgumentError(None, None, message)
        xp.power(x, y, out)

    return power


# --- two operands -------------------------------------------------------------------------

ADD = elementwise("AddV2", "x:T y:T", "add", NUMBERS)
MUL = elementwise("Mul", "x:T y:T", "multiply", NUMBERS)
REAL_DIV = elementwise("RealDiv", "x:T y:T", "true_divide", INEXACT)
FLOOR_DIV = elementwise("FloorDiv", "x:T y:T", _floor_divide, REAL, gradient=NOT_DIFFERENTIABLE)
FLOOR_MOD = elementwise("FloorMod", "x:T y:T", _floor_mod, INTEGERS + FLOATING)
POW = elementwise("Pow", "x:T y:T", _power, (*FLOATING, *SIGNED, *COMPLEX))


@public("add", "math.add")
def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x + y element-wise.

    >>> add([1, 2], 3).numpy().tolist()
    [4, 5]
    """
    name = name or "Add"
    try:
        return apply(ADD, (x, y), {}, name)
    except (TypeError, InvalidArgumentError) as error:
        return add_fallback(ADD, x, y, name, error)


@gradient(ADD)
def _add_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    return lambda: broadcasting.sum_like(grad, x), lambda: broadcasting.sum_like(grad, y)


SUB, subtract = binary(
    "Sub",
    "subtract",
    NUMBERS,
    doc="Return x - y element-wise.",
    example=("[1, 2], 3", "[-2, -1]"),
    gradient=lambda op, grad: (
        lambda: broadcasting.sum_like(grad, op.inputs[0]),
        lambda: -broadcasting.sum_like(grad, op.inputs[1]),
    ),
    public=("subtract", "math.subtract"),
)


@public("multiply", "math.multiply")
def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x * y element-wise.

    >>> multiply([1, 2], [[3], [4]]).numpy().tolist()
    [[3, 6], [4, 8]]
    """
    return apply(MUL, (x, y), {}, name)


@gradient(MUL)
def _mul_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    return (
        lambda: broadcasting.sum_like(multiply(grad, unary.conj(y)), x),
        lambda: broadcasting.sum_like(multiply(grad, unary.conj(x)), y),
    )


@public("scalar_mul", "math.scalar_mul")
def scalar_mul(scalar: Any, x: TensorLike, name: str | None = None) -> Tensor:
    """Multiply a tensor by a scalar.

    >>> scalar_mul(2, [1, 2]).numpy().tolist()
    [2, 4]
    """
    factor = convert(scalar, type_of(x), "scalar")
    if factor.dims not in ((), None):
        raise ValueError(
            "The input scalar must be a 0-D value. "
            f"Received: scalar={scalar} with shape {factor.shape}."
        )
    return multiply(factor, x, name)


@public("divide", "truediv", "math.divide", "math.truediv")
def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y element-wise (Python 3 division): integers are converted to floats.

    >>> truediv([1, 3], 2).numpy().tolist()
    [0.5, 1.5]
    """
    dtype, other = type_of(x), type_of(y)
    known = dtype or other
    if known and known.is_inexact and (other is None or dtype is None or dtype is other):
        return apply(REAL_DIV, (x, y), {}, name or "truediv")
    with scope("truediv", name) as inner:
        x = convert_like(x, other, "x")
        dtype = x.dtype.base_dtype
        y = convert_like(y, dtype, "y")
        if y.dtype.base_dtype is not dtype:
            raise TypeError(
                f"`x` and `y` must have the same dtype, got {dtype!r} != {y.dtype!r}."
            )
        wanted = quotient_type(dtype)
        if wanted is not dtype:
            x, y = cast(x, wanted), cast(y, wanted)
        return apply(REAL_DIV, (x, y), {}, inner)


@gradient(REAL_DIV)
def _real_div_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    return (
        lambda: broadcasting.sum_like(grad / unary.conj(y), x),
        lambda: broadcasting.sum_like(grad * (-unary.conj(op.outputs[0]) / unary.conj(y)), y),
    )


divide = truediv


def quotient_type(dtype: DType) -> DType:
    """Return the type of a true division: that of floats for integers."""
    if dtype.is_inexact:
        return dtype
    if not dtype.is_integer:
        known = ", ".join(repr(t) for t in (*INEXACT, *INTEGERS))
        raise TypeError(f"Invalid dtype {dtype!r} in __truediv__. Expected one of {{{known}}}.")
    return float32 if dtype.itemsize <= 2 else float64


@public("math.floordiv")
@public_v1("floor_div", "floordiv")
def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x // y element-wise, rounded towards negative infinity.

    >>> floordiv([7, -7], 2).numpy().tolist()
    [3, -4]
    """
    return apply(FLOOR_DIV, (x, y), {}, name or "floordiv")


@public("floormod", "math.floormod", "math.mod")
@public_v1("mod")
def mod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the remainder of floor division, x % y, element-wise: it has the sign of y.

    >>> mod([7, -7], 3).numpy().tolist()
    [1, 2]
    """
    return apply(FLOOR_MOD, (x, y), {}, name)


@gradient(FLOOR_MOD)
def _floor_mod_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    return lambda: broadcasting.sum_like(
        grad, x
    ), lambda: -broadcasting.sum_like(grad * floordiv(x, y), y)


@public("pow", "math.pow")
def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x to the power of y element-wise.

    >>> pow([2, 3], 2).numpy().tolist()
    [4, 9]
    """
    return apply(POW, (x, y), {}, name)


@gradient(POW)
def _pow_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs

    def of_base() -> Any:
        power = unary.conj(y)
        return broadcasting.sum_like(grad * (power * pow(unary.conj(x), power - 1)), x)

    def of_power() -> Any:
        base = unary.conj(x)
        # The gradient is 0 where the base has no finite logarithm, as in TensorFlow.
        has_log = (
            compare.not_equal(base, 0) if base.dtype.is_complex else compare.greater(base, 0)
        )
        logarithm = gathering.where_v2(
            has_log, unary.log(gathering.where_v2(has_log, base, 1)), 0
        )
        return broadcasting.sum_like(grad * unary.conj(op.outputs[0]) * logarithm, y)

    return of_base, of_power


def _extreme_gradient(is_first: Callable[..., Any], op: RecordedOp, grad: Any) -> Any:
    """Gradient of the maximum or minimum: of x where ``is_first(x, y)``, else of y."""
    x, y = op.inputs
    return compare.chosen_gradients(is_first(x, y), x, y, grad)


MAXIMUM, maximum = binary(
    "Maximum",
    _extreme("maximum"),
    REAL,
    doc="Return the maximum of x and y element-wise.",
    example=("[1, 5], 3", "[3, 5]"),
    gradient=lambda op, grad: _extreme_gradient(compare.greater_equal, op, grad),
    public=("maximum", "math.maximum"),
)

MINIMUM, minimum = binary(
    "Minimum",
    _extreme("minimum"),
    REAL,
    doc="Return the minimum of x and y element-wise.",
    example=("[1, 5], 3", "[1, 3]"),
    gradient=lambda op, grad: _extreme_gradient(compare.less_equal, op, grad),
    public=("minimum", "math.minimum"),
)


def _squared_difference_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs
    slope = 2 * grad * (x - y)
    return lambda: broadcasting.sum_like(slope, x), lambda: -broadcasting.sum_like(slope, y)


SQUARED_DIFFERENCE, squared_difference = binary(
    "SquaredDifference",
    _squared_difference,
    (*FLOATING, int32, int64, *COMPLEX),
    doc="Return (x - y) ** 2 element-wise.",
    example=("[1, 5], 3", "[4, 4]"),
    gradient=_squared_difference_gradient,
    public=("math.squared_difference",),
    public_v1=("squared_difference",),
)


@public("clip_by_value")
def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Tensor:
    """Clip the values of a tensor to a minimum and a maximum.

    >>> clip_by_value([-1.0, 0.5, 2.0], 0.0, 1.0).numpy().tolist()
    [0.0, 0.5, 1.0]
    """
    with scope("clip_by_value", name) as inner:
        values = convert(t, None, "t")
        below = minimum(values, clip_value_max)
        _check_same(values, below)
        clipped = maximum(below, clip_value_min, name=inner)
        _check_same(values, clipped)
        return clipped


def _check_same(values: Any, clipped: Any) -> None:
    try:
        merge(values.dims, clipped.dims)
    except ValueError:
        message = f"Shapes {values.shape} and {clipped.shape} are incompatible"
        raise ValueError(message) from None
