"""Sigmoid, hyperbolic tangent and rectified linear unit, with their gradients.

The gradients are operations of their own, which read their inputs once: `y` is the function's
output, `dy` the gradient that arrives there. An output may be the memory of an input that is
still needed (rule 2 for kernels), so intermediate values go to a block that stays in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from berth.dtypes import REAL
from berth.ops.builder import apply
from berth.ops.declare import unary
from berth.ops.elementwise.blocks import in_blocks
from berth.ops.elementwise.unary import conj
from berth.ops.gradient import RecordedOp
from berth.ops.opdef import Attrs
from berth.ops.rules import INEXACT, elementwise, like_both
from berth.ops.types import Tensor, TensorLike
from berth.public import public

# --- sigmoid ------------------------------------------------------------------------------


def _sigmoid(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    def sigmoid(x: Any, out: Any) -> None:
        xp.negative(x, out)
        xp.exp(out, out)
        xp.add(out, 1, out)
        xp.reciprocal(out, out)

    return sigmoid


def _sigmoid_grad(xp: Any, attrs: Attrs) -> Callable[..., None]:
    def function(y: Any, dy: Any, out: Any) -> None:
        slope = xp.subtract(1, y)
        xp.multiply(slope, y, slope)
        xp.multiply(slope, dy, out)

    return in_blocks(function)


def _sigmoid_grad_gradient(op: RecordedOp, grad: Tensor) -> Any:
    y, dy = map(conj, op.inputs)
    return lambda: grad * dy * (1 - 2 * y), lambda: sigmoid_grad(y, grad)


SIGMOID_GRAD = elementwise(
    "SigmoidGrad",
    "y:T dy:T",
    _sigmoid_grad,
    INEXACT,
    like_both,
    gradient=_sigmoid_grad_gradient,
)


def sigmoid_grad(y: Any, dy: Any, name: str | None = None) -> Any:
    """Gradient of sigmoid, dy y (1 - y), from its output y.

    >>> sigmoid_grad([0.5], [2.0]).numpy().tolist()
    [0.5]
    """
    return apply(SIGMOID_GRAD, (y, dy), {}, name)


SIGMOID, sigmoid = unary(
    "Sigmoid",
    _sigmoid,
    INEXACT,
    doc="Sigmoid of x, 1 / (1 + exp(-x)), element-wise.",
    example=("[0.0]", "[0.5]"),
    gradient=lambda op, grad: sigmoid_grad(conj(op.outputs[0]), grad),
    public=("sigmoid", "math.sigmoid", "nn.sigmoid"),
)

# --- hyperbolic tangent -------------------------------------------------------------------


def _tanh_grad(xp: Any, attrs: Attrs) -> Callable[..., None]:
    def function(y: Any, dy: Any, out: Any) -> None:
        slope = xp.multiply(y, y)
        xp.subtract(1, slope, slope)
        xp.multiply(slope, dy, out)

    return in_blocks(function)


def _tanh_grad_gradient(op: RecordedOp, grad: Tensor) -> Any:
    y, dy = map(conj, op.inputs)
    return lambda: grad * dy * (-2 * y), lambda: tanh_grad(y, grad)


TANH_GRAD = elementwise(
    "TanhGrad", "y:T dy:T", _tanh_grad, INEXACT, like_both, gradient=_tanh_grad_gradient
)


def tanh_grad(y: Any, dy: Any, name: str | None = None) -> Any:
    """Gradient of tanh, dy (1 - y²), from its output y.

    >>> tanh_grad([0.5], [2.0]).numpy().tolist()
    [1.5]
    """
    return apply(TANH_GRAD, (y, dy), {}, name)


TANH, tanh = unary(
    "Tanh",
    "tanh",
    INEXACT,
    doc="Hyperbolic tangent of x, element-wise.",
    example=("[0.0, 100.0]", "[0.0, 1.0]"),
    gradient=lambda op, grad: tanh_grad(conj(op.outputs[0]), grad),
    public=("tanh", "math.tanh", "nn.tanh"),
)

# --- rectified linear unit ----------------------------------------------------------------

_CLIP_ABOVE = 2**12
"""From this many elements on, NumPy's clip is faster than its maximum with a scalar."""


def _relu(xp: Any, attrs: Attrs) -> Callable[..., Any]:
    def relu(x: Any, out: Any) -> None:
        if x.size > _CLIP_ABOVE and x.dtype.kind == "f":
            xp.clip(x, 0, math.inf, out)
        else:
            xp.maximum(x, x.dtype.type(0), out=out)  # a plain 0 widens single integers

    return relu


def _relu_grad(xp: Any, attrs: Attrs) -> Callable[..., None]:
    def function(gradients: Any, features: Any, out: Any) -> None:
        xp.multiply(gradients, features > 0, out)

    return in_blocks(function, 2**18)  # the intermediate is a boolean mask: larger blocks


def _relu_grad_gradient(op: RecordedOp, grad: Tensor) -> Any:
    return relu_grad(grad, op.inputs[1]), None


RELU_GRAD = elementwise(
    "ReluGrad",
    "gradients:T features:T",
    _relu_grad,
    REAL,
    like_both,
    gradient=_relu_grad_gradient,
)


def relu_grad(gradients: Any, features: Any, name: str | None = None) -> Tensor:
    """Gradient of relu: the gradients where the features are positive, 0 elsewhere.

    >>> relu_grad([5.0, 5.0], [-1.0, 2.0]).numpy().tolist()
    [0.0, 5.0]
    """
    return apply(RELU_GRAD, (gradients, features), {}, name)


def _relu_gradient(op: RecordedOp, grad: Tensor) -> Tensor:
    return relu_grad(grad, op.outputs[0])


RELU = elementwise("Relu", "features:T", _relu, REAL, gradient=_relu_gradient)


@public("nn.relu")
def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """Rectified linear unit, max(features, 0), element-wise.

    >>> relu([-1.0, 2.0]).numpy().tolist()
    [0.0, 2.0]
    """
    return apply(RELU, (features,), {}, name)
