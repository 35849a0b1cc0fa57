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
