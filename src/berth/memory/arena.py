"""The best-fit allocator with coalescing: TensorFlow's BFCAllocator, exactly. One for each GPU.

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

The state of an arena is of two kinds:

    facts     the regions granted, the chunks in use, the queue of what was freed
    the rest  the tiling of the regions with its bins, and the counters: they follow from
              the facts

An interrupt (Ctrl-C), a finalizer or an error may come between any two bytecodes. Each fact
changes by one C call, which is whole or not begun: an allocation is made by one store into
`_in_use`, with everything else ready; a free by one append to `_freed`. The rest is changed
under the lock and under a mark, `_is_changing`. If the next call finds the mark, a change was
broken off, and it rebuilds the rest from the facts (`_rebuild`).

`free` only queues, and takes no lock: a finalizer may call it in the middle of an allocation.
Each call that takes the lock settles the queue first, so nothing can tell the difference.
Locks are taken by `with` alone: it is one bytecode, with no interrupt between the lock and the
block that releases it.

Invariants, verified by `check`:
  1. The chunks tile the regions, as `tiling` says.
  2. A chunk in use is found by its address, and belongs to an owner, if one was named, whose
     finalizer frees it.
  3. in use <= reserved <= limit, and the counters are what the chunks add up to.
  4. After an error or an interrupt everything is as before the call, or as after it; only
     free regions may have gone back to make room in vain.
"""

from __future__ import annotations

import struct
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from berth.callsite import CallSite, call_site
from berth.errors import DeviceMemoryError
from berth.memory.chunks import Chunk, Region, rounded
from berth.memory.stats import Counters, MemoryStats
from berth.memory.tiling import Tiling

T = TypeVar("T")
FIRST_GROWTH_BYTES = 2 * 2**20
_SPLIT_BYTES = 128 * 2**20
"""A chunk with this much to spare is split even if the rest is less than what is taken."""


class MemorySource(Protocol):
    """Where regions come from."""

    def reserve(self, nbytes: int) -> int:
        """Return the address of a new region, or raise DeviceMemoryError."""
        ...

    def release(self, address: int) -> None:
        """Release a region; called again after an interrupt, it may be gone already."""
        ...


class Owner(Protocol):
    """What an allocation is made for."""

    release: Callable[[], None]
    """Set by the arena: frees the allocation. It is C code throughout, fit for a finalizer."""


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
        growth = self.options.growth
        self._first_region_bytes = FIRST_GROWTH_BYTES if growth else rounded(limit_bytes)
        self.next_region_bytes = self._first_region_bytes
        self._has_collected = False
        fraction = self.options.fragmentation_fraction
        self._split_bytes = int(fraction * limit_bytes) if fraction > 0 else _SPLIT_BYTES
        self._source = source
        self._lock = threading.Lock()
        self._granted: dict[int, int] = {}
        """The bytes of each region that the source has granted, by address."""
        self._leaving: list[int] = []
        """The addresses of regions that are on their way back to the source."""
        self._in_use: dict[int, Chunk] = {}
        self._freed: deque[tuple[Chunk, int]] = deque()
        """Allocations that were freed, by chunk and number; still in use until settled."""
        self._is_changing = False
        self._tiling = Tiling()
        self._counters = Counters()
        self.stats = MemoryStats(self._settled_counters)

    # --- allocate and free -----------------------------------------------------------

    def allocate(
        self, nbytes: int, holder: object = None, owner: Owner | None = None
    ) -> int | None:
        """Return the address of that many bytes, or None if they cannot be had.

        An owner's `release` is set before the allocation is made: what happens next, it can
        be freed.
        """
        if nbytes <= 0:
            return None
        size = (nbytes + 255) & -256
        with self._lock:
            if self._freed or self._is_changing:
                self._settle()
            if self.closed_by is not None:
                raise RuntimeError(f"{self.name} was closed by {self.closed_by}.")
            self._is_changing = True
            chunk = self._tiling.bins.take(size) or self._make_room(size)
            address = None
            if chunk is not None:
                spare = chunk.size - size
                if spare >= size or spare >= self._split_bytes:
                    self._tiling.split(chunk, size)
                counters = self._counters
                number = counters.next_id
                chunk.requested = nbytes
                chunk.holder = holder
                chunk.allocation_id = number
                address = chunk.address
                if owner is not None:
                    owner.release = partial(self._freed.append, (chunk, number))
                self._in_use[address] = chunk  # from here on it is made
                counters.next_id = number + 1
                counters.in_use_bytes += chunk.size
                if counters.in_use_bytes > counters.peak_bytes:  # noqa: PLR1730 - faster
                    counters.peak_bytes = counters.in_use_bytes
                if chunk.size > counters.largest_bytes:  # noqa: PLR1730
                    counters.largest_bytes = chunk.size
            self._is_changing = False
        if self._has_collected:
            self._report_collection()
        return address

    def free(self, address: int) -> None:
        """Take back what was allocated. ValueError if that is not in use."""
        chunk = self._in_use.get(address)
        if chunk is None or chunk.freed_id == chunk.allocation_id:
            if self.closed_by is not None:
                return  # it went with everything else
            raise ValueError(
                f"{self.name} has nothing in use at {address:#x}: it was freed before, or "
                "never allocated here."
            )
        number = chunk.allocation_id
        self._freed.append((chunk, number))
        chunk.freed_id = number

    def reserve_all(self, max_bytes: int) -> bool:
        """Take the memory that an arena without growth is entitled to, if the card has it."""
        with self._lock:
            self._settle()
            if self.closed_by is not None:
                raise RuntimeError(f"{self.name} was closed by {self.closed_by}.")
            self._is_changing = True
            has_memory = bool(self._granted) or self._extend(rounded(1), max_bytes)
            self._is_changing = False
            return has_memory

    def trim(self) -> int:
        """Release the regions that hold nothing; return the number of bytes."""
        with self._lock:
            if self.closed_by is not None:
                return 0
            self._settle()
            self._is_changing = True
            released = self._release_free_regions()
            if not self._granted:
                self.next_region_bytes = self._first_region_bytes
            self._is_changing = False
            return released

    def close(self) -> None:
        """Release all regions, in use or not. Their addresses must not be used any more."""
        with self._lock:
            self._is_changing = True
            self.closed_by = call_site()
            self._settle()

    def abandon(self, reason: str) -> None:
        """In a forked child: everything here is the parent's. The source is left alone."""
        self.closed_by = reason
        self._lock = threading.Lock()  # a thread that the child does not have may hold it
        self._granted, self._leaving, self._in_use = {}, [], {}

    # --- what there is ---------------------------------------------------------------

    @property
    def regions(self) -> list[Region]:
        """The regions, in the order of their addresses."""
        return self._tiling.regions

    def largest_free_bytes(self) -> int:
        """Return the size of the largest chunk that is free."""
        with self._lock:
            self._settle()
            return self._tiling.bins.largest()

    def holders(self) -> list[Chunk]:
        """List the chunks in use, largest first."""
        with self._lock:
            self._settle()
            used = list(self._in_use.values())
        return sorted(used, key=lambda chunk: (-chunk.size, chunk.allocation_id))

    def snapshot(self, look: Callable[[Arena, Counters], T]) -> T:
        """Let a report look at the arena and its counters while nothing changes."""
        with self._lock:
            self._settle()
            return look(self, self._counters)

    def _settled_counters(self) -> Counters:
        if self._freed or self._is_changing:
            with self._lock:
                self._settle()
        return self._counters

    # --- from the facts to the rest, under the lock ------------------------------------

    def _settle(self) -> None:
        """Count everything that was freed, and mend what was broken off."""
        if self._is_changing:
            self._rebuild()
        freed, in_use = self._freed, self._in_use
        while freed:
            chunk, number = freed[0]
            # Not so if it is here for the second time, or the arena was closed meanwhile.
            if chunk.allocation_id == number and in_use.get(chunk.address) is chunk:
                self._is_changing = True
                del in_use[chunk.address]  # from here on it is free
                self._counters.in_use_bytes -= chunk.size
                self._tiling.join(chunk)
                self._is_changing = False
            freed.popleft()

    def _rebuild(self) -> None:
        """Rebuild the tiling and the counters from the facts."""
        for address in self._leaving:
            self._granted.pop(address, None)
        if self.closed_by is not None:
            self._leaving.extend(self._granted)
            self._granted.clear()
            self._in_use.clear()
        used = list(self._in_use.values())
        self._tiling = self._tiling.rebuilt(self._granted, used)
        self.reserved_bytes = sum(self._granted.values())
        counters = self._counters
        counters.in_use_bytes = sum(chunk.size for chunk in used)
        newest = max(used, key=lambda chunk: chunk.allocation_id, default=None)
        if newest is not None and newest.allocation_id >= counters.first_id:
            # It was made, and perhaps not counted.
            counters.largest_bytes = max(counters.largest_bytes, newest.size)
            counters.next_id = max(counters.next_id, newest.allocation_id + 1)
        counters.peak_bytes = max(counters.peak_bytes, counters.in_use_bytes)
        counters.peak_reserved_bytes = max(counters.peak_reserved_bytes, self.reserved_bytes)
        self._release_leaving()
        self._is_changing = False

    # --- regions -----------------------------------------------------------------------

    def _make_room(self, size: int) -> Chunk | None:
        if self._extend(size) or (self._collect(size) and self._extend(size)):
            return self._tiling.bins.take(size)
        return None

    def _extend(self, size: int, max_bytes: int = 2**63) -> bool:
        """Reserve a region that can hold this size, larger if growth says so."""
        available = min(self.limit_bytes - self.reserved_bytes, max_bytes) & -256
        if size > available:
            return False
        wanted = self.next_region_bytes
        while wanted < size:
            wanted *= 2
        is_increased, self.next_region_bytes = wanted > self.next_region_bytes, wanted
        nbytes = min(wanted, available)
        while not self._reserve(nbytes):
            less = rounded(nine_tenths(nbytes))
            # Rounding takes back all of the tenth below 2,560 bytes: it would never end.
            if less < size or less == nbytes:
                return False
            nbytes = less
        if not is_increased:
            self.next_region_bytes *= 2
        return True

    def _reserve(self, nbytes: int) -> bool:
        """Add a region from the source, if it has so much."""
        granted = self._granted
        try:
            # One call, so that no interrupt comes between the source's answer and our note.
            granted.update(zip(map(self._source.reserve, (nbytes,)), (nbytes,), strict=True))
        except DeviceMemoryError:
            return False
        self._tiling.add(next(reversed(granted)), nbytes)
        self._count_reserved(nbytes)
        return True

    def _count_reserved(self, change: int) -> None:
        self.reserved_bytes += change
        counters = self._counters
        counters.peak_reserved_bytes = max(counters.peak_reserved_bytes, self.reserved_bytes)

    def _collect(self, size: int) -> bool:
        """Give back free regions if that makes room for this size within the limit."""
        if not self.options.collect_regions:
            return False
        free = sum(region.nbytes for region in self._tiling.free_regions())
        if not free or self.limit_bytes - self.reserved_bytes + free < size:
            return False
        self._release_free_regions()
        self._has_collected = True
        return True

    def _report_collection(self) -> None:
        self._has_collected = False  # the lock is released: the listener may look at us
        if self.options.on_collect is not None:
            self.options.on_collect()

    def _release_free_regions(self) -> int:
        released = 0
        for region in self._tiling.free_regions():
            self._leaving.append(region.address)  # from here on it is not ours
            del self._granted[region.address]
            self._tiling.remove(region)
            self._count_reserved(-region.nbytes)
            released += region.nbytes
            self._release_leaving()
        return released

    def _release_leaving(self) -> None:
        """Give the regions back that are on their way."""
        while self._leaving:
            try:
                self._source.release(self._leaving[-1])
            except Exception:
                self._leaving.pop()
                raise
            self._leaving.pop()

    # --- the invariants ----------------------------------------------------------------

    def check(self) -> None:
        """Verify every invariant; AssertionError if one does not hold."""
        with self._lock:
            self._settle()
            self._tiling.check()
            counters, used = self._counters, self._in_use
            assert used == {c.address: c for c in self._tiling.chunks() if c.in_use}
            assert sum(c.size for c in used.values()) == counters.in_use_bytes
            assert self._granted == {r.address: r.nbytes for r in self.regions}
            assert sum(self._granted.values()) == self.reserved_bytes
            assert counters.in_use_bytes <= self.reserved_bytes <= self.limit_bytes
            assert counters.in_use_bytes <= counters.peak_bytes


def nine_tenths(nbytes: int) -> int:
    """Multiply by 0.9 as TensorFlow does: in single precision."""
    nine_tenths = struct.unpack("f", struct.pack("f", 0.9))[0]
    single = struct.unpack("f", struct.pack("f", float(nbytes)))[0]
    return int(struct.unpack("f", struct.pack("f", single * nine_tenths))[0])
