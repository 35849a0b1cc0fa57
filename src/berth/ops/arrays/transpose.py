"""`transpose`: the axes of a tensor permuted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL
from berth.ops import reductions
from berth.ops.arrays.filling import RANGE
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.metadata import rank as rank_of
from berth.ops.arrays.metadata import size as size_of
from berth.ops.builder import apply
from berth.ops.compose import convert, is_eager, is_tensor, scope
from berth.ops.elementwise.arithmetic import mod, subtract
from berth.ops.elementwise.unary import conj
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed
from berth.ops.rules import INDEX, ShapeMismatch, all_devices_but_strings
from berth.ops.types import Tensor, TensorLike
from berth.public import public_v1, public_v2


def _transposed(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    x, perm = inputs
    dtype, n_axes = x.dtype.base_dtype, perm.dims[0] if perm.dims else None
    if x.dims is None:
        return ((dtype, None if n_axes is None else (None,) * n_axes),)
    rank = len(x.dims)
    if n_axes not in (None, rank):
        raise ShapeMismatch(
            f"Dimension must be {rank} but is {n_axes}",
            f"transpose expects a vector of size {rank}. But input(1) is a vector of size "
            f"{n_axes}",
        )
    if perm.value is None:
        return ((dtype, (None,) * rank),)
    order = [int(axis) for axis in perm.value]
    for axis in order:
        if not -rank <= axis < rank:
            raise ShapeMismatch(
                f"perm dim {axis} is out of range of input rank {rank}",
                f"{axis} is out of range [0 .. {rank})",
            )
    positions = [axis % rank for axis in order]
    missing = set(range(rank)) - set(positions)
    if missing:
        raise ValueError(f"{min(missing)} is missing from {{{','.join(map(str, order))}}}.")
    return ((dtype, tuple(x.dims[axis] for axis in positions)),)


def _bind_transpose(launch: Launch) -> Call:
    x, perm = launch.inputs
    return _transpose, (x, tuple(perm.tolist()), launch.outputs[0])


def _transpose(x: Any, perm: tuple[int, ...], out: Any) -> None:
    out[...] = x.transpose(perm)


TRANSPOSE = OpDef(
    "Transpose",
    "x:T perm:Tperm",
    _transposed,
    types={"T": ALL, "Tperm": INDEX},
    kernels=all_devices_but_strings(_bind_transpose),
    host_inputs=(1,),
    samples=("f(2, 3, 4), i(1, -1, 0)",),
    large_samples=("square, i(1, 0)",),
)


@public_v1("transpose")
def transpose(
    a: TensorLike, perm: Any = None, name: str = "transpose", conjugate: bool = False
) -> Tensor:
    """Transpose a tensor: permute its axes, with TensorFlow 1's argument names.

    >>> transpose([[1, 2, 3], [4, 5, 6]]).numpy().tolist()
    [[1, 4], [2, 5], [3, 6]]
    """
    if is_tensor(a) and perm is not None and not conjugate:
        return apply(TRANSPOSE, (a, perm), {}, name)
    dims = getattr(a, "dims", None)
    if dims is not None and not conjugate and is_eager():
        return apply(TRANSPOSE, (a, tuple(range(len(dims)))[::-1]), {}, f"{name}/")
    with scope("transpose", name) as inner:
        a = convert(a, None, "a")
        if perm is None and a.dims is not None:
            perm = np.arange(len(a.dims), dtype=np.int32)[::-1]
        elif perm is None:
            last = subtract(rank_of(a), 1, name="sub")
            perm = apply(RANGE, (last, -1, -1), {}, "Range")
        return apply(TRANSPOSE, (conj(a) if conjugate else a, perm), {}, inner)


@public_v2("transpose")
def transpose_v2(
    a: TensorLike, perm: Any = None, conjugate: bool = False, name: str = "transpose"
) -> Tensor:
    """Transpose a tensor: permute its axes, by default in reverse.

    >>> transpose_v2([[1j, 2]], conjugate=True).numpy().tolist()
    [[-1j], [(2-0j)]]
    """
    return transpose(a, perm, name, conjugate)


@gradient(TRANSPOSE)
def _transpose_gradient(op: RecordedOp, grad: Any) -> Any:
    perm = op.inputs[1]
    if perm.value is not None:
        order = perm.value % max(perm.value.size, 1)
        return transpose(grad, np.argsort(order).astype(perm.value.dtype)), None
    n_axes = size_of(perm)
    inverse = reductions.unsorted_segments.unsorted_segment_sum(
        range_op(n_axes), mod(perm, n_axes), n_axes
    )
    return transpose(grad, inverse), None
