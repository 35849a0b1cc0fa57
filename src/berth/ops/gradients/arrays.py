"""Gradients of joining, splitting, turning, repeating: what was moved is moved back."""

from __future__ import annotations

from typing import Any

import numpy as np

from berth.ops.arrays.array import (
    CONST,
    EXPAND_DIMS,
    PACK,
    PLACEHOLDER,
    RESHAPE,
    SQUEEZE,
    STOP_GRADIENT,
    reshape,
)
from berth.ops.arrays.filling import FILL, ONE_HOT, RANGE, ZEROS_LIKE
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.joining import (
    CONCAT,
    SPLIT,
    SPLIT_V,
    UNPACK,
    concat,
    split,
    stack,
    unstack,
)
from berth.ops.arrays.metadata import RANK, SHAPE, SIZE, axis_size, shape, size
from berth.ops.arrays.moving import TILE, TRANSPOSE, transpose
from berth.ops.elementwise.arithmetic import mod
from berth.ops.gradient import RecordedOp, gradient, not_differentiable
from berth.ops.reductions.reduction import reduce_sum
from berth.ops.reductions.segments import unsorted_segment_sum
from berth.ops.shape import is_known

not_differentiable(
    CONST,
    ONE_HOT,
    PLACEHOLDER,
    RANGE,
    RANK,
    SHAPE,
    SIZE,
    STOP_GRADIENT,
    ZEROS_LIKE,
)

# --- another shape ------------------------------------------------------------------------


@gradient(SQUEEZE)
def _squeeze(op: RecordedOp, grad: Any) -> Any:
    return reshape(grad, shape(op.inputs[0]))


@gradient(EXPAND_DIMS, RESHAPE)
def _reshape(op: RecordedOp, grad: Any) -> Any:
    return reshape(grad, shape(op.inputs[0])), None


@gradient(FILL)
def _fill(op: RecordedOp, grad: Any) -> Any:
    return None, reduce_sum(grad)


# --- joining and splitting ----------------------------------------------------------------


@gradient(PACK)
def _pack(op: RecordedOp, grad: Any) -> Any:
    return unstack(grad, len(op.inputs), op.attrs["axis"])


@gradient(UNPACK)
def _unpack(op: RecordedOp, *grads: Any) -> Any:
    return stack(grads, op.attrs["axis"])


@gradient(CONCAT)
def _concat(op: RecordedOp, grad: Any) -> Any:
    *values, axis = op.inputs
    along = axis if axis.value is None else int(axis.value)
    sizes = [shape(v)[axis] if along is axis else axis_size(v, along) for v in values]
    return [*split(grad, sizes, along, num=len(values)), None]


@gradient(SPLIT)
def _split(op: RecordedOp, *grads: Any) -> Any:
    return None, concat(grads, op.inputs[0])


@gradient(SPLIT_V)
def _split_v(op: RecordedOp, *grads: Any) -> Any:
    return concat(grads, op.inputs[2]), None, None


# --- turning and repeating ----------------------------------------------------------------


@gradient(TRANSPOSE)
def _transpose(op: RecordedOp, grad: Any) -> Any:
    perm = op.inputs[1]
    if perm.value is not None:
        order = perm.value % max(perm.value.size, 1)
        return transpose(grad, np.argsort(order).astype(perm.value.dtype)), None
    n_axes = size(perm)
    return transpose(
        grad, unsorted_segment_sum(range_op(n_axes), mod(perm, n_axes), n_axes)
    ), None


@gradient(TILE)
def _tile(op: RecordedOp, grad: Any) -> Any:
    """Add the copies up: along an axis, they are a number of their own."""
    x, multiples = op.inputs
    by_copy: Any
    if multiples.value is not None and is_known(x.dims):
        by_copy = np.stack(
            [multiples.value, np.array(x.dims, multiples.value.dtype)], 1
        ).ravel()
        axes: Any = np.arange(0, by_copy.size, 2, dtype=np.int32)
    else:
        sizes = shape(x, out_type=multiples.dtype)
        by_copy = reshape(stack([multiples, sizes], 1), [-1])
        axes = range_op(0, size(by_copy), 2)
    return reduce_sum(reshape(grad, by_copy), axes), None
