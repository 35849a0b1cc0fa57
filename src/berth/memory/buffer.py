"""Buffers: memory of an arena that has an owner, freed exactly once.

Invariants:
  1. A buffer's memory goes back when it is freed or collected, whichever comes first, and
     only then; also if an interrupt arrives anywhere between.
  2. A buffer that has no memory any more says so when it is used, and says whose it was.

The arena makes an allocation and sets the buffer's `release` before it counts as made, so
there is no moment at which memory is in use and nothing would release it.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from berth.callsite import CallSite, Mark
from berth.memory.arena import Arena


class Holder(NamedTuple):
    """What a buffer is for, so that reports can name it."""

    name: str
    op: str = ""
    where: CallSite | Mark | None = None
    is_workspace: bool = False
    """Whether it belongs to a run, or is kept for the next one, and goes back by itself."""

    def __str__(self) -> str:
        op = f" ({self.op})" if self.op else ""
        return f"'{self.name}'{op}" + (f" at {self.where.place}" if self.where else "")


class Buffer:
    """An owned range of an arena."""

    __slots__ = (
        "__weakref__",
        "_address",
        "_arena",
        "_before_free",
        "holder",
        "nbytes",
        "release",
    )

    __del__ = property(attrgetter("release"))
    # The finalizer is what the arena stored in `release`: C functions and no bytecode. Python
    # handles Ctrl-C between bytecodes and drops what a finalizer raises, so in a finalizer
    # written in Python an interrupt would be lost, and the memory with it.

    def __init__(
        self,
        arena: Arena,
        nbytes: int,
        holder: Holder,
        before_free: Callable[[int, int], None] | None = None,
    ) -> None:
        """Allocate memory of an arena; `has_memory` tells whether there was enough."""
        self._arena = arena
        self._before_free = before_free
        self.release: Callable[[], None]
        self.nbytes = nbytes
        self.holder = holder
        self._address: int | None = arena.allocate(nbytes, holder, self) if nbytes else 0

    @property
    def has_memory(self) -> bool:
        return self._address is not None

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
        """Free the memory. A second call does nothing."""
        address = self._address
        if address is None:
            return
        has_bytes = self.nbytes > 0 and self._arena.closed_by is None
        if has_bytes and self._before_free is not None:
            self._before_free(address, self.nbytes)
        self._address = None
        if has_bytes:
            self.release()  # interrupted before, the finalizer does it
