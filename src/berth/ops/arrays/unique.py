"""`unique` and `unique_with_counts`: unique elements in the order of occurrence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import ALL, as_dtype, int32
from berth.ops.builder import apply
from berth.ops.opdef import NOT_DIFFERENTIABLE, Attrs, Call, Launch, OpDef, OutputType, Typed
from berth.ops.rules import INDEX, ShapeMismatch, all_devices_but_strings, check_rank
from berth.ops.types import TensorLike
from berth.public import public


class Unique(NamedTuple):
    """Unique elements, and the index of each element among them."""

    y: Any
    idx: Any


class UniqueWithCounts(NamedTuple):
    """Unique elements, the index of each element among them, and their counts."""

    y: Any
    idx: Any
    count: Any


def _check_vector(x: Typed, what: str) -> None:
    try:
        check_rank(x.dims, 1)
    except ValueError as error:
        raise ShapeMismatch(str(error), f"{what} expects a 1D vector.") from None


def _unique_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    x, dtype = inputs[0], attrs["out_idx"]
    _check_vector(x, "unique")
    n_different = None if x.value is None else _distinct(np, x.value)[0].size
    n_elements = x.dims[0] if x.dims else None
    return ((x.dtype.base_dtype, (n_different,)), (dtype, (n_elements,)))


def _counted_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    different, which = _unique_type(inputs, attrs)
    return (different, which, (attrs["out_idx"], different[1]))


def _distinct(xp: Any, values: Any) -> tuple[Any, Any, Any]:
    """Return the first position, index and count of each unique element."""
    _, first, which, counts = xp.unique(
        values, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    order = xp.argsort(first)
    number = xp.empty_like(order)
    number[order] = xp.arange(order.size)
    return first[order], number[which], counts[order]


def _bind_unique(launch: Launch) -> Call:
    return _unique, (launch.xp, launch.inputs[0], tuple(launch.outputs))


def _unique(xp: Any, values: Any, outputs: Sequence[Any]) -> None:
    first, which, counts = _distinct(xp, values)
    for out, found in zip(outputs, (values[first], which, counts), strict=False):
        out[...] = found


UNIQUE = OpDef(
    "Unique",
    "x:T",
    _unique_type,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_unique),
    shape_inputs=(0,),
    gradient=NOT_DIFFERENTIABLE,
    samples=("i(3, 1, 3), out_idx=int32",),
)
UNIQUE_WITH_COUNTS = OpDef(
    "UniqueWithCounts",
    "x:T",
    _counted_type,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_unique),
    shape_inputs=(0,),
    gradient=NOT_DIFFERENTIABLE,
    samples=("text('b', 'a', 'b'), out_idx=int64",),
)


@public("unique")
def unique(x: TensorLike, out_idx: Any = int32, name: str | None = None) -> Unique:
    """Unique elements of a vector, and the index of each element among them.

    >>> y, idx = unique([7, 3, 7, 5])
    >>> y.numpy().tolist(), idx.numpy().tolist()
    ([7, 3, 5], [0, 1, 0, 2])
    """
    return Unique(*apply(UNIQUE, (x,), {"out_idx": as_dtype(out_idx)}, name))


@public("unique_with_counts")
def unique_with_counts(
    x: TensorLike, out_idx: Any = int32, name: str | None = None
) -> UniqueWithCounts:
    """Unique elements of a vector, the index of each element, and their counts.

    >>> y, idx, count = unique_with_counts([7, 3, 7, 5])
    >>> y.numpy().tolist(), count.numpy().tolist()
    ([7, 3, 5], [2, 1, 1])
    """
    attrs = {"out_idx": as_dtype(out_idx)}
    return UniqueWithCounts(*apply(UNIQUE_WITH_COUNTS, (x,), attrs, name))


# --- along an axis ------------------------------------------------------------------------


def _axis_of(x: Typed, axis: Typed) -> int | None:
    """Return the axis along which slices are compared; None while it is not known."""
    if axis.value is None or x.dims is None:
        return None
    given = axis.value.reshape(-1).tolist()
    if not given:
        _check_vector(x, "unique")
        return 0
    rank = len(x.dims)
    position = given[0] + rank if given[0] < 0 else given[0]
    if not 0 <= position < rank:
        message = f"axis has to be between [0, {rank})"
        raise ShapeMismatch(message, message)
    return int(position)


def _slices(xp: Any, values: Any, axis: int) -> tuple[Any, Any, Any]:
    """Return the first position, index and count of each unique slice."""
    rows = xp.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
    if rows.shape[1] == 1:
        return _distinct(xp, rows[:, 0])
    if values.dtype == object:  # NumPy compares rows of numbers only
        tuples = np.empty(len(rows), object)
        tuples[:] = [tuple(row) for row in rows.tolist()]
        return _distinct(np, tuples)
    _, first, which, counts = xp.unique(
        rows, return_index=True, return_inverse=True, return_counts=True, axis=0
    )
    order = xp.argsort(first)
    number = xp.empty_like(order)
    number[order] = xp.arange(order.size)
    return first[order], number[which.reshape(-1)], counts[order]


def _slices_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    x, dtype = inputs[0], attrs["out_idx"]
    axis = _axis_of(x, inputs[1])
    if axis is None or x.dims is None:
        unknown = None if x.dims is None else (None,) * len(x.dims)
        return ((x.dtype.base_dtype, unknown), (dtype, (None,)))
    n_different = None if x.value is None else _slices(np, x.value, axis)[0].size
    dims = (*x.dims[:axis], n_different, *x.dims[axis + 1 :])
    return ((x.dtype.base_dtype, dims), (dtype, (x.dims[axis],)))


def _counted_slices_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    different, which = _slices_type(inputs, attrs)
    axis = _axis_of(inputs[0], inputs[1])
    n_different = None if axis is None or different[1] is None else different[1][axis]
    return (different, which, (attrs["out_idx"], (n_different,)))


def _bind_slices(launch: Launch) -> Call:
    values = launch.inputs[0]
    given = launch.inputs[1].reshape(-1).tolist()
    axis = given[0] % values.ndim if given else 0
    return _unique_slices, (launch.xp, values, axis, tuple(launch.outputs))


def _unique_slices(xp: Any, values: Any, axis: int, outputs: Sequence[Any]) -> None:
    first, which, counts = _slices(xp, values, axis)
    found = (xp.take(values, first, axis), which, counts)
    for out, part in zip(outputs, found, strict=False):
        out[...] = part


def _slices_op(name: str, infer: Any, sample: str) -> OpDef:
    return OpDef(
        name,
        "x:T axis:Taxis",
        infer,
        types={"T": ALL, "Taxis": INDEX},
        kernels=all_devices_but_strings(_bind_slices),
        host_inputs=(1,),
        shape_inputs=(0,),
        gradient=NOT_DIFFERENTIABLE,
        samples=(sample,),
    )


UNIQUE_V2 = _slices_op("UniqueV2", _slices_type, "f(3, 2), i(1), out_idx=int32")
UNIQUE_WITH_COUNTS_V2 = _slices_op(
    "UniqueWithCountsV2", _counted_slices_type, "f(3, 2), i(1), out_idx=int64"
)
