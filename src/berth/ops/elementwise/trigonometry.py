"""Functions of angles, and of areas under the hyperbola, with their inverses."""

from __future__ import annotations

from typing import Any

from berth.dtypes import FLOATING
from berth.ops.builder import apply
from berth.ops.rules import INEXACT, elementwise

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


def tan(x: Any, name: str | None = None) -> Any:
    """Return the tangent of x, in radians, element by element.

    >>> tan([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(TAN, (x,), {}, name)


def asin(x: Any, name: str | None = None) -> Any:
    """Return the angle from -π/2 to π/2 whose sine is x, element by element.

    >>> asin([0.0, 2.0]).numpy().tolist()
    [0.0, nan]
    """
    return apply(ASIN, (x,), {}, name)


def acos(x: Any, name: str | None = None) -> Any:
    """Return the angle from 0 to π whose cosine is x, element by element.

    >>> acos([1.0, 2.0]).numpy().tolist()
    [0.0, nan]
    """
    return apply(ACOS, (x,), {}, name)


def atan(x: Any, name: str | None = None) -> Any:
    """Return the angle from -π/2 to π/2 whose tangent is x, element by element.

    >>> atan([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(ATAN, (x,), {}, name)


def atan2(y: Any, x: Any, name: str | None = None) -> Any:
    """Return the angle from -π to π of the point (x, y), element by element.

    >>> atan2([0.0, 0.0], [1.0, -1.0]).numpy().tolist()
    [0.0, 3.1415927410125732]
    """
    return apply(ATAN2, (y, x), {}, name)


def sinh(x: Any, name: str | None = None) -> Any:
    """Return (exp(x) - exp(-x)) / 2, element by element.

    >>> sinh([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(SINH, (x,), {}, name)


def cosh(x: Any, name: str | None = None) -> Any:
    """Return (exp(x) + exp(-x)) / 2, element by element.

    >>> cosh([0.0]).numpy().tolist()
    [1.0]
    """
    return apply(COSH, (x,), {}, name)


def asinh(x: Any, name: str | None = None) -> Any:
    """Return what has x as its `sinh`, element by element.

    >>> asinh([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(ASINH, (x,), {}, name)


def acosh(x: Any, name: str | None = None) -> Any:
    """Return what is not negative and has x as its `cosh`, element by element.

    >>> acosh([1.0, 0.5]).numpy().tolist()
    [0.0, nan]
    """
    return apply(ACOSH, (x,), {}, name)


def atanh(x: Any, name: str | None = None) -> Any:
    """Return what has x as its `tanh`, element by element.

    >>> atanh([0.0, 1.0]).numpy().tolist()
    [0.0, inf]
    """
    return apply(ATANH, (x,), {}, name)
