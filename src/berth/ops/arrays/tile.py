"""`tile`: a tensor repeated along each axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL
from berth.ops import reductions
from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.joining import stack
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.metadata import size as size_of
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed
from berth.ops.rules import INDEX, ShapeMismatch, all_devices_but_strings
from berth.ops.shape import is_known
from berth.ops.types import Tensor, TensorLike
from berth.public import public


def _tiled(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, multiples = inputs
    dtype, dims = tensor.dtype.base_dtype, tensor.dims
    n_axes = multiples.dims[0] if multiples.dims else None
    if dims is None:
        return ((dtype, None if n_axes is None else (None,) * n_axes),)
    if n_axes not in (None, len(dims)):
        raise ShapeMismatch(
            f"Shape must be rank {len(dims)} but is rank {n_axes}",
            f"Expected multiples argument to be a vector of length {len(dims)} but got length "
            f"{n_axes}",
        )
    if multiples.value is None:
        return ((dtype, (None,) * len(dims)),)
    for axis, times in enumerate(multiples.value):
        if times < 0:
            raise ValueError(f"Expected multiples[{axis}] >= 0, but got {times}")
    sizes = zip(dims, multiples.value, strict=True)
    return ((dtype, tuple(None if size is None else size * int(n) for size, n in sizes)),)


def _bind_tile(launch: Launch) -> Call:
    tensor, multiples = launch.inputs
    by_copy, once = [], []
    for size, times in zip(tensor.shape, multiples, strict=True):
        by_copy += [int(times), size]
        once += [1, size]
    out = launch.outputs[0].reshape(by_copy)
    return launch.xp.copyto, (out, tensor.reshape(once))


TILE = OpDef(
    "Tile",
    "input:T multiples:Tmultiples",
    _tiled,
    types={"T": ALL, "Tmultiples": INDEX},
    kernels=all_devices_but_strings(_bind_tile),
    host_inputs=(1,),
    samples=("f(2, 3), i(2, 0)",),
    large_samples=("square, i(2, 2)",),
)


@public("tile")
def tile(input: TensorLike, multiples: Any, name: str | None = None) -> Tensor:
    """Tile a tensor: repeat it along each axis.

    >>> tile([[1, 2]], [2, 2]).numpy().tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    return apply(TILE, (input, multiples), {}, name)


@gradient(TILE)
def _tile_gradient(op: RecordedOp, grad: Any) -> Any:
    """Sum over the copies, which are an axis of their own here."""
    x, multiples = op.inputs
    by_copy: Any
    if multiples.value is not None and is_known(x.dims):
        by_copy = np.stack(
            [multiples.value, np.array(x.dims, multiples.value.dtype)], 1
        ).ravel()
        axes: Any = np.arange(0, by_copy.size, 2, dtype=np.int32)
    else:
        sizes = shape_of(x, out_type=multiples.dtype)
        by_copy = reshape(stack([multiples, sizes], 1), [-1])
        axes = range_op(0, size_of(by_copy), 2)
    return reductions.reduction.reduce_sum(reshape(grad, by_copy), axes), None
