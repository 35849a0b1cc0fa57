"""Histograms: every value is in the bucket whose limits it lies between."""

from __future__ import annotations

import bisect

import numpy as np
import pytest

from berth.summary.buckets import bucket_limits, histogram_of

LIMITS = bucket_limits().tolist()
VALUES = {
    "none": np.array([], np.float32),
    "one": np.array(3.5),
    "matrix": np.random.default_rng(0).standard_normal((30, 20)).astype(np.float32),
    "half floats": np.array([1.5, -2.0, 6e-8], np.float16),
    "whole numbers": np.array([[3, -3], [0, 7]], np.int64),
    "truth": np.array([True, False, True]),
    "on limits": bucket_limits()[::97],
    "beside limits": np.nextafter(bucket_limits()[::97], 0),
    "zeros": np.array([0.0, -0.0, 5e-324, -5e-324]),
    "beyond": np.array([1e300, -1e300]),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@np.errstate(over="ignore")
def test_values_lie_between_the_limits_of_their_bucket(values):
    last = len(LIMITS) - 1
    expected: dict[float, int] = {}
    for value in values.reshape(-1).tolist():
        limit = LIMITS[min(bisect.bisect_right(LIMITS, value), last)]
        expected[limit] = expected.get(limit, 0) + 1
    histogram = histogram_of(values)
    found = zip(histogram.bucket_limit, histogram.bucket, strict=True)
    assert {limit: count for limit, count in found if count} == expected
    assert histogram.num == values.size


def test_what_has_no_bucket_is_in_the_last():
    infinite = np.array([np.inf, np.nan, 1.0, np.inf])
    histogram = histogram_of(infinite)
    assert histogram.bucket[-1] == 3
    assert histogram.bucket_limit[-1] == LIMITS[-1]
