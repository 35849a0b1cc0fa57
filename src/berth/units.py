"""Bytes as people write them: the only place that parses or formats sizes."""

from __future__ import annotations

import re
from contextlib import suppress

_EXPONENTS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_SIZE = re.compile(
    r"\s*(?P<number>\d{1,99}(\.\d+)?)\s*((?P<prefix>[KMGT]?)(?P<binary>i?)B?)\s*",
    re.IGNORECASE | re.ASCII,
)


def parse_bytes(text: str) -> int:
    """Read a size. ``GiB`` and a bare ``G`` are binary, ``GB`` is decimal.

    >>> parse_bytes("8GiB"), parse_bytes("1.5 MiB"), parse_bytes("2GB")
    (8589934592, 1572864, 2000000000)
    """
    match = _SIZE.fullmatch(text)
    if match is None or (match["binary"] and not match["prefix"]):
        raise ValueError(f"Cannot read {text!r} as a size: write it like 8GiB or 512MiB.")
    decimal = not match["binary"] and text.rstrip()[-1] in "bB"
    base = 1000 if decimal else 1024
    return int(float(match["number"]) * base ** _EXPONENTS[match["prefix"].upper()])


def parse_share(text: str) -> int | float:
    """Read how much of something is meant: a size is an int, a part of the whole a float.

    >>> parse_share("4GiB"), parse_share("0.4"), parse_share("1")
    (4294967296, 0.4, 1.0)
    """
    try:
        part = float(text)
        if 0 < part <= 1:
            return part
    except ValueError:
        with suppress(ValueError):
            if nbytes := parse_bytes(text):
                return nbytes
    raise ValueError(
        f"Cannot read {text!r} as a share: write a size like 4GiB, or a part like 0.4."
    )


def parse_count(digits: str) -> int:
    """Read a whole number. More than 18 digits are as good as infinitely many.

    >>> parse_count("0007"), parse_count("9" * 5000) == 10**18
    (7, True)
    """
    significant = digits.lstrip("0")
    return int(significant or "0") if len(significant) <= 18 else 10**18


def format_bytes(nbytes: int) -> str:
    """Write a size for people: three or so digits, binary units.

    >>> format_bytes(268435456), format_bytes(5 * 2**30), format_bytes(100)
    ('256 MiB', '5 GiB', '100 B')
    """
    value, unit = float(nbytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    digits = f"{value:.2f}".rstrip("0").rstrip(".")
    return f"{digits} {unit}"
