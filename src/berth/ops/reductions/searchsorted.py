"""Search in sorted sequences: ``tf.searchsorted``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import REAL, as_dtype, int32
from berth.ops.arrays.array import reshape
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.builder import apply
from berth.ops.compose import convert, scope, type_of
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Bind,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    all_devices,
)
from berth.ops.rules import check_rank
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public


def _bound_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    sequences, values = inputs
    check_rank(sequences.dims, 2)
    check_rank(values.dims, 2)
    if sequences.dims and values.dims:
        a, b = sequences.dims[0], values.dims[0]
        if a != b and None not in (a, b):
            raise ValueError("Leading dim_size of both tensors must match.")
    return ((attrs["out_type"], values.dims),)


def _bind_bound(side: str) -> Bind:
    def bind(launch: Launch) -> Call:
        return _search, (*launch.inputs, side, launch.outputs[0])

    return bind


def _search(sequences: Any, values: Any, side: str, out: Any) -> None:
    for sequence, wanted, found in zip(sequences, values, out, strict=True):
        found[...] = sequence.searchsorted(wanted, side)


def _bound(name: str, side: str) -> OpDef:
    return OpDef(
        name,
        "sorted_inputs:T values:T",
        _bound_type,
        types={"T": REAL},
        kernels=all_devices(_bind_bound(side), REAL),
        gradient=NOT_DIFFERENTIABLE,
        samples=(
            "np.sort(f(2, 3)), f(2, 4), out_type=int32",
            "np.sort(f(2, 3)), f(2, 4), out_type=int64",
        ),
    )


LOWER_BOUND = _bound("LowerBound", "left")
UPPER_BOUND = _bound("UpperBound", "right")


@public("searchsorted")
def searchsorted(
    sorted_sequence: Any,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Find the indices at which values would be inserted into sorted sequences.

    The last axis holds the sequences; all others are a batch.

    >>> searchsorted([1, 3, 5, 5], [0, 5, 9]).numpy().tolist()
    [0, 2, 4]
    >>> searchsorted([1, 3, 5, 5], [0, 5, 9], side="right").numpy().tolist()
    [0, 4, 4]
    """
    if side not in ("left", "right"):
        raise ValueError(
            f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'."
        )
    with scope("searchsorted", name):
        sequences = convert(sorted_sequence, None, "sorted_sequence")
        values = convert(values, type_of(values) or sequences.dtype.base_dtype, "values")
        op = LOWER_BOUND if side == "left" else UPPER_BOUND
        rows = (_as_rows(sequences), _as_rows(values))
        found = apply(op, rows, {"out_type": as_dtype(out_type)})
        return reshape(found, shape_of(values))


def _as_rows(tensor: Any) -> Any:
    """Flatten all axes but the last into one."""
    dims = tensor.dims
    if dims is not None and len(dims) == 2:
        return tensor
    n_rows = 1 if dims is not None and len(dims) == 1 else -1
    return reshape(tensor, [n_rows, axis_size(tensor, -1)])
