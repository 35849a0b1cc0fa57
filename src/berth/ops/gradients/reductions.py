"""Gradients of sums, products and extremes along axes: one element's goes back to many."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from berth.ops.arrays.array import reshape
from berth.ops.arrays.broadcasting import broadcast_to
from berth.ops.arrays.gathering import where_v2
from berth.ops.arrays.metadata import shape, size
from berth.ops.builder import apply
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal
from berth.ops.elementwise.unary import conj
from berth.ops.gradient import RecordedOp, gradient, not_differentiable
from berth.ops.reductions.extremes import ARG_MAX, ARG_MIN
from berth.ops.reductions.reduction import (
    ALL_TRUE,
    ANY_TRUE,
    MAX,
    MEAN,
    MIN,
    PROD,
    SUM,
    reduce_prod,
    reduce_sum,
)
from berth.ops.shape import is_known

not_differentiable(ALL_TRUE, ANY_TRUE, ARG_MAX, ARG_MIN)


def _with_axes(op: RecordedOp, tensor: Any) -> Any:
    """Give a tensor of the output's shape the axes of size 1 that the reduction dropped."""
    if op.attrs["keep_dims"]:
        return tensor
    x, indices = op.inputs
    if x.dims is not None and indices.value is not None:
        axes = {int(axis) % len(x.dims) for axis in np.ravel(indices.value)}
        kept = [1 if axis in axes else size for axis, size in enumerate(x.dims)]
        if kept.count(None) <= 1 and 0 not in kept:
            return reshape(tensor, [-1 if size is None else size for size in kept])
    # Of what is done here only the shape is used, so nothing is computed for it.
    wide = apply(op.definition, op.inputs, {"keep_dims": True})
    return reshape(tensor, shape(wide))


@gradient(SUM)
def _sum(op: RecordedOp, grad: Any) -> Any:
    return broadcast_to(_with_axes(op, grad), shape(op.inputs[0])), None


@gradient(MEAN)
def _mean(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    count: Any
    if is_known(x.dims) and is_known(y.dims):
        count = max(math.prod(x.dims) // max(math.prod(y.dims), 1), 1)
    else:
        count = cast(maximum(size(x) // maximum(size(y), 1), 1), grad.dtype)
    return broadcast_to(_with_axes(op, grad / count), shape(x)), None


@gradient(MAX, MIN)
def _extreme(op: RecordedOp, grad: Any) -> Any:
    x, indices = op.inputs
    is_extreme = cast(equal(x, _with_axes(op, op.outputs[0])), x.dtype)
    n_extremes = reduce_sum(is_extreme, indices, keepdims=True)
    return is_extreme * (_with_axes(op, grad) / n_extremes), None


@gradient(PROD)
def _prod(op: RecordedOp, grad: Any) -> Any:
    """Multiply the other elements, without dividing by zeros.

    Those that are zero are left out of the product, and put back as far as they count: if
    one other is zero, it stands for itself (which matters to the next derivative); if more
    are, the rest is nothing.
    """
    x, indices = op.inputs
    is_zero = equal(x, 0)
    factors = where_v2(is_zero, 1, x)
    others = reduce_prod(factors, indices, keepdims=True) / factors
    zeros = where_v2(is_zero, x, 0)
    other_zeros = reduce_sum(zeros, indices, keepdims=True) - zeros
    ones = cast(is_zero, x.dtype)
    n_others = reduce_sum(ones, indices, keepdims=True) - ones
    left = where_v2(equal(n_others, 0), 1, where_v2(equal(n_others, 1), other_zeros, 0))
    return _with_axes(op, grad) * conj(others * left), None
