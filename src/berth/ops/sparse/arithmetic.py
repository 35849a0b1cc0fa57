"""Arithmetic of sparse tensors: sums, extremes, reductions, products with dense matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.dtypes import int32, int64
from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import fill, ones_like, zeros_like
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.gathering import gather, where_v2
from berth.ops.arrays.indexing import boolean_mask
from berth.ops.arrays.joining import concat
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.metadata import size
from berth.ops.arrays.scattering import scatter_nd
from berth.ops.arrays.transpose import transpose
from berth.ops.compose import convert
from berth.ops.elementwise.arithmetic import maximum, minimum
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal, greater_equal
from berth.ops.elementwise.unary import exp
from berth.ops.linalg.transposes import adjoint
from berth.ops.reductions.reduction import reduce_max as dense_max
from berth.ops.reductions.reduction import reduce_prod
from berth.ops.reductions.unsorted_segments import unsorted_segment_max, unsorted_segment_sum
from berth.ops.sparse import linear
from berth.ops.sparse.checks import check_same_shape
from berth.ops.sparse.conversion import sparse, static_rank
from berth.ops.sparse.sparse_tensor import SparseTensor
from berth.public import public, public_v1, public_v2


def _is_sparse(value: Any) -> bool:
    return isinstance(value, SparseTensor) or hasattr(value, "dense_shape")


@public_v2("sparse.add")
def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """Sum of sparse tensors, without sums below a threshold; or of a sparse and a dense."""
    if not _is_sparse(a) and not _is_sparse(b):
        raise TypeError(
            "At least one input should be SparseTensor; do you mean to use tf.add()?"
        )
    if _is_sparse(a) and _is_sparse(b):
        return _joined(sparse(a), sparse(b), lambda x, y: x + y, threshold)
    given, dense = (sparse(a), b) if _is_sparse(a) else (sparse(b), a)
    tensor: Any = convert(dense, given.dtype)
    return tensor + scatter_nd(given.indices, given.values, shape_of(tensor, out_type=int64))


@public_v1("sparse_add", "sparse.add")
def add_v1(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """Sum of sparse tensors, with TensorFlow 1's arguments.

    >>> x = SparseTensor([[0], [2]], [5, 6], [4])
    >>> add_v1(x, x).values.numpy().tolist()
    [10, 12]
    """
    least = thresh if threshold is None else threshold
    return add(a, b, 0 if least is None else least)


def _joined(
    a: SparseTensor, b: SparseTensor, combine: Callable[[Any, Any], Any], threshold: Any = None
) -> SparseTensor:
    """Combine the values of two sparse tensors at all indices that one of them has."""
    shape = check_same_shape(a.dense_shape, b.dense_shape)
    numbers = concat([linear.ravel(a.indices, shape), linear.ravel(b.indices, shape)], 0)
    kept, places = linear.groups(numbers)
    n_kept = shape_of(kept)[0]
    n_first = shape_of(a.values)[0]
    mine = unsorted_segment_sum(a.values, places[:n_first], n_kept)
    theirs = unsorted_segment_sum(b.values, places[n_first:], n_kept)
    values, indices = combine(mine, theirs), linear.unravel(kept, shape)
    if threshold is not None and not (isinstance(threshold, int | float) and threshold == 0):
        large = greater_equal(abs(values), convert(threshold, a.dtype))
        indices, values = boolean_mask(indices, large), boolean_mask(values, large)
    return SparseTensor(indices, values, shape)


@public("sparse.maximum")
@public_v1("sparse_maximum")
def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Larger values of two sparse tensors; what is not there is zero.

    >>> x, y = SparseTensor([[0]], [5], [2]), SparseTensor([[1]], [-6], [2])
    >>> sparse_maximum(x, y).values.numpy().tolist()
    [5, 0]
    """
    return _joined(sparse(sp_a), sparse(sp_b), maximum)


@public("sparse.minimum")
@public_v1("sparse_minimum")
def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Smaller values of two sparse tensors; what is not there is zero.

    >>> x, y = SparseTensor([[0]], [5], [2]), SparseTensor([[1]], [-6], [2])
    >>> sparse_minimum(x, y).values.numpy().tolist()
    [0, -6]
    """
    return _joined(sparse(sp_a), sparse(sp_b), minimum)


# --- reductions -----------------------------------------------------------------------------


def _max_or_zero(values: Any, places: Any, n_groups: Any) -> Any:
    """Return the maximum of each group; zero for an empty one."""
    largest = unsorted_segment_max(values, places, n_groups)
    counts: Any = unsorted_segment_sum(ones_like(places), places, n_groups)
    return where_v2(equal(counts, 0), zeros_like(largest), largest)


def _reduced(
    given: SparseTensor, axis: Any, keepdims: bool, reduce: Callable[..., Any], is_sparse: bool
) -> Any:
    rank = static_rank(given)
    listed = axis if isinstance(axis, Sequence) else [axis]
    axes = range(rank) if axis is None else [int(each) % rank for each in listed]
    kept = [each for each in range(rank) if each not in set(axes)]
    whole = gather(given.dense_shape, kept) if kept else convert([], int64)
    columns = linear.columns(given.indices, kept)
    shape, shown = whole, columns
    if keepdims:
        is_kept = convert([int(each in kept) for each in range(rank)], int64)
        shape, shown = given.dense_shape * is_kept + (1 - is_kept), given.indices * is_kept
    numbers = linear.ravel(columns, whole)
    if not is_sparse:
        return reshape(reduce(given.values, numbers, reduce_prod(whole)), shape)
    found, places = linear.groups(linear.ravel(shown, shape))
    values = reduce(given.values, places, shape_of(found)[0])
    return SparseTensor(linear.unravel(found, shape), values, shape)


@public_v2("sparse.reduce_sum")
def reduce_sum(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Sum of a sparse tensor along axes."""
    return _reduced(
        sparse(sp_input), axis, bool(keepdims), unsorted_segment_sum, output_is_sparse
    )


@public_v2("sparse.reduce_max")
def reduce_max(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Maximum of the values of a sparse tensor along axes; zero where there are none."""
    return _reduced(sparse(sp_input), axis, bool(keepdims), _max_or_zero, output_is_sparse)


@public_v1("sparse_reduce_sum", "sparse.reduce_sum")
def reduce_sum_v1(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> Any:
    """Sum of a sparse tensor along axes, with TensorFlow 1's arguments.

    >>> reduce_sum_v1(SparseTensor([[0, 0], [0, 1]], [5, 6], [2, 2]), 1).numpy().tolist()
    [11, 0]
    """
    return reduce_sum(sp_input, reduction_axes if axis is None else axis, keepdims or keep_dims)


@public_v1("sparse_reduce_max", "sparse.reduce_max")
def reduce_max_v1(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> Any:
    """Maximum of a sparse tensor along axes, with TensorFlow 1's arguments.

    >>> reduce_max_v1(SparseTensor([[0, 0], [0, 1]], [5, 6], [2, 2]), 1).numpy().tolist()
    [6, 0]
    """
    return reduce_max(sp_input, reduction_axes if axis is None else axis, keepdims or keep_dims)


@public_v1("sparse_reduce_sum_sparse", "sparse.reduce_sum_sparse")
def reduce_sum_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> Any:
    """Sum of a sparse tensor along axes, as a sparse tensor.

    >>> x = SparseTensor([[0, 0], [0, 1]], [5, 6], [2, 2])
    >>> reduce_sum_sparse(x, 1).values.numpy().tolist()
    [11]
    """
    axes = reduction_axes if axis is None else axis
    return reduce_sum(sp_input, axes, keepdims or keep_dims, output_is_sparse=True)


@public_v1("sparse_reduce_max_sparse", "sparse.reduce_max_sparse")
def reduce_max_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> Any:
    """Maximum of a sparse tensor along axes, as a sparse tensor.

    >>> x = SparseTensor([[0, 0], [0, 1]], [5, 6], [2, 2])
    >>> reduce_max_sparse(x, 1).values.numpy().tolist()
    [6]
    """
    axes = reduction_axes if axis is None else axis
    return reduce_max(sp_input, axes, keepdims or keep_dims, output_is_sparse=True)


@public("sparse.softmax")
@public_v1("sparse_softmax")
def softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Softmax over the values of each row of a sparse tensor.

    >>> softmax(SparseTensor([[0, 1]], [5.0], [1, 2])).values.numpy().tolist()
    [1.0]
    """
    given = sparse(sp_input)
    shape = given.dense_shape[:-1]
    rows, n_rows = linear.ravel(given.indices[:, :-1], shape), reduce_prod(shape)
    largest = gather(unsorted_segment_max(given.values, rows, n_rows), rows)
    powers: Any = exp(given.values - largest)
    return given.with_values(powers / gather(unsorted_segment_sum(powers, rows, n_rows), rows))


# --- products -------------------------------------------------------------------------------


@public("sparse.sparse_dense_matmul", "sparse.matmul")
@public_v1("sparse_tensor_dense_matmul")
def sparse_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Any:
    """Product of a sparse matrix and a dense one, or of a dense and a sparse.

    >>> x = SparseTensor([[0, 1]], [5.0], [1, 2])
    >>> sparse_dense_matmul(x, [[1.0], [2.0]]).numpy().tolist()
    [[10.0]]
    """
    if _is_sparse(b) and not _is_sparse(sp_a):
        product = sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a)
        return adjoint(product) if product.dtype.is_complex else transpose(product)
    given = sparse(sp_a)
    dense: Any = convert(b, given.dtype)
    # So the gradient is dense, as in TensorFlow: that of what is gathered would be slices.
    dense = adjoint(dense) if adjoint_b else reshape(dense, shape_of(dense))
    values = given.values
    if adjoint_a and values.dtype.is_complex:
        values = adjoint(reshape(values, [1, -1]))[:, 0]
    row, column = (1, 0) if adjoint_a else (0, 1)
    parts: Any = gather(dense, given.indices[:, column]) * reshape(values, [-1, 1])
    return unsorted_segment_sum(parts, given.indices[:, row], given.dense_shape[row])


# --- counting -------------------------------------------------------------------------------


@public("sparse.bincount")
def bincount(
    values: Any,
    weights: Any = None,
    axis: int | None = 0,
    minlength: Any = None,
    maxlength: Any = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Count how often each number occurs, in all or in each row, as a sparse tensor."""
    rows, numbers, counted, n_rows = _counted(values, weights, axis)
    if maxlength is not None:
        inside = numbers < cast(maxlength, int64)
        rows, numbers = boolean_mask(rows, inside), boolean_mask(numbers, inside)
        counted = None if counted is None else boolean_mask(counted, inside)
    length: Any = maximum(dense_max(numbers) + 1, convert(0, int64))
    if minlength is not None:
        length = maximum(length, cast(minlength, int64))
    if maxlength is not None:
        length = minimum(length, cast(maxlength, int64))
    shape = concat([reshape(n_rows, [1]), reshape(length, [1])], 0)
    kept, places = linear.groups(rows * length + numbers)
    n_kept = shape_of(kept)[0]
    if binary_output or counted is None:
        counted = fill(shape_of(numbers), convert(1, int32))
    found = unsorted_segment_sum(counted, places, n_kept)
    found = ones_like(found) if binary_output else found
    if axis == 0 or axis is None:
        return SparseTensor(reshape(kept, [-1, 1]), found, shape[1:])
    return SparseTensor(linear.unravel(kept, shape), found, shape)


def _counted(values: Any, weights: Any, axis: int | None) -> tuple[Any, Any, Any, Any]:
    """Return the row of each number, the numbers, their weights, and the number of rows."""
    if _is_sparse(values):
        given = sparse(values)
        counted = None if weights is None else sparse(weights).values
        rows, n_rows = given.indices[:, 0], given.dense_shape[0]
        numbers = cast(given.values, int64)
    else:
        dense: Any = cast(values, int64)
        counted = None if weights is None else reshape(convert(weights), [-1])
        numbers, n_rows = reshape(dense, [-1]), shape_of(dense, out_type=int64)[0]
        width = reduce_prod(shape_of(dense, out_type=int64)[1:])
        rows = range_op(convert(0, int64), size(numbers, out_type=int64), 1) // width
    if axis == 0 or axis is None:
        rows, n_rows = rows * 0, convert(1, int64)
    return rows, numbers, counted, n_rows
