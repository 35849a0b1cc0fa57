"""One-hot encoding of class indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL, as_dtype, bool_, float32, int8, int32, int64, uint8
from berth.ops.builder import apply
from berth.ops.compose import convert, scope
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
from berth.ops.rules import ShapeMismatch, check_rank, from_host
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public


def _one_hot_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    indices, depth, on_value, off_value = inputs
    if depth.dims:
        raise ValueError(f"Input must be scalar but has rank {len(depth.dims)}")
    check_rank(on_value.dims, 0)
    check_rank(off_value.dims, 0)
    size = None if depth.value is None else int(depth.value)
    if size is not None and size < 0:
        message = "Dimension size, given by scalar input 1, must be non-negative but is"
        raise ShapeMismatch(f"{message} {size}", f"depth must be non-negative, got: {size}")
    dtype = on_value.dtype.base_dtype
    if indices.dims is None:
        return ((dtype, None),)
    rank, axis = len(indices.dims), attrs["axis"]
    if not -1 <= axis <= rank:
        raise ValueError(
            f"Expected axis to be -1 or between [0, {rank}].  But received: {axis}"
        )
    position = rank if axis == -1 else axis
    return ((dtype, (*indices.dims[:position], size, *indices.dims[position:])),)


def _one_hot_scratch(
    inputs: Sequence[Typed], outputs: Sequence[OutputType], attrs: Attrs, n_threads: int
) -> Sequence[OutputType]:
    """Scratch memory for the class indices, and for a mask."""
    dims = outputs[0][1]
    return ((int64, (int(inputs[1].value),)), (bool_, dims))


def _bind_one_hot(launch: Launch) -> Call:
    indices, depth, on_value, off_value = launch.inputs
    out, (classes, mask) = launch.outputs[0], launch.scratch
    axis = out.ndim - 1 if launch.attrs["axis"] == -1 else launch.attrs["axis"]
    wide = launch.xp.expand_dims(indices, axis)
    across = classes.reshape(-1, *(1 for _ in out.shape[axis + 1 :]))
    compare = launch.xp.equal, (wide, across, mask)
    values = launch.xp.copyto, out, off_value, on_value, mask
    return _one_hot, (from_host(classes, np.arange(int(depth))), compare, *values)


def _one_hot(
    number: Call, compare: Call, copyto: Any, out: Any, off: Any, on: Any, mask: Any
) -> None:
    number[0](*number[1])
    compare[0](*compare[1])
    copyto(out, off)
    copyto(out, on, where=mask)


ONE_HOT = OpDef(
    "OneHot",
    "indices:TI depth:int32 on_value:T off_value:T",
    _one_hot_type,
    types={"TI": (uint8, int8, int32, int64), "T": ALL},
    kernels=all_devices(_bind_one_hot, scratch=_one_hot_scratch),
    host_inputs=(1,),
    gradient=NOT_DIFFERENTIABLE,
    samples=(
        "i(1, 2), at(4), f(), f(), axis=-1",
        "i(1, 2), at(4), f(), f(), axis=0",
    ),
    large_samples=("few, at(7), f(), f(), axis=-1",),
)


@public("one_hot")
def one_hot(
    indices: TensorLike,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: DTypeLike = None,
    name: str | None = None,
) -> Tensor:
    """One-hot encoding: `on_value` at the index of each class, `off_value` elsewhere.

    >>> one_hot([0, 2], 3).numpy().tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    wanted = None if dtype is None else as_dtype(dtype)
    with scope("one_hot", name) as inner:
        on = None if on_value is None else convert(on_value, wanted)
        off = None if off_value is None else convert(off_value, wanted)
        known = wanted or next((t.dtype for t in (on, off) if t is not None), float32)
        on = convert(1, known, "on_value") if on is None else on
        off = convert(0, known, "off_value") if off is None else off
        if on.dtype is not off.dtype:
            raise TypeError(
                f"dtype {on.dtype} of on_value does not match dtype {off.dtype} of off_value"
            )
        attrs = {"axis": -1 if axis is None else axis}
        return apply(ONE_HOT, (indices, depth, on, off), attrs, inner)
