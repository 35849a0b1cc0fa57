"""Softmax cross entropy kernels: loss and gradient in one operation.

Both operations have two outputs: the loss of each row, and its slope by the row's logits,
which costs little beside the loss and is all that the gradient needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import FLOATING
from berth.errors import InvalidArgumentError
from berth.ops.arrays.array import expand_dims
from berth.ops.arrays.broadcasting import sum_like
from berth.ops.gradient import RecordedOp, gradient, takes_none
from berth.ops.nn.softmax import log_softmax, softmax, through_softmax
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Parts, Typed, all_devices
from berth.ops.reductions.rows import Scratch, add_up, over_rows, row_scratch, shift
from berth.ops.rules import INDEX, ShapeMismatch, check_rank, common_dims, merge_dims
from berth.ops.shape import bracketed

# --- labels are probabilities -------------------------------------------------------------


def _loss_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    logits, labels = inputs
    try:
        dims = common_dims(logits.dims, labels.dims)
    except ShapeMismatch as error:
        sizes = f"logits_size={bracketed(logits.dims)} labels_size={bracketed(labels.dims)}"
        at_run = f"logits and labels must be broadcastable: {sizes}"
        raise ShapeMismatch(str(error), at_run) from None
    dtype = logits.dtype.base_dtype
    if dims is None:
        return ((dtype, (None,)), (dtype, (None, None)))
    if len(dims) != 2:
        raise ShapeMismatch(
            f"Shape must be rank 2 but is rank {len(dims)}",
            "logits and labels must be either 2-dimensional, or broadcasted to be "
            "2-dimensional",
        )
    return ((dtype, dims[:1]), (dtype, dims))


def _scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    dtype, dims = outputs[1]
    return row_scratch(dtype, dims, n_threads)


def _start(xp: Any, logits: Any, scratch: Scratch) -> None:
    """Write shifted logits, their exponentials, the sum and its logarithm to scratch."""
    shift(xp, logits, scratch.block, scratch.column)
    xp.exp(scratch.block, scratch.other)
    add_up(xp, scratch.other, scratch, scratch.column)
    xp.log(scratch.column, scratch.second)


def _cross_entropy(xp: Any, arrays: Sequence[Any], scratch: Scratch) -> None:
    slope, loss, logits, labels = arrays
    _start(xp, logits, scratch)
    xp.divide(scratch.other, scratch.column, scratch.other)
    xp.subtract(scratch.other, labels, slope)
    xp.subtract(scratch.second, scratch.block, scratch.block)
    xp.multiply(scratch.block, labels, scratch.block)
    add_up(xp, scratch.block, scratch, scratch.column)
    xp.copyto(loss, scratch.column[:, 0], casting="same_kind")


def _bind_cross_entropy(launch: Launch) -> Call | Parts | None:
    loss, slope = launch.outputs
    wide = [launch.xp.broadcast_to(array, slope.shape) for array in launch.inputs]
    return over_rows(launch, _cross_entropy, [slope, loss, *wide])


SOFTMAX_CROSS_ENTROPY = OpDef(
    "SoftmaxCrossEntropyWithLogits",
    "features:T labels:T",
    _loss_type,
    types={"T": FLOATING},
    kernels=all_devices(_bind_cross_entropy, FLOATING, _scratch),
    samples=(
        "f(2, 3), f(2, 3)",
        "f(2, 3), f(1, 3)",
    ),
    large_samples=("square, square",),
)

# --- labels are the numbers of classes ----------------------------------------------------


def _sparse_loss_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    logits, labels = inputs
    check_rank(logits.dims, 2)
    check_rank(labels.dims, 1)
    n_rows, n_classes = logits.dims or (None, None)
    at_run = (
        "logits and labels must have the same first dimension, got logits shape "
        f"{bracketed(logits.dims)} and labels shape {bracketed(labels.dims)}"
    )
    rows = merge_dims((n_rows,), labels.dims, at_run)
    if n_classes == 0 and n_rows:
        raise ValueError(
            f"Must have at least one class, but got logits shape {bracketed(logits.dims)}"
        )
    dtype = logits.dtype.base_dtype
    return ((dtype, rows), (dtype, (*(rows or (None,)), n_classes)))


def _sparse_cross_entropy(xp: Any, arrays: Sequence[Any], scratch: Scratch) -> None:
    slope, loss, logits, labels = arrays
    n_rows, n_classes = slope.shape
    if int(labels.min()) < 0 or int(labels.max()) >= n_classes:
        raise _outside(labels.tolist(), n_classes)
    _start(xp, logits, scratch)
    here = xp.arange(n_rows), labels
    xp.subtract(scratch.second[:, 0], scratch.block[here], loss)
    xp.divide(scratch.other, scratch.column, scratch.other)
    scratch.other[here] -= 1
    xp.copyto(slope, scratch.other, casting="same_kind")


def _outside(labels: list[int], n_classes: int) -> InvalidArgumentError:
    wrong = next(label for label in labels if not 0 <= label < n_classes)
    return InvalidArgumentError(
        None,
        None,
        f"Received a label value of {wrong} which is outside the valid range of "
        f"[0, {n_classes}).  Label values: {' '.join(map(str, labels))}",
    )


def _bind_sparse(launch: Launch) -> Call | Parts | None:
    loss, slope = launch.outputs
    return over_rows(launch, _sparse_cross_entropy, [slope, loss, *launch.inputs])


SPARSE_SOFTMAX_CROSS_ENTROPY = OpDef(
    "SparseSoftmaxCrossEntropyWithLogits",
    "features:T labels:Tlabels",
    _sparse_loss_type,
    types={"T": FLOATING, "Tlabels": INDEX},
    kernels=all_devices(_bind_sparse, FLOATING, _scratch),
    samples=("f(2, 3), i(2, 0)",),
    large_samples=("square, np.arange(512)",),
)

# --- gradients ----------------------------------------------------------------------------


@takes_none
@gradient(SOFTMAX_CROSS_ENTROPY)
def _cross_entropy_gradient(op: RecordedOp, grad_loss: Any, grad_slope: Any) -> Any:
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
def _sparse_cross_entropy_gradient(op: RecordedOp, grad_loss: Any, grad_slope: Any) -> Any:
    return _of_logits(op, grad_loss, grad_slope), None


def _of_logits(op: RecordedOp, grad_loss: Any, grad_slope: Any) -> Any:
    """Gradient of the logits, from those of the loss and of its gradient."""
    logits, slope = op.inputs[0], op.outputs[1]
    of_loss = None if grad_loss is None else expand_dims(grad_loss, -1) * slope
    if grad_slope is None:
        return of_loss
    of_slope = through_softmax(softmax(logits), grad_slope)
    return of_slope if of_loss is None else of_loss + of_slope
