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


def histogram_of(values: Any) -> HistogramProto:
    """Count values. Of several empty buckets in a row, only the last is written."""
    numbers = np.asarray(values, np.float64).reshape(-1)
    limits = bucket_limits()
    buckets = np.searchsorted(limits, numbers, side="right")
    counts = np.bincount(np.minimum(buckets, limits.size - 1), minlength=limits.size)
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
