"""The backward halves of activations and roots, each in one pass: training is made of them.

They take what the forward half gave, `y`, and the gradient that arrives there, `dy`. Rule 2
for kernels lets an output take the place of an input that is still needed, so what lies
between is written to a block of its own, which stays in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.dtypes import REAL
from berth.ops.builder import apply
from berth.ops.elementwise.blocks import by_blocks, in_blocks
from berth.ops.opdef import Attrs
from berth.ops.rules import INEXACT, elementwise, like_both
from berth.ops.types import Tensor

# --- activations --------------------------------------------------------------------------


def _relu_grad(xp: Any, attrs: Attrs) -> Callable[..., None]:
    def function(gradients: Any, features: Any, out: Any) -> None:
        xp.multiply(gradients, features > 0, out)

    return in_blocks(function, 2**16)  # there is only truth to keep between: larger blocks


def _sigmoid_grad(xp: Any, attrs: Attrs) -> Callable[..., None]:
    def function(y: Any, dy: Any, out: Any) -> None:
        slope = xp.subtract(1, y)
        xp.multiply(slope, y, slope)
        xp.multiply(slope, dy, out)

    return in_blocks(function)


def _tanh_grad(xp: Any, attrs: Attrs) -> Callable[..., None]:
    def function(y: Any, dy: Any, out: Any) -> None:
        slope = xp.multiply(y, y)
        xp.subtract(1, slope, slope)
        xp.multiply(slope, dy, out)

    return in_blocks(function)


RELU_GRAD = elementwise("ReluGrad", "gradients:T features:T", _relu_grad, REAL, like_both)
SIGMOID_GRAD = elementwise("SigmoidGrad", "y:T dy:T", _sigmoid_grad, INEXACT, like_both)
TANH_GRAD = elementwise("TanhGrad", "y:T dy:T", _tanh_grad, INEXACT, like_both)


def relu_grad(gradients: Any, features: Any, name: str | None = None) -> Tensor:
    """Return the gradients where the features (relu's input or output) are positive, else 0.

    >>> relu_grad([5.0, 5.0], [-1.0, 2.0]).numpy().tolist()
    [0.0, 5.0]
    """
    return apply(RELU_GRAD, (gradients, features), {}, name)


def sigmoid_grad(y: Any, dy: Any, name: str | None = None) -> Any:
    """Return dy y (1 - y): the gradient of sigmoid, given what it gave.

    >>> sigmoid_grad([0.5], [2.0]).numpy().tolist()
    [0.5]
    """
    return apply(SIGMOID_GRAD, (y, dy), {}, name)


def tanh_grad(y: Any, dy: Any, name: str | None = None) -> Any:
    """Return dy (1 - y²): the gradient of tanh, given what it gave.

    >>> tanh_grad([0.5], [2.0]).numpy().tolist()
    [1.5]
    """
    return apply(TANH_GRAD, (y, dy), {}, name)


# --- roots: no gradient times an infinite slope is no gradient ----------------------------


def _sqrt_grad(xp: Any, y: Any, dy: Any) -> Any:
    return xp.where(dy == 0, dy, dy * 0.5 / y)


def _rsqrt_grad(xp: Any, y: Any, dy: Any) -> Any:
    return xp.where(dy == 0, dy, dy * -0.5 * y * y * y)


def _reciprocal_grad(xp: Any, y: Any, dy: Any) -> Any:
    return xp.where(dy == 0, dy, -dy * y * y)


SQRT_GRAD = elementwise("SqrtGrad", "y:T dy:T", by_blocks(_sqrt_grad), INEXACT, like_both)
RSQRT_GRAD = elementwise("RsqrtGrad", "y:T dy:T", by_blocks(_rsqrt_grad), INEXACT, like_both)
RECIPROCAL_GRAD = elementwise(
    "ReciprocalGrad", "y:T dy:T", by_blocks(_reciprocal_grad), INEXACT, like_both
)


def sqrt_grad(y: Any, dy: Any, name: str | None = None) -> Any:
    """Return dy / 2y: the gradient of sqrt, given what it gave.

    >>> sqrt_grad([0.0, 2.0], [0.0, 8.0]).numpy().tolist()
    [0.0, 2.0]
    """
    return apply(SQRT_GRAD, (y, dy), {}, name)


def rsqrt_grad(y: Any, dy: Any, name: str | None = None) -> Any:
    """Return -dy y³ / 2: the gradient of rsqrt, given what it gave.

    >>> rsqrt_grad([2.0], [1.0]).numpy().tolist()
    [-4.0]
    """
    return apply(RSQRT_GRAD, (y, dy), {}, name)


def reciprocal_grad(y: Any, dy: Any, name: str | None = None) -> Any:
    """Return -dy y²: the gradient of reciprocal, given what it gave.

    >>> reciprocal_grad([2.0], [1.0]).numpy().tolist()
    [-4.0]
    """
    return apply(RECIPROCAL_GRAD, (y, dy), {}, name)
