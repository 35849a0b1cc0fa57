"""Gradients of elementwise functions of one operand."""

from __future__ import annotations

from typing import Any

from berth.ops.elementwise.unary import conj
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.nn.activation_gradients import (
    RECIPROCAL_GRAD,
    RELU_GRAD,
    RSQRT_GRAD,
    SIGMOID_GRAD,
    SQRT_GRAD,
    TANH_GRAD,
    reciprocal_grad,
    relu_grad,
    rsqrt_grad,
    sigmoid_grad,
    sqrt_grad,
    tanh_grad,
)

# --- once more ----------------------------------------------------------------------------


@gradient(RELU_GRAD)
def _relu_grad(op: RecordedOp, grad: Any) -> Any:
    return relu_grad(grad, op.inputs[1]), None


@gradient(TANH_GRAD)
def _tanh_grad(op: RecordedOp, grad: Any) -> Any:
    y, dy = map(conj, op.inputs)
    return lambda: grad * dy * (-2 * y), lambda: tanh_grad(y, grad)


@gradient(SIGMOID_GRAD)
def _sigmoid_grad(op: RecordedOp, grad: Any) -> Any:
    y, dy = map(conj, op.inputs)
    return lambda: grad * dy * (1 - 2 * y), lambda: sigmoid_grad(y, grad)


@gradient(SQRT_GRAD)
def _sqrt_grad(op: RecordedOp, grad: Any) -> Any:
    y = conj(op.inputs[0])
    return lambda: -grad * conj(op.outputs[0]) / y, lambda: sqrt_grad(y, grad)


@gradient(RSQRT_GRAD)
def _rsqrt_grad(op: RecordedOp, grad: Any) -> Any:
    y, dy = map(conj, op.inputs)
    return lambda: grad * dy * (-1.5 * y * y), lambda: rsqrt_grad(y, grad)


@gradient(RECIPROCAL_GRAD)
def _reciprocal_grad(op: RecordedOp, grad: Any) -> Any:
    y, dy = map(conj, op.inputs)
    return lambda: grad * dy * (-2 * y), lambda: reciprocal_grad(y, grad)
