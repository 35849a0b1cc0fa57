"""TensorFlow's account of an arena, to the letter (§5.9, §5.10)."""

from __future__ import annotations

import pytest

from berth.memory.arena import Arena, ArenaOptions
from berth.memory.dump import dump, human_bytes, occupancy_map, out_of_memory_log
from tests.memory.sources import Addresses

MiB = 2**20


class Given(Addresses):
    """The addresses of the example, whose regions are not in the order they came."""

    def __init__(self) -> None:
        super().__init__()
        self._given = [0x100000000, 0x400000000, 0x300000000, 0x200000000]

    def reserve(self, nbytes: int) -> int:
        self.live[self._given[0]] = nbytes
        return self._given.pop(0)


@pytest.fixture
def example() -> Arena:
    """Regions of 2, 16, 8 and 4 MiB, with the chunks of §5.10."""
    arena = Arena("GPU_0_bfc", Given(), 64 * MiB, ArenaOptions(growth=True))
    for nbytes in (1048576, 1048616, 3145728, 5243280, 9437184):
        arena.allocate(nbytes)
    return arena


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1.0KiB"),
        (512 * 1024, "512.0KiB"),
        (MiB, "1.00MiB"),
        (25274793984, "23.54GiB"),
        (-2048, "-2.0KiB"),
        (2**60, "1.00EiB"),
    ],
)
def test_sizes_are_written_as_tensorflow_does(nbytes, text):
    assert human_bytes(nbytes) == text


def test_map_is_the_example_s(example):
    assert occupancy_map(example) == (
        "****__************************************************xxxxxx**********"
        "________________*****_________"
    )


def test_map_of_nothing_says_so():
    arena = Arena("GPU_0_bfc", Addresses(), MiB)
    assert occupancy_map(arena) == "<allocator contains no memory>"


def test_dump_is_the_example_s(example):
    lines = dump(example, 60 * MiB).split("\n")
    empty = "Total Chunks: 0, Chunks in use: 0. 0B allocated for chunks. 0B in use in bin. 0B client-requested in use in bin."

    assert lines[0] == "BFCAllocator dump for GPU_0_bfc"
    assert lines[1] == f"Bin (256): \t{empty}"
    assert lines[13] == (
        "Bin (1048576): \tTotal Chunks: 3, Chunks in use: 2. 3.00MiB allocated for chunks. "
        "2.00MiB in use in bin. 2.00MiB client-requested in use in bin."
    )
    assert lines[21] == f"Bin (268435456): \t{empty}"
    assert lines[22:] == [
        "Bin for 60.00MiB was 32.00MiB, Chunk State: ",
        "Next region of size 2097152",
        "InUse at 100000000 of size 1048576 next 1",
        "Free  at 100100000 of size 1048576 next 18446744073709551615",
        "Next region of size 16777216",
        "InUse at 200000000 of size 5243392 next 7",
        "InUse at 200500200 of size 11533824 next 18446744073709551615",
        "Next region of size 8388608",
        "InUse at 300000000 of size 3145728 next 5",
        "Free  at 300300000 of size 5242880 next 18446744073709551615",
        "Next region of size 4194304",
        "InUse at 400000000 of size 1048832 next 3",
        "Free  at 400100100 of size 3145472 next 18446744073709551615",
        "     Summary of in-use Chunks by size: ",
        "1 Chunks of size 1048576 totalling 1.00MiB",
        "1 Chunks of size 1048832 totalling 1.00MiB",
        "1 Chunks of size 3145728 totalling 3.00MiB",
        "1 Chunks of size 5243392 totalling 5.00MiB",
        "1 Chunks of size 11533824 totalling 11.00MiB",
        "Sum Total of in-use chunks: 21.00MiB",
        "Total size in pool: 30.00MiB memory_limit_: 64.00MiB available size: 34.00MiB "
        "curr_region_allocation_bytes_: 32.00MiB",
        "Stats: ",
        "Limit:                        64.00MiB",
        "InUse:                        21.00MiB",
        "MaxInUse:                     21.00MiB",
        "NumAllocs:                           5",
        "MaxAllocSize:                 11.00MiB",
        "Reserved:                           0B",
        "PeakReserved:                       0B",
        "LargestFreeBlock:                   0B",
        "",
    ]


def test_wanted_bin_shows_its_chunks(example):
    lines = dump(example, 3 * MiB - 1000).split("\n")
    at = lines.index("Bin for 3.00MiB was 2.00MiB, Chunk State: ")

    assert lines[at + 1] == (
        "  Size: 3.00MiB | Requested Size: 0B | in_use: 0 | bin_num: 13, prev:   Size: "
        "1.00MiB | Requested Size: 1.00MiB | in_use: 1 | bin_num: -1"
    )


def test_log_has_head_dump_and_map(example):
    text = out_of_memory_log(example, 60 * MiB, "RandomUniform")
    head = (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 60.00MiB (rounded to "
        "62914560)requested by op RandomUniform\n"
        "If the cause is memory fragmentation maybe the environment variable "
        "'TF_GPU_ALLOCATOR=cuda_malloc_async' will improve the situation. \n"
        "Current allocation summary follows.\n"
        "Current allocation summary follows.\n"
    )
    assert text == head + dump(example, 60 * MiB) + "\n" + occupancy_map(example)
