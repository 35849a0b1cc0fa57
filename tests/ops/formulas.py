"""What elementwise operations compute, in NumPy's words, and numbers to try them on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import string
from berth.ops.opdef import CATALOGUE
from tests.ops.calls import sample

Array = np.ndarray[Any, Any]
Draw = Callable[[Any, tuple[int, ...], int], Array]
"""Draws numbers of a type and shape, given a seed."""


class Formula(NamedTuple):
    """An elementwise operation, and what it is to give."""

    function: Callable[..., Any]
    draw: Sequence[Draw] = (sample,)
    """For each operand, or the last for all that are left."""
    broadcasts: bool = True
    attrs: Mapping[str, Any] = {}


def between(low: float, high: float) -> Draw:
    """Draw numbers between two others."""

    def draw(dtype: Any, shape: tuple[int, ...], seed: int = 0) -> Array:
        rng = np.random.default_rng(seed)
        numbers = rng.uniform(low, high, shape)
        if np.dtype(dtype).kind == "c":
            return np.asarray(numbers + 1j * rng.random(shape)).astype(dtype)
        return np.asarray(numbers).astype(dtype)

    return draw


def positive(dtype: Any, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Draw small numbers above 0."""
    return sample(dtype, shape, seed, positive=True)


def whole(dtype: Any, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Draw small numbers above 0 without a fraction."""
    return np.floor(positive(dtype, shape, seed))


def _each(function: Callable[..., float]) -> Callable[..., Array]:
    return np.vectorize(function, otypes=[np.float64])


# --- numbers and their parts --------------------------------------------------------------


def _floor_div(x: Array, y: Array) -> Array:
    return np.floor(x / y) if x.dtype.kind == "f" else x // y


def _truncate_div(x: Array, y: Array) -> Array:
    if x.dtype.kind == "f":
        return np.trunc(x / y)
    size = np.abs(x) // np.abs(y)
    return np.where((x < 0) != (y < 0), -size, size) if x.dtype.kind == "i" else x // y


def _shifted(shift: Callable[..., Any]) -> Callable[..., Array]:
    """Shift by 0 bits at least, and at most by all but one."""
    return lambda x, y: shift(x, np.clip(y, 0, 8 * y.itemsize - 1).astype(y.dtype))


def _sign(x: Array) -> Array:
    return x / np.abs(x) if x.dtype.kind == "c" else np.sign(x)


def _equal_shapes(function: Callable[..., Any]) -> Formula:
    return Formula(function, broadcasts=False)


NUMBERS = {
    "Abs": Formula(np.abs),
    "AddV2": Formula(np.add),
    "Angle": Formula(np.angle),
    "BitwiseAnd": Formula(np.bitwise_and),
    "BitwiseOr": Formula(np.bitwise_or),
    "BitwiseXor": Formula(np.bitwise_xor),
    "Ceil": Formula(np.ceil),
    "Complex": Formula(lambda x, y: x + 1j * y),
    "ComplexAbs": Formula(np.abs),
    "Conj": Formula(np.conj),
    "DivNoNan": Formula(np.true_divide),
    "Floor": Formula(np.floor),
    "FloorDiv": Formula(_floor_div),
    "FloorMod": Formula(np.mod),
    "Imag": Formula(np.imag),
    "Invert": Formula(np.invert),
    "LeftShift": Formula(_shifted(np.left_shift)),
    "Maximum": Formula(np.maximum),
    "Minimum": Formula(np.minimum),
    "Mul": Formula(np.multiply),
    "MulNoNan": Formula(np.multiply),
    "Neg": Formula(np.negative),
    "NextAfter": Formula(np.nextafter),
    "Pow": Formula(np.power, [positive]),
    "Real": Formula(np.real),
    "RealDiv": Formula(np.true_divide),
    "Reciprocal": Formula(lambda x: 1 / x),
    "RightShift": Formula(_shifted(np.right_shift)),
    "Rint": Formula(np.rint),
    "Round": Formula(np.rint),
    "Sign": Formula(_sign),
    "Square": Formula(np.square),
    "SquaredDifference": Formula(lambda x, y: (x - y) * np.conj(x - y)),
    "Sub": Formula(np.subtract),
    "TruncateDiv": Formula(_truncate_div),
    "TruncateMod": Formula(np.fmod),
    "Xdivy": Formula(np.true_divide),
}

# --- questions ----------------------------------------------------------------------------

QUESTIONS = {
    "Equal": Formula(np.equal),
    "Greater": Formula(np.greater),
    "GreaterEqual": Formula(np.greater_equal),
    "IsFinite": Formula(np.isfinite),
    "IsInf": Formula(np.isinf),
    "IsNan": Formula(np.isnan),
    "Less": Formula(np.less),
    "LessEqual": Formula(np.less_equal),
    "LogicalAnd": Formula(np.logical_and),
    "LogicalNot": Formula(np.logical_not),
    "LogicalOr": Formula(np.logical_or),
    "NotEqual": Formula(np.not_equal),
}

# --- functions ----------------------------------------------------------------------------

_NORMAL = NormalDist()


def _log_gamma_slope(x: float, step: float = 1e-3) -> float:
    near = math.lgamma(x + step) - math.lgamma(x - step)
    far = math.lgamma(x + 2 * step) - math.lgamma(x - 2 * step)
    return (8 * near - far) / (12 * step)


def _zeta(x: float, q: float) -> float:
    n_terms = 1000
    end = q + n_terms
    rest = end ** (1 - x) / (x - 1) + end**-x / 2 + x * end ** (-x - 1) / 12
    return math.fsum((q + k) ** -x for k in range(n_terms)) + rest


def _polygamma(a: float, x: float) -> float:
    return (-1) ** (int(a) + 1) * math.factorial(int(a)) * _zeta(a + 1, x)


_INSIDE = [between(-0.9, 0.9)]
FUNCTIONS = {
    "Acos": Formula(np.arccos, _INSIDE),
    "Acosh": Formula(np.arccosh, [between(1.1, 5)]),
    "Asin": Formula(np.arcsin, _INSIDE),
    "Asinh": Formula(np.arcsinh),
    "Atan": Formula(np.arctan),
    "Atan2": Formula(np.arctan2),
    "Atanh": Formula(np.arctanh, _INSIDE),
    "Cos": Formula(np.cos),
    "BesselI0": Formula(_each(lambda x: _bessel(0, x))),
    "BesselI0e": Formula(_each(lambda x: _bessel(0, x) * math.exp(-abs(x)))),
    "BesselI1": Formula(_each(lambda x: _bessel(1, x))),
    "BesselI1e": Formula(_each(lambda x: _bessel(1, x) * math.exp(-abs(x)))),
    "Cosh": Formula(np.cosh),
    "Digamma": Formula(_each(_log_gamma_slope), [between(1.6, 6)]),
    "Erf": Formula(_each(math.erf)),
    "Erfc": Formula(_each(math.erfc)),
    "Erfinv": Formula(
        _each(lambda x: _NORMAL.inv_cdf((x + 1) / 2) / math.sqrt(2)), [between(-0.9, 0.9)]
    ),
    "Exp": Formula(np.exp),
    "Expm1": Formula(np.expm1),
    "Lgamma": Formula(_each(math.lgamma)),
    "Log": Formula(np.log, [positive]),
    "Log1p": Formula(np.log1p, [positive]),
    "Ndtri": Formula(_each(_NORMAL.inv_cdf), [between(0.05, 0.95)]),
    "Polygamma": Formula(_each(_polygamma), [whole, positive]),
    "Rsqrt": Formula(lambda x: 1 / np.sqrt(x), [positive]),
    "Sigmoid": Formula(lambda x: 1 / (1 + np.exp(-x))),
    "Sin": Formula(np.sin),
    "Sinh": Formula(np.sinh),
    "Sqrt": Formula(np.sqrt, [positive]),
    "Tan": Formula(np.tan, [between(-1, 1)]),
    "Tanh": Formula(np.tanh),
    "Xlog1py": Formula(lambda x, y: x * np.log1p(y), [sample, positive]),
    "Xlogy": Formula(lambda x, y: x * np.log(y), [sample, positive]),
    "Zeta": Formula(_each(_zeta), [between(1.5, 6), between(0.5, 5)]),
}

# --- activations --------------------------------------------------------------------------

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
LEAK = {"alpha": 0.2}


def _selu(x: Array) -> Array:
    return SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(x))


def _selu_grad(gradients: Array, outputs: Array) -> Array:
    slope = np.where(outputs < 0, outputs + SELU_SCALE * SELU_ALPHA, SELU_SCALE)
    return gradients * slope


def _sigmoid_cross_entropy(logits: Array, labels: Array) -> Array:
    return np.maximum(logits, 0) - logits * labels + np.log1p(np.exp(-np.abs(logits)))


ACTIVATIONS = {
    "Elu": Formula(lambda x: np.where(x > 0, x, np.expm1(x))),
    "EluGrad": _equal_shapes(lambda dy, y: dy * (np.minimum(y, 0) + 1)),
    "LeakyRelu": Formula(lambda x: np.where(x > 0, x, 0.2 * x), attrs=LEAK),
    "LeakyReluGrad": Formula(
        lambda dy, x: dy * np.where(x > 0, 1, 0.2), broadcasts=False, attrs=LEAK
    ),
    "ReciprocalGrad": _equal_shapes(lambda y, dy: -dy * y * y),
    "Relu": Formula(lambda x: np.maximum(x, 0)),
    "Relu6": Formula(lambda x: np.clip(x, 0, 6)),
    "Relu6Grad": _equal_shapes(lambda dy, x: dy * ((x > 0) & (x < 6))),
    "ReluGrad": _equal_shapes(lambda dy, x: dy * (x > 0)),
    "RsqrtGrad": _equal_shapes(lambda y, dy: dy / -2 * y**3),
    "Selu": Formula(_selu),
    "SeluGrad": _equal_shapes(_selu_grad),
    "SigmoidCrossEntropyWithLogits": _equal_shapes(_sigmoid_cross_entropy),
    "SigmoidGrad": _equal_shapes(lambda y, dy: dy * y * (1 - y)),
    "Softplus": Formula(lambda x: np.logaddexp(x, 0)),
    "SoftplusGrad": _equal_shapes(lambda dy, x: dy / (1 + np.exp(-x))),
    "Softsign": Formula(lambda x: x / (1 + np.abs(x))),
    "SoftsignGrad": _equal_shapes(lambda dy, x: dy / (1 + np.abs(x)) ** 2),
    "SqrtGrad": _equal_shapes(lambda y, dy: dy / 2 / y),
    "TanhGrad": _equal_shapes(lambda y, dy: dy * (1 - y * y)),
}


def _bessel(order: int, x: float) -> float:
    """Sum the power series of a modified Bessel function."""
    terms = (
        (x / 2) ** (2 * k + order) / math.factorial(k) / math.factorial(k + order)
        for k in range(60)
    )
    return math.fsum(terms)


FORMULAS = {**NUMBERS, **QUESTIONS, **FUNCTIONS, **ACTIVATIONS}
"""Of every elementwise operation but Cast, whose formula is the type that it is given."""


def dtypes_of(name: str) -> list[Any]:
    """List the types that an operation takes, as NumPy's."""
    types = CATALOGUE[name].types
    allowed = types.get("SrcT") or types["T"]
    return [dtype.np_dtype for dtype in allowed if dtype is not string]


def operands(name: str, dtype: Any, *shapes: tuple[int, ...]) -> list[Array]:
    """Draw what an operation can take, of these shapes or of one for all."""
    draw, n_operands = FORMULAS[name].draw, len(CATALOGUE[name].arguments)
    each = shapes * n_operands if len(shapes) == 1 else shapes
    return [
        draw[min(position, len(draw) - 1)](dtype, shape, position)
        for position, shape in enumerate(each[:n_operands])
    ]


def expected_of(name: str, inputs: Sequence[Array]) -> Array:
    """Compute an operation by its formula."""
    with np.errstate(all="ignore"):
        return np.asarray(FORMULAS[name].function(*inputs))
