"""Distributions over classes 0 to n - 1 that candidate samplers draw from, as TensorFlow's."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.ops.random.simple_philox import SimplePhilox


class RangeSampler:
    """A distribution over a range of classes."""

    def __init__(self, range_max: int) -> None:
        self.range_max = range_max
        self.n_possible = range_max
        """How many classes can be drawn at all."""

    def sample(self, random: SimplePhilox) -> int:
        """Draw a class."""
        raise NotImplementedError

    def probabilities(self, classes: Any) -> Any:
        """Return how likely classes are, in single precision."""
        raise NotImplementedError

    def update(self, classes: Any) -> None:
        """Learn from the classes of a batch."""


class UniformSampler(RangeSampler):
    """All classes are equally likely."""

    def sample(self, random: SimplePhilox) -> int:
        return random.uniform64(self.range_max)

    def probabilities(self, classes: Any) -> Any:
        return np.full(classes.shape, 1.0 / self.range_max, np.float32)


class LogUniformSampler(RangeSampler):
    """Zipf's distribution, for classes that are sorted by falling frequency."""

    def __init__(self, range_max: int) -> None:
        super().__init__(range_max)
        self._log_range = math.log1p(range_max)

    def sample(self, random: SimplePhilox) -> int:
        return (int(math.exp(random.rand_double() * self._log_range)) - 1) % self.range_max

    def probabilities(self, classes: Any) -> Any:
        ratios = (classes + 2.0) / (classes + 1.0)
        return (np.log(ratios) / self._log_range).astype(np.float32)


class LearnedUnigramSampler(RangeSampler):
    """Classes are as likely as they were frequent in the batches before; at first, equally."""

    _MAX_TOTAL = 2**31 - 1

    def __init__(self, range_max: int) -> None:
        super().__init__(range_max)
        self._counts = np.ones(range_max, np.int64)
        self._ends: list[int] = list(range(1, range_max + 1))

    def sample(self, random: SimplePhilox) -> int:
        return bisect_right(self._ends, random.uniform(self._ends[-1]))

    def probabilities(self, classes: Any) -> Any:
        weights = self._counts[classes].astype(np.float32)
        return weights / np.float32(self._ends[-1])

    def update(self, classes: Any) -> None:
        known = classes.reshape(-1)[: self._MAX_TOTAL - self._ends[-1]]
        counts = self._counts + np.bincount(known, minlength=self.range_max)
        ends = np.cumsum(counts).tolist()
        self._counts, self._ends = counts, ends


class FixedUnigramSampler(RangeSampler):
    """Classes are as likely as their given weights say, drawn by the alias method."""

    def __init__(self, weights: Sequence[float], distortion: float, n_reserved: int) -> None:
        super().__init__(len(weights) + n_reserved)
        own = np.asarray(weights, np.float32)
        distorted = np.asarray([math.pow(w, distortion) for w in own.tolist()], np.float32)
        self._weights = np.concatenate([np.zeros(n_reserved, np.float32), distorted])
        self.n_possible = int(np.count_nonzero(self._weights))
        self._total = float(sum(self._weights.tolist()))
        self._limits, self._others = _aliases(self._weights.tolist())

    def sample(self, random: SimplePhilox) -> int:
        value, index = random.rand_float(), random.uniform(self.range_max)
        return index if value < self._limits[index] else self._others[index]

    def probabilities(self, classes: Any) -> Any:
        return (self._weights[classes] / self._total).astype(np.float32)


def _aliases(weights: list[float]) -> tuple[list[float], list[int]]:
    """Return for each class how much of its share is its own, and whose the rest is."""
    n = len(weights)
    total = sum(weights)
    shares = [weight * n / total for weight in weights]
    others = [-1] * n
    low = [index for index, share in enumerate(shares) if share < 1.0]
    high = [index for index, share in enumerate(shares) if share >= 1.0]
    while low and high:
        small, large = low.pop(), high.pop()
        others[small] = large
        shares[large] -= 1.0 - shares[small]
        (low if shares[large] < 1.0 else high).append(large)
    for index in (*low, *high):  # what is left is one, but for rounding
        shares[index] = 1.0
    return [float(np.float32(share)) for share in shares], others


# --- batches --------------------------------------------------------------------------------


def sample_batch(
    sampler: RangeSampler, random: SimplePhilox, n_samples: int, is_unique: bool
) -> tuple[Any, int]:
    """Draw classes, each once if `is_unique`; return them, and the number of draws."""
    if not is_unique:
        return np.array([sampler.sample(random) for _ in range(n_samples)], np.int64), n_samples
    seen: dict[int, None] = {}
    n_draws = 0
    while len(seen) < n_samples:
        n_draws += 1
        seen.setdefault(sampler.sample(random))
    return np.fromiter(seen, np.int64, n_samples), n_draws


def expected_counts(probabilities: Any, n_samples: int, n_draws: int) -> Any:
    """Return how often classes are expected in a batch, in single precision."""
    if n_draws == n_samples:
        return probabilities * np.float32(n_samples)
    return -np.expm1(np.float32(n_draws) * np.log1p(-probabilities))
