"""The memory side of ``make bench``: the arena, the ledger, and how well memory is used.

There is no peer to run beside: TensorFlow's allocator cannot be called from Python. The
arena is timed on the recorded trace of tests/memory and on random sizes, the ledger
alone in its process. Times are the best of several rounds: the machine's noise only adds.
"""

from __future__ import annotations

import json
import random
import tempfile
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path

from berth.backends.ledger import Ledger
from berth.backends.machine import Machine
from berth.memory.arena import Arena, ArenaOptions

TRACE = Path(__file__).parents[1] / "tests" / "memory" / "bfc_trace.json"
MiB = 2**20


class Addresses:
    """A source without end."""

    def __init__(self) -> None:
        self._next = 0

    def reserve(self, nbytes: int) -> int:
        self._next += 2 * nbytes
        return self._next

    def release(self, address: int) -> None:
        pass


def best(work: Callable[[], object], n_per_call: int, n_calls: int) -> float:
    """Return the seconds of one of the things that a call does, at best."""
    return min(timeit.repeat(work, number=n_calls, repeat=15)) / n_calls / n_per_call


def arena_same_size() -> float:
    arena = Arena("bench", Addresses(), 2**30)
    arena.allocate(1000)

    def pair() -> None:
        address = arena.allocate(1000)
        assert address is not None
        arena.free(address)

    return best(pair, 1, 10_000)


def arena_random_sizes() -> float:
    random_ = random.Random(0)
    arena = Arena("bench", Addresses(), 2**30)
    live = [arena.allocate(random_.randrange(1, 100_000)) for _ in range(100)]
    steps = [(random_.randrange(100), random_.randrange(1, 100_000)) for _ in range(1000)]

    def pairs() -> None:
        for index, size in steps:
            address = live[index]
            assert address is not None
            arena.free(address)
            live[index] = arena.allocate(size)

    return best(pairs, len(steps), 10)


def arena_trace() -> float:
    trace = json.loads(TRACE.read_text())

    def replay() -> None:
        arena = Arena("bench", Addresses(), trace["limit"], ArenaOptions(growth=True))
        addresses: dict[int, int] = {}
        for kind, key, *rest in trace["steps"]:
            if kind == "alloc":
                address = arena.allocate(rest[0])
                assert address is not None
                addresses[key] = address
            else:
                arena.free(addresses.pop(key))

    n_pairs = sum(step[0] == "alloc" for step in trace["steps"])
    return best(replay, n_pairs, 3)


def ledger_pair() -> float:
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger.open(Machine.parse("4xT4"), directory)

        def pair() -> None:
            ledger.reserve(0, MiB)
            ledger.release(0, MiB)

        seconds = best(pair, 1, 2_000)
        ledger.close()
    return seconds


def training_steps(n_steps: int) -> Iterator[tuple[str, str, int]]:
    """Yield what training the CIFAR-10 network allocates and frees: batch 128, float32."""
    batch = 128
    layers = [24 * 24 * 64, 12 * 12 * 64, 12 * 12 * 64, 12 * 12 * 64, 12 * 12 * 64]
    layers += [6 * 6 * 64, 384, 192, 10]
    weights = [4864, 0, 0, 102464, 0, 0, 885120, 73920, 1930]
    for layer, size in enumerate(weights):
        yield "allocate", f"weights{layer}", 4 * size
    for step in range(n_steps):
        images = batch - (step % 3) * 16  # the last batches of an epoch are smaller
        yield "allocate", "input", 4 * images * 24 * 24 * 3
        for layer, size in enumerate(layers):
            yield "allocate", f"out{layer}", 4 * images * size
        yield "allocate", f"grad{len(layers) - 1}", 4 * images * layers[-1]
        for layer in reversed(range(len(layers))):
            if layer:
                yield "allocate", f"grad{layer - 1}", 4 * images * layers[layer - 1]
            yield "allocate", f"update{layer}", 4 * weights[layer]
            yield "free", f"grad{layer}", 0
            yield "free", f"out{layer}", 0
            yield "free", f"update{layer}", 0
        yield "free", "input", 0


def reserved_to_live() -> tuple[float, float]:
    """Replay training; return peak reserved and peak in use, over peak live bytes."""
    arena = Arena("bench", Addresses(), 2**34, ArenaOptions(growth=True))
    live: dict[str, tuple[int, int]] = {}
    peak_live = 0
    for action, name, nbytes in training_steps(20):
        if action == "allocate" and nbytes:
            address = arena.allocate(nbytes)
            assert address is not None
            live[name] = address, nbytes
        elif action == "free" and name in live:
            arena.free(live.pop(name)[0])
        peak_live = max(peak_live, sum(size for _, size in live.values()))
    return arena.stats.peak_reserved_bytes / peak_live, arena.stats.peak_bytes / peak_live


def main() -> None:
    rows = {
        "arena: allocate + free, one size": arena_same_size(),
        "arena: allocate + free, random sizes": arena_random_sizes(),
        "arena: allocate + free, recorded trace": arena_trace(),
        "ledger: reserve + release": ledger_pair(),
    }
    for name, seconds in rows.items():
        print(f"{name:40} {seconds * 1e6:6.2f} µs")
    reserved, in_use = reserved_to_live()
    print(f"{'training: peak reserved / peak live':40} {reserved:6.2f}")
    print(f"{'training: peak in use / peak live':40} {in_use:6.2f}")


if __name__ == "__main__":
    main()
