"""`ensure_shape`: a check of a tensor's shape at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import ALL
from berth.ops.builder import apply
from berth.ops.gradient import RecordedOp, gradient
from berth.ops.opdef import (
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
)
from berth.ops.rules import (
    ShapeMismatch,
    all_devices_but_strings,
    check_again,
    check_rank,
    merge_dims,
)
from berth.ops.shape import TensorShape, bracketed
from berth.ops.types import ShapeLike, Tensor, TensorLike
from berth.public import public


def _ensured(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    tensor, wanted = inputs[0], attrs["shape"].dims_or_none
    at_run = (
        f"Shape of tensor input {bracketed(tensor.dims)} is not compatible with expected shape "
        f"{bracketed(wanted)}."
    )
    if wanted is not None:
        try:
            check_rank(tensor.dims, len(wanted))
        except ValueError as error:
            raise ShapeMismatch(str(error), at_run) from None
    return ((tensor.dtype.base_dtype, merge_dims(wanted, tensor.dims, at_run)),)


def _bind_ensure(launch: Launch) -> Call:
    check_again(_ensured, launch)
    return launch.xp.copyto, (launch.outputs[0], launch.inputs[0])


ENSURE_SHAPE = OpDef(
    "EnsureShape",
    "input:T",
    _ensured,
    types={"T": ALL},
    kernels=all_devices_but_strings(_bind_ensure),
    samples=("f(2, 3), shape=TensorShape([None, 3])",),
    large_samples=("square, shape=TensorShape([512, 512])",),
)


@public("ensure_shape")
def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Check the shape of a tensor when it is computed, and return the tensor.

    >>> ensure_shape([[1, 2]], [None, 2]).numpy().tolist()
    [[1, 2]]
    """
    return apply(ENSURE_SHAPE, (x,), {"shape": TensorShape(shape)}, name)


@gradient(ENSURE_SHAPE)
def _ensure_shape_gradient(op: RecordedOp, grad: Any) -> Any:
    return grad
