"""Softmax and log-softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import FLOATING
from berth.errors import InvalidArgumentError
from berth.ops.arrays.any_rank import Around
from berth.ops.arrays.array import either_name
from berth.ops.arrays.transpose import transpose
from berth.ops.builder import apply
from berth.ops.compose import convert
from berth.ops.elementwise.unary import exp
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import (
    Attrs,
    Bind,
    Call,
    Launch,
    OpDef,
    OutputType,
    Parts,
    Typed,
    all_devices,
)
from berth.ops.reductions.reduction import reduce_sum
from berth.ops.reductions.rows import Scratch, Step, add_up, over_rows, row_scratch, shift
from berth.ops.rules import ShapeMismatch
from berth.ops.types import AxisLike, Tensor, TensorLike
from berth.public import public

# --- operations ---------------------------------------------------------------------------


def _softmax_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    logits = inputs[0]
    if logits.dims == ():
        raise ShapeMismatch(
            "Shape must be at least rank 1 but is rank 0",
            "logits must have >= 1 dimension, got []",
        )
    return ((logits.dtype.base_dtype, logits.dims),)


def _scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    dtype, dims = outputs[0]
    return row_scratch(dtype, dims, n_threads)


def _softmax(xp: Any, arrays: Sequence[Any], scratch: Scratch) -> None:
    logits, out = arrays
    shift(xp, logits, scratch.block, scratch.column)
    xp.exp(scratch.block, scratch.block)
    add_up(xp, scratch.block, scratch, scratch.column)
    xp.divide(scratch.block, scratch.column, out)


def _log_softmax(xp: Any, arrays: Sequence[Any], scratch: Scratch) -> None:
    logits, out = arrays
    shift(xp, logits, scratch.block, scratch.column)
    xp.exp(scratch.block, scratch.other)
    add_up(xp, scratch.other, scratch, scratch.column)
    xp.log(scratch.column, scratch.column)
    xp.subtract(scratch.block, scratch.column, out)


def _bind_by(step: Step) -> Bind:
    def bind(launch: Launch) -> Call | Parts | None:
        logits, out = launch.inputs[0], launch.outputs[0]
        if not out.size:
            return None
        matrix = (-1, out.shape[-1])
        return over_rows(launch, step, [logits.reshape(matrix), out.reshape(matrix)])

    return bind


def _softmax_op(
    name: str, step: Step, samples: Sequence[str] = (), large_samples: Sequence[str] = ()
) -> OpDef:
    kernels = all_devices(_bind_by(step), FLOATING, _scratch)
    return OpDef(
        name,
        "logits:T",
        _softmax_type,
        types={"T": FLOATING},
        kernels=kernels,
        samples=samples,
        large_samples=large_samples,
    )


SOFTMAX = _softmax_op("Softmax", _softmax, samples=("f(2, 3, 4)",), large_samples=("square",))
LOG_SOFTMAX = _softmax_op(
    "LogSoftmax", _log_softmax, samples=("f(2, 3, 4)",), large_samples=("square",)
)

# --- what users call ----------------------------------------------------------------------


@public("math.softmax", "nn.softmax")
def softmax(
    logits: TensorLike, axis: AxisLike = None, name: str | None = None, dim: Any = None
) -> Tensor:
    """Softmax along an axis, by default the last: exp(logits) / sum(exp(logits)).

    >>> softmax([[0.0, 0.0], [1000.0, 0.0]]).numpy().tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    return _along(SOFTMAX, logits, either_name("axis", axis, "dim", dim), name)


@gradient(SOFTMAX)
def _softmax_gradient(op: RecordedOp, grad: Any) -> Any:
    return through_softmax(op.outputs[0], grad)


def through_softmax(y: Any, grad: Any) -> Any:
    """Gradient of the logits, from softmax's output and its gradient."""
    return (grad - reduce_sum(grad * y, -1, keepdims=True)) * y


@public("math.log_softmax", "nn.log_softmax")
def log_softmax(
    logits: TensorLike, axis: AxisLike = None, name: str | None = None, dim: Any = None
) -> Tensor:
    """Log-softmax along an axis, accurate where softmax underflows.

    >>> log_softmax([1000.0, 0.0]).numpy().tolist()
    [0.0, -1000.0]
    """
    return _along(LOG_SOFTMAX, logits, either_name("axis", axis, "dim", dim), name)


@gradient(LOG_SOFTMAX)
def _log_softmax_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad - reduce_sum(grad, -1, keepdims=True) * exp(op.outputs[0])


def _along(op: OpDef, logits: Any, axis: Any, name: str | None) -> Tensor:
    logits = convert(logits, None, "logits")
    axis = -1 if axis is None else int(axis)
    if logits.dims is None and axis != -1:
        around = Around.of(logits, axis)
        return around.restored(_along(op, around.block, 1, name))
    order = order_to_last(logits.dims, axis)
    if order is None:
        return apply(op, (logits,), {}, name)
    result = apply(op, (transpose(logits, order),), {})
    return transpose(result, np.argsort(order).astype(np.int32), name=name or op.name)


def order_to_last(dims: Sequence[int | None], axis: int) -> Any:
    """Permutation that moves an axis to the end; None if it is the last already.

    >>> order_to_last((2, 3, 4), 0).tolist()
    [1, 2, 0]
    """
    if axis == -1:
        return None
    rank = len(dims)
    if not -rank <= axis < rank:
        raise InvalidArgumentError(
            None,
            None,
            f"`dim` must be in the range [{-rank}, {rank}) where {rank} is the number of "
            f"dimensions in the input. Received: dim={axis}",
        )
    if axis % rank == rank - 1:
        return None
    others = [k for k in range(rank) if k != axis % rank]
    return np.array([*others, axis % rank], np.int32)
