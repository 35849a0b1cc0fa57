"""The arena against TensorFlow's: a recorded trace, and every number of §5."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest

from berth.memory.arena import Arena, ArenaOptions
from berth.memory.chunks import bin_of, bin_size, rounded
from tests.memory.sources import Addresses

KiB, MiB, GiB = 2**10, 2**20, 2**30
TRACE = json.loads((Path(__file__).parent / "bfc_trace.json").read_text())


def make(limit: int, source: Addresses | None = None, **options) -> Arena:
    return Arena("GPU_0_bfc", source or Addresses(), limit, ArenaOptions(**options))


def region_mib(arena: Arena) -> list[int]:
    return [region.nbytes // MiB for region in arena.regions]


def test_recorded_trace_is_reproduced():
    """§5, bfc_trace.json: 600 steps of TensorFlow 2.21, current and peak after each."""
    arena = make(TRACE["limit"], growth=True, collect_regions=False)
    addresses: dict[int, int] = {}
    mismatches = []
    for number, (kind, key, *rest) in enumerate(TRACE["steps"]):
        if kind == "alloc":
            nbytes, *expected = rest
            addresses[key] = arena.allocate(nbytes)
        else:
            expected = rest
            arena.free(addresses.pop(key))
        if [arena.stats.in_use_bytes, arena.stats.peak_bytes] != expected:
            mismatches.append(number)
        arena.check()

    assert len(TRACE["steps"]) == 600
    assert mismatches == []


@pytest.mark.parametrize(
    ("nbytes", "expected"), [(1, 256), (256, 256), (257, 512), (4, 256), (10**6, 1000192)]
)
def test_requests_are_rounded(nbytes, expected):
    """§5.1."""
    assert rounded(nbytes) == expected


@pytest.mark.parametrize(
    ("size", "number"),
    [(256, 0), (511, 0), (512, 1), (1023, 1), (1024, 2), (256 * MiB, 20), (10 * GiB, 20)],
)
def test_bins_are_powers_of_two(size, number):
    """§5.1: bin b holds [256·2^b, 256·2^(b+1)); the last has no end."""
    assert bin_of(size) == number
    assert bin_size(number) <= size


def test_small_sizes_add_up():
    """§5.12: sizes 1 to 1023 once each, limit 1 GiB."""
    arena = make(GiB)
    addresses = [arena.allocate(size) for size in range(1, 1024)]

    stats = arena.stats
    assert (stats.n_allocations, stats.in_use_bytes, stats.peak_bytes) == (
        1023,
        654336,
        654336,
    )
    assert stats.largest_bytes == 1024
    for address in addresses:
        arena.free(address)
    assert (stats.in_use_bytes, stats.peak_bytes) == (0, 654336)
    arena.check()


def test_nothing_is_no_allocation():
    """§5.3: null for zero bytes, and no count."""
    arena = make(GiB)
    assert arena.allocate(0) is None
    assert arena.stats.n_allocations == 0


def test_limit_is_kept():
    """§5.12: limit 2 MiB: 256 bytes fit, then 8 MiB do not."""
    arena = make(2 * MiB)
    assert arena.allocate(256) is not None
    assert arena.allocate(8 * MiB) is None
    arena.check()


def test_cycles_never_grow():
    """§5.12: 1024 cycles of four sizes; the first pointer is used again."""
    arena = make(GiB)
    first = arena.allocate(4 * KiB)
    arena.free(first)
    for _ in range(1024):
        held = [arena.allocate(n) for n in (4 * KiB, 8 * MiB, 16 * KiB, 40 * MiB)]
        for address in held:
            arena.free(address)
    assert arena.reserved_bytes == GiB
    assert arena.allocate(4 * KiB) == first


def test_growth_doubles():
    """§5.4: limit 100 MiB, requests 1,1,1,3,5,9,20,30 MiB: regions 2,4,8,16,32,38."""
    arena = make(100 * MiB, growth=True)
    for mib in (1, 1, 1, 3, 5, 9, 20, 30):
        assert arena.allocate(mib * MiB) is not None
    assert region_mib(arena) == [2, 4, 8, 16, 32, 38]
    arena.check()


def test_first_region_without_growth_is_the_limit():
    """§5.4."""
    arena = make(100 * MiB)
    arena.allocate(1)
    assert region_mib(arena) == [100]


def test_large_first_request_gets_the_whole_region():
    """§5.3, the example: 15 374 384 bytes take all of a 16 MiB region."""
    arena = make(512 * MiB, growth=True)
    arena.allocate(15374384)
    assert arena.stats.in_use_bytes == 16777216


@pytest.mark.parametrize(
    ("chunk", "request_", "handed_out"),
    [
        (16 * MiB, 8 * MiB, 8 * MiB),  # exactly twice: split
        (16 * MiB, 8 * MiB + 256, 16 * MiB),  # a little more than half: whole
        (300 * MiB, 160 * MiB, 160 * MiB),  # 128 MiB or more to spare: split
        (300 * MiB, 173 * MiB, 300 * MiB),  # 127 to spare: whole
    ],
)
def test_chunks_are_split_by_the_rule(chunk, request_, handed_out):
    """§5.3, step 4."""
    arena = make(chunk)
    arena.allocate(request_)
    assert arena.stats.in_use_bytes == handed_out


def test_fragmentation_fraction_replaces_the_threshold():
    """§5.3, step 4: fraction x limit."""
    arena = make(300 * MiB, fragmentation_fraction=0.1)
    arena.allocate(173 * MiB)
    assert arena.stats.in_use_bytes == 173 * MiB


def test_best_fit_takes_the_smallest_then_the_lowest():
    """§5.3, step 3."""
    arena = make(GiB)
    sizes = [1024, 256, 768, 256, 768, 256, 1024]
    held = [arena.allocate(size) for size in sizes]
    for index in (0, 2, 4, 6):
        arena.free(held[index])
    assert arena.allocate(700) == held[2]
    assert arena.allocate(700) == held[4]
    arena.check()


def test_freed_neighbours_merge():
    """§5.5."""
    arena = make(16 * KiB)
    a, b, c, d = (arena.allocate(4 * KiB) for _ in range(4))
    for address in (a, c, b):
        arena.free(address)
        arena.check()
    assert arena.largest_free_bytes() == 12 * KiB
    assert arena.allocate(12 * KiB) == a
    arena.free(d)


def test_fragmentation_across_regions_fails():
    """§5.12: 512 MiB, growth: 128 x 4 MiB, all but the last freed, then 508 MiB."""
    arena = make(512 * MiB, growth=True)
    held = [arena.allocate(4 * MiB) for _ in range(128)]
    assert None not in held
    for address in held[:-1]:
        arena.free(address)
    assert arena.allocate(508 * MiB) is None
    arena.check()


def test_regions_are_collected_to_make_room():
    """§5.8, §5.12: 2 GiB, growth, the same; one region and one free chunk stay."""
    collected = []
    arena = make(2 * GiB, growth=True, on_collect=lambda: collected.append(1))
    held = [arena.allocate(4 * MiB) for _ in range(128)]
    for address in held[:-1]:
        arena.free(address)
    arena.trim()
    free = [c for region in arena.regions for c in region.chunks() if not c.in_use]
    assert (len(arena.regions), len(free)) == (1, 1)

    arena = make(64 * MiB, growth=True, on_collect=lambda: collected.append(1))
    arena.free(arena.allocate(MiB))
    arena.free(arena.allocate(30 * MiB))
    assert region_mib(arena) == [2, 32]
    assert arena.allocate(62 * MiB) is not None
    assert collected == [1]
    arena.check()


def test_collection_may_make_just_enough_room():
    arena = make(64 * MiB, growth=True)
    arena.free(arena.allocate(30 * MiB))
    assert arena.allocate(64 * MiB) is not None
    assert region_mib(arena) == [64]


def test_no_collection_if_it_would_not_help():
    """§5.8: give up, and keep the regions."""
    arena = make(64 * MiB, growth=True)
    arena.free(arena.allocate(MiB))
    assert arena.allocate(65 * MiB) is None
    assert region_mib(arena) == [2]


def test_collection_can_be_switched_off():
    arena = make(64 * MiB, growth=True, collect_regions=False)
    arena.free(arena.allocate(30 * MiB))
    assert arena.allocate(62 * MiB) is None
    arena.check()


def test_arena_backs_off_by_nine_tenths():
    """§5.4: in single precision, rounded up to 256."""
    source = Addresses(capacity=80 * MiB)
    arena = make(100 * MiB, source)
    arena.allocate(MiB)

    assert source.requests == [104857600, 94371840, 84934656, 76441344]
    assert region_mib(arena) == [72]
    arena.check()


def test_back_off_stops_at_the_request():
    source = Addresses(capacity=10 * MiB)
    arena = make(100 * MiB, source)
    assert arena.allocate(20 * MiB) is None
    assert source.live == {}
    assert min(source.requests) >= 20 * MiB
    assert arena.allocate(5 * MiB) is not None
    arena.check()


def test_clear_keeps_what_is_in_use():
    """§5.7, ClearStats."""
    arena = make(GiB)
    held = arena.allocate(1000)
    arena.free(arena.allocate(MiB))
    arena.stats.clear()
    stats = arena.stats

    assert (stats.n_allocations, stats.largest_bytes) == (0, 0)
    assert stats.in_use_bytes == stats.peak_bytes == 1024
    arena.free(held)


def test_freeing_twice_is_an_error():
    arena = make(GiB)
    address = arena.allocate(1000)
    arena.free(address)
    with pytest.raises(ValueError, match="nothing in use") as raised:
        arena.free(address)
    assert str(raised.value) == (
        "GPU_0_bfc has nothing in use at 0x10000000000: it was freed before, or never "
        "allocated here."
    )
    arena.check()


def test_trim_gives_back_what_is_wholly_free():
    source = Addresses()
    arena = make(GiB, source, growth=True)
    kept = arena.allocate(MiB)
    arena.free(arena.allocate(30 * MiB))

    assert arena.trim() == 32 * MiB
    assert list(source.live.values()) == [2 * MiB]
    arena.free(kept)
    assert arena.trim() == 2 * MiB
    assert (source.live, arena.reserved_bytes) == ({}, 0)
    arena.check()


def test_free_from_a_finalizer_inside_allocate():
    """Garbage may be collected, and so freed, at any allocation of an object."""
    arena = make(GiB)

    class Owner:
        def __init__(self) -> None:
            self.address = arena.allocate(1000)
            self.cycle = self

        def __del__(self) -> None:
            arena.free(self.address)

    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(300):
            Owner()
            arena.free(arena.allocate(5000))
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    arena.check()
    assert arena.stats.in_use_bytes == 0


def test_free_while_another_holds_the_lock():
    """Nothing is lost or waited for: the holder of the lock does it later."""
    arena = make(GiB)
    address = arena.allocate(1000)
    arena._lock.acquire()
    arena.free(address)
    arena._lock.release()

    assert arena.stats.in_use_bytes == 0
    arena.check()


def test_one_float_takes_a_unit():
    """§5.12: requested 4, allocated 256."""
    arena = make(GiB)
    arena.allocate(4)
    [chunk] = arena.holders()
    assert (chunk.requested, chunk.size) == (4, 256)


@pytest.mark.parametrize(("spare", "is_split"), [(128 * MiB, True), (128 * MiB - 256, False)])
def test_spare_part_of_128_mib_is_split_off(spare, is_split):
    """§5.2: what is larger than the request is split off, and what has 128 MiB."""
    size = 200 * MiB
    arena = make(size + spare)
    arena.allocate(size)
    assert arena.largest_free_bytes() == (spare if is_split else 0)
    arena.check()


@pytest.mark.parametrize(("fraction", "is_split"), [(0.25, True), (0.5, False)])
def test_fragmentation_fraction_is_of_the_limit(fraction, is_split):
    arena = make(100 * MiB, fragmentation_fraction=fraction)
    arena.allocate(60 * MiB)
    assert arena.largest_free_bytes() == (40 * MiB if is_split else 0)


def test_nothing_is_free_before_the_first_region():
    assert make(MiB).largest_free_bytes() == 0


def test_region_may_be_as_large_as_the_next_was_to_be():
    arena = make(64 * MiB, growth=True)
    arena.allocate(2 * MiB)
    assert region_mib(arena) == [2]


def test_source_may_have_just_the_request():
    """§5.3: nine tenths are tried again and again, down to the request and no further."""
    wanted = rounded(int(0.9 * 10 * MiB))
    source = Addresses(capacity=wanted)
    arena = make(10 * MiB, source)
    arena.allocate(wanted)
    assert source.requests == [10 * MiB, wanted]


def test_region_that_cannot_be_released_is_given_up():
    class Failing(Addresses):
        def release(self, address):
            raise OSError("gone")

    arena = make(MiB, Failing())
    arena.free(arena.allocate(MiB))
    with pytest.raises(OSError, match="gone"):
        arena.trim()
    assert arena.trim() == 0
    arena.check()


def test_closed_arena_has_nothing_to_trim():
    arena = make(MiB)
    arena.allocate(1)
    arena.close()
    assert arena.trim() == 0
    with pytest.raises(RuntimeError, match="was closed by"):
        arena.reserve_all(MiB)


def test_all_is_reserved_if_the_card_has_it():
    assert make(MiB).reserve_all(MiB) is True
    assert make(MiB, Addresses(capacity=0)).reserve_all(MiB) is False
