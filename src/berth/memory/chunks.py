"""Chunks: the pieces that tile an arena's regions, and the bins that hold the free ones.

A region is a range of addresses that a source gave in one piece. Chunks tile it from end
to end, each linked to its neighbours; a chunk is in use or free. Free chunks wait in one
of 21 bins by size, the bin of b holding sizes from 256·2^b up to, but not including, the
double; the last has no upper end. Within a bin they are in order of (size, address).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

ALIGNMENT = 256
N_BINS = 21
_LAST = N_BINS - 1
FREE = -1
"""The allocation id of a chunk that is not in use."""


def rounded(nbytes: int) -> int:
    """Round a request up to whole units of 256 bytes, which is what is handed out."""
    return (nbytes + ALIGNMENT - 1) & -ALIGNMENT


def bin_of(size: int) -> int:
    """Return the number of the bin for chunks of this size."""
    return min((size >> 8).bit_length() - 1, _LAST)


def bin_size(number: int) -> int:
    """Return the smallest size that a bin holds."""
    return ALIGNMENT << number


class Chunk:
    """A piece of a region, in use or free."""

    __slots__ = (
        "address",
        "allocation_id",
        "freed_id",
        "handle",
        "holder",
        "next",
        "prev",
        "requested",
        "size",
    )

    def __init__(self, handle: int) -> None:
        self.handle = handle
        """A small number of its own: seen in dumps only."""
        self.address = 0
        self.size = 0
        self.requested = 0
        self.allocation_id = FREE
        self.freed_id = FREE
        """The allocation of it that was freed last, whether or not that is settled."""
        self.prev: Chunk | None = None
        self.next: Chunk | None = None
        self.holder: object = None
        """What it was allocated for, for reports."""

    @property
    def in_use(self) -> bool:
        return self.allocation_id != FREE


class Region:
    """A range of addresses, tiled by chunks."""

    __slots__ = ("address", "first", "nbytes")

    def __init__(self, address: int, nbytes: int, first: Chunk) -> None:
        self.address = address
        self.nbytes = nbytes
        self.first = first

    def chunks(self) -> Iterator[Chunk]:
        chunk: Chunk | None = self.first
        while chunk is not None:
            yield chunk
            chunk = chunk.next

    @property
    def is_free(self) -> bool:
        """Whether nothing in it is in use: it is one free chunk then."""
        return self.first.next is None and not self.first.in_use


class Bins:
    """The free chunks, found by size: the smallest that is large enough comes first.

    Every allocation and every free pass here, so `bin_of` is written out.
    """

    def __init__(self) -> None:
        self._bins: list[list[tuple[int, int, Chunk]]] = [[] for _ in range(N_BINS)]
        self._filled = 0
        """A bit for each bin that is not empty."""

    def put(self, chunk: Chunk) -> None:
        size = chunk.size
        number = (size >> 8).bit_length() - 1
        if number > _LAST:  # noqa: PLR1730
            number = _LAST
        waiting = self._bins[number]
        if waiting:
            insort(waiting, (size, chunk.address, chunk))
        else:
            waiting.append((size, chunk.address, chunk))
            self._filled |= 1 << number

    def remove(self, chunk: Chunk) -> None:
        size = chunk.size
        number = (size >> 8).bit_length() - 1
        if number > _LAST:  # noqa: PLR1730
            number = _LAST
        waiting = self._bins[number]
        if len(waiting) == 1:
            waiting.clear()
            self._filled ^= 1 << number
        else:
            del waiting[bisect_left(waiting, (size, chunk.address))]

    def take(self, size: int) -> Chunk | None:
        """Remove and return the best chunk of at least this size, if there is one."""
        number = (size >> 8).bit_length() - 1
        if number > _LAST:  # noqa: PLR1730
            number = _LAST
        at = 0
        filled = self._filled >> number
        if filled & 1:
            waiting = self._bins[number]
            if waiting[0][0] < size:
                at = bisect_left(waiting, (size,))
                if at == len(waiting):  # all of this bin are too small
                    at = 0
                    filled -= 1
        if not filled:
            return None
        if not filled & 1:
            # The lowest bit that is set is the next bin with a chunk in it.
            number += (filled & -filled).bit_length() - 1
        waiting = self._bins[number]
        chunk = waiting.pop(at)[2]
        if not waiting:
            self._filled ^= 1 << number
        return chunk

    def all(self) -> list[tuple[int, int, int]]:
        """List every free chunk as (bin, size, address)."""
        return [
            (number, size, address)
            for number, waiting in enumerate(self._bins)
            for size, address, _ in waiting
        ]

    def largest(self) -> int:
        """Return the size of the largest free chunk, or 0."""
        return self._bins[self._filled.bit_length() - 1][-1][0] if self._filled else 0
