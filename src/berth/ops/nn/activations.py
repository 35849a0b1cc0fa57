"""Rectified linear units: leaky, exponential, capped, concatenated, Gaussian.

The gradient of each is an operation of its own, which reads its inputs once. `relu`,
`sigmoid` and `tanh` are in `elementwise.sigmoid`, softplus and softsign in `softplus`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import FLOATING, REAL, DType, float32
from berth.ops.arrays.joining import concat
from berth.ops.builder import apply
from berth.ops.compose import convert, scope
from berth.ops.elementwise.blocks import in_blocks
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import less
from berth.ops.elementwise.sigmoid import relu, tanh
from berth.ops.elementwise.special import erfc
from berth.ops.elementwise.unary import negative
from berth.ops.gradient import Gradient, RecordedOp
from berth.ops.opdef import Attrs, OpDef
from berth.ops.rules import Function, elementwise, like_both
from berth.ops.types import AxisLike, Tensor, TensorLike
from berth.public import public, public_v1, public_v2

Kernel = Callable[..., None]
_MASK_LENGTH = 2**16
"""How many elements are done at a time where there is only truth to keep between."""
_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_SCALE_ALPHA = _SELU_SCALE * 1.6732632423543772848170429916717

# --- gradients ----------------------------------------------------------------------------


def from_features(backward: OpDef) -> Gradient:
    """Make a gradient of an operation that takes the gradient and the features."""
    return lambda op, grad: apply(backward, (grad, op.inputs[0]), op.attrs)


def _from_outputs(backward: OpDef) -> Gradient:
    """Make a gradient of an operation that takes the gradient and the activations."""
    return lambda op, grad: apply(backward, (grad, op.outputs[0]), op.attrs)


def linear_in_gradient(op: RecordedOp, grad: Any) -> Any:
    """Apply a gradient operation, which is linear in the gradient, to another one."""
    return apply(op.definition, (grad, op.inputs[1]), op.attrs)


def _linear_gradient(op: RecordedOp, grad: Any) -> Any:
    return linear_in_gradient(op, grad), None


def gradient_op(
    name: str, function: Function, of: str, dtypes: Sequence[DType], gradient: Gradient
) -> OpDef:
    """Define the gradient operation of an activation function."""
    arguments = f"gradients:T {of}:T"
    return elementwise(name, arguments, function, dtypes, like_both, gradient=gradient)


# --- rectified linear units ---------------------------------------------------------------


def _relu6(xp: Any, attrs: Attrs) -> Kernel:
    def relu6(x: Any, out: Any) -> None:
        number = x.dtype.type  # plain ones would widen single integers, in NumPy before 2
        xp.clip(x, number(0), number(6), out)

    return relu6


def _relu6_grad(xp: Any, attrs: Attrs) -> Kernel:
    def relu6_grad(gradients: Any, features: Any, out: Any) -> None:
        inside = features > 0
        xp.logical_and(inside, features < 6, inside)
        xp.multiply(gradients, inside, out)

    return in_blocks(relu6_grad, _MASK_LENGTH)


RELU6_GRAD = gradient_op("Relu6Grad", _relu6_grad, "features", REAL, _linear_gradient)
RELU6 = elementwise("Relu6", "features:T", _relu6, REAL, gradient=from_features(RELU6_GRAD))


@public("nn.relu6")
def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """Rectified linear unit capped at 6, min(max(features, 0), 6), element-wise.

    >>> relu6([-1.0, 2.0, 9.0]).numpy().tolist()
    [0.0, 2.0, 6.0]
    """
    return apply(RELU6, (features,), {}, name)


def _leaky_relu(xp: Any, attrs: Attrs) -> Kernel:
    alpha = attrs["alpha"]
    choose = xp.fmax if alpha <= 1 else xp.fmin

    def leaky_relu(x: Any, out: Any) -> None:
        choose(x, x * alpha, out)

    return in_blocks(leaky_relu)


def _leaky_relu_grad(xp: Any, attrs: Attrs) -> Kernel:
    alpha = attrs["alpha"]
    is_between = 0 <= alpha <= 1

    def leaky_relu_grad(gradients: Any, features: Any, out: Any) -> None:
        slope = (features > 0).astype(out.dtype)
        if is_between:
            xp.clip(slope, alpha, 1, slope)
        else:
            xp.multiply(slope, 1 - alpha, slope)
            xp.add(slope, alpha, slope)
        xp.multiply(gradients, slope, out)

    return in_blocks(leaky_relu_grad)


LEAKY_RELU_GRAD = gradient_op(
    "LeakyReluGrad", _leaky_relu_grad, "features", FLOATING, _linear_gradient
)
LEAKY_RELU = elementwise(
    "LeakyRelu", "features:T", _leaky_relu, FLOATING, gradient=from_features(LEAKY_RELU_GRAD)
)


@public("nn.leaky_relu")
def leaky_relu(features: TensorLike, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """Leaky rectified linear unit: features where positive, alpha * features elsewhere.

    >>> leaky_relu([-2.0, 3.0], alpha=0.5).numpy().tolist()
    [-1.0, 3.0]
    """
    with scope("LeakyRelu", name) as inner:
        features = convert(features, None, "features")
        if features.dtype.is_integer:
            features = cast(features, float32)
        return apply(LEAKY_RELU, (features,), {"alpha": float(alpha)}, inner)


def _elu(xp: Any, attrs: Attrs) -> Kernel:
    def elu(x: Any, out: Any) -> None:
        below = xp.clip(x, -math.inf, 0)
        xp.exp(below, below)
        xp.subtract(below, 1, below)
        xp.clip(x, 0, math.inf, out)
        xp.add(out, below, out)

    return in_blocks(elu)


def _elu_grad(xp: Any, attrs: Attrs) -> Kernel:
    def elu_grad(gradients: Any, outputs: Any, out: Any) -> None:
        slope = xp.clip(outputs, -math.inf, 0)
        xp.add(slope, 1, slope)
        xp.multiply(gradients, slope, out)

    return in_blocks(elu_grad)


def _elu_grad_gradient(op: RecordedOp, grad: Any) -> Any:
    gradients, outputs = op.inputs
    is_negative = cast(less(outputs, 0), grad.dtype.base_dtype)
    return lambda: linear_in_gradient(op, grad), lambda: grad * gradients * is_negative


ELU_GRAD = gradient_op("EluGrad", _elu_grad, "outputs", FLOATING, _elu_grad_gradient)
ELU = elementwise("Elu", "features:T", _elu, FLOATING, gradient=_from_outputs(ELU_GRAD))


@public("nn.elu")
def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """Exponential linear unit: features where positive, exp(features) - 1 elsewhere.

    >>> elu([0.0, 2.0]).numpy().tolist()
    [0.0, 2.0]
    """
    return apply(ELU, (features,), {}, name)


def _selu(xp: Any, attrs: Attrs) -> Kernel:
    def selu(x: Any, out: Any) -> None:
        below = xp.clip(x, -math.inf, 0)
        xp.exp(below, below)
        xp.subtract(below, 1, below)
        xp.multiply(below, _SELU_SCALE_ALPHA, below)
        xp.clip(x, 0, math.inf, out)
        xp.multiply(out, _SELU_SCALE, out)
        xp.add(out, below, out)

    return in_blocks(selu)


def _selu_grad(xp: Any, attrs: Attrs) -> Kernel:
    def selu_grad(gradients: Any, outputs: Any, out: Any) -> None:
        slope = (outputs < 0).astype(out.dtype)
        xp.multiply(slope, _SELU_SCALE_ALPHA - _SELU_SCALE, slope)
        xp.add(slope, _SELU_SCALE, slope)
        xp.add(slope, xp.clip(outputs, -math.inf, 0), slope)
        xp.multiply(gradients, slope, out)

    return in_blocks(selu_grad, 2**13)


SELU_GRAD = gradient_op("SeluGrad", _selu_grad, "outputs", FLOATING, _elu_grad_gradient)
SELU = elementwise("Selu", "features:T", _selu, FLOATING, gradient=_from_outputs(SELU_GRAD))


@public("nn.selu")
def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Scaled exponential linear unit, which keeps a mean of 0 and a variance of 1.

    >>> selu([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(SELU, (features,), {}, name)


@public_v2("nn.crelu")
def crelu(features: TensorLike, axis: AxisLike = -1, name: str | None = None) -> Tensor:
    """Concatenated rectified linear unit: relu of the features and of their negatives.

    >>> crelu([1.0, -2.0]).numpy().tolist()
    [1.0, 0.0, 0.0, 2.0]
    """
    with scope("CRelu", name) as inner:
        features = convert(features, None, "features")
        return relu(concat([features, negative(features)], axis, name=inner))


@public_v1("nn.crelu")
def crelu_v1(features: TensorLike, name: str | None = None, axis: AxisLike = -1) -> Tensor:
    """Concatenated rectified linear unit: relu of the features and of their negatives.

    >>> crelu_v1([[1.0, -2.0]], axis=0).numpy().tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    return crelu(features, axis, name)


@public_v2("nn.gelu")
def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """Gaussian error linear unit: x times the normal distribution function of x.

    `approximate` uses a tanh in its place, which differs by less than 0.001.

    >>> gelu([0.0, 10.0]).numpy().tolist()
    [0.0, 10.0]
    """
    with scope("Gelu", name):
        x = convert(features, None, "features")
        if not x.dtype.is_floating:
            raise ValueError(
                "`features.dtype` must be a floating point tensor.Received:features.dtype="
                f"{x.dtype.base_dtype}"
            )
        if not approximate:
            return 0.5 * x * erfc(-x * math.sqrt(0.5))
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
        return 0.5 * x * (1.0 + tanh(inner))
