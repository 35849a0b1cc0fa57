"""Functions of angles, and of areas under the hyperbola, with their inverses."""

from __future__ import annotations

from berth.dtypes import FLOATING
from berth.ops.builder import apply
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
    """Return the tangent of x, in radians, element by element.

    >>> tan([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(TAN, (x,), {}, name)


@public("asin", "math.asin")
def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the angle from -π/2 to π/2 whose sine is x, element by element.

    >>> asin([0.0, 2.0]).numpy().tolist()
    [0.0, nan]
    """
    return apply(ASIN, (x,), {}, name)


@public("acos", "math.acos")
def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the angle from 0 to π whose cosine is x, element by element.

    >>> acos([1.0, 2.0]).numpy().tolist()
    [0.0, nan]
    """
    return apply(ACOS, (x,), {}, name)


@public("atan", "math.atan")
def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the angle from -π/2 to π/2 whose tangent is x, element by element.

    >>> atan([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(ATAN, (x,), {}, name)


@public("atan2", "math.atan2")
def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the angle from -π to π of the point (x, y), element by element.

    >>> atan2([0.0, 0.0], [1.0, -1.0]).numpy().tolist()
    [0.0, 3.1415927410125732]
    """
    return apply(ATAN2, (y, x), {}, name)


@public("sinh", "math.sinh")
def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return (exp(x) - exp(-x)) / 2, element by element.

    >>> sinh([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(SINH, (x,), {}, name)


@public("cosh", "math.cosh")
def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return (exp(x) + exp(-x)) / 2, element by element.

    >>> cosh([0.0]).numpy().tolist()
    [1.0]
    """
    return apply(COSH, (x,), {}, name)


@public("asinh", "math.asinh")
def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return what has x as its `sinh`, element by element.

    >>> asinh([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(ASINH, (x,), {}, name)


@public("acosh", "math.acosh")
def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return what is not negative and has x as its `cosh`, element by element.

    >>> acosh([1.0, 0.5]).numpy().tolist()
    [0.0, nan]
    """
    return apply(ACOSH, (x,), {}, name)


@public("atanh", "math.atanh")
def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return what has x as its `tanh`, element by element.

    >>> atanh([0.0, 1.0]).numpy().tolist()
    [0.0, inf]
    """
    return apply(ATANH, (x,), {}, name)
