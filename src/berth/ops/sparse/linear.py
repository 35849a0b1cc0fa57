"""Linear indices: each index of a sparse tensor as one number, in the order of its elements."""

from __future__ import annotations

from typing import Any

from berth.dtypes import int64
from berth.ops.arrays.array import reshape
from berth.ops.arrays.gathering import gather
from berth.ops.arrays.joining import stack
from berth.ops.arrays.sorting import argsort
from berth.ops.arrays.unique import unique
from berth.ops.elementwise.arithmetic import floordiv, mod
from berth.ops.elementwise.casting import cast
from berth.ops.reductions.cumulative import cumprod
from berth.ops.reductions.reduction import reduce_sum


def strides_of(shape: Any) -> Any:
    """Return how far apart neighbours along each axis are: of [2, 3], [3, 1]."""
    return cumprod(shape, exclusive=True, reverse=True)


def ravel(indices: Any, shape: Any) -> Any:
    """Return the linear indices of rows of indices."""
    return reduce_sum(indices * strides_of(shape), 1)


def unravel(numbers: Any, shape: Any) -> Any:
    """Return the rows of indices of linear indices."""
    return mod(floordiv(reshape(numbers, [-1, 1]), strides_of(shape)), shape)


def order(numbers: Any) -> Any:
    """Return the positions that sort linear indices; of equal ones the first comes first."""
    return argsort(numbers, stable=True)


def groups(numbers: Any) -> tuple[Any, Any]:
    """Return the different ones of linear indices, sorted, and the place of each among them."""
    found, places = unique(numbers)
    sorting = argsort(found)
    return gather(found, sorting), gather(argsort(sorting), places)


def columns(indices: Any, axes: list[int]) -> Any:
    """Return some columns of rows of indices."""
    if not axes:
        return reshape(cast(indices[:, :0], int64), [-1, 0])
    return stack([indices[:, axis] for axis in axes], 1)
