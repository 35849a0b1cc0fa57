"""Shuffling in TensorFlow's order: the same seeds give the same elements.

A buffer is filled; each element that is taken from it, at random, is replaced by the next of
the input. The numbers are the words of a Philox generator (`berth.ops.random.philox`), each
modulo the number of elements in the buffer. The buffer is a ring: what is at its start moves to
the place of the element that was taken.

Of the dataset's two seeds another generator draws two new ones, each time that an iterator
begins: that is how epochs differ. Without `reshuffle_each_iteration` all have the same.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from berth.data.pipeline import INFINITE, UNKNOWN, Pipeline
from berth.data.structure import Element
from berth.errors import InvalidArgumentError
from berth.ops.random import philox

_WORDS = 1024
"""How many words are drawn at a time."""


def random_words(seed: int, seed2: int) -> Iterator[int]:
    """Iterate over the words of a generator, without end.

    >>> from itertools import islice
    >>> list(islice(random_words(5, 1), 2))
    [1664195124, 1407176791]
    """
    generator = philox.Generator.seeded(seed, seed2)
    n_words = 16
    while True:
        out = np.empty(n_words, np.uint32)
        scratch = np.empty(philox.scratch_size(n_words, out.dtype), np.uint64)
        philox.fill_bits(np, generator, out, scratch)
        yield from out.tolist()
        generator = generator.skip(n_words // 4)
        n_words = _WORDS


def random_seeds() -> tuple[int, int]:
    """Draw seeds for a dataset that was given none."""
    return secrets.randbits(64), secrets.randbits(64)


class SeedGenerator:
    """Gives each iterator of a dataset the seeds of its order."""

    def __init__(self, seed: int, seed2: int, reshuffles: bool) -> None:
        self._seeds = (seed, seed2) if seed or seed2 else random_seeds()
        self._words = random_words(*self._seeds) if reshuffles else None
        self._lock = threading.Lock()

    def draw(self) -> tuple[int, int]:
        """Return the seeds of the next iterator."""
        if self._words is None:
            return self._seeds
        with self._lock:
            return next(self._words), next(self._words)


class Shuffle(Pipeline):
    """Elements in random order, as far as a buffer reaches."""

    kind = "ShuffleDataset"

    def __init__(
        self, parent: Pipeline, buffer_size: Any, seed: Any, seed2: Any, *, reshuffles: bool
    ) -> None:
        self._parent = parent
        self._size = int(buffer_size)
        if self._size == UNKNOWN:  # all of the input, which has to have an end
            self._size = parent.cardinality()
            if self._size == INFINITE:
                raise InvalidArgumentError(
                    None, None, "Cannot shuffle an infinite dataset without a buffer_size."
                )
            self._size = self._size if self._size >= 0 else 2**62
        elif self._size < 1:
            raise InvalidArgumentError(
                None, None, "buffer_size must be greater than zero or UNKNOWN_CARDINALITY"
            )
        self._seeds = SeedGenerator(int(seed), int(seed2), reshuffles)

    def iterate(self) -> Iterator[Element]:
        seed, seed2 = self._seeds.draw()
        return _Shuffled(self._parent.iterate(), self._size, random_words(seed, seed2))

    def cardinality(self) -> int:
        return self._parent.cardinality()


class _Shuffled:
    """An iterator over a buffer: a list that is long enough, and used as a ring."""

    def __init__(self, elements: Iterator[Element], size: int, words: Iterator[int]) -> None:
        self._elements: Iterator[Element] | None = elements
        self._size = size
        self._words = words
        self._ring: list[Any] = []
        self._start = 0
        self._n_held = 0

    def __iter__(self) -> _Shuffled:
        return self

    def __next__(self) -> Element:
        if self._elements is not None:
            self._fill(self._elements)
        n_held = self._n_held
        if not n_held:
            raise StopIteration
        ring, start = self._ring, self._start
        size = len(ring)
        chosen = (start + next(self._words) % n_held) % size
        element: Element = ring[chosen]
        ring[chosen] = ring[start]
        ring[start] = None
        self._start = start + 1 if start + 1 < size else 0
        self._n_held = n_held - 1
        return element

    def _fill(self, elements: Iterator[Element]) -> None:
        ring, size = self._ring, self._size
        while self._n_held < size:
            element = next(elements, None)
            if element is None:
                self._elements = None
                return
            if len(ring) < size:  # it is not full for the first time
                ring.append(element)
            else:
                ring[(self._start + self._n_held) % size] = element
            self._n_held += 1
