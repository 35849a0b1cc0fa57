"""Gradients of other orders: what was moved is moved back, what was repeated is summed."""

from __future__ import annotations

from typing import Any

from berth.dtypes import int32
from berth.ops.arrays.agreement import BITCAST, BROADCAST_ARGS, ENSURE_SHAPE
from berth.ops.arrays.array import expand_dims, reshape
from berth.ops.arrays.depth import (
    DEPTH_TO_SPACE,
    SPACE_TO_DEPTH,
    depth_to_space,
    space_to_depth,
)
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.gathering import gather
from berth.ops.arrays.grids import UNRAVEL_INDEX
from berth.ops.arrays.joining import stack
from berth.ops.arrays.metadata import shape, size
from berth.ops.arrays.mirroring import MIRROR_PAD, MIRROR_PAD_GRAD, fold_mirrors, mirror_pad
from berth.ops.arrays.partitions import (
    DYNAMIC_PARTITION,
    DYNAMIC_STITCH,
    INVERT_PERMUTATION,
    dynamic_partition,
    dynamic_stitch,
)
from berth.ops.arrays.rearranging import (
    REVERSE,
    REVERSE_SEQUENCE,
    ROLL,
    reverse,
    reverse_sequence,
    roll,
)
from berth.ops.arrays.scattering import scatter_nd
from berth.ops.arrays.sets import UNIQUE, UNIQUE_WITH_COUNTS
from berth.ops.arrays.sorting import IN_TOP_K, TOP_K
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.elementwise.casting import cast
from berth.ops.gradient import RecordedOp, gradient, not_differentiable
from berth.ops.reductions.binning import LOWER_BOUND, UPPER_BOUND

not_differentiable(
    BITCAST,
    BROADCAST_ARGS,
    INVERT_PERMUTATION,
    IN_TOP_K,
    LOWER_BOUND,
    UNIQUE,
    UNIQUE_WITH_COUNTS,
    UNRAVEL_INDEX,
    UPPER_BOUND,
)


@gradient(ENSURE_SHAPE)
def _ensure_shape(op: RecordedOp, grad: Any) -> Any:
    return grad


@gradient(REVERSE)
def _reverse(op: RecordedOp, grad: Any) -> Any:
    return reverse(grad, op.inputs[1]), None


@gradient(REVERSE_SEQUENCE)
def _reverse_sequence(op: RecordedOp, grad: Any) -> Any:
    seq, batch = op.attrs["seq_dim"], op.attrs["batch_dim"]
    return reverse_sequence(grad, op.inputs[1], seq, batch), None


@gradient(ROLL)
def _roll(op: RecordedOp, grad: Any) -> Any:
    _, shift, axis = op.inputs
    return roll(grad, -shift, axis), None, None


@gradient(SPACE_TO_DEPTH)
def _space_to_depth(op: RecordedOp, grad: Any) -> Any:
    return depth_to_space(grad, op.attrs["block_size"], op.attrs["data_format"])


@gradient(DEPTH_TO_SPACE)
def _depth_to_space(op: RecordedOp, grad: Any) -> Any:
    return space_to_depth(grad, op.attrs["block_size"], op.attrs["data_format"])


@gradient(MIRROR_PAD)
def _mirror_pad(op: RecordedOp, grad: Any) -> Any:
    return fold_mirrors(grad, op.inputs[1], op.attrs["mode"]), None


@gradient(MIRROR_PAD_GRAD)
def _mirror_pad_grad(op: RecordedOp, grad: Any) -> Any:
    return mirror_pad(grad, op.inputs[1], op.attrs["mode"]), None


@gradient(TOP_K)
def _top_k(op: RecordedOp, grad: Any, _: Any) -> Any:
    """Put the gradients where the elements were, in one long list of all."""
    tensor, indices = op.inputs[0], op.outputs[1]
    n_elements, width = size(tensor), shape(tensor)[-1]
    n_rows = n_elements // maximum(width, 1)
    rows = reshape(cast(indices, int32), stack([n_rows, shape(indices)[-1]]))
    starts = range_op(n_rows) * width
    numbers = reshape(rows + expand_dims(starts, 1), [-1, 1])
    put = scatter_nd(numbers, reshape(grad, [-1]), reshape(n_elements, [1]))
    return reshape(put, shape(tensor)), None


@gradient(DYNAMIC_PARTITION)
def _dynamic_partition(op: RecordedOp, *grads: Any) -> Any:
    """Put the rows together again, by the places that they came from."""
    data, partitions = op.inputs
    places = reshape(range_op(size(partitions)), shape(partitions))
    dealt = dynamic_partition(places, partitions, len(grads))
    return reshape(dynamic_stitch(dealt, grads), shape(data)), None


@gradient(DYNAMIC_STITCH)
def _dynamic_stitch(op: RecordedOp, grad: Any) -> Any:
    return None, gather(grad, op.inputs[0])
