"""Memory limits: how many bytes of a GPU a program may take, and what sets that.

Pure: options and totals in, bytes out. Nothing is reserved here.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

MiB = 2**20
_SMALL_CARD_BYTES = 2**31
_SMALL_CARD_RESERVE = 225 * MiB
_RESERVE_BY_CAPABILITY = ((9, 1800 * MiB), (8, 1536 * MiB), (7, 1050 * MiB))
_OLDEST_RESERVE = 500 * MiB


class Limit(NamedTuple):
    """The most that one logical device may hold."""

    nbytes: int
    source: str
    """What set it, in words for people."""
    is_default: bool = False
    """Whether the program sets none: it is nearly all of the card then."""


def default_limit(free_bytes: int, capability: tuple[int, int] | None) -> Limit:
    """Take nearly everything: what is free, less a reserve for the system."""
    reserve = _reserve(free_bytes, capability)
    if reserve >= free_bytes:
        return Limit(free_bytes, "default, all that is free", is_default=True)
    source = f"default, free memory less {reserve // MiB} MiB"
    return Limit(free_bytes - reserve, source, is_default=True)


def fraction_limit(total_bytes: int, fraction: float) -> Limit:
    """Take a fraction of the card's total, whatever is free."""
    source = f"per_process_gpu_memory_fraction={fraction:g}"
    return Limit(int(total_bytes * fraction), source)


def system_reserve_limit(free_bytes: int, system_mb: int) -> Limit | None:
    """Leave that many MiB to the system, or None if there are not so many."""
    left = free_bytes - system_mb * MiB
    if left < 0:
        return None
    return Limit(left, f"free memory less {system_mb} MiB, as asked")


def configured_limit(memory_limit_mb: float) -> Limit:
    """Take what a logical device was configured with."""
    # The fraction of a megabyte is dropped before it becomes bytes, as in TensorFlow.
    return Limit(int(memory_limit_mb) * MiB, f"memory_limit={memory_limit_mb:g}")


def environment_limit(total_bytes: int, share: int | float, source: str) -> Limit:
    """Take so many bytes, or such a part of the card's total."""
    nbytes = int(total_bytes * share) if isinstance(share, float) else share
    return Limit(nbytes, source)


def split_limit(limit: Limit, n_parts: int) -> Limit:
    """Share a limit evenly between logical devices on one GPU."""
    source = f"{limit.source}, split in {n_parts}"
    return Limit(limit.nbytes // n_parts, source, limit.is_default)


def forced_growth(requested: bool, forced: str | None) -> tuple[bool, int, str]:
    """Apply TF_FORCE_GPU_ALLOW_GROWTH; return the setting, and a level and message."""
    if forced is None:
        return requested, logging.NOTSET, ""
    if forced not in ("true", "false"):
        return (
            requested,
            logging.ERROR,
            (
                "The TF_FORCE_GPU_ALLOW_GROWTH environment variable is set but could not be "
                f'parsed: "{forced}". Valid values are "true" or "false". Using original '
                f"config value of {requested:d}."
            ),
        )
    growth = forced == "true"
    if growth == requested:
        return growth, logging.NOTSET, ""
    return (
        growth,
        logging.WARNING,
        (
            "Overriding orig_value setting because the TF_FORCE_GPU_ALLOW_GROWTH "
            f"environment variable is set. Original config value was {requested:d}."
        ),
    )


def _reserve(free_bytes: int, capability: tuple[int, int] | None) -> int:
    if free_bytes < _SMALL_CARD_BYTES:
        return _SMALL_CARD_RESERVE
    major = capability[0] if capability else 0
    for least_major, reserve in _RESERVE_BY_CAPABILITY:
        if major >= least_major:
            return reserve
    return _OLDEST_RESERVE
