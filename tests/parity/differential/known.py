"""The differences that are meant, and the numbers that may be less exact, with reasons."""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """A difference of the cases that begin with some text, in some modes."""

    begins: str
    modes: str
    reason: str


class Looser(NamedTuple):
    """How many times the usual error is allowed, for cases that have some text in them."""

    contains: str
    times: float
    reason: str


KNOWN: tuple[Known, ...] = ()

LOOSER: tuple[Looser, ...] = ()
