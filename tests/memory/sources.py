"""Sources of addresses for arenas under test."""

from __future__ import annotations

from berth.errors import DeviceMemoryError


class Addresses:
    """Hands out made-up addresses, up to a capacity; can be told to fail."""

    def __init__(self, capacity: int = 2**62, base: int = 2**40, descending: bool = False):
        self.capacity = capacity
        self.live: dict[int, int] = {}
        self.requests: list[int] = []
        self.fail_next = 0
        self._next = base
        self._descending = descending

    def reserve(self, nbytes: int) -> int:
        self.requests.append(nbytes)
        used = sum(self.live.values())
        if self.fail_next or used + nbytes > self.capacity:
            self.fail_next = max(0, self.fail_next - 1)
            raise DeviceMemoryError("test", nbytes, self.capacity - used, self.capacity)
        # Never adjacent: TensorFlow's regions do not merge, and ours must not either.
        gap = nbytes + 4096
        if self._descending:
            self._next -= gap
            address = self._next
        else:
            address = self._next
            self._next += gap
        self.live[address] = nbytes
        return address

    def release(self, address: int) -> None:
        del self.live[address]
