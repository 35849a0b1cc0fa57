"""`pad`: padding with a constant, or by reflection (`mirror_pad`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import ALL
from berth.ops import arrays
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.arrays.mirror_pad import mirror_pad
from berth.ops.builder import apply
from berth.ops.compose import is_tensor
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed
from berth.ops.rules import INDEX, ShapeMismatch, all_devices_but_strings, check_rank
from berth.ops.shape import Dims
from berth.ops.types import Tensor, TensorLike
from berth.public import public_v1, public_v2


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
