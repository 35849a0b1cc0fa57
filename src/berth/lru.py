"""A bounded cache: the entries that were used last are kept.

All caches of berth are of this class, so that each has a bound and can be looked at:

>>> cache = LRUCache("plans", max_entries=2)
>>> cache["a"], cache["b"] = 1, 2
>>> cache.get("a")
1
>>> cache["c"] = 3  # evicts "b", which was used least recently
>>> "b" in cache, cache.info()
(False, CacheInfo(name='plans', hits=1, misses=0, evictions=1, entries=2, max_entries=2))

The order of use is kept once a cache is half full. Until then a hit costs one look-up, and
nothing is lost: before the first eviction as many entries again are added, and all that is used
meanwhile moves to the end.

Thread safety: each method makes one change that the interpreter lock keeps whole. Two threads
that miss at the same time may both compute an entry; the later one is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class CacheInfo(NamedTuple):
    """What a cache has done so far."""

    name: str
    hits: int
    misses: int
    evictions: int
    entries: int
    max_entries: int


class LRUCache(Generic[K, V]):
    """A dictionary of at most `max_entries`, which evicts the least recently used."""

    __slots__ = (
        "_entries",
        "_n_unordered",
        "_on_evict",
        "evictions",
        "hits",
        "max_entries",
        "misses",
        "name",
    )

    def __init__(
        self, name: str, max_entries: int, on_evict: Callable[[V], None] | None = None
    ) -> None:
        self.name = name
        self.max_entries = max_entries
        self.hits = self.misses = self.evictions = 0
        self._n_unordered = max_entries // 2
        """Up to so many entries, which are used last does not matter yet: see above."""
        self._on_evict = on_evict
        """Told of each value that is evicted, to release what it holds."""
        self._entries: dict[K, V] = {}  # in the order of use, the oldest first

    def get(self, key: K) -> V | None:
        """Return the value of a key, and count it as used; None if there is none."""
        entries = self._entries
        value = entries.get(key)
        if value is None:
            self.misses += 1
            return None
        self.hits += 1
        if len(entries) > self._n_unordered:
            try:
                entries[key] = entries.pop(key)
            except KeyError:  # another thread has evicted it
                return None
        return value

    def __setitem__(self, key: K, value: V) -> None:
        entries = self._entries
        entries.pop(key, None)
        entries[key] = value
        while len(entries) > self.max_entries:
            self._evict()

    def _evict(self) -> None:
        try:
            evicted = self._entries.pop(next(iter(self._entries)))
        except (StopIteration, KeyError, RuntimeError):  # another thread was faster
            return
        self.evictions += 1
        if self._on_evict is not None:
            self._on_evict(evicted)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> Iterator[V]:
        """Iterate over a snapshot of the values, the least recently used first."""
        return iter(list(self._entries.values()))

    def clear(self) -> None:
        """Drop all entries; they do not count as evicted."""
        self._entries = {}

    def info(self) -> CacheInfo:
        """Return the counters."""
        counted = (self.hits, self.misses, self.evictions)
        return CacheInfo(self.name, *counted, len(self._entries), self.max_entries)
