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
that miss at the same time may both compute an entry; the later one is kept, and the other is
released as if it had been evicted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

from berth.finalizers import WeakSet

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_caches: WeakSet[LRUCache[Any, Any]] = WeakSet()


class CacheInfo(NamedTuple):
    """What a cache has done so far."""

    name: str
    hits: int
    misses: int
    evictions: int
    entries: int
    max_entries: int


def cache_info() -> list[CacheInfo]:
    """List the counters of all caches of the process, by name."""
    while True:
        with suppress(RuntimeError):  # another thread made a cache meanwhile
            return sorted(cache.info() for cache in list(_caches))


class LRUCache(Generic[K, V]):
    """A dictionary of at most `max_entries`, which evicts the least recently used."""

    __slots__ = (
        "__weakref__",
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
        """Called with each value that leaves the cache, to release what it holds."""
        self._entries: OrderedDict[K, V] = OrderedDict()  # the least recently used first
        _caches.add(self)

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
                entries.move_to_end(key)
            except KeyError:  # another thread has evicted it; it can be used all the same
                return value
        return value

    def __setitem__(self, key: K, value: V) -> None:
        entries = self._entries
        before = entries.pop(key, None)
        entries[key] = value
        if before is not None and before is not value:
            self._release(before)
        while len(entries) > self.max_entries:
            try:
                _, evicted = entries.popitem(last=False)
            except KeyError:  # another thread was faster
                return
            self.evictions += 1
            self._release(evicted)

    def _release(self, value: V) -> None:
        if self._on_evict is not None:
            self._on_evict(value)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def values(self) -> Iterator[V]:
        """Iterate over a snapshot of the values, the least recently used first."""
        return iter(list(self._entries.values()))

    def clear(self) -> None:
        """Drop all entries, and release what they hold; they do not count as evicted."""
        entries, self._entries = self._entries, OrderedDict()
        for value in entries.values():
            self._release(value)

    def info(self) -> CacheInfo:
        """Return the counters."""
        counted = (self.hits, self.misses, self.evictions)
        return CacheInfo(self.name, *counted, len(self._entries), self.max_entries)
