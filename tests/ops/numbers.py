"""Random operands, and the comparison of what came of them."""

from __future__ import annotations

import numpy as np

RANDOM = np.random.default_rng(0)
INF, NAN = np.inf, np.nan


def between(low, high, *shape):
    return np.random.default_rng(len(shape)).uniform(low, high, shape)


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def complex_normal(*shape):
    return normal(*shape) + 1j * normal(*shape)[::-1]


def close(actual, expected, tolerance=1e-12):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
