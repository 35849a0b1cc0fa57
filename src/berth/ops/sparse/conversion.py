"""Sparse tensors from dense ones and back, and with other values or shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from berth.dtypes import as_dtype, bool_, float32, int64, string
from berth.errors import InvalidArgumentError
from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import ones, ones_like
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.gathering import where_v2
from berth.ops.arrays.indexing import boolean_mask
from berth.ops.arrays.joining import concat, stack
from berth.ops.arrays.metadata import shape
from berth.ops.arrays.scattering import gather_nd
from berth.ops.builder import apply
from berth.ops.compose import convert
from berth.ops.elementwise.arithmetic import minimum
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import not_equal
from berth.ops.reductions.reduction import reduce_max
from berth.ops.sparse.sparse_tensor import SparseTensor
from berth.ops.sparse.to_dense_op import SPARSE_TO_DENSE
from berth.public import public, public_v1, public_v2


def sparse(value: Any) -> SparseTensor:
    """Return a sparse tensor; TypeError for anything else."""
    if isinstance(value, tuple) and hasattr(value, "dense_shape"):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


@public("sparse.from_dense")
def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Sparse tensor of the elements that are not zero.

    >>> from_dense([0, 5]).indices.numpy().tolist()
    [[1]]
    """
    dense: Any = convert(tensor)
    if dense.dims == ():
        raise InvalidArgumentError(None, None, "WhereOp : Unhandled input dimensions: 0")
    none: Any = b"" if dense.dtype is string else False if dense.dtype is bool_ else 0
    indices = where_v2(not_equal(dense, convert(none, dense.dtype)))
    return SparseTensor(indices, gather_nd(dense, indices), shape(dense, out_type=int64))


@public("sparse.to_dense")
@public_v1("sparse_tensor_to_dense")
def to_dense(
    sp_input: Any,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """Dense tensor of a sparse one.

    >>> to_dense(from_dense([0, 5])).numpy().tolist()
    [0, 5]
    """
    given = sparse(sp_input)
    if default_value is None:
        default_value = b"" if given.dtype is string else False if given.dtype is bool_ else 0
    inputs = (given.indices, given.dense_shape, given.values)
    attrs = {"validate_indices": validate_indices}
    default = convert(default_value, given.dtype)
    dense: Any = apply(SPARSE_TO_DENSE, (*inputs, default), attrs, name)
    if not hasattr(dense, "place"):
        dense.set_shape(given.shape)
    return dense


@public_v1("sparse_to_dense")
def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """Dense tensor of values at indices, with TensorFlow 1's arguments.

    >>> sparse_to_dense([[1]], [3], [5]).numpy().tolist()
    [0, 5, 0]
    """
    indices: Any = convert(sparse_indices)
    sizes, values = convert(output_shape, indices.dtype), convert(sparse_values)
    if indices.dims is not None and len(indices.dims) < 2:
        indices = reshape(indices, [-1, 1])
    attrs = {"validate_indices": validate_indices}
    default = convert(default_value, values.dtype)
    return apply(SPARSE_TO_DENSE, (indices, sizes, values, default), attrs, name)


@public_v2("sparse.map_values")
def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> SparseTensor:
    """Sparse tensor whose values are those of a function of the values of others."""
    every = [v for v in (*args, *kwargs.values()) if isinstance(v, SparseTensor)]
    if not every:
        raise ValueError("No SparseTensor in argument list of map_values")

    def values_of(value: Any) -> Any:
        return value.values if isinstance(value, SparseTensor) else value

    found = op(*map(values_of, args), **{k: values_of(v) for k, v in kwargs.items()})
    return every[0].with_values(found)


@public("sparse.retain")
@public_v1("sparse_retain")
def retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """Sparse tensor of some of the values.

    >>> retain(SparseTensor([[0], [1]], [5, 6], [2]), [False, True]).values.numpy().tolist()
    [6]
    """
    given = sparse(sp_input)
    kept = convert(to_retain)
    indices, values = boolean_mask(given.indices, kept), boolean_mask(given.values, kept)
    return SparseTensor(indices, values, given.dense_shape)


@public("sparse.reset_shape")
@public_v1("sparse_reset_shape")
def reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """Sparse tensor with another shape; without one, the smallest that fits.

    >>> reset_shape(SparseTensor([[1]], [5], [9])).dense_shape.numpy().tolist()
    [2]
    """
    given = sparse(sp_input)
    if new_shape is None:
        bounds: Any = reduce_max(given.indices, 0) + convert(1, int64)
        return SparseTensor(given.indices, given.values, minimum(bounds, given.dense_shape))
    sizes: Any = convert(new_shape, int64)
    return SparseTensor(given.indices, given.values, sizes)


@public("sparse.eye")
def eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = float32, name: str | None = None
) -> SparseTensor:
    """Sparse matrix with ones on its diagonal."""
    rows: Any = cast(num_rows, int64)
    columns: Any = rows if num_columns is None else cast(num_columns, int64)
    diagonal = range_op(convert(0, int64), minimum(rows, columns), convert(1, int64))
    ones_ = ones(shape(diagonal), as_dtype(dtype))
    return SparseTensor(stack([diagonal, diagonal], 1), ones_, stack([rows, columns]))


@public("sparse.to_indicator")
@public_v1("sparse_to_indicator")
def to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Any:
    """Dense tensor of booleans: which values are in each row.

    >>> to_indicator(SparseTensor([[0, 0]], [1], [1, 1]), 3).numpy().tolist()
    [[False, True, False]]
    """
    given = sparse(sp_input)
    numbers = reshape(cast(given.values, int64), [-1, 1])
    indices = concat([given.indices[:, :-1], numbers], 1)
    sizes = concat([given.dense_shape[:-1], reshape(cast(vocab_size, int64), [1])], 0)
    truth = ones_like(given.values, bool_)
    return to_dense(SparseTensor(indices, truth, sizes), False, validate_indices=False)


def static_rank(given: SparseTensor) -> int:
    """Return the rank of a sparse tensor, which must be known."""
    dims = given.dense_shape.dims
    rank = dims[0] if dims else given.shape.rank
    if rank is None:
        raise ValueError("The rank of the sparse tensor must be known")
    return int(rank)
