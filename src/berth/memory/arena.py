"""Best fit with coalescing: TensorFlow's allocator, exactly (§5). One for each GPU.

An arena hands out ranges of the regions that it reserves from a source. Addresses are
integers, so host, simulated and CUDA memory share this code.

    region   what the source gave in one piece
      chunk, chunk, …   tile the region; in use, or free and waiting in a bin by size

A request is rounded up to 256 bytes and takes the smallest free chunk that is large
enough, or the first part of it. If there is none, the arena grows by a region: with
`growth` by 2 MiB at first and the double of the last each time, without it by all that
the limit allows at once. If the source has less, nine tenths are asked for, and so on. A
region whose chunks are all free goes back to the source only if a request cannot be met
otherwise, or by `trim`.

Invariants, verified by `check`:
  1. The chunks of a region tile it: no gap, no overlap.
  2. Two neighbouring chunks are never both free.
  3. A free chunk is in its bin; a chunk in use is in none, and is found by its address.
  4. in use <= reserved <= limit, and the counters are what the chunks add up to.
  5. After an error everything is as it was, but for free regions that went back to make
     room in vain.

Threads may call anything at any time, and `free` may come from a finalizer in the
middle of an allocation: it takes the chunk out of the table, which is atomic, and leaves
the rest to whoever holds the lock (`deferred`).
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from berth.callsite import CallSite, call_site
from berth.deferred import DeferredWork
from berth.errors import DeviceMemoryError
from berth.memory.chunks import FREE, Bins, Chunk, Region, bin_of, rounded
from berth.memory.stats import MemoryStats

FIRST_GROWTH_BYTES = 2 * 2**20
_SPLIT_BYTES = 128 * 2**20
"""A chunk with this much to spare is split even if the rest is less than what is taken."""


class MemorySource(Protocol):
    """Where regions come from."""

    def reserve(self, nbytes: int) -> int:
        """Return the address of a new region, or raise DeviceMemoryError."""
        ...

    def release(self, address: int) -> None:
        """Give a region back."""
        ...


class ArenaOptions(NamedTuple):
    """How an arena behaves; the defaults are TensorFlow's."""

    growth: bool = False
    collect_regions: bool = True
    """Give wholly free regions back to make room for a larger one."""
    fragmentation_fraction: float = 0.0
    """If not 0: the part of the limit, in place of 128 MiB, that is worth splitting off."""
    on_collect: Callable[[], None] | None = None
    """Called when regions are given back to avoid running out of memory."""


class Arena:
    """The memory of one logical device."""

    def __init__(
        self,
        name: str,
        source: MemorySource,
        limit_bytes: int,
        options: ArenaOptions | None = None,
    ) -> None:
        self.name = name
        self.limit_bytes = limit_bytes
        self.options = options or ArenaOptions()
        self.closed_by: CallSite | str | None = None
        """What gave everything back, if anything has."""
        self.reserved_bytes = 0
        self.regions: list[Region] = []
        """In the order of their addresses."""
        growth = self.options.growth
        self._first_region_bytes = FIRST_GROWTH_BYTES if growth else rounded(limit_bytes)
        self.next_region_bytes = self._first_region_bytes
        self._has_collected = False
        fraction = self.options.fragmentation_fraction
        self._split_bytes = int(fraction * limit_bytes) if fraction > 0 else _SPLIT_BYTES
        self._source = source
        self._stats = MemoryStats()
        self._bins = Bins()
        self._in_use: dict[int, Chunk] = {}
        self._next_id = 1
        self._spare: list[Chunk] = []
        """Chunks that are not part of a region, to be used again, the last one first."""
        self._n_chunks = 0
        self._lock = threading.Lock()
        self._freed: DeferredWork[Chunk] = DeferredWork(self._lock, self._return)
        self._pending = self._freed.pending

    # --- allocate and free -----------------------------------------------------------

    def allocate(self, nbytes: int, holder: object = None) -> int | None:
        """Return the address of that many bytes, or None if they cannot be had."""
        if nbytes <= 0:
            return None
        size = (nbytes + 255) & -256
        try:
            with self._lock:
                if self._pending:
                    self._freed.drain()
                if self.closed_by is not None:
                    raise RuntimeError(f"{self.name} was closed by {self.closed_by}.")
                chunk = self._bins.take(size)
                if chunk is None:
                    chunk = self._make_room(size)
                address = None if chunk is None else self._hand_out(chunk, size, nbytes, holder)
        finally:
            if self._pending:
                self._freed.flush()
        if self._has_collected:
            self._tell_of_collection()
        return address

    def free(self, address: int) -> None:
        """Take back what was allocated. ValueError if that is not in use."""
        chunk = self._in_use.pop(address, None)
        if chunk is None:
            if self.closed_by is not None:
                return  # it went with everything else
            raise ValueError(
                f"{self.name} has nothing in use at {address:#x}: it was freed before, or "
                "never allocated here."
            )
        if self._pending or not self._lock.acquire(False):
            self._freed.post(chunk)
            return
        try:  # the common case, without the way through the queue
            self._return(chunk)
        finally:
            self._lock.release()
        if self._pending:
            self._freed.flush()

    def reserve_all(self, max_bytes: int) -> bool:
        """Take the memory that an arena without growth is entitled to, if the card has it."""
        with self._still():
            if self.closed_by is not None:
                raise RuntimeError(f"{self.name} was closed by {self.closed_by}.")
            return bool(self.regions) or self._extend(rounded(1), max_bytes)

    def trim(self) -> int:
        """Give back the regions that hold nothing; return how many bytes they were."""
        with self._still():
            released = self._release_free_regions()
            if not self.regions:
                self.next_region_bytes = self._first_region_bytes
            return released

    def close(self) -> None:
        """Give everything back, in use or not. What was handed out must not be used."""
        with self._still():
            self.closed_by = call_site()
            for region in self.regions:
                self._source.release(region.address)
            self.regions.clear()
            self._in_use.clear()
            self._bins = Bins()
            self.reserved_bytes = self._stats.in_use_bytes = 0
            self._stats.reserved(0)

    def abandon(self, reason: str) -> None:
        """In a forked child: say that this is the parent's. Touches nothing, no lock either."""
        self.closed_by = reason

    @contextmanager
    def _still(self) -> Iterator[None]:
        """Hold everything still: what was freed is counted, and nothing else changes."""
        try:
            with self._lock:
                self._freed.drain()
                yield
        finally:
            self._freed.flush()

    # --- what there is ---------------------------------------------------------------

    @property
    def stats(self) -> MemoryStats:
        """What is counted, up to now."""
        self._freed.flush()
        return self._stats

    def largest_free_bytes(self) -> int:
        """Return the size of the largest chunk that is free."""
        with self._still():
            return self._bins.largest()

    def holders(self) -> list[Chunk]:
        """List the chunks in use, largest first."""
        with self._still():
            used = [c for region in self.regions for c in region.chunks() if c.in_use]
        return sorted(used, key=lambda chunk: (-chunk.size, chunk.allocation_id))

    def snapshot(self, look: Callable[[Arena], str]) -> str:
        """Let a report look at the arena while nothing changes."""
        with self._still():
            return look(self)

    # --- the steps of an allocation, under the lock ------------------------------------

    # These four are on the way of every allocation and free, and written for speed: no
    # calls for what is one line, and comparisons in place of max().

    def _hand_out(self, chunk: Chunk, size: int, nbytes: int, holder: object) -> int:
        if chunk.size >= size + size or chunk.size - size >= self._split_bytes:
            self._split(chunk, size)
        chunk.requested = nbytes
        chunk.holder = holder
        chunk.allocation_id = self._next_id
        self._next_id += 1
        stats, size = self._stats, chunk.size
        stats.n_allocations += 1
        stats.in_use_bytes += size
        if stats.in_use_bytes > stats.peak_bytes:  # noqa: PLR1730
            stats.peak_bytes = stats.in_use_bytes
        if size > stats.largest_bytes:  # noqa: PLR1730
            stats.largest_bytes = size
        self._in_use[chunk.address] = chunk
        return chunk.address

    def _split(self, chunk: Chunk, size: int) -> None:
        rest = self._spare.pop() if self._spare else self._new_chunk()
        rest.address = chunk.address + size
        rest.size = chunk.size - size
        rest.prev = chunk
        after = rest.next = chunk.next
        if after is not None:
            after.prev = rest
        chunk.next = rest
        chunk.size = size
        self._bins.put(rest)

    def _return(self, chunk: Chunk) -> None:
        """Make a chunk free, and one with the free chunks beside it."""
        if self.closed_by is not None:
            return  # it went with everything else
        self._stats.in_use_bytes -= chunk.size
        chunk.allocation_id = FREE
        chunk.requested = 0
        chunk.holder = None
        after = chunk.next
        if after is not None and after.allocation_id == FREE:
            self._bins.remove(after)
            self._absorb(chunk, after)
        before = chunk.prev
        if before is not None and before.allocation_id == FREE:
            self._bins.remove(before)
            self._absorb(before, chunk)
            chunk = before
        self._bins.put(chunk)

    def _absorb(self, chunk: Chunk, after: Chunk) -> None:
        chunk.size += after.size
        beyond = chunk.next = after.next
        if beyond is not None:
            beyond.prev = chunk
        self._spare.append(after)

    def _new_chunk(self) -> Chunk:
        self._n_chunks += 1
        return Chunk(self._n_chunks - 1)

    # --- regions -----------------------------------------------------------------------

    def _make_room(self, size: int) -> Chunk | None:
        if self._extend(size):
            return self._bins.take(size)
        if self._collect(size) and self._extend(size):
            return self._bins.take(size)
        return None

    def _extend(self, size: int, max_bytes: int = 2**63) -> bool:
        """Reserve a region that can hold this size, larger if growth says so."""
        available = min(self.limit_bytes - self.reserved_bytes, max_bytes) & -256
        if size > available:
            return False
        increased = False
        while self.next_region_bytes < size:
            self.next_region_bytes *= 2
            increased = True
        nbytes = min(self.next_region_bytes, available)
        address = self._reserve(nbytes)
        while address is None:
            less = rounded(nine_tenths(nbytes))
            # Rounding takes back all of the tenth below 2,560 bytes: it would never end.
            if less < size or less == nbytes:
                return False
            nbytes = less
            address = self._reserve(nbytes)
        if not increased:
            self.next_region_bytes *= 2
        self._add_region(address, nbytes)
        return True

    def _reserve(self, nbytes: int) -> int | None:
        try:
            return self._source.reserve(nbytes)
        except DeviceMemoryError:
            return None

    def _add_region(self, address: int, nbytes: int) -> None:
        chunk = self._spare.pop() if self._spare else self._new_chunk()
        chunk.address, chunk.size = address, nbytes
        chunk.prev = chunk.next = None
        self.regions.append(Region(address, nbytes, chunk))
        self.regions.sort(key=lambda region: region.address)
        self.reserved_bytes += nbytes
        self._stats.reserved(self.reserved_bytes)
        self._bins.put(chunk)

    def _collect(self, size: int) -> bool:
        """Give back free regions if that makes room for this size within the limit."""
        if not self.options.collect_regions:
            return False
        free = sum(region.nbytes for region in self.regions if region.is_free)
        if not free or self.limit_bytes - self.reserved_bytes + free < size:
            return False
        self._release_free_regions()
        self._has_collected = True
        return True

    def _tell_of_collection(self) -> None:
        # After the lock was let go: whoever listens may look at the arena.
        self._has_collected = False
        if self.options.on_collect is not None:
            self.options.on_collect()

    def _release_free_regions(self) -> int:
        released = 0
        for region in [region for region in self.regions if region.is_free]:
            self._bins.remove(region.first)
            self._spare.append(region.first)
            self.regions.remove(region)
            self.reserved_bytes -= region.nbytes
            released += region.nbytes
            self._source.release(region.address)
        self._stats.reserved(self.reserved_bytes)
        return released

    # --- the invariants ----------------------------------------------------------------

    def check(self) -> None:
        """Verify every invariant; AssertionError if one does not hold."""
        with self._still():
            waiting = self._bins.all()
            used: dict[int, Chunk] = {}
            free: list[Chunk] = []
            for region in self.regions:
                self._check_region(region)
                for chunk in region.chunks():
                    if chunk.in_use:
                        used[chunk.address] = chunk
                    else:
                        free.append(chunk)
            assert used == self._in_use
            assert sorted(waiting) == sorted((bin_of(c.size), c.size, c.address) for c in free)
            assert sum(c.size for c in used.values()) == self._stats.in_use_bytes
            assert sum(region.nbytes for region in self.regions) == self.reserved_bytes
            assert self._stats.in_use_bytes <= self.reserved_bytes <= self.limit_bytes
            assert self._stats.in_use_bytes <= self._stats.peak_bytes
            handles = [c.handle for c in [*used.values(), *free, *self._spare]]
            assert sorted(handles) == list(range(self._n_chunks))

    def _check_region(self, region: Region) -> None:
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


def nine_tenths(nbytes: int) -> int:
    """Multiply by 0.9 as TensorFlow does: in single precision."""
    nine_tenths = struct.unpack("f", struct.pack("f", 0.9))[0]
    single = struct.unpack("f", struct.pack("f", float(nbytes)))[0]
    return int(struct.unpack("f", struct.pack("f", single * nine_tenths))[0])
