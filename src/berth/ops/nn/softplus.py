"""Softplus, softsign, swish and the logarithm of the sigmoid, with their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from berth.dtypes import FLOATING
from berth.ops.builder import apply
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import multiply
from berth.ops.elementwise.blocks import in_blocks
from berth.ops.elementwise.sigmoid import sigmoid
from berth.ops.elementwise.unary import abs as absolute
from berth.ops.elementwise.unary import negative, sign
from berth.ops.gradient import RecordedOp
from berth.ops.nn.activations import from_features, gradient_op, linear_in_gradient
from berth.ops.opdef import Attrs
from berth.ops.rules import elementwise
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1

Kernel = Callable[..., None]
BEND_LENGTH = 2**13
"""How many elements are computed at a time where several arrays lie between."""


def bend(xp: Any, x: Any) -> Any:
    """Return log(1 + exp(-|x|)), by which softplus lies above relu, in a new array."""
    small = xp.absolute(x)
    xp.negative(small, small)
    xp.exp(small, small)
    # The rounding error of 1 + small is added back. NumPy's log1p takes four times as long.
    whole = small + 1
    lost = whole - 1
    xp.subtract(small, lost, lost)
    xp.divide(lost, whole, lost)
    xp.log(whole, whole)
    xp.add(whole, lost, whole)
    return whole


def _softplus(xp: Any, attrs: Attrs) -> Kernel:
    def softplus(x: Any, out: Any) -> None:
        above = bend(xp, x)
        xp.clip(x, 0, math.inf, out)
        xp.add(out, above, out)

    return in_blocks(softplus, BEND_LENGTH)


def _softplus_grad(xp: Any, attrs: Attrs) -> Kernel:
    def softplus_grad(gradients: Any, features: Any, out: Any) -> None:
        divisor = xp.negative(features)
        xp.exp(divisor, divisor)
        xp.add(divisor, 1, divisor)
        xp.divide(gradients, divisor, out)

    return in_blocks(softplus_grad)


def _softplus_grad_gradient(op: RecordedOp, grad: Any) -> Any:
    gradients, features = op.inputs

    def of_features() -> Any:
        slope = sigmoid(features)
        return grad * gradients * slope * (1 - slope)

    return lambda: linear_in_gradient(op, grad), of_features


SOFTPLUS_GRAD = gradient_op(
    "SoftplusGrad", _softplus_grad, "features", FLOATING, _softplus_grad_gradient
)
SOFTPLUS = elementwise(
    "Softplus", "features:T", _softplus, FLOATING, gradient=from_features(SOFTPLUS_GRAD)
)


@public("math.softplus", "nn.softplus")
def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """Softplus, log(exp(features) + 1), element-wise.

    >>> softplus([-1000.0, 1000.0]).numpy().tolist()
    [0.0, 1000.0]
    """
    return apply(SOFTPLUS, (features,), {}, name)


def _softsign(xp: Any, attrs: Attrs) -> Kernel:
    def softsign(x: Any, out: Any) -> None:
        size = xp.absolute(x)
        xp.add(size, 1, size)
        xp.divide(x, size, out)

    return in_blocks(softsign)


def _softsign_grad(xp: Any, attrs: Attrs) -> Kernel:
    def softsign_grad(gradients: Any, features: Any, out: Any) -> None:
        divisor = xp.absolute(features)
        xp.add(divisor, 1, divisor)
        xp.multiply(divisor, divisor, divisor)
        xp.divide(gradients, divisor, out)

    return in_blocks(softsign_grad)


def _softsign_grad_gradient(op: RecordedOp, grad: Any) -> Any:
    gradients, features = op.inputs

    def of_features() -> Any:
        size = 1 + absolute(features)
        return -2 * grad * gradients * sign(features) / (size * size * size)

    return lambda: linear_in_gradient(op, grad), of_features


SOFTSIGN_GRAD = gradient_op(
    "SoftsignGrad", _softsign_grad, "features", FLOATING, _softsign_grad_gradient
)
SOFTSIGN = elementwise(
    "Softsign", "features:T", _softsign, FLOATING, gradient=from_features(SOFTSIGN_GRAD)
)


@public("math.softsign", "nn.softsign")
def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """Softsign, features / (abs(features) + 1), element-wise.

    >>> softsign([-1.0, 3.0]).numpy().tolist()
    [-0.5, 0.75]
    """
    return apply(SOFTSIGN, (features,), {}, name)


@public("nn.silu", "nn.swish")
def silu(features: TensorLike, beta: Any = 1.0) -> Tensor:
    """Sigmoid linear unit (swish), x * sigmoid(beta * x), element-wise.

    >>> silu([0.0, 100.0]).numpy().tolist()
    [0.0, 100.0]
    """
    features = convert(features, None, "features")
    is_plain = isinstance(beta, int | float) and beta == 1
    bent = features if is_plain else convert(beta, features.dtype.base_dtype, "beta") * features
    return multiply(features, sigmoid(bent))


swish = silu


@public("math.log_sigmoid")
@public_v1("log_sigmoid")
def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Logarithm of the sigmoid of x, accurate where the sigmoid is close to 0.

    >>> log_sigmoid([-1000.0]).numpy().tolist()
    [-1000.0]
    """
    with scope("LogSigmoid", name) as inner:
        x = convert(x, None, "x")
        return negative(softplus(negative(x)), name=inner)
