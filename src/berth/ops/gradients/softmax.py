"""Gradients of softmax, and of the losses that are made of it."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.array import expand_dims
from berth.ops.arrays.broadcasting import sum_like
from berth.ops.elementwise.unary import exp, sigmoid
from berth.ops.gradient import RecordedOp, gradient, takes_none
from berth.ops.nn.losses import (
    L2_LOSS,
    SIGMOID_CROSS_ENTROPY,
    SOFTMAX_CROSS_ENTROPY,
    SPARSE_SOFTMAX_CROSS_ENTROPY,
)
from berth.ops.nn.softmax import LOG_SOFTMAX, SOFTMAX, log_softmax, softmax
from berth.ops.reductions.reduction import reduce_sum


def _through_softmax(y: Any, grad: Any) -> Any:
    return (grad - reduce_sum(grad * y, -1, keepdims=True)) * y


@gradient(SOFTMAX)
def _softmax(op: RecordedOp, grad: Any) -> Any:
    return _through_softmax(op.outputs[0], grad)


@gradient(LOG_SOFTMAX)
def _log_softmax(op: RecordedOp, grad: Any) -> Any:
    return grad - reduce_sum(grad, -1, keepdims=True) * exp(op.outputs[0])


# --- losses -------------------------------------------------------------------------------


def _of_logits(op: RecordedOp, grad_loss: Any, grad_slope: Any) -> Any:
    """Return the gradient that the loss, and its slope by the logits, give to the logits."""
    logits, slope = op.inputs[0], op.outputs[1]
    of_loss = None if grad_loss is None else expand_dims(grad_loss, -1) * slope
    if grad_slope is None:
        return of_loss
    of_slope = _through_softmax(softmax(logits), grad_slope)
    return of_slope if of_loss is None else of_loss + of_slope


@takes_none
@gradient(SOFTMAX_CROSS_ENTROPY)
def _cross_entropy(op: RecordedOp, grad_loss: Any, grad_slope: Any) -> Any:
    logits, labels = op.inputs

    def of_labels() -> Any:
        of_slope = None if grad_slope is None else -grad_slope
        if grad_loss is None:
            return sum_like(of_slope, labels)
        of_loss = expand_dims(-grad_loss, -1) * log_softmax(logits)
        return sum_like(of_loss if of_slope is None else of_loss + of_slope, labels)

    return lambda: sum_like(_of_logits(op, grad_loss, grad_slope), logits), of_labels


@takes_none
@gradient(SPARSE_SOFTMAX_CROSS_ENTROPY)
def _sparse_cross_entropy(op: RecordedOp, grad_loss: Any, grad_slope: Any) -> Any:
    return _of_logits(op, grad_loss, grad_slope), None


@gradient(SIGMOID_CROSS_ENTROPY)
def _sigmoid_cross_entropy(op: RecordedOp, grad: Any) -> Any:
    logits, labels = op.inputs
    return lambda: grad * (sigmoid(logits) - labels), lambda: -grad * logits


@gradient(L2_LOSS)
def _l2_loss(op: RecordedOp, grad: Any) -> Any:
    return op.inputs[0] * grad
