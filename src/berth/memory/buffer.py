"""Buffers: memory of an arena that somebody owns, freed exactly once.

Invariants:
  1. A buffer's memory goes back when it is freed or collected, whichever comes first, and
     only then.
  2. A buffer that has no memory any more says so when it is used, and says whose it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from berth.callsite import CallSite, Mark
from berth.memory.arena import Arena


class Holder(NamedTuple):
    """What a buffer is for, so that reports can name it."""

    name: str
    op: str = ""
    where: CallSite | Mark | None = None

    def __str__(self) -> str:
        op = f" ({self.op})" if self.op else ""
        return f"'{self.name}'{op}" + (f" at {self.where.place}" if self.where else "")


class Buffer:
    """An owned range of an arena."""

    __slots__ = ("__weakref__", "_address", "_arena", "_before_free", "holder", "nbytes")

    def __init__(
        self,
        arena: Arena,
        address: int,
        nbytes: int,
        holder: Holder,
        before_free: Callable[[int, int], None] | None = None,
    ) -> None:
        self._arena = arena
        self._address: int | None = address
        self._before_free = before_free
        self.nbytes = nbytes
        self.holder = holder

    @property
    def address(self) -> int:
        """Where it is; RuntimeError if it is gone."""
        if self._address is None:
            raise RuntimeError(f"The memory of {self.holder} was freed.")
        if self._arena.closed_by is not None:
            raise RuntimeError(
                f"The memory of {self.holder} is gone: it went with {self._arena.name}, by "
                f"{self._arena.closed_by}."
            )
        return self._address

    def free(self) -> None:
        """Give the memory back. A second call does nothing."""
        address, self._address = self._address, None
        if address is None or self.nbytes == 0 or self._arena.closed_by is not None:
            return
        if self._before_free is not None:
            self._before_free(address, self.nbytes)
        self._arena.free(address)

    def __del__(self) -> None:
        # A constructor that failed leaves a buffer without its fields.
        if hasattr(self, "_address"):
            self.free()
