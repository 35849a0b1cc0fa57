"""`bitcast`: the bytes of a tensor as another type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import NUMBERS, DType, as_dtype
from berth.ops.attributes import check_type
from berth.ops.builder import apply
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
    ShapeMismatch,
)
from berth.ops.shape import Dims, bracketed
from berth.ops.types import Tensor, TensorLike
from berth.public import public


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
