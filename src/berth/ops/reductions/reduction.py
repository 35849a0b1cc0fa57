"""Reductions: sum, mean, product, maximum, minimum, all and any along axes.

At run time a reduction is one call of an array's own method, with axes computed before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from berth.dtypes import ALL, NUMBERS, REAL, DType, bool_, float16, float32, int64, uint64
from berth.ops.arrays import array, broadcasting, gathering, metadata
from berth.ops.arrays.array import constant, either_name
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.metadata import rank
from berth.ops.attributes import FixedAttrs
from berth.ops.builder import apply
from berth.ops.compose import convert, is_eager, type_of
from berth.ops.declare import publish
from berth.ops.elementwise import arithmetic, compare, unary
from berth.ops.elementwise.casting import cast
from berth.ops.gradient import RecordedOp
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Bind,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    all_devices,
)
from berth.ops.opdef import ScratchShapes as Scratch
from berth.ops.reductions.argmax import argmax as argmax
from berth.ops.reductions.argmax import argmin as argmin
from berth.ops.rules import INDEX, ShapeMismatch
from berth.ops.shape import Dims, TensorShape, is_known
from berth.ops.type_spec import CompositeTensor
from berth.ops.types import AxisLike, Tensor, TensorLike

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


def _bind_by(method: str, *, is_typed: bool, of_nothing: Any) -> Bind:
    """Make a kernel from a method of arrays. `of_nothing` gives the result for no elements."""

    def bind(launch: Launch) -> Call:
        tensor, out, keeps = launch.inputs[0], launch.outputs[0], launch.attrs["keep_dims"]
        axes = _axes(launch.inputs[1], tensor.ndim)
        if tensor.size == 0:
            return out.fill, (of_nothing(out.dtype),)
        if is_typed:
            return getattr(tensor, method), (axes, _accumulator(out.dtype), out, keeps)
        return getattr(tensor, method), (axes, out, keeps)

    return bind


def _bind_truth(function: str, *, of_nothing: bool) -> Bind:
    """Make a kernel from NumPy's `all` or `any`, whose methods take other arguments."""

    def bind(launch: Launch) -> Call:
        tensor, out, keeps = launch.inputs[0], launch.outputs[0], launch.attrs["keep_dims"]
        axes = _axes(launch.inputs[1], tensor.ndim)
        if tensor.size == 0:
            return out.fill, (of_nothing,)
        return getattr(launch.xp, function), (tensor, axes, out, keeps)

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
    """Scratch memory: sums of short floats and integers, and remainders."""
    dtype, dims = outputs[0]
    if dtype is float16:
        return ((float32, dims),)
    wide = uint64 if dtype.kind == "u" else int64
    return ((wide, dims), (wide, dims)) if dtype.is_integer else ()


def _bind_mean(launch: Launch) -> Call:
    tensor, out, keeps = launch.inputs[0], launch.outputs[0], launch.attrs["keep_dims"]
    axes = _axes(launch.inputs[1], tensor.ndim)
    n_elements = tensor.size // max(out.size, 1)
    if tensor.size == 0:
        return out.fill, (np.nan if out.dtype.kind in "fc" else 0,)
    if out.dtype.kind in "iu":
        total, left = launch.scratch
        return _integer_mean, (launch.xp, tensor, axes, keeps, total, left, n_elements, out)
    total = launch.scratch[0] if launch.scratch else out
    return _mean, (launch.xp.true_divide, tensor, axes, keeps, total, n_elements, out)


def _mean(
    divide: Any, tensor: Any, axes: Any, keeps: bool, total: Any, count: int, out: Any
) -> None:
    tensor.sum(axes, total.dtype, total, keeps)
    divide(total, count, out)


def _integer_mean(
    xp: Any, tensor: Any, axes: Any, keeps: bool, total: Any, left: Any, count: int, out: Any
) -> None:
    """Sum in wide integers, and divide as C does, towards zero."""
    tensor.sum(axes, total.dtype, total, keeps)
    divisor = total.dtype.type(count)
    xp.fmod(total, divisor, left)
    xp.subtract(total, left, total)
    xp.floor_divide(total, divisor, total)
    xp.copyto(out, total, casting="same_kind")


# --- what users call ----------------------------------------------------------------------


_KEEP_DIMS, _DROP_DIMS = FixedAttrs(keep_dims=True), FixedAttrs(keep_dims=False)


class ReductionFunction(Protocol):
    """A reduction of a tensor along axes, by default along all."""

    def __call__(
        self,
        input_tensor: TensorLike,
        axis: AxisLike = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Tensor: ...


def _reduction(
    op_name: str,
    bind: Bind,
    dtypes: Sequence[DType],
    scratch: Scratch | None = None,
    *,
    doc: str,
    example: tuple[str, str],
    gradient: Any,
    sample: str,
    large_samples: Sequence[str] = (),
) -> tuple[OpDef, ReductionFunction]:
    """Declare a reduction: its definition, and ``tf.reduce_…`` of both APIs."""
    is_logical = dtypes == (bool_,)
    op = OpDef(
        op_name,
        f"input:{'bool' if is_logical else 'T'} reduction_indices:Tidx",
        _reduced,
        types={"T": dtypes, "Tidx": INDEX},
        kernels=all_devices(bind, ALL if is_logical else dtypes, scratch),
        host_inputs=(1,),
        gradient=gradient,
        samples=(sample,),
        large_samples=large_samples,
    )

    def reduce(
        input_tensor: TensorLike,
        axis: AxisLike = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        if reduction_indices is not None:
            axis = either_name("axis", axis, "reduction_indices", reduction_indices)
        if keep_dims is not None:
            keepdims = either_name("keepdims", keepdims, "keep_dims", keep_dims)
        attrs = _KEEP_DIMS if keepdims else _DROP_DIMS
        if axis is not None:
            return apply(op, (input_tensor, axis), attrs, name)
        output = apply(op, (input_tensor, _every_axis(input_tensor)), attrs, name)
        if not keepdims and output.dims is None:
            output.set_shape(())
        return output

    name = f"reduce_{op_name.lower()}"
    return op, publish(reduce, doc, example, (name, f"math.{name}"), ())


def _every_axis(tensor: Any) -> Any:
    """Return the indices of all axes, as a constant where the rank is known."""
    if type_of(tensor) is not None:
        if isinstance(tensor, CompositeTensor):
            return list(range(getattr(tensor, "shape", TensorShape(())).rank or 0))
        dims = tensor.dims if hasattr(tensor, "dims") else convert(tensor).dims
        if dims:
            axes = tuple(range(len(dims)))
            return axes if is_eager() else constant(axes)
    return range_op(0, rank(tensor))


# --- gradients ----------------------------------------------------------------------------


def _with_axes(op: RecordedOp, tensor: Any) -> Any:
    """Reshape a tensor of the output's shape to keep the reduced axes with size 1."""
    if op.attrs["keep_dims"]:
        return tensor
    x, indices = op.inputs
    if x.dims is not None and indices.value is not None:
        axes = {int(axis) % len(x.dims) for axis in np.ravel(indices.value)}
        kept = [1 if axis in axes else size for axis, size in enumerate(x.dims)]
        if kept.count(None) <= 1 and 0 not in kept:
            return array.reshape(tensor, [-1 if size is None else size for size in kept])
    # Only the shape of this is used, so no kernel computes it.
    wide = apply(op.definition, op.inputs, {"keep_dims": True})
    return array.reshape(tensor, metadata.shape(wide))


def _sum_gradient(op: RecordedOp, grad: Any) -> Any:
    return broadcasting.broadcast_to(_with_axes(op, grad), metadata.shape(op.inputs[0])), None


def _mean_gradient(op: RecordedOp, grad: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    count: Any
    if is_known(x.dims) and is_known(y.dims):
        count = max(math.prod(x.dims) // max(math.prod(y.dims), 1), 1)
    else:
        n_summed = metadata.size(x) // arithmetic.maximum(metadata.size(y), 1)
        count = cast(arithmetic.maximum(n_summed, 1), grad.dtype)
    return broadcasting.broadcast_to(_with_axes(op, grad / count), metadata.shape(x)), None


def _product_gradient(op: RecordedOp, grad: Any) -> Any:
    """Product of the other elements, without dividing by zero.

    Zeros are left out of the product and put back where they matter: one other zero stands
    for itself (for the second derivative); with more than one, the gradient is zero.
    """
    x, indices = op.inputs
    is_zero = compare.equal(x, 0)
    factors = gathering.where_v2(is_zero, 1, x)
    others = reduce_prod(factors, indices, keepdims=True) / factors
    zeros = gathering.where_v2(is_zero, x, 0)
    other_zeros = reduce_sum(zeros, indices, keepdims=True) - zeros
    ones = cast(is_zero, x.dtype)
    n_others = reduce_sum(ones, indices, keepdims=True) - ones
    beside_one = gathering.where_v2(compare.equal(n_others, 1), other_zeros, 0)
    by_zeros = gathering.where_v2(compare.equal(n_others, 0), 1, beside_one)
    return _with_axes(op, grad) * unary.conj(others * by_zeros), None


def _extreme_gradient(op: RecordedOp, grad: Any) -> Any:
    """Share the gradient among the elements equal to the extreme."""
    x, indices = op.inputs
    is_extreme = cast(compare.equal(x, _with_axes(op, op.outputs[0])), x.dtype)
    n_extremes = reduce_sum(is_extreme, indices, keepdims=True)
    return is_extreme * (_with_axes(op, grad) / n_extremes), None


# --- the reductions -----------------------------------------------------------------------

SUM, reduce_sum = _reduction(
    "Sum",
    _bind_by("sum", is_typed=True, of_nothing=lambda _: 0),
    NUMBERS,
    doc="Sum of the elements along axes, by default along all.",
    example=("[[1, 2], [3, 4]], axis=0", "[4, 6]"),
    gradient=_sum_gradient,
    sample="f(2, 3), i(0), keep_dims=False",
    large_samples=("square, i(0), keep_dims=False",),
)

MEAN, reduce_mean = _reduction(
    "Mean",
    _bind_mean,
    NUMBERS,
    _mean_scratch,
    doc="Mean of the elements along axes, by default along all.",
    example=("[[1.0, 2.0], [3.0, 4.0]], axis=1", "[1.5, 3.5]"),
    gradient=_mean_gradient,
    sample="f(2, 3, 4), i(1), keep_dims=True",
    large_samples=(
        "square, i(1), keep_dims=True",
        "square.astype(np.int32), i(0), keep_dims=True",
    ),
)

PROD, reduce_prod = _reduction(
    "Prod",
    _bind_by("prod", is_typed=True, of_nothing=lambda _: 1),
    NUMBERS,
    doc="Product of the elements along axes, by default along all.",
    example=("[[1, 2], [3, 4]], axis=0, keepdims=True", "[[3, 8]]"),
    gradient=_product_gradient,
    sample="f(2, 3, 4), i(), keep_dims=False",
)

MAX, reduce_max = _reduction(
    "Max",
    _bind_by("max", is_typed=False, of_nothing=_lowest),
    REAL,
    doc="Maximum of the elements along axes, by default along all.",
    example=("[[1, 2], [3, 4]], axis=1", "[2, 4]"),
    gradient=_extreme_gradient,
    sample="f(2, 3, 4), i(-1, 0), keep_dims=False",
    large_samples=("square, i(0), keep_dims=False",),
)

MIN, reduce_min = _reduction(
    "Min",
    _bind_by("min", is_typed=False, of_nothing=_highest),
    REAL,
    doc="Minimum of the elements along axes, by default along all.",
    example=("[[1, 2], [3, 4]], axis=1", "[1, 3]"),
    gradient=_extreme_gradient,
    sample="f(2, 3, 4), at(2), keep_dims=False",
)

ALL_TRUE, reduce_all = _reduction(
    "All",
    _bind_truth("all", of_nothing=True),
    (bool_,),
    doc="Logical and of the elements along axes, by default along all.",
    example=("[[True, False], [True, True]], axis=1", "[False, True]"),
    gradient=NOT_DIFFERENTIABLE,
    sample="truth, i(1), keep_dims=False",
)

ANY_TRUE, reduce_any = _reduction(
    "Any",
    _bind_truth("any", of_nothing=False),
    (bool_,),
    doc="Logical or of the elements along axes, by default along all.",
    example=("[[True, False], [False, False]], axis=1", "[True, False]"),
    gradient=NOT_DIFFERENTIABLE,
    sample="truth, i(0, 1), keep_dims=True",
)
