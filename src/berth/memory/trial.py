"""Trying things out: would it fit, if the limit were another?"""

from __future__ import annotations

from dataclasses import replace

from berth.memory.arena import Arena


class _Addresses:
    """A source without end, for trying things out."""

    def __init__(self) -> None:
        self._next = 0

    def reserve(self, nbytes: int) -> int:
        address = self._next
        self._next += 2 * nbytes  # never adjacent
        return address

    def release(self, address: int) -> None:
        pass


def fits_anew(arena: Arena, nbytes: int, limit_bytes: int) -> bool:
    """Tell whether what an arena holds, and then this, would fit under another limit.

    Tried on a new arena with what is held in the order it was asked for.
    """
    trial = Arena("trial", _Addresses(), limit_bytes, replace(arena.options, on_collect=None))
    held = sorted(arena.holders(), key=lambda chunk: chunk.allocation_id)
    sizes = [*(chunk.requested for chunk in held), nbytes]
    return all(trial.allocate(size) is not None for size in sizes)
