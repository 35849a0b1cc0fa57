"""How many threads NumPy's matrix library may use.

OpenBLAS, which NumPy's wheels come with, has threads of its own. Its function
``openblas_set_num_threads_local`` is meant for the calling thread, but sets the number of the
whole process where the library is built on POSIX threads, as in those wheels. So the number
follows from all shares that are held at the time: it is the smallest of them, and what it was
before when none is left. Other libraries are left alone: parts of a step then compete with
their threads, and only speed is lost.

Invariants:
  1. After a change of `_shares`, `settle` is called, which sets the number until it fits. So
     the last number that is set fits, whatever the order of threads, and no lock is needed.
  2. An interrupt in between leaves a number that does not fit, and the next share mends it:
     what berth set last is not taken for the program's own number.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import lru_cache

from berth.blocks import Stack, Use
from berth.openblas import numpy_libraries

_SETTERS = ("openblas_set_num_threads_local", "scipy_openblas_set_num_threads_local64_")
_GETTERS = (
    "scipy_openblas_get_num_threads64_",
    "openblas_get_num_threads64_",
    "openblas_get_num_threads",
)


class BlasThreads:
    """The number of threads of a matrix library, with functions that read and set it."""

    def __init__(self, get: Callable[[], int], set_number: Callable[[int], object]) -> None:
        self._get, self._set = get, set_number
        self._shares: Stack[int] = Stack()
        self._usual = self._last = self._next = get()

    def begin(self, use: Use, n_threads: int) -> None:
        """Allow at most that many threads from now on."""
        if not self._shares:
            number = self._get()
            if number not in (self._last, self._next) and not self._shares:
                self._usual = number  # the program has changed it
        use.set(self._shares, n_threads)
        self.settle()

    def settle(self) -> None:
        """Allow what the shares that are held allow, or what was usual before."""
        while True:
            wanted = self._wanted()
            self._next = wanted
            self._set(wanted)
            self._last = wanted
            if wanted == self._wanted():
                return

    def forget_shares(self) -> None:
        """Forget the shares of a parent's threads, after a fork."""
        self._shares.clear()
        self.settle()

    def _wanted(self) -> int:
        return min([*self._shares.values()], default=self._usual)


@lru_cache(maxsize=1)
def blas_threads() -> BlasThreads | None:
    """Return the threads of NumPy's matrix library, if they can be set."""
    # Calls that keep the interpreter's lock: waiting to get it back would take longer.
    for library in numpy_libraries(ctypes.PyDLL):
        setters = [getattr(library, name) for name in _SETTERS if hasattr(library, name)]
        getters = [getattr(library, name) for name in _GETTERS if hasattr(library, name)]
        if setters and getters:
            found = BlasThreads(getters[0], setters[0])
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=found.forget_shares)
            return found
    return None
