"""BFCAllocator's memory dump and map, as TensorFlow logs them after an out-of-memory error.

For those who know how to read it, to the letter. The account for everyone else is
`devices.out_of_memory`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from berth.memory.arena import Arena
from berth.memory.chunks import N_BINS, Chunk, bin_of, bin_size, rounded
from berth.memory.stats import Counters

_MAP_WIDTH = 100
_NONE = 2**64 - 1
"""How TensorFlow prints the handle of a chunk that is not there."""


def human_bytes(nbytes: int) -> str:
    """Write a size as TensorFlow does.

    >>> human_bytes(1000), human_bytes(512 * 1024), human_bytes(23 * 2**30 + 2**29)
    ('1000B', '512.0KiB', '23.50GiB')
    """
    sign, value = ("-" if nbytes < 0 else ""), abs(nbytes)
    if value < 1024:
        return f"{sign}{value}B"
    units = "KMGTPE"
    while value >= 1024**2 and len(units) > 1:
        value //= 1024  # low bits are lost here, as in the original
        units = units[1:]
    return f"{sign}{value / 1024:.{1 if units[0] == 'K' else 2}f}{units[0]}iB"


def out_of_memory_log(arena: Arena, nbytes: int, op: str) -> str:
    """Write all that TensorFlow logs when a request cannot be met: head, dump and map."""
    size = rounded(nbytes)
    follows = "Current allocation summary follows."
    return "\n".join(
        [
            f"Allocator ({arena.name}) ran out of memory trying to allocate "
            f"{human_bytes(nbytes)} (rounded to {size})requested by op {op}",
            "If the cause is memory fragmentation maybe the environment variable "
            "'TF_GPU_ALLOCATOR=cuda_malloc_async' will improve the situation. ",
            follows,
            follows,
            dump(arena, nbytes),
            occupancy_map(arena),
        ]
    )


def dump(arena: Arena, nbytes: int) -> str:
    """Describe every bin, chunk and region, after a request that could not be met."""
    return arena.snapshot(lambda still, counted: "\n".join(_dump_lines(still, counted, nbytes)))


def occupancy_map(arena: Arena) -> str:
    """Draw the regions end to end in 100 characters: * used, x wasted, _ free."""
    return arena.snapshot(lambda still, _: _draw_map(still))


def _dump_lines(arena: Arena, counters: Counters, nbytes: int) -> Iterator[str]:
    yield f"BFCAllocator dump for {arena.name}"
    yield from _bin_lines(arena)
    yield from _wanted_bin_lines(arena, rounded(nbytes))
    for region in arena.regions:
        yield f"Next region of size {region.nbytes}"
        for chunk in region.chunks():
            state = "InUse" if chunk.in_use else "Free "
            after = _NONE if chunk.next is None else chunk.next.handle
            yield f"{state} at {chunk.address:x} of size {chunk.size} next {after}"
    yield "     Summary of in-use Chunks by size: "
    sizes = Counter(chunk.size for chunk in _chunks(arena) if chunk.in_use)
    for size, count in sorted(sizes.items()):
        yield f"{count} Chunks of size {size} totalling {human_bytes(size * count)}"
    in_use = sum(size * count for size, count in sizes.items())
    yield f"Sum Total of in-use chunks: {human_bytes(in_use)}"
    available = arena.limit_bytes - arena.reserved_bytes
    yield (
        f"Total size in pool: {human_bytes(arena.reserved_bytes)} memory_limit_: "
        f"{human_bytes(arena.limit_bytes)} available size: {human_bytes(available)} "
        f"curr_region_allocation_bytes_: {human_bytes(arena.next_region_bytes)}"
    )
    yield f"Stats: \n{_stats_text(arena, counters)}"


def _bin_lines(arena: Arena) -> Iterator[str]:
    by_bin: list[list[Chunk]] = [[] for _ in range(N_BINS)]
    for chunk in _chunks(arena):
        by_bin[bin_of(chunk.size)].append(chunk)
    for number, chunks in enumerate(by_bin):
        used = [chunk for chunk in chunks if chunk.in_use]
        yield (
            f"Bin ({bin_size(number)}): \tTotal Chunks: {len(chunks)}, Chunks in use: "
            f"{len(used)}. {_total(chunks)} allocated for chunks. {_total(used)} in use in "
            f"bin. {human_bytes(sum(c.requested for c in used))} client-requested in use "
            "in bin."
        )


def _total(chunks: list[Chunk]) -> str:
    return human_bytes(sum(chunk.size for chunk in chunks))


def _wanted_bin_lines(arena: Arena, size: int) -> Iterator[str]:
    number = bin_of(size)
    wanted, smallest = human_bytes(size), human_bytes(bin_size(number))
    yield f"Bin for {wanted} was {smallest}, Chunk State: "
    for chunk in _chunks(arena):
        if not chunk.in_use and bin_of(chunk.size) == number:
            yield _chunk_text(chunk, with_neighbours=True)


def _chunk_text(chunk: Chunk, *, with_neighbours: bool) -> str:
    number = -1 if chunk.in_use else bin_of(chunk.size)
    text = (
        f"  Size: {human_bytes(chunk.size)} | Requested Size: "
        f"{human_bytes(chunk.requested)} | in_use: {chunk.in_use:d} | bin_num: {number}"
    )
    if with_neighbours:
        for side, neighbour in (("prev", chunk.prev), ("next", chunk.next)):
            if neighbour is not None:
                text += f", {side}: {_chunk_text(neighbour, with_neighbours=False)}"
    return text


def _stats_text(arena: Arena, counters: Counters) -> str:
    rows = [
        ("Limit:", human_bytes(arena.limit_bytes)),
        ("InUse:", human_bytes(counters.in_use_bytes)),
        ("MaxInUse:", human_bytes(counters.peak_bytes)),
        ("NumAllocs:", str(counters.n_allocations)),
        ("MaxAllocSize:", human_bytes(counters.largest_bytes)),
        # TensorFlow's arena leaves these three to other allocators.
        ("Reserved:", human_bytes(0)),
        ("PeakReserved:", human_bytes(0)),
        ("LargestFreeBlock:", human_bytes(0)),
    ]
    return "".join(f"{name:18}{value:>20}\n" for name, value in rows)


def _draw_map(arena: Arena) -> str:
    total = arena.reserved_bytes
    if not total:
        return "<allocator contains no memory>"
    cells = ["_"] * _MAP_WIDTH
    start = 0
    for region in arena.regions:
        for chunk in region.chunks():
            if chunk.in_use:
                offset = start + chunk.address - region.address
                wasted = chunk.size - chunk.requested
                _paint(cells, "x", offset + chunk.requested, wasted, total)
                _paint(cells, "*", offset, chunk.requested, total)
        start += region.nbytes
    return "".join(cells)


def _paint(cells: list[str], mark: str, offset: int, length: int, total: int) -> None:
    if length:
        first = offset * _MAP_WIDTH // total
        last = (offset + length - 1) * _MAP_WIDTH // total
        cells[first : last + 1] = mark * (last + 1 - first)


def _chunks(arena: Arena) -> list[Chunk]:
    return [chunk for region in arena.regions for chunk in region.chunks()]
