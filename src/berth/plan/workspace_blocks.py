"""Free and used ranges of a workspace, while offsets are given to the values of a plan."""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heappop, heappush

ALIGNMENT = 64


class Blocks:
    """Free and used ranges of a workspace: best fit, freed neighbours merge.

    Ranges of one size lie on one heap, and what was merged away is only forgotten when it
    comes up there: the cost of a range does not depend on how many there are.

    >>> blocks = Blocks()
    >>> a, b = blocks.take(100), blocks.take(64)
    >>> blocks.free(a, 100)
    >>> blocks.take(64), blocks.take(64), blocks.end
    (0, 64, 192)
    """

    def __init__(self) -> None:
        self.end = 0
        self._sizes: list[int] = []
        """The sizes that have a heap, in order."""
        self._starts_of: dict[int, list[int]] = {}
        self._size_at: dict[int, int] = {}
        """The free ranges: what is on a heap and not here is there no more."""
        self._start_of: dict[int, int] = {}
        """The free range that ends at an offset."""

    def take(self, nbytes: int) -> int:
        """Return an offset where that many bytes are free."""
        size = _rounded(nbytes)
        if size == 0:
            return 0
        start = self._best_fit(size)
        if start is None:
            return self._extend(size)
        found = self._remove(start)
        if found > size:
            self._add(start + size, found - size)
        return start

    def free(self, start: int, nbytes: int) -> None:
        """Give a range back."""
        size = _rounded(nbytes)
        if size == 0:
            return
        before = self._start_of.get(start)
        if before is not None:
            start, size = before, size + self._remove(before)
        if start + size in self._size_at:
            size += self._remove(start + size)
        self._add(start, size)

    def _best_fit(self, size: int) -> int | None:
        """Find the smallest free range that is large enough, and of those the first."""
        position = bisect_left(self._sizes, size)
        while position < len(self._sizes):
            found = self._sizes[position]
            starts = self._starts_of[found]
            while starts:
                if self._size_at.get(starts[0]) == found:
                    return starts[0]
                heappop(starts)
            del self._sizes[position], self._starts_of[found]
        return None

    def _extend(self, size: int) -> int:
        """Make the workspace larger; a free range at its end is made use of."""
        start = self._start_of.get(self.end)
        if start is None:
            start = self.end
        else:
            self._remove(start)
        self.end = start + size
        return start

    def _add(self, start: int, size: int) -> None:
        if size not in self._starts_of:
            insort(self._sizes, size)
            self._starts_of[size] = []
        heappush(self._starts_of[size], start)
        self._size_at[start] = size
        self._start_of[start + size] = start

    def _remove(self, start: int) -> int:
        """Make a free range one no more; return its size."""
        size = self._size_at.pop(start)
        del self._start_of[start + size]
        return size


def _rounded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
