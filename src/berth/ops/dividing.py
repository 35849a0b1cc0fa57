"""Division of a kernel's work among threads."""

from __future__ import annotations

ALIGNED = 16
"""Parts begin at multiples of this number of elements: a cache line of float32."""


def divided(length: int, n_parts: int, lead: int = 0) -> list[slice]:
    """Divide a length among threads; the first share, the caller's, is larger by the lead.

    The caller begins at once, and other threads when they have been woken. So shares of one
    size would let the caller wait for the others, which costs it as much again. Shares that
    would be empty are left out.

    >>> divided(100, 2)
    [slice(0, 64, None), slice(64, 100, None)]
    >>> divided(100, 2, lead=40)
    [slice(0, 80, None), slice(80, 100, None)]
    """
    parts: list[slice] = []
    start = 0
    for n_left in range(n_parts, 0, -1):
        ahead = lead * (n_left - 1) if start == 0 else 0
        share = -(-(length - start + ahead) // n_left)
        stop = min(start + -(-share // ALIGNED) * ALIGNED, length)
        if stop > start:
            parts.append(slice(start, stop))
        start = stop
    return parts
