"""Gradients of elementwise functions of one operand."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.filling import zeros_like
from berth.ops.elementwise.arithmetic import cast
from berth.ops.elementwise.quotients import divide_no_nan
from berth.ops.elementwise.unary import (
    ABS,
    CEIL,
    COMPLEX_ABS,
    CONJ,
    COS,
    EXP,
    EXPM1,
    FLOOR,
    INVERT,
    IS_FINITE,
    IS_INF,
    IS_NAN,
    LOG,
    LOG1P,
    NEG,
    RECIPROCAL,
    RELU,
    ROUND,
    RSQRT,
    SIGMOID,
    SIGN,
    SIN,
    SQRT,
    SQUARE,
    TANH,
    conj,
    cos,
    exp,
    sign,
    sin,
)
from berth.ops.elementwise.unary import abs as absolute
from berth.ops.gradient import RecordedOp, gradient, not_differentiable
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

not_differentiable(CEIL, FLOOR, INVERT, IS_FINITE, IS_INF, IS_NAN, ROUND)


@gradient(NEG)
def _neg(op: RecordedOp, grad: Any) -> Any:
    return -grad


@gradient(ABS)
def _abs(op: RecordedOp, grad: Any) -> Any:
    return grad * sign(op.inputs[0])


@gradient(COMPLEX_ABS)
def _complex_abs(op: RecordedOp, grad: Any) -> Any:
    x = op.inputs[0]
    return cast(grad, x.dtype) * sign(x)


@gradient(CONJ)
def _conj(op: RecordedOp, grad: Any) -> Any:
    return conj(grad)


@gradient(SIGN)
def _sign(op: RecordedOp, grad: Any) -> Any:
    x, direction = op.inputs[0], op.outputs[0]
    if not x.dtype.is_complex:
        return zeros_like(x)
    # its size is 1 whatever x is: only what turns it counts
    turned = grad * conj(direction)
    return divide_no_nan(direction * (turned - conj(turned)), cast(2 * absolute(x), x.dtype))


@gradient(SQUARE)
def _square(op: RecordedOp, grad: Any) -> Any:
    return grad * (2 * conj(op.inputs[0]))


@gradient(SQRT)
def _sqrt(op: RecordedOp, grad: Any) -> Any:
    return sqrt_grad(conj(op.outputs[0]), grad)


@gradient(RSQRT)
def _rsqrt(op: RecordedOp, grad: Any) -> Any:
    return rsqrt_grad(conj(op.outputs[0]), grad)


@gradient(RECIPROCAL)
def _reciprocal(op: RecordedOp, grad: Any) -> Any:
    return reciprocal_grad(conj(op.outputs[0]), grad)


@gradient(EXP)
def _exp(op: RecordedOp, grad: Any) -> Any:
    return grad * conj(op.outputs[0])


@gradient(EXPM1)
def _expm1(op: RecordedOp, grad: Any) -> Any:
    return grad * exp(conj(op.inputs[0]))


@gradient(LOG)
def _log(op: RecordedOp, grad: Any) -> Any:
    return grad / conj(op.inputs[0])


@gradient(LOG1P)
def _log1p(op: RecordedOp, grad: Any) -> Any:
    return grad / (1 + conj(op.inputs[0]))


@gradient(SIN)
def _sin(op: RecordedOp, grad: Any) -> Any:
    return grad * cos(conj(op.inputs[0]))


@gradient(COS)
def _cos(op: RecordedOp, grad: Any) -> Any:
    return -grad * sin(conj(op.inputs[0]))


@gradient(TANH)
def _tanh(op: RecordedOp, grad: Any) -> Any:
    return tanh_grad(conj(op.outputs[0]), grad)


@gradient(SIGMOID)
def _sigmoid(op: RecordedOp, grad: Any) -> Any:
    return sigmoid_grad(conj(op.outputs[0]), grad)


@gradient(RELU)
def _relu(op: RecordedOp, grad: Any) -> Any:
    return relu_grad(grad, op.outputs[0])


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
