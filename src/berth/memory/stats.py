"""What an allocator counts: TensorFlow's AllocatorStats, as far as it is public (§5.7)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class MemoryStats:
    """Bytes held now and at most, and the allocations that made them."""

    in_use_bytes: int = 0
    peak_bytes: int = 0
    n_allocations: int = 0
    largest_bytes: int = 0

    def clear(self) -> None:
        """Start counting anew. What is in use stays in use, and is the new peak."""
        self.peak_bytes = self.in_use_bytes
        self.n_allocations = 0
        self.largest_bytes = 0
