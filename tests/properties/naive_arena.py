"""The rules of §5, written the slow and obvious way: lists, searched from end to end."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


def round_up(nbytes: int) -> int:
    return -(-nbytes // 256) * 256


def bin_number(size: int) -> int:
    number = 0
    while number < 20 and size >= 256 * 2 ** (number + 1):
        number += 1
    return number


@dataclass
class Block:
    start: int
    size: int
    used: bool = False


@dataclass
class NaiveArena:
    """What an arena must do. `reserve` returns an address or None."""

    reserve: object
    release: object
    limit: int
    growth: bool
    collect: bool
    regions: dict[int, list[Block]] = field(default_factory=dict)
    in_use: int = 0
    peak: int = 0
    n_allocs: int = 0
    largest: int = 0

    def __post_init__(self) -> None:
        self.next_region = 2 * 2**20 if self.growth else round_up(self.limit)

    @property
    def pool(self) -> int:
        return sum(block.size for blocks in self.regions.values() for block in blocks)

    def allocate(self, nbytes: int) -> int | None:
        if nbytes == 0:
            return None
        size = round_up(nbytes)
        found = self._find(size)
        if found is None and self._extend(size):
            found = self._find(size)
        if found is None and self._garbage_collect(size) and self._extend(size):
            found = self._find(size)
        if found is None:
            return None
        blocks, at = found
        block = blocks[at]
        if block.size >= 2 * size or block.size - size >= 128 * 2**20:
            blocks.insert(at + 1, Block(block.start + size, block.size - size))
            block.size = size
        block.used = True
        self.in_use += block.size
        self.peak = max(self.peak, self.in_use)
        self.largest = max(self.largest, block.size)
        self.n_allocs += 1
        return block.start

    def free(self, address: int) -> None:
        for blocks in self.regions.values():
            for block in blocks:
                if block.start == address:
                    block.used = False
                    self.in_use -= block.size
            merged = [blocks[0]]
            for block in blocks[1:]:
                if merged[-1].used or block.used:
                    merged.append(block)
                else:
                    merged[-1].size += block.size
            blocks[:] = merged

    def _find(self, size: int):
        fitting = [
            (bin_number(block.size), block.size, block.start, blocks, at)
            for blocks in self.regions.values()
            for at, block in enumerate(blocks)
            if not block.used and block.size >= size
        ]
        if not fitting:
            return None
        _, _, _, blocks, at = min(fitting, key=lambda item: item[:3])
        return blocks, at

    def _extend(self, size: int) -> bool:
        available = (self.limit - self.pool) // 256 * 256
        if size > available:
            return False
        increased = False
        while size > self.next_region:
            self.next_region *= 2
            increased = True
        nbytes = min(self.next_region, available)
        address = self.reserve(nbytes)
        while address is None:
            less = round_up(int(np.float32(nbytes) * np.float32(0.9)))
            if less < size or less == nbytes:  # TensorFlow would try for ever
                return False
            nbytes = less
            address = self.reserve(nbytes)
        if not increased:
            self.next_region *= 2
        self.regions[address] = [Block(address, nbytes)]
        return True

    def _garbage_collect(self, size: int) -> bool:
        free = [a for a, blocks in self.regions.items() if not any(b.used for b in blocks)]
        nbytes = sum(block.size for address in free for block in self.regions[address])
        if not self.collect or not free or self.limit - self.pool + nbytes < size:
            return False
        for address in sorted(free):
            del self.regions[address]
            self.release(address)
        return True
