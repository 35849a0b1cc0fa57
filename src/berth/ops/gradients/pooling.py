"""Gradients of pools and of local response normalization."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.metadata import shape
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.nn.lrn import LRN, LRN_GRAD
from berth.ops.nn.pooling_ops import (
    AVG_POOL,
    AVG_POOL_GRAD,
    MAX_POOL,
    MAX_POOL_GRAD,
    MAX_POOL_GRAD_GRAD,
    MAX_POOL_WITH_ARGMAX,
)


@gradient(MAX_POOL)
def _max_pool(op: RecordedOp, grad: Any) -> Any:
    return apply(MAX_POOL_GRAD, (op.inputs[0], op.outputs[0], grad), op.attrs)


@gradient(MAX_POOL_WITH_ARGMAX)
def _max_pool_with_argmax(op: RecordedOp, grad: Any, _: Any) -> Any:
    return apply(MAX_POOL_GRAD, (op.inputs[0], op.outputs[0], grad), op.attrs)


@gradient(MAX_POOL_GRAD)
def _max_pool_grad(op: RecordedOp, grad: Any) -> Any:
    images, largest, _ = op.inputs
    return None, None, apply(MAX_POOL_GRAD_GRAD, (images, largest, grad), op.attrs)


@gradient(MAX_POOL_GRAD_GRAD)
def _max_pool_grad_grad(op: RecordedOp, grad: Any) -> Any:
    images, largest, _ = op.inputs
    return None, None, apply(MAX_POOL_GRAD, (images, largest, grad), op.attrs)


@gradient(AVG_POOL)
def _avg_pool(op: RecordedOp, grad: Any) -> Any:
    return apply(AVG_POOL_GRAD, (shape(op.inputs[0]), grad), op.attrs)


@gradient(AVG_POOL_GRAD)
def _avg_pool_grad(op: RecordedOp, grad: Any) -> Any:
    return None, apply(AVG_POOL, (grad,), op.attrs)


@gradient(LRN)
def _lrn(op: RecordedOp, grad: Any) -> Any:
    return apply(LRN_GRAD, (grad, op.inputs[0], op.outputs[0]), op.attrs)


@gradient(LRN_GRAD)
def _lrn_grad(op: RecordedOp, grad: Any) -> Any:
    raise LookupError("No gradient defined for operation 'LRNGrad' (op type: LRNGrad).")
