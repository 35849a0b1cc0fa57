"""Gamma, Poisson and binomial samples by rejection, from a stream of random words for each.

They are drawn as TensorFlow's kernels for CPUs do: each sample has counters of its own (256;
42 for a binomial of few hits), and takes from them as many uniforms and normals as it needs.
Where many samples are drawn, those that were not accepted go on to the next round together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from berth.ops.random import philox

Array = np.ndarray[Any, Any]
_lgamma = np.vectorize(math.lgamma, otypes=[np.float64])


class Streams:
    """Random numbers for many samples, each of which takes its own one after the other."""

    def __init__(
        self, generator: philox.Generator, n_samples: int, n_counters: int = 256
    ) -> None:
        self._generator, self._dtype = generator, np.dtype(np.float64)
        self._next = np.arange(n_samples, dtype=np.uint64) * np.uint64(n_counters)
        self._kept = np.empty((2, n_samples, 2), self._dtype)
        self._n_left = np.zeros((2, n_samples), np.int64)

    def uniform(self, which: Array) -> Array:
        """Draw a uniform number from [0, 1) for each of some samples."""
        return self._take(0, which)

    def normal(self, which: Array) -> Array:
        """Draw a normal number for each of some samples."""
        return self._take(1, which)

    def _take(self, kind: int, which: Array) -> Array:
        n_left, kept = self._n_left[kind], self._kept[kind]
        empty = which[n_left[which] == 0]
        if empty.size:
            drawn = philox.draws_at(self._generator, self._next[empty], self._dtype, kind == 1)
            kept[empty] = drawn
            n_left[empty] = drawn.shape[1]
            self._next[empty] += np.uint64(1)
        n_left[which] -= 1
        taken: Array = kept[which, n_left[which]]
        return taken


def _until_accepted(n_samples: int, propose: Callable[[Array], tuple[Array, Array]]) -> Array:
    """Collect proposals: for each sample the first that is accepted."""
    found = np.zeros(n_samples, np.float64)
    waiting = np.arange(n_samples)
    while waiting.size:
        values, accepted = propose(waiting)
        found[waiting[accepted]] = values[accepted]
        waiting = waiting[~accepted]
    return found


# --- gamma --------------------------------------------------------------------------------


def gamma(generator: philox.Generator, alpha: Array, n_each: int) -> Array:
    """Sample gamma distributions by Marsaglia and Tsang: so many values for each alpha.

    Where alpha is not positive there is no such distribution, and the values are NaN.
    """
    shapes = np.repeat(alpha.astype(np.float64), n_each)
    streams = Streams(generator, shapes.size)
    is_small, is_exponential = (shapes > 0) & (shapes < 1), shapes == 1
    d = shapes + is_small - 1 / 3
    c = 1 / 3 / np.sqrt(np.maximum(d, 1e-300))

    def propose(which: Array) -> tuple[Array, Array]:
        x = streams.normal(which)
        v = 1 + c[which] * x
        possible = v > 0
        cubed = np.where(possible, v, 1.0) ** 3
        u = np.ones_like(x)
        u[possible] = streams.uniform(which[possible])
        squeeze = u < 1 - 0.0331 * x**4
        bound = 0.5 * x * x + d[which] * (1 - cubed + np.log(cubed))
        accepted = possible & (squeeze | (np.log(np.maximum(u, 1e-300)) < bound))
        return d[which] * cubed, accepted

    found = np.full(shapes.size, np.nan)
    others = np.flatnonzero((shapes > 0) & ~is_exponential & np.isfinite(shapes))
    found[others] = _among(others, propose)
    small = np.flatnonzero(is_small)
    if small.size:
        found[small] *= streams.uniform(small) ** (1 / shapes[small])
    once = np.flatnonzero(is_exponential)
    if once.size:
        found[once] = -np.log1p(-streams.uniform(once))
    return found


def _among(which: Array, propose: Callable[[Array], tuple[Array, Array]]) -> Array:
    return _until_accepted(which.size, lambda waiting: propose(which[waiting]))


# --- Poisson ------------------------------------------------------------------------------

_MANY = 10.0
"""From this mean on, rejection is quicker than counting."""


def poisson(generator: philox.Generator, rate: Array, n_each: int) -> Array:
    """Sample Poisson distributions: so many values for each rate; NaN if there is none."""
    rates = np.repeat(rate.astype(np.float64), n_each)
    streams = Streams(generator, rates.size)
    found = np.full(rates.size, np.nan)
    valid = np.isfinite(rates) & (rates >= 0)
    few = np.flatnonzero(valid & (rates < _MANY))
    many = np.flatnonzero(valid & (rates >= _MANY))
    found[few] = _counted(streams, few, rates)
    found[many] = _among(many, lambda which: _hoermann(streams, which, rates[which]))
    return found


def _counted(streams: Streams, which: Array, rates: Array) -> Array:
    """Count uniforms until their product is as small as exp(-rate) (Knuth)."""
    products = np.ones(rates.size, rates.dtype)
    counts = np.zeros(rates.size)
    ends = np.exp(-rates)
    waiting = which
    while waiting.size:
        products[waiting] *= streams.uniform(waiting)
        waiting = waiting[products[waiting] > ends[waiting]]
        counts[waiting] += 1
    found: Array = counts[which]
    return found


def _hoermann(streams: Streams, which: Array, rate: Array) -> tuple[Array, Array]:
    """Propose by transformed rejection (Hörmann, 1993)."""
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    u = streams.uniform(which) - 0.5
    v = streams.uniform(which)
    edge = 0.5 - np.abs(u)
    k = np.floor((2 * a / edge + b) * u + rate + 0.43)
    quick = (edge >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
    possible = (k >= 0) & ~((edge < 0.013) & (v > edge))
    s = np.log(v * inverse_alpha / (a / (edge * edge) + b))
    t = -rate + k * np.log(rate) - _lgamma(np.maximum(k, 0) + 1)
    return k, quick | (possible & (s <= t))


# --- binomial -----------------------------------------------------------------------------

_TAILS = (
    *(0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509),
    *(0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720),
    *(0.00925546218271273, 0.00833056343336287),
)
"""What Stirling's formula lacks for the factorials of 0 to 9."""


def binomial(generator: philox.Generator, counts: Array, probs: Array, n_each: int) -> Array:
    """Sample binomial distributions: so many values for each pair of count and probability."""
    count = np.repeat(counts.astype(np.float64), n_each)
    prob = np.repeat(probs.astype(np.float64), n_each)
    streams = Streams(generator, count.size)
    is_turned = prob > 0.5
    p = np.where(is_turned, 1 - prob, prob)
    found = np.full(count.size, np.nan)
    found[(count <= 0) | (p <= 0)] = 0
    usable = (count > 0) & (p > 0) & np.isfinite(count)
    few = np.flatnonzero(usable & (count * p < _MANY))
    many = np.flatnonzero(usable & (count * p >= _MANY))
    found[few] = _inverted(Streams(generator, count.size, 42), few, count, p)
    found[many] = _among(many, lambda which: _btrs(streams, which, count[which], p[which]))
    return np.where(is_turned, count - found, found)


def _inverted(streams: Streams, which: Array, count: Array, prob: Array) -> Array:
    """Count how many geometric variates fit into the number of trials."""
    sums, hits = np.zeros(count.size), np.zeros(count.size)
    waiting = which
    while waiting.size:
        u = streams.uniform(waiting)
        sums[waiting] += np.ceil(np.log(u) / np.log1p(-prob[waiting]))
        waiting = waiting[sums[waiting] <= count[waiting]]
        hits[waiting] += 1
    found: Array = hits[which]
    return found


def _btrs(streams: Streams, which: Array, n: Array, p: Array) -> tuple[Array, Array]:
    """Propose by transformed rejection with squeeze (Hörmann, 1993)."""
    stddev = np.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * stddev
    a = -0.0873 + 0.0248 * b + 0.01 * p
    ratio = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * stddev
    m = np.floor((n + 1) * p)
    u = streams.uniform(which)
    v = streams.uniform(which)
    u = u - 0.5
    edge = 0.5 - np.abs(u)
    k = np.floor((2 * a / edge + b) * u + n * p + 0.5)
    quick = (edge >= 0.07) & (v <= 0.92 - 4.2 / b)
    possible = (k >= 0) & (k <= n)
    inside = np.clip(k, 0, n)
    bound = (
        (m + 0.5) * np.log((m + 1) / (ratio * (n - m + 1)))
        + (n + 1) * np.log((n - m + 1) / (n - inside + 1))
        + (inside + 0.5) * np.log(ratio * (n - inside + 1) / (inside + 1))
        + _tail(m)
        + _tail(n - m)
        - _tail(inside)
        - _tail(n - inside)
    )
    return k, quick | (possible & (np.log(v * alpha / (a / (edge * edge) + b)) <= bound))


def _tail(k: Array) -> Array:
    """Return what Stirling's formula for the logarithm of k! lacks."""
    squared = (k + 1) ** 2
    series = (1 / 12 - (1 / 360 - 1 / 1260 / squared) / squared) / (k + 1)
    table = np.array(_TAILS)[np.minimum(k, 9).astype(np.int64)]
    return np.where(k <= 9, table, series)
