"""Kinds of queues that differ in how they hold elements: shuffled, padded, by priority."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import count, repeat
from typing import Any

import numpy as np

from berth.data.queue_objects import Element, Queue
from berth.dtypes import DType, string
from berth.ops.random import philox
from berth.ops.shape import Dims


class RandomShuffleQueue(Queue):
    """Gives elements in random order; keeps some back so that it can shuffle."""

    kind = "RandomShuffleQueue"

    def __init__(
        self,
        name: str,
        capacity: int,
        dtypes: Sequence[DType],
        shapes: Sequence[Dims],
        min_after_dequeue: int,
        seeds: tuple[int, int],
    ) -> None:
        super().__init__(name, capacity, dtypes, shapes)
        self._min_after_dequeue = min_after_dequeue
        if seeds == (0, 0):
            seeds = random.getrandbits(64), random.getrandbits(64)
        self._generator = philox.Generator.seeded(*seeds)
        self._words: list[int] = []

    def _container(self) -> Any:
        return []

    def take(self, entries: deque[Any], n: int) -> None:
        """Remove random elements: each time the last one takes the place of another."""
        elements = self._elements
        for _ in range(n):
            position = self._draw() % len(elements)
            elements[position], elements[-1] = elements[-1], elements[position]
            entries.extend(map(list.pop, repeat(elements, 1)))

    def _draw(self) -> int:
        if not self._words:
            words = np.empty(4, np.uint32)
            scratch = np.empty(16, np.uint64)
            philox.fill_bits(np, self._generator, words, scratch)
            self._generator = self._generator.skip(1)
            self._words = words[::-1].tolist()
        return self._words.pop()

    def give_back(self, entries: deque[Any]) -> None:
        """Undo `take`, as far as it can be undone."""
        self._elements.extend(map(deque.popleft, repeat(entries, len(entries))))

    @property
    def n_free_to_take(self) -> int:
        """How many elements may be taken now."""
        kept = 0 if self.is_closed else self._min_after_dequeue
        return max(0, len(self._elements) - kept)


class PaddingFIFOQueue(Queue):
    """A FIFO queue whose elements may differ in size; batches are padded with zeros."""

    kind = "PaddingFIFOQueue"

    def batch(self, elements: Sequence[Element]) -> list[Any]:
        """Put the elements of a batch below each other, each as large as the largest."""
        columns = list(zip(*elements, strict=True)) or [()] * len(self.dtypes)
        return [
            _padded(column, dtype, dims)
            for column, dtype, dims in zip(columns, self.dtypes, self.shapes, strict=True)
        ]


class PriorityQueue(Queue):
    """Gives the element with the least number in its first component."""

    kind = "PriorityQueue"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._serial = count()

    def _container(self) -> Any:
        return []

    def entries(self, elements: Iterable[Element]) -> deque[Any]:
        """Put the priority first; of the same priority, the first comes first."""
        return deque([(int(each[0]), next(self._serial), each) for each in elements])

    def elements(self, entries: Iterable[Any]) -> list[Element]:
        """Undo `entries`."""
        return [element for _, _, element in entries]

    def put(self, entries: deque[Any], n: int) -> None:
        """Add the first entries of a deque, which loses them."""
        _do_all(map(heappush, repeat(self._elements), map(deque.popleft, repeat(entries, n))))

    def take(self, entries: deque[Any], n: int) -> None:
        """Remove the entries that come first, and add them to a deque."""
        entries.extend(map(heappop, repeat(self._elements, n)))

    def give_back(self, entries: deque[Any]) -> None:
        """Undo `take`."""
        self.put(entries, len(entries))


def _do_all(calls: Iterable[None]) -> None:
    deque(calls, maxlen=0)


def _padded(column: Sequence[Any], dtype: DType, dims: Dims) -> Any:
    rank = len(dims or ())
    if any(array.ndim != rank for array in column):
        rank = column[0].ndim
    largest = [max((array.shape[axis] for array in column), default=0) for axis in range(rank)]
    out = np.zeros((len(column), *largest), dtype.np_dtype)
    if dtype is string:
        out.fill(b"")
    for position, array in enumerate(column):
        out[position][tuple(slice(size) for size in array.shape)] = array
    return out
