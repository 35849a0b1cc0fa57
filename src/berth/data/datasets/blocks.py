"""Bytes of compressed files, in no more memory than there are bytes."""

from __future__ import annotations

from typing import Protocol

_BLOCK_BYTES = 1 << 16


class Readable(Protocol):
    """A file that bytes are read from."""

    def read(self, size: int, /) -> bytes: ...


def read_exactly(file: Readable, n_bytes: int, path: str) -> bytearray:
    """Read so many bytes and no more; ValueError if the file has fewer or others follow.

    What a file says of its size is not trusted: memory is taken as data arrives.
    """
    found = bytearray()
    while len(found) <= n_bytes:  # one byte more is asked for than there should be
        block = file.read(min(_BLOCK_BYTES, n_bytes + 1 - len(found)))
        if not block:
            break
        found += block
    if len(found) != n_bytes:
        there = "more" if len(found) > n_bytes else f"only {len(found)}"
        raise ValueError(
            f"{path}: its header says {n_bytes} bytes of data, and it has {there}."
        )
    return found
