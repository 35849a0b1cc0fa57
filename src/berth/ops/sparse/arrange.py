"""Sparse tensors rearranged: reordered, reshaped, joined, sliced, split, transposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import bool_, int64
from berth.ops.arrays.filling import fill, zeros
from berth.ops.arrays.gathering import gather, where_v2
from berth.ops.arrays.indexing import boolean_mask
from berth.ops.arrays.joining import concat as concat_dense
from berth.ops.arrays.joining import stack
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.compose import convert
from berth.ops.elementwise.arithmetic import floordiv, maximum, minimum
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal, greater_equal, less, logical_and
from berth.ops.reductions.reduction import reduce_all, reduce_max, reduce_prod
from berth.ops.reductions.unsorted_segments import unsorted_segment_sum
from berth.ops.sparse import linear
from berth.ops.sparse.checks import check_joined, check_same_size
from berth.ops.sparse.conversion import sparse, static_rank
from berth.ops.sparse.sparse_tensor import SparseTensor
from berth.public import public, public_v1, public_v2


@public("sparse.reorder")
@public_v1("sparse_reorder")
def reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Sparse tensor with its values in the order of their indices.

    >>> reorder(SparseTensor([[1], [0]], [5, 6], [2])).values.numpy().tolist()
    [6, 5]
    """
    given = sparse(sp_input)
    order = linear.order(linear.ravel(given.indices, given.dense_shape))
    made = SparseTensor(
        gather(given.indices, order), gather(given.values, order), given.dense_shape
    )
    made.set_shape(given.shape)
    return made


@public("sparse.reshape")
@public_v1("sparse_reshape")
def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """Sparse tensor in another shape with as many elements; one size may be -1.

    >>> sparse_reshape(SparseTensor([[1, 0]], [5], [2, 2]), [4]).indices.numpy().tolist()
    [[2]]
    """
    given = sparse(sp_input)
    sizes: Any = cast(shape, int64)
    n_all: Any = reduce_prod(given.dense_shape)
    n_known = reduce_prod(where_v2(equal(sizes, -1), 1, sizes))
    sizes = where_v2(equal(sizes, -1), floordiv(n_all, n_known), sizes)
    sizes = check_same_size(given.dense_shape, sizes)
    numbers = linear.ravel(given.indices, given.dense_shape)
    return SparseTensor(linear.unravel(numbers, sizes), given.values, sizes)


@public("sparse.expand_dims")
def expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """Sparse tensor with one more axis, of size 1; without an axis, as the last."""
    given = sparse(sp_input)
    rank = static_rank(given)
    axis = -1 if axis is None else int(axis)
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"axis must be in [{-rank - 1}, {rank}]")
    place = axis + rank + 1 if axis < 0 else axis
    indices = given.indices
    none = zeros(stack([shape_of(indices)[0], 1]), int64)
    columns = concat_dense([indices[:, :place], none, indices[:, place:]], 1)
    one = convert(np.ones(1, np.int64))
    shape = concat_dense([given.dense_shape[:place], one, given.dense_shape[place:]], 0)
    return SparseTensor(columns, given.values, shape)


@public("sparse.transpose")
@public_v1("sparse_transpose")
def transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """Sparse tensor with its axes permuted; without a permutation, in reverse.

    >>> transpose(SparseTensor([[1, 0]], [5], [2, 3])).indices.numpy().tolist()
    [[0, 1]]
    """
    given = sparse(sp_input)
    rank = static_rank(given)
    if perm is None:
        perm = list(range(rank))[::-1]
    axes: Any = convert(perm)
    indices = gather(given.indices, axes, axis=1)
    return reorder(SparseTensor(indices, given.values, gather(given.dense_shape, axes)))


@public_v2("sparse.concat")
def concat(
    axis: int,
    sp_inputs: Sequence[Any],
    expand_nonconcat_dims: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Sparse tensors joined along an axis."""
    parts = [sparse(each) for each in sp_inputs]
    if len(parts) == 1:
        return parts[0]
    rank = static_rank(parts[0])
    axis = axis + rank if axis < 0 else axis
    shapes = stack([part.dense_shape for part in parts])
    if not expand_nonconcat_dims:
        shapes = check_joined(parts[0].dense_shape, shapes, axis)
    along = np.eye(rank, dtype=np.int64)[axis]
    offset: Any = convert(np.zeros(rank, np.int64))
    indices = []
    for part in parts:
        indices.append(part.indices + offset)
        offset = offset + part.dense_shape * along
    others = reduce_max(shapes, 0) * (1 - along)
    values = concat_dense([part.values for part in parts], 0)
    return reorder(SparseTensor(concat_dense(indices, 0), values, others + offset))


@public_v1("sparse_concat", "sparse.concat")
def concat_v1(
    axis: int,
    sp_inputs: Sequence[Any],
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Sparse tensors joined along an axis, with TensorFlow 1's arguments.

    >>> x = SparseTensor([[0]], [5], [2])
    >>> concat_v1(0, [x, x]).indices.numpy().tolist()
    [[0], [2]]
    """
    expands = bool(expand_nonconcat_dims or expand_nonconcat_dim)
    return concat(axis if concat_dim is None else concat_dim, sp_inputs, expands, name)


@public("sparse.slice")
@public_v1("sparse_slice")
def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """Part of a sparse tensor.

    >>> sparse_slice(SparseTensor([[0], [2]], [5, 6], [4]), [1], [3]).indices.numpy().tolist()
    [[1]]
    """
    given = sparse(sp_input)
    begin: Any = convert(start, int64)
    end: Any = minimum(begin + convert(size, int64), given.dense_shape)
    rows = given.indices
    inside = reduce_all(logical_and(greater_equal(rows, begin), less(rows, end)), 1)
    sizes = maximum(end - begin, convert(0, int64))
    return SparseTensor(
        boolean_mask(rows, inside) - begin, boolean_mask(given.values, inside), sizes
    )


@public_v2("sparse.split")
def split(sp_input: Any, num_split: int, axis: int, name: str | None = None) -> list[Any]:
    """Parts of a sparse tensor along an axis; the first ones may be longer by one."""
    given = sparse(sp_input)
    rank = static_rank(given)
    along = np.eye(rank, dtype=np.int64)[axis]
    size: Any = given.dense_shape[axis]
    least: Any = floordiv(size, num_split)
    more, parts = size - least * num_split, []
    for k in range(num_split):
        begin: Any = least * k + minimum(convert(k, int64), more)
        length: Any = least + cast(less(convert(k, int64), more), int64)
        sizes = given.dense_shape * (1 - along) + along * length
        parts.append(sparse_slice(given, along * begin, sizes))
    return parts


@public_v1("sparse_split", "sparse.split")
def split_v1(
    keyword_required: Any = None,
    sp_input: Any = None,
    num_split: Any = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[Any]:
    """Parts of a sparse tensor, with TensorFlow 1's arguments, which are given by name.

    >>> x = SparseTensor([[0], [3]], [5, 6], [4])
    >>> [part.values.numpy().tolist() for part in split_v1(sp_input=x, num_split=2, axis=0)]
    [[5], [6]]
    """
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    return split(sp_input, num_split, axis if split_dim is None else split_dim, name)


@public("sparse.fill_empty_rows")
@public_v1("sparse_fill_empty_rows")
def fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Any]:
    """Sparse matrix in which every row has a value, and which rows had none.

    >>> fill_empty_rows(SparseTensor([[1, 0]], [5], [2, 2]), 9)[0].values.numpy().tolist()
    [9, 5]
    """
    given = sparse(sp_input)
    n_rows: Any = given.dense_shape[0]
    ones: Any = fill(shape_of(given.values), convert(1, int64))
    counts = unsorted_segment_sum(ones, given.indices[:, 0], n_rows)
    is_empty: Any = equal(counts, 0)
    rows = where_v2(is_empty)
    rest = zeros(stack([shape_of(rows)[0], static_rank(given) - 1]), int64)
    indices = concat_dense([given.indices, concat_dense([rows, rest], 1)], 0)
    default = convert(default_value, given.dtype)
    values = concat_dense([given.values, fill(shape_of(rows)[:1], default)], 0)
    return reorder(SparseTensor(indices, values, given.dense_shape)), cast(is_empty, bool_)
