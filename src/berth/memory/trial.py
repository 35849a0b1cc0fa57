"""Trial allocations: would a request fit, with more to reserve or under another limit?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from berth.memory.arena import Arena, nine_tenths
from berth.memory.chunks import Chunk, rounded


class _Addresses:
    """A source without end, for trying things out."""

    def __init__(self) -> None:
        self._next = 0

    def reserve(self, nbytes: int) -> int:
        address = self._next
        self._next += 2 * nbytes  # never adjacent
        return address

    def release(self, address: int) -> None:
        pass


def fits_fresh_arena(
    arena: Arena, held: Sequence[Chunk], nbytes: int, limit_bytes: int
) -> bool:
    """Tell whether what an arena holds, and then this, would fit under another limit.

    Tried on a new arena with what is held in the order it was asked for.
    """
    trial = Arena("trial", _Addresses(), limit_bytes, arena.options._replace(on_collect=None))
    in_order = sorted(held, key=lambda chunk: chunk.allocation_id)
    sizes = [*(chunk.requested for chunk in in_order), nbytes]
    return all(trial.allocate(size) is not None for size in sizes)


def could_extend(arena: Arena, size: int, source_bytes: int) -> bool:
    """Tell whether a request could be met by a new region, if the source has so much.

    Says what the arena would do, with its back-off and its collection of regions.
    """
    if _would_extend(arena, size, arena.reserved_bytes, source_bytes):
        return True
    free = sum(region.nbytes for region in arena.regions if region.is_free)
    if not free or not arena.options.collect_regions:
        return False
    return _would_extend(arena, size, arena.reserved_bytes - free, source_bytes + free)


def could_fit_without(
    arena: Arena, size: int, source_bytes: int, is_temporary: Callable[[Chunk], bool]
) -> bool:
    """Tell whether a request could be met if the temporary chunks were free as well."""
    return arena.snapshot(
        lambda still, _: _fits_without(still, size, source_bytes, is_temporary)
    )


def _fits_without(
    arena: Arena, size: int, source_bytes: int, is_temporary: Callable[[Chunk], bool]
) -> bool:
    emptied = 0
    for region in arena.regions:
        together = 0
        for chunk in region.chunks():
            is_free = not chunk.in_use or is_temporary(chunk)
            together = together + chunk.size if is_free else 0
            if together >= size:
                return True
        if together == region.nbytes:
            emptied += region.nbytes
    if not arena.options.collect_regions:
        emptied = 0
    return _would_extend(arena, size, arena.reserved_bytes - emptied, source_bytes + emptied)


def _would_extend(arena: Arena, size: int, reserved: int, source_bytes: int) -> bool:
    available = (arena.limit_bytes - reserved) & -256
    if size > available:
        return False
    nbytes = arena.next_region_bytes
    while nbytes < size:
        nbytes *= 2
    nbytes = min(nbytes, available)
    while nbytes > source_bytes:
        less = rounded(nine_tenths(nbytes))
        if less < size or less == nbytes:
            return False
        nbytes = less
    return True
