"""`broadcast_static_shape` and `broadcast_dynamic_shape`: the shape of a broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.errors import InvalidArgumentError
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
    INDEX,
    check_rank,
    from_host,
)
from berth.ops.shape import TensorShape, broadcast
from berth.ops.types import Tensor
from berth.public import public


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


def _reduced_axes(x: Sequence[int], y: Sequence[int]) -> tuple[list[int], list[int]]:
    """List the axes of the common shape over which the gradient of each of two is summed.

    An axis of size 1 in both is listed for both, unless the shapes are equal: as in TensorFlow.
    """
    if list(x) == list(y):
        return [], []
    rank = max(len(x), len(y))
    wide_x, wide_y = ([*[1] * (rank - len(sizes)), *sizes] for sizes in (x, y))
    if any(a != b and 1 not in (a, b) for a, b in zip(wide_x, wide_y, strict=True)):
        raise ValueError(f"Incompatible shapes: [{_listed(x)}] vs. [{_listed(y)}]")
    first, second = ([i for i, n in enumerate(sizes) if n == 1] for sizes in (wide_x, wide_y))
    return first, second


def _listed(sizes: Sequence[int]) -> str:
    return ",".join(str(int(size)) for size in sizes)


def _axes_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dtype = inputs[0].dtype.base_dtype
    values = [tensor.value for tensor in inputs]
    if any(value is None for value in values):
        return ((dtype, (None,)), (dtype, (None,)))
    return tuple((dtype, (len(axes),)) for axes in _reduced_axes(*values))


def _bind_axes(launch: Launch) -> Call:
    return _write_axes, (_reduced_axes(*launch.inputs), tuple(launch.outputs))


def _write_axes(axes: tuple[list[int], list[int]], outputs: Sequence[Any]) -> None:
    for out, found in zip(outputs, axes, strict=True):
        out[...] = found


BROADCAST_GRADIENT_ARGS = OpDef(
    "BroadcastGradientArgs",
    "s0:T s1:T",
    _axes_type,
    types={"T": INDEX},
    kernels=all_devices(_bind_axes, INDEX),
    host_inputs=(0, 1),
    shape_inputs=(0, 1),
    gradient=NOT_DIFFERENTIABLE,
    samples=("i(2, 1), i(3)",),
)
"""In TensorFlow's graphs: the axes over which gradients are summed. berth has `SUM_TO`."""
