"""Histograms as TensorBoard reads them: counts in buckets that grow by a tenth."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from berth.summary.messages import HistogramProto

_LARGEST = float(np.finfo(np.float64).max)


@cache
def bucket_limits() -> npt.NDArray[np.float64]:
    """Return TensorFlow's limits: 0, and 1e-12 times powers of 1.1 on both sides of it."""
    positive = []
    limit = 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(_LARGEST)
    return np.array([*(-each for each in reversed(positive)), 0.0, *positive])


def _counts(in_order: Any, limits: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """Count sorted values below each limit and not below the one before.

    The last bucket has all that is left: infinity and NaN, which are sorted to the end. It is
    much faster to look for limits among values than for each value among limits.
    """
    below = np.searchsorted(in_order, limits[:-1], side="left")
    return np.diff(below, prepend=0, append=in_order.size)


def histogram_of(values: Any) -> HistogramProto:
    """Count values. Of several empty buckets in a row, only the last is written."""
    numbers = np.asarray(values, np.float64).reshape(-1)
    limits = bucket_limits()
    counts = _counts(np.sort(values, axis=None), limits)
    is_last = np.append((counts[:-1] > 0) | (counts[1:] > 0), True)
    histogram = HistogramProto(
        min=numbers.min() if numbers.size else _LARGEST,
        max=numbers.max() if numbers.size else -_LARGEST,
        num=numbers.size,
        sum=numbers.sum(),
        sum_squares=np.square(numbers).sum(),
    )
    # After the last value there is nothing but empty buckets, which are one.
    histogram.bucket_limit.extend(limits[is_last].tolist())
    histogram.bucket.extend(counts[is_last].astype(float).tolist())
    return histogram
