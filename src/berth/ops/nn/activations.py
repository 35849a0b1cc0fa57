"""Activations: elementwise functions that bend what goes through a layer.

They go back through operations of their own, in the second half of this module, each in one
pass: training is made of them. Relu, sigmoid and tanh are in `unary`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import FLOATING, REAL, DType, float32
from berth.ops.arrays.joining import concat
from berth.ops.builder import apply
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import multiply
from berth.ops.elementwise.blocks import in_blocks
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.special import erfc
from berth.ops.elementwise.unary import negative, relu, sigmoid, tanh
from berth.ops.opdef import Attrs, OpDef
from berth.ops.rules import Function, elementwise, like_both
from berth.ops.types import AxisLike, Tensor, TensorLike
from berth.public import public, public_v1, public_v2

Kernel = Callable[..., None]
_MASK_LENGTH = 2**16
"""How many elements are done at a time where there is only truth to keep between."""
BEND_LENGTH = 2**13
"""And where there are several arrays to keep, as for `bend`."""
_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_SCALE_ALPHA = _SELU_SCALE * 1.6732632423543772848170429916717

# --- kernels ------------------------------------------------------------------------------


def _relu6(xp: Any, attrs: Attrs) -> Kernel:
    def relu6(x: Any, out: Any) -> None:
        number = x.dtype.type  # plain ones would widen single integers, in NumPy before 2
        xp.clip(x, number(0), number(6), out)

    return relu6


def _leaky_relu(xp: Any, attrs: Attrs) -> Kernel:
    alpha = attrs["alpha"]
    choose = xp.fmax if alpha <= 1 else xp.fmin

    def leaky_relu(x: Any, out: Any) -> None:
        choose(x, x * alpha, out)

    return in_blocks(leaky_relu)


def _elu(xp: Any, attrs: Attrs) -> Kernel:
    def elu(x: Any, out: Any) -> None:
        below = xp.clip(x, -math.inf, 0)
        xp.exp(below, below)
        xp.subtract(below, 1, below)
        xp.clip(x, 0, math.inf, out)
        xp.add(out, below, out)

    return in_blocks(elu)


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


def bend(xp: Any, x: Any) -> Any:
    """Return log(1 + exp(-|x|)), by which softplus lies above relu, in a new array."""
    small = xp.absolute(x)
    xp.negative(small, small)
    xp.exp(small, small)
    # What 1 + small loses in rounding is added again. NumPy's log1p takes four times as long.
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


def _softsign(xp: Any, attrs: Attrs) -> Kernel:
    def softsign(x: Any, out: Any) -> None:
        size = xp.absolute(x)
        xp.add(size, 1, size)
        xp.divide(x, size, out)

    return in_blocks(softsign)


RELU6 = elementwise("Relu6", "features:T", _relu6, REAL)
LEAKY_RELU = elementwise("LeakyRelu", "features:T", _leaky_relu, FLOATING)
ELU = elementwise("Elu", "features:T", _elu, FLOATING)
SELU = elementwise("Selu", "features:T", _selu, FLOATING)
SOFTPLUS = elementwise("Softplus", "features:T", _softplus, FLOATING)
SOFTSIGN = elementwise("Softsign", "features:T", _softsign, FLOATING)

# --- what users call ----------------------------------------------------------------------


@public("nn.relu6")
def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """Return 0 for what is negative, 6 for what is larger, and the rest as it is.

    >>> relu6([-1.0, 2.0, 9.0]).numpy().tolist()
    [0.0, 2.0, 6.0]
    """
    return apply(RELU6, (features,), {}, name)


@public("nn.leaky_relu")
def leaky_relu(features: TensorLike, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """Return `alpha` times what is negative, and the rest as it is.

    >>> leaky_relu([-2.0, 3.0], alpha=0.5).numpy().tolist()
    [-1.0, 3.0]
    """
    with scope("LeakyRelu", name) as inner:
        features = convert(features, None, "features")
        if features.dtype.is_integer:
            features = cast(features, float32)
        return apply(LEAKY_RELU, (features,), {"alpha": float(alpha)}, inner)


@public("nn.elu")
def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return exp(x) - 1 for what is negative, and the rest as it is.

    >>> elu([0.0, 2.0]).numpy().tolist()
    [0.0, 2.0]
    """
    return apply(ELU, (features,), {}, name)


@public("nn.selu")
def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return a scaled `elu`, through which values keep a mean of 0 and a variance of 1.

    >>> selu([0.0]).numpy().tolist()
    [0.0]
    """
    return apply(SELU, (features,), {}, name)


@public_v2("nn.crelu")
def crelu(features: TensorLike, axis: AxisLike = -1, name: str | None = None) -> Tensor:
    """Return the relu of a tensor and of its negative, side by side along an axis.

    >>> crelu([1.0, -2.0]).numpy().tolist()
    [1.0, 0.0, 0.0, 2.0]
    """
    with scope("CRelu", name) as inner:
        features = convert(features, None, "features")
        return relu(concat([features, negative(features)], axis, name=inner))


@public_v1("nn.crelu")
def crelu_v1(features: TensorLike, name: str | None = None, axis: AxisLike = -1) -> Tensor:
    """Return the same as `crelu`, with the arguments in TensorFlow 1's order.

    >>> crelu_v1([[1.0, -2.0]], axis=0).numpy().tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    return crelu(features, axis, name)


@public_v2("nn.gelu")
def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """Return x times the probability that a standard normal number is below x.

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


@public("nn.silu", "nn.swish")
def silu(features: TensorLike, beta: Any = 1.0) -> Tensor:
    """Return x sigmoid(beta x); known as swish, too.

    >>> silu([0.0, 100.0]).numpy().tolist()
    [0.0, 100.0]
    """
    features = convert(features, None, "features")
    is_plain = isinstance(beta, int | float) and beta == 1
    bent = features if is_plain else convert(beta, features.dtype.base_dtype, "beta") * features
    return multiply(features, sigmoid(bent))


swish = silu


@public("math.softplus", "nn.softplus")
def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """Return log(1 + exp(x)): a relu without a corner.

    >>> softplus([-1000.0, 1000.0]).numpy().tolist()
    [0.0, 1000.0]
    """
    return apply(SOFTPLUS, (features,), {}, name)


@public("math.softsign", "nn.softsign")
def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """Return x / (1 + |x|).

    >>> softsign([-1.0, 3.0]).numpy().tolist()
    [-0.5, 0.75]
    """
    return apply(SOFTSIGN, (features,), {}, name)


@public("math.log_sigmoid")
@public_v1("log_sigmoid")
def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Return log(sigmoid(x)), also where the sigmoid is too small to be told from 0.

    >>> log_sigmoid([-1000.0]).numpy().tolist()
    [-1000.0]
    """
    with scope("LogSigmoid", name) as inner:
        x = convert(x, None, "x")
        return negative(softplus(negative(x)), name=inner)


# --- the way back: kernels ----------------------------------------------------------------


def _relu6_grad(xp: Any, attrs: Attrs) -> Kernel:
    def relu6_grad(gradients: Any, features: Any, out: Any) -> None:
        inside = features > 0
        xp.logical_and(inside, features < 6, inside)
        xp.multiply(gradients, inside, out)

    return in_blocks(relu6_grad, _MASK_LENGTH)


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


def _elu_grad(xp: Any, attrs: Attrs) -> Kernel:
    def elu_grad(gradients: Any, outputs: Any, out: Any) -> None:
        slope = xp.clip(outputs, -math.inf, 0)
        xp.add(slope, 1, slope)
        xp.multiply(gradients, slope, out)

    return in_blocks(elu_grad)


def _selu_grad(xp: Any, attrs: Attrs) -> Kernel:
    def selu_grad(gradients: Any, outputs: Any, out: Any) -> None:
        slope = (outputs < 0).astype(out.dtype)
        xp.multiply(slope, _SELU_SCALE_ALPHA - _SELU_SCALE, slope)
        xp.add(slope, _SELU_SCALE, slope)
        xp.add(slope, xp.clip(outputs, -math.inf, 0), slope)
        xp.multiply(gradients, slope, out)

    return in_blocks(selu_grad, BEND_LENGTH)


def _softplus_grad(xp: Any, attrs: Attrs) -> Kernel:
    def softplus_grad(gradients: Any, features: Any, out: Any) -> None:
        divisor = xp.negative(features)
        xp.exp(divisor, divisor)
        xp.add(divisor, 1, divisor)
        xp.divide(gradients, divisor, out)

    return in_blocks(softplus_grad)


def _softsign_grad(xp: Any, attrs: Attrs) -> Kernel:
    def softsign_grad(gradients: Any, features: Any, out: Any) -> None:
        divisor = xp.absolute(features)
        xp.add(divisor, 1, divisor)
        xp.multiply(divisor, divisor, divisor)
        xp.divide(gradients, divisor, out)

    return in_blocks(softsign_grad)


# --- the way back: operations -------------------------------------------------------------


def _grad_op(name: str, function: Function, of: str, dtypes: Sequence[DType]) -> OpDef:
    return elementwise(name, f"gradients:T {of}:T", function, dtypes, like_both)


RELU6_GRAD = _grad_op("Relu6Grad", _relu6_grad, "features", REAL)
LEAKY_RELU_GRAD = _grad_op("LeakyReluGrad", _leaky_relu_grad, "features", FLOATING)
ELU_GRAD = _grad_op("EluGrad", _elu_grad, "outputs", FLOATING)
SELU_GRAD = _grad_op("SeluGrad", _selu_grad, "outputs", FLOATING)
SOFTPLUS_GRAD = _grad_op("SoftplusGrad", _softplus_grad, "features", FLOATING)
SOFTSIGN_GRAD = _grad_op("SoftsignGrad", _softsign_grad, "features", FLOATING)
