"""The pages of a ledger's file, mapped by mmap(2) itself.

A mapping keeps its open file description, and with it the locks of that description, after
every descriptor was closed. Python's `mmap` will not do: it keeps a descriptor, and closes that
number at its end, which by then may be another file's if the program has closed descriptors
that it did not open (`os.closerange`).

No forked child inherits the pages (MADV_DONTFORK), so locks of the description end with this
process, whatever becomes of its children.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

_PROT_READ_WRITE = 3
_MAP_SHARED = 1
_MADV_DONTFORK = 10
_MAP_FAILED = ctypes.c_void_p(-1).value


class Mapping:
    """A file's pages, as unsigned 64-bit words that all processes share."""

    def __init__(self, fd: int, n_bytes: int) -> None:
        self._pid = os.getpid()
        self._n_bytes = n_bytes
        self._address: int | None = None
        address = _libc().mmap(None, n_bytes, _PROT_READ_WRITE, _MAP_SHARED, fd, 0)
        if address == _MAP_FAILED:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self._address = address
        _libc().madvise(address, n_bytes, _MADV_DONTFORK)
        self._bytes = memoryview((ctypes.c_ubyte * n_bytes).from_address(address)).cast("B")
        self.words = self._bytes.cast("Q")

    def close(self) -> None:
        """Unmap the pages. Views of `words` must not be used any more."""
        self.words.release()
        self._bytes.release()
        address, self._address = self._address, None
        if address is not None and self._pid == os.getpid():
            _libc().munmap(address, self._n_bytes)


@cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return libc
