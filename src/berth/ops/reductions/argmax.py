"""Indices of the largest and smallest elements along an axis: argmax and argmin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import REAL, as_dtype, bool_, int16, int64, uint16
from berth.errors import InvalidArgumentError
from berth.ops.arrays.array import either_name
from berth.ops.attributes import check_type
from berth.ops.builder import apply
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
from berth.ops.rules import INDEX, ShapeMismatch
from berth.ops.shape import Dims, bracketed
from berth.ops.types import AxisLike, DTypeLike, Tensor, TensorLike
from berth.public import public_v1, public_v2

_POSITIONS = (int16, uint16, *INDEX)


def _position_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, dimension = inputs
    dtype, dims = attrs["output_type"], tensor.dims
    check_type("ArgMax", "output_type", dtype, _POSITIONS)
    if dims is None:
        return ((dtype, None),)
    if dimension.value is None:
        return ((dtype, (None,) * max(len(dims) - 1, 0)),)
    axis, n_axes = int(dimension.value), max(len(dims), 1)
    if not -n_axes <= axis < n_axes:
        raise ShapeMismatch(
            f"Dimension ({axis}) must be in the range [-{n_axes}, {n_axes}), where {n_axes} is "
            "the number of dimensions in the input.",
            f"Expected dimension in the range [-{n_axes}, {n_axes}), but got {axis}",
        )
    axis %= n_axes
    return ((dtype, dims[:axis] + dims[axis + 1 :]),)


def _position_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory: a transposed input if the axis is not the last, and wide indices.

    NumPy searches along the last axis, and would make that copy itself.
    """
    tensor, (dtype, dims) = inputs[0], outputs[0]
    last = len(tensor.dims or ()) - 1
    axis = int(inputs[1].value) % max(last + 1, 1)
    moved: Dims = () if dims is None else (*dims, (tensor.dims or (1,))[axis])
    needed: list[OutputType] = [] if axis == max(last, 0) else [(tensor.dtype, moved)]
    return needed if dtype is int64 else [*needed, (int64, dims)]


def _bind_position(method: str) -> Bind:
    def bind(launch: Launch) -> Call:
        tensor, out = launch.inputs[0], launch.outputs[0]
        if not tensor.ndim:
            message = f"Expected dimension in the range [0, 0), but got {launch.inputs[1]}"
            raise InvalidArgumentError(None, None, message)
        axis = int(launch.inputs[1]) % tensor.ndim
        if not tensor.shape[axis] and out.size:
            message = f"Reduction axis {axis} is empty in shape {bracketed(tensor.shape)}"
            raise InvalidArgumentError(None, None, message)
        is_last = axis == tensor.ndim - 1
        moved = tensor if is_last else launch.xp.moveaxis(tensor, axis, -1)
        searched = tensor if is_last else launch.scratch[0]
        found = out if out.dtype == np.int64 else launch.scratch[-1]
        find: Call = getattr(searched, method), (-1, found)
        if tensor.dtype.kind == "f":
            find = _find_number, (launch.xp, find, searched, _LEAST[method])
        if searched is tensor and found is out:
            return find
        return _find, (launch.xp.copyto, (searched, moved), find, (out, found))

    return bind


_LEAST = {"argmax": -np.inf, "argmin": np.inf}
"""What NaN counts as: it is chosen only if there is nothing else, and then the first."""


def _find_number(xp: Any, find: Call, searched: Any, least: float) -> None:
    """Find the largest or smallest; again without NaN if that is what NumPy found."""
    function, (axis, found) = find
    function(axis, found)
    if searched.size and xp.isnan(searched.max()):
        numbers = xp.where(xp.isnan(searched), searched.dtype.type(least), searched)
        getattr(numbers, function.__name__)(axis, found)


def _find(copyto: Any, pair: tuple[Any, Any], find: Call, result: tuple[Any, Any]) -> None:
    searched, moved = pair
    if searched is not moved:
        copyto(searched, moved)
    find[0](*find[1])
    out, found = result
    if found is not out:
        copyto(out, found, casting="unsafe")


def _position(name: str, method: str, sample: str, large_samples: Sequence[str] = ()) -> OpDef:
    dtypes = (*REAL, bool_)
    return OpDef(
        name,
        "input:T dimension:Tidx",
        _position_type,
        types={"T": dtypes, "Tidx": (int16, *INDEX)},
        kernels=all_devices(_bind_position(method), dtypes, _position_scratch),
        host_inputs=(1,),
        gradient=NOT_DIFFERENTIABLE,
        samples=(sample,),
        large_samples=large_samples,
    )


ARG_MAX = _position(
    "ArgMax",
    "argmax",
    "f(2, 3), at(1), output_type=int64",
    large_samples=("square, at(0), output_type=int32",),
)
ARG_MIN = _position("ArgMin", "argmin", "f(2, 3), at(-2), output_type=int32")


@public_v1("argmax", "math.argmax")
def argmax(
    input: TensorLike,
    axis: AxisLike = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: DTypeLike = int64,
) -> Tensor:
    """Index of the largest element along an axis, with TensorFlow 1's argument names.

    >>> argmax([[1, 9], [5, 2]]).numpy().tolist()
    [1, 0]
    """
    axis = either_name("axis", axis, "dimension", dimension)
    attrs = {"output_type": as_dtype(output_type)}
    return apply(ARG_MAX, (input, 0 if axis is None else axis), attrs, name)


@public_v1("argmin", "math.argmin")
def argmin(
    input: TensorLike,
    axis: AxisLike = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: DTypeLike = int64,
) -> Tensor:
    """Index of the smallest element along an axis, with TensorFlow 1's argument names.

    >>> argmin([[1, 9], [5, 2]], axis=1).numpy().tolist()
    [0, 1]
    """
    axis = either_name("axis", axis, "dimension", dimension)
    attrs = {"output_type": as_dtype(output_type)}
    return apply(ARG_MIN, (input, 0 if axis is None else axis), attrs, name)


@public_v2("argmax", "math.argmax")
def argmax_v2(
    input: TensorLike,
    axis: AxisLike = None,
    output_type: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Index of the largest element along an axis, by default axis 0.

    >>> argmax_v2([3, 7, 5], 0, "int32").numpy().tolist()
    1
    """
    return argmax(input, axis, name, output_type=output_type)


@public_v2("argmin", "math.argmin")
def argmin_v2(
    input: TensorLike,
    axis: AxisLike = None,
    output_type: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Index of the smallest element along an axis, by default axis 0.

    >>> argmin_v2([3, 7, 5], 0, "int32").numpy().tolist()
    0
    """
    return argmin(input, axis, name, output_type=output_type)
