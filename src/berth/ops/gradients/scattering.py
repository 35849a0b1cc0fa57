"""Gradients of taking and putting rows by vectors of indices: each is the other's."""

from __future__ import annotations

from typing import Any

from berth.ops.arrays.filling import zeros_like
from berth.ops.arrays.metadata import shape
from berth.ops.arrays.scattering import (
    GATHER_ND,
    SCATTER_ND,
    TENSOR_SCATTER_ADD,
    TENSOR_SCATTER_MAX,
    TENSOR_SCATTER_MIN,
    TENSOR_SCATTER_SUB,
    TENSOR_SCATTER_UPDATE,
    gather_nd,
    scatter_nd,
    tensor_scatter_nd_update,
)
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal
from berth.ops.gradient import RecordedOp, gradient


@gradient(GATHER_ND)
def _gather_nd(op: RecordedOp, grad: Any) -> Any:
    params, indices = op.inputs
    return scatter_nd(indices, grad, shape(params, out_type=indices.dtype)), None


@gradient(SCATTER_ND)
def _scatter_nd(op: RecordedOp, grad: Any) -> Any:
    return None, gather_nd(grad, op.inputs[0]), None


@gradient(TENSOR_SCATTER_UPDATE)
def _update(op: RecordedOp, grad: Any) -> Any:
    _, indices, updates = op.inputs
    kept = tensor_scatter_nd_update(grad, indices, zeros_like(updates))
    return kept, None, gather_nd(grad, indices)


@gradient(TENSOR_SCATTER_ADD)
def _add(op: RecordedOp, grad: Any) -> Any:
    return grad, None, gather_nd(grad, op.inputs[1])


@gradient(TENSOR_SCATTER_SUB)
def _sub(op: RecordedOp, grad: Any) -> Any:
    return grad, None, -gather_nd(grad, op.inputs[1])


@gradient(TENSOR_SCATTER_MIN, TENSOR_SCATTER_MAX)
def _extreme(op: RecordedOp, grad: Any) -> Any:
    """Share the gradient among the elements that are as large as the result."""
    tensor, indices, updates = op.inputs
    result = op.outputs[0]
    is_kept = cast(equal(result, tensor), grad.dtype)
    is_put = cast(equal(updates, gather_nd(result, indices)), grad.dtype)
    n_put = scatter_nd(indices, is_put, shape(result, out_type=indices.dtype))
    share = grad / (is_kept + n_put)
    return share * is_kept, None, gather_nd(share, indices) * is_put
