"""Gradients of activations, and of the operations that they go back through."""

from __future__ import annotations

from typing import Any

from berth.ops.builder import apply
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import less
from berth.ops.elementwise.unary import abs as absolute
from berth.ops.elementwise.unary import sigmoid, sign
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.nn.activations import (
    ELU,
    ELU_GRAD,
    LEAKY_RELU,
    LEAKY_RELU_GRAD,
    RELU6,
    RELU6_GRAD,
    SELU,
    SELU_GRAD,
    SOFTPLUS,
    SOFTPLUS_GRAD,
    SOFTSIGN,
    SOFTSIGN_GRAD,
)
from berth.ops.opdef import OpDef

_BACK: dict[OpDef, OpDef] = {
    RELU6: RELU6_GRAD,
    LEAKY_RELU: LEAKY_RELU_GRAD,
    SOFTPLUS: SOFTPLUS_GRAD,
    SOFTSIGN: SOFTSIGN_GRAD,
    ELU: ELU_GRAD,
    SELU: SELU_GRAD,
}


@gradient(RELU6, LEAKY_RELU, SOFTPLUS, SOFTSIGN)
def _from_features(op: RecordedOp, grad: Any) -> Any:
    return apply(_BACK[op.definition], (grad, op.inputs[0]), op.attrs)


@gradient(ELU, SELU)
def _from_activations(op: RecordedOp, grad: Any) -> Any:
    return apply(_BACK[op.definition], (grad, op.outputs[0]), op.attrs)


# --- once more: all are linear in the gradient --------------------------------------------


def _again(op: RecordedOp, grad: Any) -> Any:
    return apply(op.definition, (grad, op.inputs[1]), op.attrs)


@gradient(RELU6_GRAD, LEAKY_RELU_GRAD)
def _straight(op: RecordedOp, grad: Any) -> Any:
    return _again(op, grad), None


@gradient(ELU_GRAD, SELU_GRAD)
def _elu_grad(op: RecordedOp, grad: Any) -> Any:
    gradients, activations = op.inputs
    is_bent = cast(less(activations, 0), grad.dtype.base_dtype)
    return lambda: _again(op, grad), lambda: grad * gradients * is_bent


@gradient(SOFTPLUS_GRAD)
def _softplus_grad(op: RecordedOp, grad: Any) -> Any:
    gradients, features = op.inputs

    def of_features() -> Any:
        slope = sigmoid(features)
        return grad * gradients * slope * (1 - slope)

    return lambda: _again(op, grad), of_features


@gradient(SOFTSIGN_GRAD)
def _softsign_grad(op: RecordedOp, grad: Any) -> Any:
    gradients, features = op.inputs

    def of_features() -> Any:
        size = 1 + absolute(features)
        return -2 * grad * gradients * sign(features) / (size * size * size)

    return lambda: _again(op, grad), of_features
