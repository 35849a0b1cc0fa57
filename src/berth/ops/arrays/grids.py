"""`linspace`, `meshgrid`, `sequence_mask` and `unravel_index`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import as_dtype, bool_, float64
from berth.errors import InvalidArgumentError
from berth.ops.arrays.any_rank import Around
from berth.ops.arrays.array import expand_dims, reshape
from berth.ops.arrays.broadcasting import broadcast_to
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.filling import zeros_like
from berth.ops.arrays.joining import concat, stack
from berth.ops.arrays.metadata import size as size_of
from berth.ops.builder import apply
from berth.ops.compose import convert, is_integer, scope
from berth.ops.elementwise.arithmetic import maximum
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import less
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
from berth.ops.reductions.reduction import reduce_max
from berth.ops.rules import INDEX, check_rank
from berth.ops.shape import bracketed
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public, public_v1

# --- linspace -----------------------------------------------------------------------------


@public("linspace")
@public_v1("lin_space")
def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """Evenly spaced values from `start` to `stop`, both included, along a new axis.

    >>> linspace(0.0, 3.0, 4).numpy().tolist()
    [0.0, 1.0, 2.0, 3.0]
    >>> linspace([0.0, 1.0], [2.0, 1.0], 3, axis=-1).numpy().tolist()
    [[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]
    """
    with scope("linspace", name):
        first = convert(start, None, "start")
        last = convert(stop, first.dtype.base_dtype, "stop")
        if first.dtype.is_integer:
            first, last = cast(first, float64), cast(last, float64)
        zero = zeros_like(last - first)
        first, last = first + zero, last + zero
        if zero.dims is not None:
            return _steps(expand_dims(first, axis), expand_dims(last, axis), num, axis)
        around, other = Around.between(first, axis), Around.between(last, axis)
        return around.restored(_steps(around.block, other.block, num, 1))


def _steps(begin: Any, end: Any, num: Any, axis: int) -> Tensor:
    """Interpolate between two tensors along an axis that has size 1 in both."""
    dtype, rank = begin.dtype.base_dtype, len(begin.dims)
    axis %= rank
    if is_integer(num) and int(num) < 0:
        range_op(1, num)  # which says what is wrong
    n_steps = max(int(num) - 1, 1) if is_integer(num) else maximum(num - 1, 1)
    along = [1] * rank
    along[axis] = -1
    counts = reshape(cast(range_op(1, n_steps), dtype), along)
    step = (end - begin) / cast(n_steps, dtype)
    points = concat([begin, begin + step * counts, end], axis)
    if is_integer(num) and int(num) > 1:
        return points
    first_points = (*(slice(None),) * axis, slice(None, num))
    return points[first_points]


# --- meshgrid -----------------------------------------------------------------------------


@public("meshgrid")
def meshgrid(*args: Any, **kwargs: Any) -> list[Any]:
    """Coordinate grids from coordinate vectors.

    The first two axes are exchanged, as in a picture (`indexing` "xy"), unless it is "ij".

    >>> x, y = meshgrid([1, 2, 3], [4, 5])
    >>> x.numpy().tolist(), y.numpy().tolist()
    ([[1, 2, 3], [1, 2, 3]], [[4, 4, 4], [5, 5, 5]])
    """
    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        key = next(iter(kwargs))
        raise TypeError(f"'{key}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(
            f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'"
        )
    with scope("meshgrid", name):
        vectors = [reshape(convert(value), [-1]) for value in args]
        order = list(range(len(vectors)))
        if indexing == "xy" and len(vectors) > 1:
            order[:2] = [1, 0]
        if not vectors:
            return []
        sizes = stack([size_of(vectors[k]) for k in order])
        return [
            broadcast_to(reshape(v, [-1 if at == k else 1 for at in order]), sizes)
            for k, v in enumerate(vectors)
        ]


# --- sequence_mask ------------------------------------------------------------------------


@public("sequence_mask")
def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: DTypeLike = bool_, name: str | None = None
) -> Tensor:
    """Mask tensor: the first `lengths` elements of each row are true.

    >>> sequence_mask([1, 3], 4).numpy().tolist()
    [[True, False, False, False], [True, True, True, False]]
    """
    with scope("SequenceMask", name):
        lengths = convert(lengths)
        if maxlen is None:
            maxlen = maximum(reduce_max(lengths), convert(0, lengths.dtype.base_dtype))
        else:
            maxlen = convert(maxlen)
        if maxlen.dims:
            raise ValueError(
                "Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = "
                f"{maxlen} with shape '{maxlen.shape}' instead"
            )
        maxlen = cast(maxlen, lengths.dtype.base_dtype)
        counts = range_op(convert(0, maxlen.dtype), maxlen)
        mask = less(counts, expand_dims(lengths, -1))
        wanted = as_dtype(dtype).base_dtype
        return mask if wanted is bool_ else cast(mask, wanted)


# --- unravel_index ------------------------------------------------------------------------


def _coordinates_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    indices, dims = inputs
    check_rank(dims.dims, 1)
    dtype = indices.dtype.base_dtype
    n_axes = dims.dims[0] if dims.dims else None
    if indices.dims is None:
        return ((dtype, None),)
    if len(indices.dims) > 1:
        message = f'The indices can only be scalar or vector, got "{bracketed(indices.dims)}"'
        raise ValueError(message)
    return ((dtype, (n_axes, *indices.dims)),)


def _bind_coordinates(launch: Launch) -> Call:
    indices, dims = launch.inputs
    sizes = [int(size) for size in dims]
    strides = [int(np.prod(sizes[axis + 1 :], dtype=np.int64)) for axis in range(len(sizes))]
    if 0 in sizes:
        message = "Input dims cannot contain a dim of zero, but dims contains zero at index "
        raise InvalidArgumentError(None, None, f"{message}{sizes.index(0)}")
    return _coordinates, (launch.xp, indices, sizes, strides, launch.outputs[0])


def _coordinates(xp: Any, indices: Any, sizes: Any, strides: Any, out: Any) -> None:
    n_points = sizes[0] * strides[0] if sizes else 1
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= n_points):
        raise InvalidArgumentError(None, None, "index is out of bound as with dims")
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        row = out[axis, ...]
        xp.floor_divide(indices, stride, row)
        xp.remainder(row, size, row)


UNRAVEL_INDEX = OpDef(
    "UnravelIndex",
    "indices:Tidx dims:Tidx",
    _coordinates_type,
    types={"Tidx": INDEX},
    kernels=all_devices(_bind_coordinates, INDEX),
    host_inputs=(1,),
    gradient=NOT_DIFFERENTIABLE,
    samples=("i(3, 5), i(2, 3)",),
    large_samples=("columns.reshape(-1), i(16, 32)",),
)


@public("unravel_index")
def unravel_index(indices: TensorLike, dims: Any, name: str | None = None) -> Tensor:
    """Convert flat indices into coordinates, one row of the result for each axis.

    >>> unravel_index([2, 5], [2, 3]).numpy().tolist()
    [[0, 1], [2, 2]]
    """
    return apply(UNRAVEL_INDEX, (indices, dims), {}, name)
