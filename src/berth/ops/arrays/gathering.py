"""`gather` and `where`: elements selected by index or by condition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from berth.dtypes import ALL, NUMBERS, bool_, int16, int64
from berth.ops import arrays, reductions
from berth.ops.arrays.array import reshape
from berth.ops.arrays.index_checks import index_error
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import axis_size, shape, size
from berth.ops.builder import apply
from berth.ops.compose import convert, is_integer
from berth.ops.elementwise import compare
from berth.ops.elementwise.casting import cast
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    all_devices,
)
from berth.ops.rules import INDEX, ShapeMismatch, all_devices_but_strings, from_host
from berth.ops.shape import Dims
from berth.ops.types import Tensor, TensorLike
from berth.public import public_v1, public_v2

# --- gather -------------------------------------------------------------------------------


def _gathered(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    params, indices, axis = inputs
    dtype, dims = params.dtype.base_dtype, params.dims
    if dims == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    if dims is None or indices.dims is None:
        return ((dtype, None),)
    n_batch = _batch_axes(attrs["batch_dims"], len(indices.dims))
    rank = len(dims)
    if axis.value is None:
        return ((dtype, (None,) * (rank - 1 + len(indices.dims) - n_batch)),)
    position = int(axis.value)
    if not -rank <= position < rank:
        needed = position + 1 if position >= 0 else -position
        raise ShapeMismatch(
            f"Shape must be at least rank {needed} but is rank {rank}",
            f"Expected axis in the range [{-rank}, {rank}), but got {position}",
        )
    position %= rank
    _check_batch(dims, indices.dims, position, n_batch)
    return ((dtype, dims[:position] + indices.dims[n_batch:] + dims[position + 1 :]),)


def _batch_axes(batch_dims: int, rank: int) -> int:
    """Return how many of the first axes of the indices are batch axes."""
    if not -rank <= batch_dims <= rank:
        raise ValueError(
            f"Expected batch_dims in the range [{-rank}, {rank}], but got {batch_dims}"
        )
    return batch_dims + rank if batch_dims < 0 else batch_dims


def _check_batch(params: Dims, indices: Dims, axis: int, n_batch: int) -> None:
    if axis < n_batch:
        raise ValueError(f"batch_dims ({n_batch}) must be less than or equal to axis ({axis}).")
    pairs = zip((params or ())[:n_batch], (indices or ())[:n_batch], strict=True)
    for k, (a, b) in enumerate(pairs):
        if a != b and None not in (a, b):
            raise ValueError(
                f"params.shape[{k}]: {a} should be equal to indices.shape[{k}]: {b}"
            )


def _gather_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory for indices as int64, which NumPy's `take` needs.

    Those of a batch are numbered through, for each element of the axes before the one that
    is taken from.
    """
    params, indices, axis = inputs
    dims, out = indices.dims or (), outputs[0][1] or ()
    rank = len(params.dims or ())
    n_batch = rank - 1 + len(dims) - len(out)
    if n_batch:
        before = (params.dims or ())[: int(axis.value) % rank]
        return ((int64, before + dims[n_batch:]), (int64, before))
    return () if indices.dtype.base_dtype is int64 else ((int64, dims),)


def _bind_gather(launch: Launch) -> Call:
    params, indices, axis = launch.inputs
    position = int(axis) % params.ndim
    # NumPy fills an output directly only if it need not check; the check is ours.
    mode = ("clip",) if launch.xp is np else ()
    n_batch = params.ndim - 1 + indices.ndim - launch.outputs[0].ndim
    if n_batch:
        return _bind_batch(launch, position, n_batch, mode)
    wide = launch.scratch[0] if launch.scratch else indices
    take = params.take, (wide, position, launch.outputs[0], *mode)
    return _gather, (launch.xp.copyto, indices, wide, params.shape[position], *take)


def _gather(
    copyto: Any, indices: Any, wide: Any, limit: int, take: Any, arguments: tuple[Any, ...]
) -> None:
    if not wide.size:
        return
    if wide is not indices:
        copyto(wide, indices)
    if wide.min() < 0 or wide.max() >= limit:
        raise index_error(indices, limit)
    take(*arguments)


def _bind_batch(launch: Launch, axis: int, n_batch: int, mode: tuple[str, ...]) -> Call:
    """Bind a gather from a batch as one from a list of all its rows."""
    params, indices, _ = launch.inputs
    out, (numbers, starts) = launch.outputs[0], launch.scratch
    between = (1,) * (axis - n_batch)
    wide = indices.reshape(indices.shape[:n_batch] + between + indices.shape[n_batch:])
    size, rest = params.shape[axis], params.shape[axis + 1 :]
    first = from_host(starts, (np.arange(starts.size) * size).reshape(starts.shape))
    added = starts.reshape(starts.shape + (1,) * (numbers.ndim - starts.ndim))
    rows = params.reshape((starts.size * size, *rest))
    take = rows.take, (numbers, 0, out, *mode)
    return _gather_batch, (launch.xp, indices, wide, size, first, numbers, added, take)


def _gather_batch(
    xp: Any,
    indices: Any,
    wide: Any,
    limit: int,
    first: Call,
    numbers: Any,
    added: Any,
    take: Call,
) -> None:
    if not numbers.size:
        return
    if int(indices.min()) < 0 or int(indices.max()) >= limit:
        raise index_error(indices, limit)
    first[0](*first[1])
    xp.copyto(numbers, wide)
    xp.add(numbers, added, numbers)
    take[0](*take[1])


GATHER = OpDef(
    "GatherV2",
    "params:Tparams indices:Tindices axis:Taxis",
    _gathered,
    types={"Tparams": ALL, "Tindices": (int16, *INDEX), "Taxis": INDEX},
    kernels=all_devices_but_strings(_bind_gather, _gather_scratch),
    host_inputs=(2,),
    samples=(
        "f(2, 3), i(0, 1, 1), at(1), batch_dims=0",
        "f(2, 3), ints([[0, 1], [1, 2]]), at(1), batch_dims=1",
        "f(2, 3, 4, 5), pairs[:2], at(2), batch_dims=1",
        "f(3, 4), pairs, at(1), batch_dims=-1",
    ),
    large_samples=(
        "large, few, at(0), batch_dims=0",
        "square, columns, at(1), batch_dims=1",
    ),
)


@public_v1("gather")
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: Any = None,
    name: str | None = None,
    axis: SupportsIndex | Tensor | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """Gather slices along an axis, with TensorFlow 1's argument names.

    With `batch_dims`, so many first axes of both number a batch: indices of one member are
    taken from the same member. The axis is then by default the next one.

    >>> gather([5, 6, 7], [2, 0]).numpy().tolist()
    [7, 5]
    >>> gather([[5, 6], [7, 8]], [1], axis=1).numpy().tolist()
    [[6], [8]]
    >>> gather([[5, 6], [7, 8]], [[1], [0]], batch_dims=1).numpy().tolist()
    [[6], [7]]
    """
    if axis is None:
        axis = batch_dims
        if batch_dims < 0:
            indices = convert(indices, None, "indices")
            if indices.dims is None:
                raise ValueError("A negative batch_dims needs indices of known rank.")
            axis = batch_dims + len(indices.dims)
    if is_integer(axis) and int(axis) == 0:
        batch_dims = 0  # nothing comes before the first axis
    return apply(GATHER, (params, indices, axis), {"batch_dims": batch_dims}, name)


@public_v2("gather")
def gather_v2(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: Any = None,
    axis: SupportsIndex | Tensor | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """Gather slices along an axis.

    >>> gather_v2([[5, 6], [7, 8]], [1, 1, 0], axis=1).numpy().tolist()
    [[6, 6, 5], [8, 8, 7]]
    """
    return gather(params, indices, validate_indices, name, axis, batch_dims)


@gradient(GATHER)
def _gather_gradient(op: RecordedOp, grad: Any) -> Any:
    params, indices, position = op.inputs
    axis = None if position.value is None else int(position.value)
    n_batch = op.attrs["batch_dims"]
    if axis is not None and axis < 0 and params.dims is not None:
        axis += len(params.dims)
    if n_batch < 0 and indices.dims is not None:
        n_batch += len(indices.dims)
    if axis == 0:
        return _gradient_of_rows(params, indices, grad), None, None
    if axis is None or axis < 0 or n_batch < 0:
        raise ValueError(
            "The gradient of tf.gather needs to know its axis, counted from the front: give "
            f"`params` a known rank, and a number for `axis`. Got params={params}, axis={axis}"
        )
    return _gradient_along(params, indices, grad, axis, n_batch), None, None


def _gradient_of_rows(params: Any, indices: Any, grad: Any) -> Any:
    dense_shape = shape(params)
    if indices.dims is None or len(indices.dims) != 1:
        grad = reshape(grad, concat([[size(indices)], dense_shape[1:]], 0))
        indices = reshape(indices, [-1])
    return arrays.indexed_slices.IndexedSlices(grad, indices, dense_shape)


def _gradient_along(params: Any, indices: Any, grad: Any, axis: int, n_batch: int) -> Any:
    """Sum the gradients of the gathered slices, by the index they were gathered from.

    The axes up to this one are flattened into one, so that it is a segment sum.
    """
    before = [axis_size(params, k) for k in range(axis)]
    n_before, n_taken = math.prod(before), axis_size(params, axis)
    starts = cast(arrays.filling.range(n_before) * n_taken, int64)
    among = [*before[:n_batch], *[1] * (axis - n_batch), -1]
    numbers = reshape(starts, [*before, 1]) + reshape(cast(indices, int64), among)
    numbers = reshape(numbers, [-1])
    rows = reshape(grad, concat([[size(numbers)], shape(params)[axis + 1 :]], 0))
    total = reductions.unsorted_segments.unsorted_segment_sum(rows, numbers, n_before * n_taken)
    return reshape(total, shape(params))


# --- where --------------------------------------------------------------------------------


def _positions_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    condition = inputs[0]
    rank = None if condition.dims is None else len(condition.dims)
    if condition.value is None:
        return ((int64, (None, rank)),)
    return ((int64, (int(np.count_nonzero(condition.value)), rank)),)


def _bind_where(launch: Launch) -> Call:
    return _where, (launch.xp, launch.inputs[0], launch.outputs[0])


def _where(xp: Any, condition: Any, out: Any) -> None:
    """Write the indices of the true elements; their number is known, and `out` as large."""
    for axis, positions in enumerate(condition.nonzero() if condition.ndim else ()):
        xp.copyto(out[:, axis], positions)


_WITH_TRUTH = (*NUMBERS, bool_)
WHERE = OpDef(
    "Where",
    "condition:T",
    _positions_type,
    types={"T": _WITH_TRUTH},
    kernels=all_devices(_bind_where, _WITH_TRUTH),
    shape_inputs=(0,),
    gradient=NOT_DIFFERENTIABLE,
    samples=("truth",),
)


@public_v1("where")
def where(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Select elements by a condition, or find its true elements; `x` and `y` do not broadcast.

    All have one shape, or the condition is a vector that chooses rows.

    >>> where([True, False], [1, 2], [3, 4]).numpy().tolist()
    [1, 4]
    >>> where([[True, False], [True, True]]).numpy().tolist()
    [[0, 0], [1, 0], [1, 1]]
    """
    if x is None and y is None:
        return apply(WHERE, (condition,), {}, name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return apply(compare.SELECT, (condition, x, y), {}, name)


@public_v2("where")
@public_v1("where_v2")
def where_v2(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Select elements by a condition, or find its true elements; the arguments broadcast.

    >>> where_v2([[True], [False]], [1, 2], 0).numpy().tolist()
    [[1, 2], [0, 0]]
    """
    if x is None and y is None:
        return apply(WHERE, (condition,), {}, name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return apply(compare.SELECT_V2, (condition, x, y), {}, name)
