"""Histograms with equal-width bins."""

from __future__ import annotations

from typing import Any

from berth.dtypes import as_dtype, float64, int32
from berth.ops.arrays.array import reshape
from berth.ops.arrays.filling import ones_like
from berth.ops.compose import convert, scope
from berth.ops.elementwise.arithmetic import clip_by_value
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.compare import equal, less
from berth.ops.elementwise.unary import floor
from berth.ops.reductions.reduction import reduce_all
from berth.ops.reductions.statistics import only_if
from berth.ops.reductions.unsorted_segments import unsorted_segment_sum
from berth.ops.types import DTypeLike, Tensor, TensorLike
from berth.public import public


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
