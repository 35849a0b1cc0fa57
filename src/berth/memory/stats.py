"""What an allocator counts: TensorFlow's AllocatorStats. The arena does the counting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """Bytes held now and at most, as far as they are counted."""

    in_use_bytes: int = 0
    peak_bytes: int = 0
    largest_bytes: int = 0
    peak_reserved_bytes: int = 0
    next_id: int = 1
    """The number of the next allocation."""
    first_id: int = 1
    """The number of the first allocation since the counters were cleared."""

    @property
    def n_allocations(self) -> int:
        return self.next_id - self.first_id

    def clear(self) -> None:
        self.peak_bytes = self.in_use_bytes
        self.first_id = self.next_id
        self.largest_bytes = 0


class MemoryStats:
    """A live view of an arena's counters: each look counts what was freed until then."""

    __slots__ = ("_settled",)

    def __init__(self, settled: Callable[[], Counters]) -> None:
        self._settled = settled

    @property
    def in_use_bytes(self) -> int:
        return self._settled().in_use_bytes

    @property
    def peak_bytes(self) -> int:
        return self._settled().peak_bytes

    @property
    def n_allocations(self) -> int:
        return self._settled().n_allocations

    @property
    def largest_bytes(self) -> int:
        return self._settled().largest_bytes

    @property
    def peak_reserved_bytes(self) -> int:
        return self._settled().peak_reserved_bytes

    def clear(self) -> None:
        """Reset the counters. What is in use stays in use, and is the new peak."""
        self._settled().clear()
