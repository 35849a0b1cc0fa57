"""What an allocator counts: TensorFlow's AllocatorStats (§5.7). The arena does the counting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class MemoryStats:
    """Bytes held now and at most, and the allocations that made them."""

    in_use_bytes: int = 0
    peak_bytes: int = 0
    n_allocations: int = 0
    largest_bytes: int = 0
    peak_reserved_bytes: int = 0

    def reserved(self, nbytes: int) -> None:
        """Note how much the source has given in all."""
        self.peak_reserved_bytes = max(self.peak_reserved_bytes, nbytes)

    def clear(self) -> None:
        """Start counting anew. What is in use stays in use, and is the new peak."""
        self.peak_bytes = self.in_use_bytes
        self.n_allocations = 0
        self.largest_bytes = 0
