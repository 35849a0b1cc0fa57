"""Searching in sorted sequences (searchsorted), and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import REAL, as_dtype, float64, int32
from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import ones_like
from berth.ops.arrays.metadata import axis_size
from berth.ops.arrays.metadata import shape as shape_of
from berth.ops.builder import apply
from berth.ops.compose import convert, scope, type_of
from berth.ops.elementwise.arithmetic import clip_by_value
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal, less
from berth.ops.elementwise.unary import floor
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
from berth.ops.reductions.reduction import reduce_all
from berth.ops.reductions.statistics import only_if
from berth.ops.reductions.unsorted_segments import unsorted_segment_sum
from berth.ops.rules import check_rank
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public

# --- where in an order --------------------------------------------------------------------


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


# --- how many fall where ------------------------------------------------------------------


def histogram_fixed_width_bins(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = int32,
    name: str | None = None,
) -> Any:
    """Bin indices of values, for equal-width bins; values out of range go to the outer bins.

    >>> histogram_fixed_width_bins([-1.0, 1.5, 2.0, 15.0], [0.0, 5.0], 5).numpy().tolist()
    [0, 1, 2, 4]
    """
    with scope("histogram_fixed_width_bins", name):
        return _bins(convert(values, None, "values"), value_range, nbins, as_dtype(dtype))


@public("histogram_fixed_width")
def histogram_fixed_width(
    values: TensorLike,
    value_range: Any,
    nbins: Any = 100,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Histogram of values in equal-width bins; values out of range go to the outer bins.

    >>> histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], 5).numpy().tolist()
    [2, 1, 1, 0, 2]
    """
    with scope("histogram_fixed_width", name):
        values = reshape(convert(values, None, "values"), [-1])
        bounds = convert(value_range, values.dtype.base_dtype, "value_range")
        ordered = "value_range should satisfy value_range[0] < value_range[1]"
        no_nan = "Histogram values must not contain NaN"
        with (
            only_if(less(bounds[0], bounds[1]), ordered),
            only_if(reduce_all(equal(values, values)), no_nan),
        ):
            bins = reshape(_bins(values, bounds, nbins, int32), [-1])
        return unsorted_segment_sum(ones_like(bins, as_dtype(dtype)), bins, nbins)


def _bins(values: Any, value_range: Any, nbins: Any, dtype: Any) -> Any:
    """Compute the bin indices in float64, as TensorFlow's kernel does."""
    bounds = cast(convert(value_range, values.dtype.base_dtype, "value_range"), float64)
    n_bins = cast(nbins, float64)
    low, high = bounds[0], bounds[1]
    place = (cast(values, float64) - low) / ((high - low) / n_bins)
    return cast(clip_by_value(floor(place), 0.0, n_bins - 1.0), dtype)
