"""`gather_nd`, `scatter_nd` and `tensor_scatter_nd_*`: slices by vectors of indices.

The last axis of `indices` holds the vectors. One of K indices selects along the first K axes
of a tensor: a scalar if the tensor has no more axes, else a slice. A kernel converts the
vectors to row numbers, in scratch memory, and checks them there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL, NUMBERS, REAL, DType, bool_, int16, int64
from berth.errors import InvalidArgumentError
from berth.ops import arrays, elementwise
from berth.ops.arrays.array import reshape
from berth.ops.arrays.broadcasting import broadcast_to
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.index_checks import check_depth, check_updates, index_vector_error
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.builder import apply
from berth.ops.compose import convert, scope
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import (
    Attrs,
    Bind,
    Call,
    Launch,
    OpDef,
    OutputType,
    ScratchShapes,
    Typed,
)
from berth.ops.rules import (
    INDEX,
    ShapeMismatch,
    all_devices_but_strings,
    shape_of_value,
)
from berth.ops.shape import bracketed
from berth.ops.types import ShapeLike, Tensor, TensorLike
from berth.public import public, public_v1, public_v2

# --- row numbers --------------------------------------------------------------------------


def _room(position: int) -> ScratchShapes:
    """Scratch memory for row numbers, where the indices are the input at a position."""

    def scratch(
        inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
    ) -> Sequence[OutputType]:
        vectors = inputs[position].dims or ()
        return ((int64, vectors[:-1]),)

    return scratch


def _number_rows(
    xp: Any, indices: Any, sizes: Sequence[int], numbers: Any, make_error: Any
) -> None:
    """Convert index vectors to row numbers."""
    numbers[...] = 0
    for axis, size in enumerate(sizes):
        column = indices[..., axis]
        if column.size and (int(column.min()) < 0 or int(column.max()) >= size):
            raise make_error(indices)
        xp.multiply(numbers, size, numbers)
        xp.add(numbers, column, numbers)


def _as_rows(array: Any, n_axes: int) -> Any:
    """View an array as rows: one for each element of its first axes."""
    n_rows = math.prod(array.shape[:n_axes])
    return array.reshape((n_rows, *array.shape[n_axes:]))


# --- gather_nd ----------------------------------------------------------------------------


def _taken(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    params, indices = inputs
    dtype = params.dtype.base_dtype
    if indices.dims == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    if params.dims is None or indices.dims is None or indices.dims[-1] is None:
        return ((dtype, None),)
    n_axes = indices.dims[-1]
    if n_axes > len(params.dims):
        raise ShapeMismatch(
            "indices.shape[-1] must be <= params.rank, but saw indices shape: "
            f"{bracketed(indices.dims)} and params shape: {bracketed(params.dims)}",
            "index innermost dimension length must be <= params rank; saw: "
            f"{n_axes} vs. {len(params.dims)}",
        )
    return ((dtype, indices.dims[:-1] + params.dims[n_axes:]),)


def _bind_take(launch: Launch) -> Call:
    params, indices = launch.inputs
    out, numbers = launch.outputs[0], launch.scratch[0]
    n_axes = indices.shape[-1]
    sizes = params.shape[:n_axes]

    def make_error(found: Any) -> InvalidArgumentError:
        return index_vector_error(found, params.shape, "param shape")

    rows = _as_rows(params, n_axes)
    # NumPy fills an output directly only if it need not check; the check is ours.
    mode = ("clip",) if launch.xp is np else ()
    take = rows.take, (numbers, 0, out, *mode)
    return _take, (launch.xp, indices, sizes, numbers, make_error, *take)


def _take(
    xp: Any, indices: Any, sizes: Any, numbers: Any, make_error: Any, take: Any, arguments: Any
) -> None:
    _number_rows(xp, indices, sizes, numbers, make_error)
    if numbers.size:
        take(*arguments)


GATHER_ND = OpDef(
    "GatherNd",
    "params:Tparams indices:Tindices",
    _taken,
    types={"Tparams": ALL, "Tindices": (int16, *INDEX)},
    kernels=all_devices_but_strings(_bind_take, _room(1)),
    samples=(
        "f(2, 3, 4), pairs",
        "f(2, 3), np.zeros((2, 0), np.int32)",
    ),
    large_samples=("square, i(*range(512)).reshape(-1, 1)",),
)


@public_v2("gather_nd")
def gather_nd(
    params: TensorLike, indices: TensorLike, batch_dims: int = 0, name: str | None = None
) -> Tensor:
    """Gather slices by vectors of indices.

    >>> gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy().tolist()
    [2, 3]
    >>> gather_nd([[1, 2], [3, 4]], [[1]], batch_dims=0).numpy().tolist()
    [[3, 4]]
    >>> gather_nd([[1, 2], [3, 4]], [[1], [0]], batch_dims=1).numpy().tolist()
    [2, 3]
    """
    if not batch_dims:
        return apply(GATHER_ND, (params, indices), {}, name)
    with scope("GatherNd", name) as inner:
        indices = convert(indices, None, "indices")
        if indices.dims is None:
            raise ValueError("tf.gather_nd does not allow indices with unknown shape.")
        places = in_batch(indices, batch_dims % len(indices.dims))
        return apply(GATHER_ND, (params, places), {}, inner)


@public_v1("gather_nd")
def gather_nd_v1(
    params: TensorLike, indices: TensorLike, name: str | None = None, batch_dims: int = 0
) -> Tensor:
    """Gather slices by vectors of indices, with TensorFlow 1's argument names.

    >>> gather_nd_v1(["a", "b", "c"], [[2], [0]]).numpy().tolist()
    [b'c', b'a']
    """
    return gather_nd(params, indices, batch_dims, name)


@gradient(GATHER_ND)
def _gather_nd_gradient(op: RecordedOp, grad: Any) -> Any:
    params, indices = op.inputs
    return scatter_nd(indices, grad, shape_of(params, out_type=indices.dtype)), None


def in_batch(indices: Any, n_batch_axes: int) -> Any:
    """Prepend the batch position to each index vector."""
    sizes = shape_of(indices, out_type=indices.dtype)
    ones = [1] * (len(indices.dims) - 1)
    column = concat([sizes[:-1], ones[:1]], 0) if ones else [1]
    parts = []
    for axis in range(n_batch_axes):
        along = [*ones, 1]
        along[axis] = -1
        count = reshape(range_op(sizes[axis]), along)
        parts.append(broadcast_to(count, column))
    return concat([*parts, indices], -1)


# --- scatter_nd ---------------------------------------------------------------------------


def _scattered(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    indices, updates, shape = inputs
    dims = shape_of_value(shape)
    check_updates(dims, indices.dims, updates.dims)
    return ((updates.dtype.base_dtype, dims),)


def _updated(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, indices, updates = inputs
    check_updates(tensor.dims, indices.dims, updates.dims)
    return ((tensor.dtype.base_dtype, tensor.dims),)


def _put(
    start: Call, xp: Any, indices: Any, sizes: Any, numbers: Any, make_error: Any, write: Call
) -> None:
    _number_rows(xp, indices, sizes, numbers, make_error)
    start[0](*start[1])
    write[0](*write[1])


def _assign_rows(rows: Any, numbers: Any, updates: Any) -> None:
    rows[numbers] = updates


def _writer(xp: Any, how: str) -> Callable[..., Any]:
    return _assign_rows if how == "update" else getattr(xp, how).at


def _bind_put(launch: Launch, indices: Any, updates: Any, start: Call, how: str) -> Call:
    out, numbers = launch.outputs[0], launch.scratch[0]
    check_depth(out.shape, indices.shape, updates.shape)
    n_axes = indices.shape[-1]
    sizes = out.shape[:n_axes]

    def make_error(found: Any) -> InvalidArgumentError:
        return index_vector_error(found, out.shape)

    rows = _as_rows(out, n_axes)
    flat = numbers.reshape(-1)
    values = updates.reshape((flat.size, *rows.shape[1:]))
    write = _writer(launch.xp, how), (rows, flat, values)
    return _put, (start, launch.xp, indices, sizes, numbers, make_error, write)


def _bind_scatter(launch: Launch) -> Call:
    indices, updates, _ = launch.inputs
    return _bind_put(launch, indices, updates, (launch.outputs[0].fill, (0,)), "add")


def _bind_update(how: str) -> Bind:
    def bind(launch: Launch) -> Call:
        tensor, indices, updates = launch.inputs
        start = launch.xp.copyto, (launch.outputs[0], tensor)
        return _bind_put(launch, indices, updates, start, how)

    return bind


SCATTER_ND = OpDef(
    "ScatterNd",
    "indices:Tindices updates:T shape:Tindices",
    _scattered,
    types={"Tindices": (int16, *INDEX), "T": (*NUMBERS, bool_)},
    kernels=all_devices_but_strings(_bind_scatter, _room(0)),
    host_inputs=(2,),
    samples=("pairs, f(3, 4), i(2, 3, 4)",),
    large_samples=("i(*range(512)).reshape(-1, 1), square, i(512, 512)",),
)


def _updating(name: str, how: str, dtypes: Sequence[DType]) -> OpDef:
    return OpDef(
        name,
        "tensor:T indices:Tindices updates:T",
        _updated,
        types={"T": dtypes, "Tindices": (int16, *INDEX)},
        kernels=all_devices_but_strings(_bind_update(how), _room(1)),
        samples=("f(2, 3, 4), pairs, f(3, 4)",),
        large_samples=("square, i(*range(512)).reshape(-1, 1), square",),
    )


TENSOR_SCATTER_UPDATE = _updating("TensorScatterUpdate", "update", ALL)
TENSOR_SCATTER_ADD = _updating("TensorScatterAdd", "add", NUMBERS)
TENSOR_SCATTER_SUB = _updating("TensorScatterSub", "subtract", NUMBERS)
TENSOR_SCATTER_MIN = _updating("TensorScatterMin", "minimum", REAL)
TENSOR_SCATTER_MAX = _updating("TensorScatterMax", "maximum", REAL)


@public("scatter_nd")
def scatter_nd(
    indices: TensorLike, updates: TensorLike, shape: ShapeLike, name: str | None = None
) -> Tensor:
    """Scatter updates into a tensor of zeros; updates of equal indices are summed.

    >>> scatter_nd([[1], [3], [1]], [5, 6, 7], [4]).numpy().tolist()
    [0, 12, 0, 6]
    """
    return apply(SCATTER_ND, (indices, updates, shape), {}, name)


@gradient(SCATTER_ND)
def _scatter_nd_gradient(op: RecordedOp, grad: Any) -> Any:
    return None, gather_nd(grad, op.inputs[0]), None


@public("tensor_scatter_nd_update")
@public_v1("tensor_scatter_update")
def tensor_scatter_nd_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Scatter updates into a copy of a tensor.

    Where a place is named twice, the last row counts.

    >>> tensor_scatter_nd_update([1, 2, 3], [[0], [2]], [9, 8]).numpy().tolist()
    [9, 2, 8]
    """
    return apply(TENSOR_SCATTER_UPDATE, (tensor, indices, updates), {}, name)


@gradient(TENSOR_SCATTER_UPDATE)
def _update_gradient(op: RecordedOp, grad: Any) -> Any:
    _, indices, updates = op.inputs
    kept = tensor_scatter_nd_update(grad, indices, arrays.filling.zeros_like(updates))
    return kept, None, gather_nd(grad, indices)


@public("tensor_scatter_nd_add")
@public_v1("tensor_scatter_add")
def tensor_scatter_nd_add(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Scatter-add updates to a copy of a tensor.

    >>> tensor_scatter_nd_add([1, 2, 3], [[0], [0]], [10, 20]).numpy().tolist()
    [31, 2, 3]
    """
    return apply(TENSOR_SCATTER_ADD, (tensor, indices, updates), {}, name)


@gradient(TENSOR_SCATTER_ADD)
def _add_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad, None, gather_nd(grad, op.inputs[1])


@public("tensor_scatter_nd_sub")
@public_v1("tensor_scatter_sub")
def tensor_scatter_nd_sub(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Scatter-subtract updates from a copy of a tensor.

    >>> tensor_scatter_nd_sub([1, 2, 3], [[0], [0]], [10, 20]).numpy().tolist()
    [-29, 2, 3]
    """
    return apply(TENSOR_SCATTER_SUB, (tensor, indices, updates), {}, name)


@gradient(TENSOR_SCATTER_SUB)
def _sub_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad, None, -gather_nd(grad, op.inputs[1])


@public("tensor_scatter_nd_min")
def tensor_scatter_nd_min(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Scatter the element-wise minimum of updates and a copy of a tensor.

    >>> tensor_scatter_nd_min([1, 2, 3], [[0], [2]], [5, 0]).numpy().tolist()
    [1, 2, 0]
    """
    return apply(TENSOR_SCATTER_MIN, (tensor, indices, updates), {}, name)


@public("tensor_scatter_nd_max")
def tensor_scatter_nd_max(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Scatter the element-wise maximum of updates and a copy of a tensor.

    >>> tensor_scatter_nd_max([1, 2, 3], [[0], [2]], [5, 0]).numpy().tolist()
    [5, 2, 3]
    """
    return apply(TENSOR_SCATTER_MAX, (tensor, indices, updates), {}, name)


@gradient(TENSOR_SCATTER_MIN, TENSOR_SCATTER_MAX)
def _extreme_gradient(op: RecordedOp, grad: Any) -> Any:
    """Divide the gradient equally among the elements that equal the result."""
    tensor, indices, updates = op.inputs
    result = op.outputs[0]
    cast, equal = elementwise.casting.cast, elementwise.compare.equal
    is_kept = cast(equal(result, tensor), grad.dtype)
    is_put = cast(equal(updates, gather_nd(result, indices)), grad.dtype)
    n_put = scatter_nd(indices, is_put, shape_of(result, out_type=indices.dtype))
    share = grad / (is_kept + n_put)
    return share * is_kept, None, gather_nd(share, indices) * is_put
