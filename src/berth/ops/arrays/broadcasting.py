"""`broadcast_to`, and its gradient: a sum over the axes that were broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import ALL, NUMBERS
from berth.ops.arrays.metadata import shape
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import Attrs, Call, Launch, OpDef, OutputType, Typed, all_devices
from berth.ops.rules import INDEX, ON_DEVICES, all_devices_but_strings, shape_of_value
from berth.ops.shape import Dims, bracketed, is_known
from berth.ops.types import ShapeLike, Tensor, TensorLike
from berth.public import public


def _asked_for(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Type of the first input, in the shape that the second holds."""
    tensor, wanted = inputs
    return ((tensor.dtype.base_dtype, shape_of_value(wanted)),)


# --- broadcast_to -------------------------------------------------------------------------


def _stretched(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    [(dtype, dims)] = _asked_for(inputs, attrs)
    given = inputs[0].dims
    if not _fits(given, dims):
        raise ValueError(
            f"Incompatible shapes: {bracketed(given)} vs. {bracketed(dims)}: a tensor can only "
            "be stretched along axes of size 1, or along new ones in front"
        )
    return ((dtype, dims),)


def _fits(given: Dims, wanted: Dims) -> bool:
    if given is None or wanted is None:
        return True
    if len(given) > len(wanted):
        return False
    last = wanted[len(wanted) - len(given) :]
    return all(a in (1, b) or None in (a, b) for a, b in zip(given, last, strict=True))


def _bind_stretch(launch: Launch) -> Call:
    return launch.xp.copyto, (launch.outputs[0], launch.inputs[0])


BROADCAST_TO = OpDef(
    "BroadcastTo",
    "input:T shape:Tidx",
    _stretched,
    types={"T": ALL, "Tidx": INDEX},
    kernels=all_devices_but_strings(_bind_stretch),
    host_inputs=(1,),
    samples=("f(2, 1), i(3, 2, 4)",),
    large_samples=("large, i(2, large.size)",),
)


@public("broadcast_to")
def broadcast_to(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Broadcast a tensor to a shape.

    >>> broadcast_to([1, 2], [3, 2]).numpy().tolist()
    [[1, 2], [1, 2], [1, 2]]
    """
    return apply(BROADCAST_TO, (input, shape), {}, name)


# --- sum over broadcast axes --------------------------------------------------------------


def _bind_sum(launch: Launch) -> Call:
    tensor, out = launch.inputs[0], launch.outputs[0]
    n_new = tensor.ndim - out.ndim
    kept = (1,) * n_new + out.shape
    axes = tuple(
        axis
        for axis, (size, left) in enumerate(zip(tensor.shape, kept, strict=True))
        if axis < n_new or size != left
    )
    if not axes:
        return launch.xp.copyto, (out, tensor)
    return _sum, (launch.xp.add.reduce, tensor, axes, out.reshape(kept))


def _sum(reduce: Any, tensor: Any, axes: tuple[int, ...], out: Any) -> None:
    reduce(tensor, axes, None, out, True)


SUM_TO = OpDef(
    "SumTo",
    "input:T shape:Tidx",
    _asked_for,
    types={"T": NUMBERS, "Tidx": INDEX},
    kernels=all_devices(_bind_sum, [dtype for dtype in ON_DEVICES if dtype in NUMBERS]),
    host_inputs=(1,),
    samples=("f(3, 2, 4), i(2, 1)",),
    large_samples=("square, i(1, 512)",),
)
"""What BroadcastTo stretched, summed: no operation of TensorFlow's, which needs three here."""


def sum_like(tensor: Any, like: Any) -> Any:
    """Sum a tensor over the axes along which another was broadcast to its shape."""
    if tensor.dims == like.dims and is_known(like.dims):
        return tensor
    return apply(SUM_TO, (tensor, like.dims if is_known(like.dims) else shape(like)), {})


@gradient(BROADCAST_TO)
def _broadcast_to_gradient(op: RecordedOp, grad: Any) -> Any:
    return sum_like(grad, op.inputs[0]), None


@gradient(SUM_TO)
def _sum_to_gradient(op: RecordedOp, grad: Any) -> Any:
    return broadcast_to(grad, shape(op.inputs[0])), None
