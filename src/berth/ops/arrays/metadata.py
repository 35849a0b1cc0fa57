"""`shape`, `shape_n`, `size` and `rank` of tensors.

Where a shape is known in full while the graph is built, the answer is a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL, as_dtype, int32
from berth.ops.arrays.array import constant
from berth.ops.attributes import check_type
from berth.ops.builder import apply
from berth.ops.compose import convert, is_tensor, scope
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
from berth.ops.rules import INDEX, from_host
from berth.ops.shape import Dims, is_known
from berth.ops.types import DTypeLike, Tensor, TensorLike, TensorList
from berth.public import public, public_v1, public_v2


def _shape_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims = inputs[0].dims
    check_type("Shape", "out_type", attrs["out_type"], INDEX)
    return ((attrs["out_type"], (None if dims is None else len(dims),)),)


def _bind_shape(launch: Launch) -> Call:
    out = launch.outputs[0]
    return from_host(out, np.array(launch.inputs[0].shape, out.dtype))


SHAPE = OpDef(
    "Shape",
    "input:T",
    _shape_type,
    types={"T": ALL},
    kernels=all_devices(_bind_shape),
    is_metadata=True,
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(2, 3), out_type=int32",),
)


def _size_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((attrs["out_type"], ()),)


def _bind_size(launch: Launch) -> Call:
    out = launch.outputs[0]
    return from_host(out, np.array(launch.inputs[0].size, out.dtype))


SIZE = OpDef(
    "Size",
    "input:T",
    _size_type,
    types={"T": ALL},
    kernels=all_devices(_bind_size),
    is_metadata=True,
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(2, 3), out_type=int64",),
)


def _rank_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((int32, ()),)


def _bind_rank(launch: Launch) -> Call:
    return from_host(launch.outputs[0], np.array(launch.inputs[0].ndim, np.int32))


RANK = OpDef(
    "Rank",
    "input:T",
    _rank_type,
    types={"T": ALL},
    kernels=all_devices(_bind_rank),
    is_metadata=True,
    gradient=NOT_DIFFERENTIABLE,
    samples=("f(2, 3)",),
)


@public_v1("shape")
def shape(input: TensorLike, name: str | None = None, out_type: DTypeLike = None) -> Tensor:
    """Shape of a tensor as a vector, with TensorFlow 1's argument names.

    >>> shape([[1, 2, 3]]).numpy().tolist()
    [1, 3]
    """
    return _ask(
        SHAPE, input, name, {"out_type": as_dtype(int32 if out_type is None else out_type)}
    )


@public_v2("shape")
def shape_v2(input: TensorLike, out_type: DTypeLike = None, name: str | None = None) -> Tensor:
    """Shape of a tensor as a vector.

    >>> shape_v2([[1, 2, 3]], "int64").numpy().tolist()
    [1, 3]
    """
    return shape(input, name, out_type)


@public("shape_n")
def shape_n(
    input: TensorList, out_type: DTypeLike = int32, name: str | None = None
) -> list[Tensor]:
    """Shapes of several tensors.

    >>> [sizes.numpy().tolist() for sizes in shape_n([[1, 2], [[3]]])]
    [[2], [1, 1]]
    """
    with scope("ShapeN", name):
        return [shape(tensor, out_type=out_type) for tensor in input]


@public_v1("size")
def size(input: TensorLike, name: str | None = None, out_type: DTypeLike = None) -> Tensor:
    """Number of elements of a tensor, with TensorFlow 1's argument names.

    >>> int(size([[1, 2, 3], [4, 5, 6]]).numpy())
    6
    """
    return _ask(
        SIZE, input, name, {"out_type": as_dtype(int32 if out_type is None else out_type)}
    )


@public_v2("size")
def size_v2(input: TensorLike, out_type: DTypeLike = None, name: str | None = None) -> Tensor:
    """Number of elements of a tensor.

    >>> int(size_v2([[1, 2, 3], [4, 5, 6]], "int64").numpy())
    6
    """
    return size(input, name, out_type)


@public("rank")
def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """Rank of a tensor: its number of axes.

    >>> int(rank([[1, 2, 3]]).numpy())
    2
    """
    return _ask(RANK, input, name, {})


def axis_size(tensor: Any, axis: int) -> Any:
    """Size of an axis: an int where it is known, else a tensor."""
    known = tensor.dims[axis] if tensor.dims else None
    return shape(tensor)[axis] if known is None else known


def _ask(op: OpDef, input: Any, name: str | None, attrs: dict[str, Any]) -> Tensor:
    if is_tensor(input):
        return _answer(op, input, name or op.name, attrs)
    with scope(op.name, name) as inner:
        return _answer(op, convert(input), inner, attrs)


def _answer(op: OpDef, tensor: Any, name: str, attrs: dict[str, Any]) -> Tensor:
    dims: Dims = tensor.dims
    if op is RANK and dims is not None:
        return constant(len(dims), int32, name=name)
    if op is RANK or dims is None or not is_known(dims):
        return apply(op, (tensor,), attrs, name)
    sizes = np.array(dims, np.int64)
    known = sizes if op is SHAPE else sizes.prod(dtype=np.int64)
    return constant(known.astype(attrs["out_type"].np_dtype), name=name)
