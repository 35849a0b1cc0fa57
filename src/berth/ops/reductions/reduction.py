"""Sums, products, extremes along axes: many elements become one.

At run time a reduction is one call of an array's own method, with axes made ready and the
output without the axes of size 1 that `keepdims` may ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL, NUMBERS, REAL, DType, bool_, float16, float32, int64, uint64
from berth.ops.arrays.array import constant, either_name
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.metadata import rank
from berth.ops.builder import apply
from berth.ops.compose import convert, is_eager, type_of
from berth.ops.opdef import Attrs, Bind, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.opdef import ScratchShapes as Scratch
from berth.ops.reductions.extremes import argmax as argmax
from berth.ops.reductions.extremes import argmin as argmin
from berth.ops.rules import INDEX, ShapeMismatch
from berth.ops.shape import Dims
from berth.ops.types import AxisLike, Tensor, TensorLike
from berth.public import public

# --- shape rule ---------------------------------------------------------------------------


def _reduced(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, indices = inputs
    return ((tensor.dtype.base_dtype, _reduced_dims(tensor.dims, indices.value, attrs)),)


def _reduced_dims(dims: Dims, indices: Any, attrs: Attrs) -> Dims:
    keep_dims = attrs["keep_dims"]
    if dims is None or dims == ():
        if dims is not None and indices is not None:
            _axes(indices, 0)
        return dims
    if indices is None:
        return (None,) * len(dims) if keep_dims else None
    axes = _axes(indices, len(dims))
    if keep_dims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(dims))
    return tuple(size for axis, size in enumerate(dims) if axis not in axes)


def _axes(indices: Any, rank: int) -> tuple[int, ...]:
    """Read the axes of a reduction; ValueError if the tensor does not have one of them."""
    axes = []
    for index in np.asarray(indices).reshape(-1):
        axis = int(index)
        if not -rank <= axis < rank:
            raise ShapeMismatch(
                f"Invalid reduction dimension {axis} for input with {rank} dimensions.",
                f"Invalid reduction dimension ({axis} for input with {rank} dimension(s)",
            )
        if axis % rank in axes:
            raise ValueError(
                f"Invalid reduction arguments: Axes contains duplicate dimension: {axis % rank}"
            )
        axes.append(axis % rank)
    return tuple(axes)


# --- kernels ------------------------------------------------------------------------------


def _ready(launch: Launch) -> tuple[Any, tuple[int, ...], Any]:
    """Return the input, the axes, and the output without axes that were kept."""
    tensor, out = launch.inputs[0], launch.outputs[0]
    axes = _axes(launch.inputs[1], tensor.ndim)
    left = [size for axis, size in enumerate(tensor.shape) if axis not in axes]
    return tensor, axes, out.reshape(left)


def _bind_by(method: str, *, is_typed: bool, of_nothing: Any) -> Bind:
    """Make a kernel of a method of arrays. `of_nothing` gives the result of no elements."""

    def bind(launch: Launch) -> Call:
        tensor, axes, out = _ready(launch)
        if tensor.size == 0:
            return out.fill, (of_nothing(out.dtype),)
        if is_typed:
            return getattr(tensor, method), (axes, _accumulator(out.dtype), out)
        return getattr(tensor, method), (axes, out)

    return bind


def _bind_truth(function: str, *, of_nothing: bool) -> Bind:
    """Make a kernel of NumPy's `all` or `any`, whose methods take other arguments."""

    def bind(launch: Launch) -> Call:
        tensor, axes, out = _ready(launch)
        if tensor.size == 0:
            return out.fill, (of_nothing,)
        return getattr(launch.xp, function), (tensor, axes, out)

    return bind


def _accumulator(dtype: Any) -> Any:
    return np.float32 if dtype == np.float16 else dtype


def _lowest(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _mean_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Ask for room to sum up short floats and integers in, and for what a division leaves."""
    dtype, dims = outputs[0]
    if dtype is float16:
        return ((float32, dims),)
    wide = uint64 if dtype.kind == "u" else int64
    return ((wide, dims), (wide, dims)) if dtype.is_integer else ()


def _bind_mean(launch: Launch) -> Call:
    tensor, axes, out = _ready(launch)
    n_elements = tensor.size // max(out.size, 1)
    if tensor.size == 0:
        return out.fill, (np.nan if out.dtype.kind in "fc" else 0,)
    if out.dtype.kind in "iu":
        total, left = (room.reshape(out.shape) for room in launch.scratch)
        add_up = tensor.sum, (axes, total.dtype, total)
        return _integer_mean, (launch.xp, *add_up, total, left, n_elements, out)
    total = launch.scratch[0].reshape(out.shape) if launch.scratch else out
    add_up = tensor.sum, (axes, total.dtype, total)
    return _mean, (*add_up, launch.xp.true_divide, (total, n_elements, out))


def _mean(add_up: Any, arguments: Any, divide: Any, parts: Any) -> None:
    add_up(*arguments)
    divide(*parts)


def _integer_mean(
    xp: Any, add_up: Any, arguments: Any, total: Any, left: Any, count: int, out: Any
) -> None:
    """Add up in wide integers, and divide as C does, towards zero."""
    add_up(*arguments)
    divisor = total.dtype.type(count)
    xp.fmod(total, divisor, left)
    xp.subtract(total, left, total)
    xp.floor_divide(total, divisor, total)
    xp.copyto(out, total, casting="same_kind")


def _reduction(
    name: str, bind: Bind, dtypes: Sequence[DType], scratch: Scratch | None = None
) -> OpDef:
    is_logical = dtypes == (bool_,)
    return OpDef(
        name,
        f"input:{'bool' if is_logical else 'T'} reduction_indices:Tidx",
        _reduced,
        types={"T": dtypes, "Tidx": INDEX},
        kernels=all_devices(bind, ALL if is_logical else dtypes, scratch),
        host_inputs=(1,),
    )


SUM = _reduction("Sum", _bind_by("sum", is_typed=True, of_nothing=lambda _: 0), NUMBERS)
PROD = _reduction("Prod", _bind_by("prod", is_typed=True, of_nothing=lambda _: 1), NUMBERS)
MAX = _reduction("Max", _bind_by("max", is_typed=False, of_nothing=_lowest), REAL)
MIN = _reduction("Min", _bind_by("min", is_typed=False, of_nothing=_highest), REAL)
ALL_TRUE = _reduction("All", _bind_truth("all", of_nothing=True), (bool_,))
ANY_TRUE = _reduction("Any", _bind_truth("any", of_nothing=False), (bool_,))
MEAN = _reduction("Mean", _bind_mean, NUMBERS, _mean_scratch)

# --- what users call ----------------------------------------------------------------------


def _reduce(
    op: OpDef, tensor: Any, axis: Any, keepdims: Any, name: str | None, old: tuple[Any, Any]
) -> Tensor:
    axis = either_name("axis", axis, "reduction_indices", old[0])
    keepdims = either_name("keepdims", keepdims, "keep_dims", old[1])
    if axis is not None:
        return apply(op, (tensor, axis), {"keep_dims": bool(keepdims)}, name)
    output = apply(op, (tensor, _every_axis(tensor)), {"keep_dims": bool(keepdims)}, name)
    if not keepdims and output.dims is None:
        output.set_shape(())
    return output


def _every_axis(tensor: Any) -> Any:
    """Number all axes, as TensorFlow does: by a constant where the rank is known."""
    if type_of(tensor) is not None:
        dims = convert(tensor).dims
        if dims:
            axes = tuple(range(len(dims)))
            return axes if is_eager() else constant(axes)
    return range_op(0, rank(tensor))


@public("reduce_sum", "math.reduce_sum")
def reduce_sum(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Add up the elements along axes, by default along all.

    >>> reduce_sum([[1, 2], [3, 4]]).numpy().tolist()
    10
    >>> reduce_sum([[1, 2], [3, 4]], axis=0).numpy().tolist()
    [4, 6]
    """
    return _reduce(SUM, input_tensor, axis, keepdims, name, (reduction_indices, keep_dims))


@public("reduce_mean", "math.reduce_mean")
def reduce_mean(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return the mean of the elements along axes, by default along all.

    >>> reduce_mean([[1.0, 2.0], [3.0, 4.0]], axis=1).numpy().tolist()
    [1.5, 3.5]
    """
    return _reduce(MEAN, input_tensor, axis, keepdims, name, (reduction_indices, keep_dims))


@public("reduce_prod", "math.reduce_prod")
def reduce_prod(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Multiply the elements along axes, by default along all.

    >>> reduce_prod([[1, 2], [3, 4]], axis=0, keepdims=True).numpy().tolist()
    [[3, 8]]
    """
    return _reduce(PROD, input_tensor, axis, keepdims, name, (reduction_indices, keep_dims))


@public("reduce_max", "math.reduce_max")
def reduce_max(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return the largest element along axes, by default along all.

    >>> reduce_max([[1, 2], [3, 4]], axis=1).numpy().tolist()
    [2, 4]
    """
    return _reduce(MAX, input_tensor, axis, keepdims, name, (reduction_indices, keep_dims))


@public("reduce_min", "math.reduce_min")
def reduce_min(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return the smallest element along axes, by default along all.

    >>> reduce_min([[1, 2], [3, 4]], axis=1).numpy().tolist()
    [1, 3]
    """
    return _reduce(MIN, input_tensor, axis, keepdims, name, (reduction_indices, keep_dims))


@public("reduce_all", "math.reduce_all")
def reduce_all(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Tell whether all elements along axes are true.

    >>> reduce_all([[True, False], [True, True]], axis=1).numpy().tolist()
    [False, True]
    """
    return _reduce(ALL_TRUE, input_tensor, axis, keepdims, name, (reduction_indices, keep_dims))


@public("reduce_any", "math.reduce_any")
def reduce_any(
    input_tensor: TensorLike,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Tell whether any element along axes is true.

    >>> reduce_any([[True, False], [False, False]], axis=1).numpy().tolist()
    [True, False]
    """
    return _reduce(ANY_TRUE, input_tensor, axis, keepdims, name, (reduction_indices, keep_dims))
