"""Gamma and zeta functions: lgamma, digamma, polygamma, zeta."""

from __future__ import annotations

from typing import Any

import numpy as np

from berth.dtypes import FLOATING, float32, float64
from berth.ops.arrays.broadcasting import sum_like
from berth.ops.arrays.filling import zeros_like
from berth.ops.builder import apply
from berth.ops.declare import unary
from berth.ops.elementwise.blocks import by_blocks, polynomial
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.rules import elementwise
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

_PI = float(np.pi)
_EULER = 0.5772156649015328606

_ZETA_LESS_ONE = (
    0.6449340668482264,
    0.2020569031595943,
    0.08232323371113819,
    0.03692775514336993,
    0.01734306198444914,
    0.008349277381922827,
    0.00407735619794434,
    0.0020083928260822143,
    0.0009945751278180853,
    0.0004941886041194645,
    0.0002460865533080483,
    0.00012271334757848915,
    6.124813505870483e-05,
    3.058823630702049e-05,
    1.528225940865187e-05,
    7.637197637899763e-06,
    3.81729326499984e-06,
    1.908212716553939e-06,
    9.539620338727962e-07,
    4.769329867878064e-07,
    2.38450502727733e-07,
    1.1921992596531106e-07,
    5.960818905125948e-08,
    2.980350351465228e-08,
    1.4901554828365043e-08,
    7.45071178983543e-09,
)
"""ζ(k) - 1 for k = 2, 3, …: they give the series of log Γ around 2."""

_AROUND_TWO = (
    *((-1) ** k * value / k for k, value in reversed(list(enumerate(_ZETA_LESS_ONE, start=2)))),
    1 - _EULER,
    0.0,
)
"""log Γ(2 + z) as a polynomial of z, for |z| up to 1/2."""

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)

_STIRLING = tuple(
    value / (2 * k * (2 * k - 1)) for k, value in reversed(list(enumerate(_BERNOULLI, start=1)))
)
_DIGAMMA = tuple(value / (2 * k) for k, value in reversed(list(enumerate(_BERNOULLI, start=1))))

_LARGE = 10.0
"""From where the series for large arguments are exact."""
_LOWEST = -1000.0
"""How far below 0 the terms of zeta's sum are added up one by one."""


# --- log Γ --------------------------------------------------------------------------------


def _log_gamma_positive(xp: Any, x: Any) -> Any:
    small = xp.minimum(x, _LARGE)
    product = xp.where(small < 0.5, small * (small + 1), xp.where(small < 1.5, small, 1.0))
    z = xp.where(small < 0.5, small, xp.where(small < 1.5, small - 1, small - 2))
    from_two = -xp.where(small < 0.5, xp.log(product), 0.0)
    from_two -= xp.where((small >= 0.5) & (small < 1.5), xp.log1p(small - 1), 0.0)
    factor = xp.ones_like(small)
    for _ in range(int(_LARGE) - 2):  # down to between 1.5 and 2.5
        above = z > 0.5
        factor *= xp.where(above, z + 1, 1.0)
        z -= above
    from_two += polynomial(_AROUND_TWO, z) + xp.log(factor)
    large = xp.maximum(x, _LARGE)
    inverse = 1 / large
    series = inverse * polynomial(_STIRLING, inverse * inverse)
    far = (large - 0.5) * (xp.log(large) - 1) + (0.5 * np.log(2 * _PI) - 0.5) + series
    return xp.where(x < _LARGE, from_two, far)


def _lgamma(xp: Any, x: Any) -> Any:
    x = x.astype(np.float64)
    size = xp.absolute(x)
    value = _log_gamma_positive(xp, size)
    sine = xp.absolute(xp.sin(_PI * (x - xp.rint(x))))
    mirrored = xp.log(_PI / (size * sine)) - value
    result = xp.where(x > 0, value, mirrored)
    is_pole = ((x <= 0) & (x == xp.floor(x))) | xp.isinf(x)
    return xp.where(is_pole, xp.inf, result)


# --- its derivatives ----------------------------------------------------------------------


def _digamma(xp: Any, x: Any) -> Any:
    x = x.astype(np.float64)
    is_mirrored = x <= 0
    t = xp.where(is_mirrored, 1 - x, x)
    value = xp.zeros_like(t)
    for _ in range(int(_LARGE)):
        small = t < _LARGE
        value -= xp.where(small, 1 / t, 0.0)
        t += small
    inverse = 1 / (t * t)
    value += xp.log(t) - 0.5 / t - inverse * polynomial(_DIGAMMA, inverse)
    mirrored = value - _PI / xp.tan(_PI * (x - xp.rint(x)))
    is_pole = is_mirrored & (x == xp.floor(x))
    return xp.where(is_pole, xp.nan, xp.where(is_mirrored, mirrored, value))


def _hurwitz(xp: Any, x: Any, q: Any) -> Any:
    """Return Σ (q + k)^-x for x > 1: direct terms, then the Euler-Maclaurin formula."""
    total = xp.zeros_like(q)
    t = xp.where(q < _LOWEST, xp.nan, q)
    lowest = float(xp.nanmin(xp.append(t, 0.0)))
    for _ in range(int(_LARGE - lowest) + 1):
        total += xp.power(t, -x)
        t += 1
    power = xp.power(t, -x)
    total += power * t / (x - 1) + 0.5 * power
    factor = power * x / t
    for k, value in enumerate(_BERNOULLI, start=1):
        factor /= 2 * k * (2 * k - 1)
        total += value * factor
        factor *= (x + 2 * k - 1) * (x + 2 * k) / (t * t)
    return total


def _zeta(xp: Any, x: Any, q: Any) -> Any:
    x, q = x.astype(np.float64), q.astype(np.float64)
    is_pole = (q <= 0) & (q == xp.floor(q))
    # below 0 it is defined for integers x only; there the powers of q are real
    is_undefined = (q <= 0) & (x != xp.floor(x))
    value = _hurwitz(xp, x, q)
    at_poles = xp.where(xp.remainder(x, 2.0) == 0, xp.inf, xp.nan)
    value = xp.where(is_pole, at_poles, xp.where(is_undefined, xp.nan, value))
    value = xp.where((x > 1) & (q == xp.inf), 0.0, value)
    return xp.where(x == 1, xp.inf, xp.where(x < 1, xp.nan, value))


def _polygamma(xp: Any, a: Any, x: Any) -> Any:
    a, x = a.astype(np.float64), x.astype(np.float64)
    factorial = xp.exp(_log_gamma_positive(xp, xp.absolute(a) + 1))
    factorial = xp.where(a < 20, xp.rint(factorial), factorial)
    sign = xp.where(xp.remainder(a, 2.0) == 1, 1.0, -1.0)
    value = sign * factorial * _zeta(xp, a + 1, x)
    value = xp.where(a == 0, _digamma(xp, x), value)
    return xp.where((a < 0) | (a != xp.floor(a)), xp.nan, value)


_WIDE = (float32, float64)
POLYGAMMA = elementwise("Polygamma", "a:T x:T", by_blocks(_polygamma, 8), _WIDE)
ZETA = elementwise("Zeta", "x:T q:T", by_blocks(_zeta, 8), _WIDE)


@public("math.polygamma")
@public_v1("polygamma")
def polygamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Polygamma function of order a, the a-th derivative of `digamma`, at x, element-wise.

    >>> polygamma([1.0], [1.0]).numpy().tolist()
    [1.644934058189392]
    """
    return apply(POLYGAMMA, (a, x), {}, name)


@gradient(POLYGAMMA)
def _polygamma_gradient(op: RecordedOp, grad: Any) -> Any:
    """Gradient by x only, as in TensorFlow: the order is not differentiable."""
    order, x = op.inputs
    return None, sum_like(grad * polygamma(order + 1, x), x)


DIGAMMA, digamma = unary(
    "Digamma",
    by_blocks(_digamma, 8),
    FLOATING,
    doc="Digamma function, the derivative of `lgamma`, element-wise.",
    example=("[1.0]", "[-0.5772156715393066]"),
    gradient=lambda op, grad: grad * polygamma(1 + zeros_like(op.inputs[0]), op.inputs[0]),
    public=("math.digamma",),
    public_v1=("digamma",),
)

LGAMMA, lgamma = unary(
    "Lgamma",
    by_blocks(_lgamma, 8),
    FLOATING,
    doc="Logarithm of the absolute value of the gamma function of x, element-wise.",
    example=("[1.0, 2.0, 0.0]", "[0.0, 0.0, inf]"),
    gradient=lambda op, grad: grad * digamma(op.inputs[0]),
    public=("math.lgamma",),
    public_v1=("lgamma",),
)


@public("math.zeta")
@public_v1("zeta")
def zeta(x: TensorLike, q: Any, name: str | None = None) -> Tensor:
    """Hurwitz zeta function, the sum of (q + k) ** -x for k = 0, 1, …, element-wise.

    >>> zeta([2.0], [1.0]).numpy().tolist()
    [1.644934058189392]
    """
    return apply(ZETA, (x, q), {}, name)


@gradient(ZETA)
def _zeta_gradient(op: RecordedOp, grad: Any) -> Any:
    """Gradient by q only, as in TensorFlow."""
    x, q = op.inputs
    return None, sum_like(grad * -x * zeta(x + 1, q), q)
