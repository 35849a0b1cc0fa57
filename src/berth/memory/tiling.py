"""The chunks that tile an arena's regions: splitting, joining, and rebuilding them.

Everything here follows from two facts that the arena keeps: which regions were granted, and
which chunks are in use. What lies between the chunks in use is free. So a tiling that was
left in the middle of a change, by an interrupt or an error, is thrown away, and `rebuilt`
makes the one that there should be.

Invariants, verified by `check`:
  1. The chunks of a region tile it: no gap, no overlap.
  2. Two neighbouring chunks are never both free.
  3. A free chunk is in its bin; a chunk in use is in none.
  4. Every handle, from 0 to the number of chunks made, belongs to one chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from berth.memory.chunks import FREE, Bins, Chunk, Region, bin_of


class Tiling:
    """The regions of an arena, each tiled by chunks, with the free ones in bins."""

    def __init__(self, n_chunks: int = 0) -> None:
        self.regions: list[Region] = []
        """In the order of their addresses."""
        self.bins = Bins()
        self.n_chunks = n_chunks
        self._spare: list[Chunk] = []
        """Chunks that are not part of a region, to be used again, the last one first."""

    # These three are part of every allocation and free, and written for speed.

    def split(self, chunk: Chunk, size: int) -> None:
        """Cut a chunk that is in no bin to a size; the rest is a free chunk."""
        rest = self._spare.pop() if self._spare else self._new_chunk()
        rest.address = chunk.address + size
        rest.size = chunk.size - size
        rest.prev = chunk
        after = rest.next = chunk.next
        if after is not None:
            after.prev = rest
        chunk.next = rest
        chunk.size = size
        self.bins.put(rest)

    def join(self, chunk: Chunk) -> None:
        """Make a chunk free, and one with the free chunks beside it."""
        chunk.allocation_id = FREE
        chunk.requested = 0
        chunk.holder = None
        after = chunk.next
        if after is not None and after.allocation_id == FREE:
            self.bins.remove(after)
            self._absorb(chunk, after)
        before = chunk.prev
        if before is not None and before.allocation_id == FREE:
            self.bins.remove(before)
            self._absorb(before, chunk)
            chunk = before
        self.bins.put(chunk)

    def _absorb(self, chunk: Chunk, after: Chunk) -> None:
        chunk.size += after.size
        beyond = chunk.next = after.next
        if beyond is not None:
            beyond.prev = chunk
        self._spare.append(after)

    def _new_chunk(self) -> Chunk:
        self.n_chunks += 1
        return Chunk(self.n_chunks - 1)

    # --- regions -------------------------------------------------------------------------

    def add(self, address: int, nbytes: int) -> None:
        """Add a region, as one free chunk."""
        chunk = self._spare.pop() if self._spare else self._new_chunk()
        chunk.address, chunk.size = address, nbytes
        chunk.prev = chunk.next = None
        self.regions.append(Region(address, nbytes, chunk))
        self.regions.sort(key=lambda region: region.address)
        self.bins.put(chunk)

    def remove(self, region: Region) -> None:
        """Remove a region that is one free chunk."""
        self.bins.remove(region.first)
        self._spare.append(region.first)
        self.regions.remove(region)

    def free_regions(self) -> list[Region]:
        """List the regions in which nothing is in use."""
        return [region for region in self.regions if region.is_free]

    def chunks(self) -> Iterator[Chunk]:
        """Go through all chunks, in the order of their addresses."""
        for region in self.regions:
            yield from region.chunks()

    # --- from the beginning --------------------------------------------------------------

    def rebuilt(self, granted: Mapping[int, int], in_use: Iterable[Chunk]) -> Tiling:
        """Make the tiling of the regions (address: bytes) in which these chunks are in use.

        The chunks in use stay the same objects. The free ones are new, so what still refers to
        an old one, in the middle of a change, refers to nothing that is in use.
        """
        used = sorted(in_use, key=lambda chunk: chunk.address)
        taken = {chunk.handle for chunk in used}
        handles = (n for n in range(self.n_chunks + len(used) + len(granted)) if n not in taken)
        new = Tiling()
        rest = iter(used)
        following = next(rest, None)
        for start, nbytes in sorted(granted.items()):
            end, address = start + nbytes, start
            tiles: list[Chunk] = []
            while address < end:
                if following is None or following.address >= end:
                    tiles.append(_gap(next(handles), address, end))
                elif following.address > address:
                    tiles.append(_gap(next(handles), address, following.address))
                else:
                    tiles.append(following)
                    following = next(rest, None)
                address = tiles[-1].address + tiles[-1].size
            new._adopt(start, nbytes, tiles)
        made = {chunk.handle for chunk in new.chunks()}
        new.n_chunks = max(self.n_chunks, max(made, default=-1) + 1)
        new._spare = [Chunk(n) for n in reversed(range(new.n_chunks)) if n not in made]
        return new

    def _adopt(self, address: int, nbytes: int, tiles: list[Chunk]) -> None:
        """Add a region with its chunks, from the first to the last."""
        for before, chunk, after in zip(
            [None, *tiles[:-1]], tiles, [*tiles[1:], None], strict=True
        ):
            chunk.prev, chunk.next = before, after
            if not chunk.in_use:
                self.bins.put(chunk)
        self.regions.append(Region(address, nbytes, tiles[0]))

    # --- the invariants --------------------------------------------------------------------

    def check(self) -> None:
        """Verify every invariant; AssertionError if one does not hold."""
        for region in self.regions:
            _check_region(region)
        chunks = list(self.chunks())
        free = [(bin_of(c.size), c.size, c.address) for c in chunks if not c.in_use]
        assert sorted(self.bins.all()) == sorted(free)
        handles = [c.handle for c in [*chunks, *self._spare]]
        assert sorted(handles) == list(range(self.n_chunks))


def _gap(handle: int, start: int, end: int) -> Chunk:
    chunk = Chunk(handle)
    chunk.address, chunk.size = start, end - start
    return chunk


def _check_region(region: Region) -> None:
    address, before = region.address, None
    for chunk in region.chunks():
        assert chunk.address == address, "chunks do not tile the region"
        assert chunk.size > 0
        assert chunk.size % 256 == 0 or region.nbytes % 256
        assert chunk.prev is before
        assert before is None or before.in_use or chunk.in_use, "two free neighbours"
        assert chunk.in_use == (chunk.requested > 0)
        assert chunk.requested <= chunk.size
        address, before = address + chunk.size, chunk
    assert address == region.address + region.nbytes
