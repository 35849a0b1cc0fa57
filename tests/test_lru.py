"""The bounded cache: what is kept, what is evicted, what is counted."""

from __future__ import annotations

import threading

from berth.lru import LRUCache, cache_info


def test_least_recently_used_is_evicted():
    released = []
    cache = LRUCache("test", 2, released.append)
    cache["a"], cache["b"] = 1, 2
    assert cache.get("a") == 1
    cache["c"] = 3
    assert released == [2]
    assert list(cache.values()) == [1, 3]
    assert cache.get("b") is None


def test_counters_tell_what_happened():
    cache = LRUCache("test of counters", 1)
    cache["a"] = 1
    cache.get("a")
    cache.get("b")
    cache["b"] = 2
    [info] = [info for info in cache_info() if info.name == "test of counters"]
    assert info == ("test of counters", 1, 1, 1, 1, 1)


def test_replaced_and_dropped_values_are_released():
    released = []
    cache = LRUCache("test", 2, released.append)
    cache["a"] = 1
    cache["a"] = 2
    cache["a"] = 2  # the same: it stays
    assert released == [1]
    cache.clear()
    assert (released, len(cache), cache.evictions) == ([1, 2], 0, 0)


def test_threads_keep_the_bound():
    cache = LRUCache("test", 8)

    def work(seed):
        for k in range(5_000):
            cache[(seed * k) % 37] = k
            cache.get(k % 37)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (3, 5, 7, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(cache) == 8
