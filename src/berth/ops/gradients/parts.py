"""Gradients of cutting out and choosing: zeros everywhere else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from berth.dtypes import int64
from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.filling import zeros_like
from berth.ops.arrays.gathering import GATHER, WHERE, gather, where
from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.arrays.joining import concat, stack
from berth.ops.arrays.metadata import axis_size, shape, size
from berth.ops.arrays.moving import PAD, PAD_V2, pad
from berth.ops.arrays.slicing import SLICE, STRIDED_SLICE, STRIDED_SLICE_GRAD, slice
from berth.ops.builder import apply
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import greater_equal
from berth.ops.gradient import RecordedOp, gradient, not_differentiable
from berth.ops.reductions.segments import UNSORTED_SEGMENT_SUM, unsorted_segment_sum
from berth.ops.shape import is_known

not_differentiable(WHERE)

# --- slices and padding -------------------------------------------------------------------


@gradient(SLICE)
def _slice(op: RecordedOp, grad: Any) -> Any:
    x, begin, _ = op.inputs
    paddings: Any
    if begin.value is not None and is_known(x.dims) and is_known(grad.dims):
        after = np.array(x.dims) - np.array(grad.dims) - begin.value
        paddings = np.stack([begin.value, after.astype(begin.value.dtype)], 1)
    else:
        whole, part = (shape(tensor, out_type=begin.dtype) for tensor in (x, grad))
        paddings = stack([begin, whole - part - begin], 1)
    return pad(grad, paddings), None, None


@gradient(PAD)
def _pad(op: RecordedOp, grad: Any) -> Any:
    return _without_padding(op, grad), None


@gradient(PAD_V2)
def _pad_v2(op: RecordedOp, grad: Any) -> Any:
    return _without_padding(op, grad), None, None


def _without_padding(op: RecordedOp, grad: Any) -> Any:
    x, paddings = op.inputs[:2]
    begin = paddings[:, 0] if paddings.value is None else paddings.value[:, 0]
    return slice(grad, begin, shape(x, out_type=paddings.dtype))


@gradient(STRIDED_SLICE)
def _strided_slice(op: RecordedOp, grad: Any) -> Any:
    x, *numbers = op.inputs
    whole = shape(x, out_type=numbers[0].dtype)
    return apply(STRIDED_SLICE_GRAD, (whole, *numbers, grad), op.attrs), None, None, None


@gradient(STRIDED_SLICE_GRAD)
def _strided_slice_grad(op: RecordedOp, grad: Any) -> Any:
    _, *numbers, _ = op.inputs
    return None, None, None, None, apply(STRIDED_SLICE, (grad, *numbers), op.attrs)


# --- rows ---------------------------------------------------------------------------------


@gradient(GATHER)
def _gather(op: RecordedOp, grad: Any) -> Any:
    params, indices, position = op.inputs
    axis = None if position.value is None else int(position.value)
    n_batch = op.attrs["batch_dims"]
    if axis is not None and axis < 0 and params.dims is not None:
        axis += len(params.dims)
    if n_batch < 0 and indices.dims is not None:
        n_batch += len(indices.dims)
    if axis == 0:
        return _rows(params, indices, grad), None, None
    if axis is None or axis < 0 or n_batch < 0:
        raise ValueError(
            "The gradient of tf.gather needs to know its axis, counted from the front: give "
            f"`params` a known rank, and a number for `axis`. Got params={params}, axis={axis}"
        )
    return _put_back(params, indices, grad, axis, n_batch), None, None


def _rows(params: Any, indices: Any, grad: Any) -> IndexedSlices:
    dense_shape = shape(params)
    if indices.dims is None or len(indices.dims) != 1:
        grad = reshape(grad, concat([[size(indices)], dense_shape[1:]], 0))
        indices = reshape(indices, [-1])
    return IndexedSlices(grad, indices, dense_shape)


def _put_back(params: Any, indices: Any, grad: Any, axis: int, n_batch: int) -> Any:
    """Add what was taken along an axis up where it was taken from.

    The elements of the axes up to this one are numbered through, as rows of one long list.
    """
    before = [axis_size(params, k) for k in range(axis)]
    n_before, n_taken = math.prod(before), axis_size(params, axis)
    starts = cast(range_op(n_before) * n_taken, int64)
    among = [*before[:n_batch], *[1] * (axis - n_batch), -1]
    numbers = reshape(starts, [*before, 1]) + reshape(cast(indices, int64), among)
    numbers = reshape(numbers, [-1])
    rows = reshape(grad, concat([[size(numbers)], shape(params)[axis + 1 :]], 0))
    return reshape(unsorted_segment_sum(rows, numbers, n_before * n_taken), shape(params))


@gradient(UNSORTED_SEGMENT_SUM)
def _unsorted_segment_sum(op: RecordedOp, grad: Any) -> Any:
    data, ids, _ = op.inputs
    numbers = reshape(ids, [-1])
    rows = gather(grad, maximum(numbers, 0))
    kept = where(greater_equal(numbers, 0), rows, zeros_like(rows))  # the others were dropped
    return reshape(kept, shape(data)), None, None
