"""`tile`, `pad` and `transpose`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL
from berth.ops import arrays, reductions
from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import RANGE
from berth.ops.arrays.filling import range as range_op
from berth.ops.arrays.joining import stack
from berth.ops.arrays.metadata import rank as rank_of
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.metadata import size as size_of
from berth.ops.arrays.mirroring import mirror_pad
from berth.ops.builder import apply
from berth.ops.compose import convert, is_tensor, scope
from berth.ops.elementwise.arithmetic import mod, subtract
from berth.ops.elementwise.unary import conj
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed
from berth.ops.rules import INDEX, ShapeMismatch, all_devices_but_strings, check_rank
from berth.ops.shape import Dims, is_known
from berth.ops.types import Tensor, TensorLike
from berth.public import public, public_v1, public_v2

# --- repeating ----------------------------------------------------------------------------


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


# --- padding ------------------------------------------------------------------------------


def _padded(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, paddings = inputs[:2]
    dtype, dims = tensor.dtype.base_dtype, tensor.dims
    check_rank(paddings.dims, 2)
    n_axes, n_sides = paddings.dims or (None, 2)
    if n_sides not in (2, None):
        raise ValueError(f"Dimension must be 2 but is {n_sides}")
    if dims is None:
        return ((dtype, None if n_axes is None else (None,) * n_axes),)
    if n_axes not in (None, len(dims)):
        raise ShapeMismatch(
            f"Shape must be rank {n_axes} but is rank {len(dims)}",
            "The first dimension of paddings must be the rank of inputs"
            f"[{n_axes},2] {list(dims)}",
        )
    if paddings.value is None:
        return ((dtype, (None,) * len(dims)),)
    return ((dtype, _padded_dims(dims, paddings.value)),)


def _padded_dims(dims: Sequence[int | None], paddings: Any) -> Dims:
    sizes: list[int | None] = []
    for size, (before, after) in zip(dims, paddings, strict=True):
        if before < 0 or after < 0:
            message = "Paddings must be non-negative"
            raise ShapeMismatch(message, f"{message}: {before} {after}")
        sizes.append(None if size is None else int(before) + size + int(after))
    return tuple(sizes)


def _bind_pad(launch: Launch) -> Call:
    tensor, paddings, *value = launch.inputs
    out = launch.outputs[0]
    starts = [int(before) for before, _ in paddings.reshape(-1, 2)]
    inner = (
        out[tuple(slice(at, at + n) for at, n in zip(starts, tensor.shape, strict=True))]
        if out.ndim
        else out
    )
    empty = value[0] if value else b"" if out.dtype.kind == "O" else out.dtype.type(0)
    return _pad, (launch.xp.copyto, out, empty, inner, tensor)


def _pad(copyto: Any, out: Any, value: Any, inner: Any, tensor: Any) -> None:
    copyto(out, value)
    copyto(inner, tensor)


PAD = OpDef(
    "Pad",
    "input:T paddings:Tpaddings",
    _padded,
    types={"T": ALL, "Tpaddings": INDEX},
    kernels=all_devices_but_strings(_bind_pad),
    host_inputs=(1,),
    samples=("f(2, 3), ints([[1, 0], [2, 2]])",),
    large_samples=("large, ints([[3, 4]])",),
)
PAD_V2 = OpDef(
    "PadV2",
    "input:T paddings:Tpaddings constant_values:T",
    _padded,
    types={"T": ALL, "Tpaddings": INDEX},
    kernels=all_devices_but_strings(_bind_pad),
    host_inputs=(1,),
    samples=("f(2), ints([[1, 0]]), f()",),
)


@public_v1("pad")
def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: TensorLike = 0,
) -> Tensor:
    """Pad a tensor along each axis, with TensorFlow 1's argument names.

    In the modes REFLECT and SYMMETRIC, the tensor goes on as in a mirror instead, without
    and with its edge.

    >>> pad([[1, 2]], [[1, 0], [0, 2]]).numpy().tolist()
    [[0, 0, 0, 0], [1, 2, 0, 0]]
    >>> pad([1, 2, 3], [[2, 0]], "REFLECT").numpy().tolist()
    [3, 2, 1, 2, 3]
    """
    mode = mode.upper()
    if mode in ("REFLECT", "SYMMETRIC"):
        return mirror_pad(tensor, paddings, mode, name)
    if mode != "CONSTANT":
        raise ValueError(
            'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or '
            f'"SYMMETRIC". Received `mode` = {mode}'
        )
    if is_tensor(constant_values) or constant_values != 0:
        return apply(PAD_V2, (tensor, paddings, constant_values), {}, name)
    return apply(PAD, (tensor, paddings), {}, name)


@public_v2("pad")
def pad_v2(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    constant_values: TensorLike = 0,
    name: str | None = None,
) -> Tensor:
    """Pad a tensor along each axis: with a constant, or with its own reflection.

    >>> pad_v2([1, 2], [[1, 1]], constant_values=9).numpy().tolist()
    [9, 1, 2, 9]
    """
    return pad(tensor, paddings, mode, name, constant_values)


@gradient(PAD)
def _pad_gradient(op: RecordedOp, grad: Any) -> Any:
    return _without_padding(op, grad), None


@gradient(PAD_V2)
def _pad_v2_gradient(op: RecordedOp, grad: Any) -> Any:
    return _without_padding(op, grad), None, None


def _without_padding(op: RecordedOp, grad: Any) -> Any:
    x, paddings = op.inputs[:2]
    begin = paddings[:, 0] if paddings.value is None else paddings.value[:, 0]
    return arrays.slicing.slice(grad, begin, shape_of(x, out_type=paddings.dtype))


# --- turning ------------------------------------------------------------------------------


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
    turned = x.transpose([int(axis) for axis in perm])
    return launch.xp.copyto, (launch.outputs[0], turned)


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
