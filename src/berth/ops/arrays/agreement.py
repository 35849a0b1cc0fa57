"""Broadcast shapes, `ensure_shape`, `shape_n`, `identity_n` and `bitcast`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL, NUMBERS, DType, as_dtype, int32
from berth.errors import InvalidArgumentError
from berth.ops.arrays.array import identity
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.attributes import check_type
from berth.ops.builder import apply
from berth.ops.compose import scope
from berth.ops.gradient import RecordedOp, gradient
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
from berth.ops.rules import (
    INDEX,
    ShapeMismatch,
    all_devices_but_strings,
    check_again,
    check_rank,
    from_host,
    merge_dims,
)
from berth.ops.shape import Dims, TensorShape, bracketed, broadcast
from berth.ops.types import DTypeLike, ShapeLike, Tensor, TensorLike, TensorList
from berth.public import public

# --- one shape for two --------------------------------------------------------------------


@public("broadcast_static_shape")
def broadcast_static_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """Shape that two shapes broadcast to, as far as it is known.

    >>> broadcast_static_shape(TensorShape([2, 1]), TensorShape([3]))
    TensorShape([2, 3])
    """
    x, y = TensorShape(shape_x), TensorShape(shape_y)
    try:
        return TensorShape(broadcast(x.dims_or_none, y.dims_or_none))
    except ValueError:
        raise ValueError(
            "Incompatible shapes for broadcasting. Two shapes are compatible if for each "
            "dimension pair they are either equal or one of them is 1. "
            f"Received: {x} and {y}."
        ) from None


def _common_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    ranks = []
    for tensor in inputs:
        check_rank(tensor.dims, 1)
        ranks.append(tensor.dims[0] if tensor.dims else None)
    known = [rank for rank in ranks if rank is not None]
    return ((inputs[0].dtype.base_dtype, (max(known) if len(known) == 2 else None,)),)


def _bind_common(launch: Launch) -> Call:
    out = launch.outputs[0]
    x, y = (tuple(int(size) for size in sizes) for sizes in launch.inputs)
    try:
        dims = broadcast(x, y)
    except ValueError as error:
        raise InvalidArgumentError(None, None, str(error)) from None
    return from_host(out, np.array(dims, out.dtype))


BROADCAST_ARGS = OpDef(
    "BroadcastArgs",
    "s0:Tidx s1:Tidx",
    _common_type,
    types={"Tidx": INDEX},
    kernels=all_devices(_bind_common, INDEX),
    host_inputs=(0, 1),
    gradient=NOT_DIFFERENTIABLE,
    samples=("i(2, 1), i(3)",),
)


@public("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """Shape that two shapes broadcast to, as a tensor.

    >>> broadcast_dynamic_shape([2, 1], [3]).numpy().tolist()
    [2, 3]
    """
    return apply(BROADCAST_ARGS, (shape_x, shape_y), {})


# --- made sure of -------------------------------------------------------------------------


def _ensured(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, wanted = inputs[0], attrs["shape"].dims_or_none
    at_run = (
        f"Shape of tensor input {bracketed(tensor.dims)} is not compatible with expected shape "
        f"{bracketed(wanted)}."
    )
    if wanted is not None:
        try:
            check_rank(tensor.dims, len(wanted))
        except ValueError as error:
            raise ShapeMismatch(str(error), at_run) from None
    return ((tensor.dtype.base_dtype, merge_dims(wanted, tensor.dims, at_run)),)


def _bind_ensure(launch: Launch) -> Call:
    check_again(_ensured, launch)
    return launch.xp.copyto, (launch.outputs[0], launch.inputs[0])


ENSURE_SHAPE = OpDef(
    "EnsureShape",
    "input:T",
    _ensured,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_ensure),
    samples=("f(2, 3), shape=TensorShape([None, 3])",),
    large_samples=("square, shape=TensorShape([512, 512])",),
)


@public("ensure_shape")
def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Check the shape of a tensor when it is computed, and return the tensor.

    >>> ensure_shape([[1, 2]], [None, 2]).numpy().tolist()
    [[1, 2]]
    """
    return apply(ENSURE_SHAPE, (x,), {"shape": TensorShape(shape)}, name)


@gradient(ENSURE_SHAPE)
def _ensure_shape_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad


# --- of several ---------------------------------------------------------------------------


@public("shape_n")
def shape_n(
    input: TensorList, out_type: DTypeLike = int32, name: str | None = None
) -> list[Tensor]:
    """Shapes of several tensors.

    >>> [sizes.numpy().tolist() for sizes in shape_n([[1, 2], [[3]]])]
    [[2], [1, 1]]
    """
    with scope("ShapeN", name):
        return [shape_of(tensor, out_type=out_type) for tensor in input]


@public("identity_n")
def identity_n(input: TensorList, name: str | None = None) -> list[Tensor]:
    """Identity of several tensors.

    >>> [tensor.numpy().tolist() for tensor in identity_n([[1, 2], 3.0])]
    [[1, 2], 3.0]
    """
    with scope("IdentityN", name):
        return [identity(tensor) for tensor in input]


# --- the same bytes -----------------------------------------------------------------------


def _bitcast_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, wanted = inputs[0], attrs["type"]
    return ((wanted, _bitcast_dims(tensor.dims, tensor.dtype.base_dtype, wanted)),)


def _bitcast_dims(dims: Dims, old: DType, new: DType) -> Dims:
    """Work out the shape: an element of many bytes becomes a row of smaller ones, and back."""
    if dims is None or old.itemsize == new.itemsize:
        return dims
    if old.itemsize > new.itemsize:
        return (*dims, old.itemsize // new.itemsize)
    n_parts = new.itemsize // old.itemsize
    if not dims or dims[-1] not in (n_parts, None):
        last = dims[-1] if dims else 1
        raise ShapeMismatch(
            f"Cannot bitcast from {old.itemsize} to {new.itemsize} due to shape. {last} does "
            f"not match {n_parts}",
            f"Cannot bitcast from {old.type_string} to {new.type_string}: shape "
            f"{bracketed(dims)}",
        )
    return dims[:-1]


def _bind_bitcast(launch: Launch) -> Call:
    source, out = launch.inputs[0], launch.outputs[0]
    return launch.xp.copyto, (out.reshape(-1).view(np.uint8), source.reshape(-1).view(np.uint8))


BITCAST = OpDef(
    "Bitcast",
    "input:T",
    _bitcast_type,
    types={"T": NUMBERS},
    kernels=all_devices(_bind_bitcast, NUMBERS),
    gradient=NOT_DIFFERENTIABLE,
    samples=(
        "f(2, 3), type=int32",
        "f(3, 2), type=float64",
        "f(2), type=uint64",
        "d(2), type=int32",
    ),
)


@public("bitcast")
def bitcast(input: TensorLike, type: Any, name: str | None = None) -> Tensor:
    """Reinterpret the bytes of a tensor as elements of another type.

    >>> bitcast([1.0, -2.0], "int32").numpy().tolist()
    [1065353216, -1073741824]
    """
    wanted = as_dtype(type).base_dtype
    check_type("Bitcast", "type", wanted, NUMBERS)
    return apply(BITCAST, (input,), {"type": wanted}, name)
