"""Any sequence of requests: the arena does what the naive one does, to the address."""

from __future__ import annotations

import os
import random
import threading

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from berth.memory.arena import Arena, ArenaOptions
from tests.memory.sources import Addresses
from tests.properties.naive_arena import NaiveArena

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
MiB = 2**20

sizes = st.one_of(
    st.integers(0, 2000),
    st.integers(1, 64).map(lambda n: n * MiB // 4),
    st.integers(1, 300).map(lambda n: n * MiB),
    st.integers(0, 40 * MiB),
)


class ArenaMachine(RuleBasedStateMachine):
    """An arena and the naive one, on two sources that behave alike."""

    @initialize(
        limit=st.integers(256, 600 * MiB),
        capacity=st.integers(0, 600 * MiB),
        growth=st.booleans(),
        collect=st.booleans(),
        descending=st.booleans(),
    )
    def start(self, limit, capacity, growth, collect, descending):
        self.source = Addresses(capacity, descending=descending)
        self.twin = Addresses(capacity, descending=descending)
        options = ArenaOptions(growth=growth, collect_regions=collect)
        self.arena = Arena("arena", self.source, limit, options)
        self.naive = NaiveArena(self.reserve, self.twin.release, limit, growth, collect)
        self.held: list[int] = []

    def reserve(self, nbytes):
        try:
            return self.twin.reserve(nbytes)
        except MemoryError:
            return None

    @rule(nbytes=sizes)
    def allocate(self, nbytes):
        address = self.arena.allocate(nbytes)
        assert address == self.naive.allocate(nbytes)
        if address is not None:
            self.held.append(address)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def free(self, data):
        address = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        self.arena.free(address)
        self.naive.free(address)

    @rule(n_failures=st.integers(1, 4))
    def source_fails(self, n_failures):
        self.source.fail_next = self.twin.fail_next = n_failures

    @rule()
    def clear_stats(self):
        self.arena.stats.clear()
        self.naive.peak, self.naive.n_allocs, self.naive.largest = self.naive.in_use, 0, 0

    @invariant()
    def counters_are_exact(self):
        stats, naive = self.arena.stats, self.naive
        assert (stats.in_use_bytes, stats.peak_bytes) == (naive.in_use, naive.peak)
        assert (stats.n_allocations, stats.largest_bytes) == (naive.n_allocs, naive.largest)
        assert self.arena.reserved_bytes == naive.pool == sum(self.source.live.values())

    def teardown(self):
        if not hasattr(self, "arena"):
            return
        self.arena.check()
        for address in self.held:
            self.arena.free(address)
        self.arena.trim()
        assert self.source.live == {}
        self.arena.check()


ArenaMachine.TestCase.settings = settings(
    max_examples=2_000 if IS_DEEP else 60, stateful_step_count=100, deadline=None
)
TestArena = ArenaMachine.TestCase


@pytest.mark.parametrize("seed", range(1_000 if IS_DEEP else 20))
def test_long_histories_agree(seed):
    """A thousand steps each, where hypothesis prefers short ones: 10⁶ in `make fuzz`."""
    random_ = random.Random(seed)
    machine = ArenaMachine()
    machine.start(
        limit=random_.randrange(MiB, 600 * MiB),
        capacity=random_.randrange(MiB, 600 * MiB),
        growth=random_.random() < 0.5,
        collect=random_.random() < 0.5,
        descending=random_.random() < 0.5,
    )
    largest = random_.choice([4_000, MiB, 60 * MiB])
    for _ in range(1_000):
        if machine.held and random_.random() < 0.45:
            address = machine.held.pop(random_.randrange(len(machine.held)))
            machine.arena.free(address)
            machine.naive.free(address)
        elif random_.random() < 0.02:
            machine.source.fail_next = machine.twin.fail_next = random_.randrange(1, 5)
        else:
            nbytes = random_.randrange(largest)
            address = machine.arena.allocate(nbytes)
            assert address == machine.naive.allocate(nbytes)
            if address is not None:
                machine.held.append(address)
        machine.counters_are_exact()
    machine.teardown()


def test_threads_never_overlap():
    """Many threads, a tight limit, a source that fails: no byte is given out twice."""
    source = Addresses(capacity=40 * MiB)
    arena = Arena("arena", source, 48 * MiB, ArenaOptions(growth=True))
    given: dict[int, int] = {}
    guard = threading.Lock()
    overlaps: list[int] = []

    def take(random_: random.Random) -> int | None:
        size = random_.randrange(1, MiB)
        with guard:  # so that what is given and what is noted are one
            address = arena.allocate(size)
            if address is not None:
                end = address + size
                overlaps.extend(a for a, n in given.items() if a < end and address < a + n)
                given[address] = size
        return address

    def work(seed: int) -> None:
        random_, held = random.Random(seed), []
        for _ in range(20_000 if IS_DEEP else 1_000):
            if held and random_.random() < 0.5:
                address = held.pop(random_.randrange(len(held)))
                with guard:
                    del given[address]
                arena.free(address)  # outside: threads meet in the arena
            else:
                address = take(random_)
                if address is not None:
                    held.append(address)
        for address in held:
            with guard:
                del given[address]
            arena.free(address)

    threads = [threading.Thread(target=work, args=[seed]) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    arena.check()
    assert overlaps == []
    assert arena.stats.in_use_bytes == 0
