"""Judges what both sides found: the same, different as known, or different."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.parity.differential.compare import Allowed, difference
from tests.parity.differential.known import LOOSER, MEANT, OPEN, Known
from tests.parity.differential.outcome import Outcome

Found = dict[tuple[str, str], Outcome]


class Verdict(NamedTuple):
    """On a case in a mode."""

    mode: str
    case: str
    found: str
    """How the outcomes differ, in words; nothing if they do not."""
    known: Known | None
    """The difference that this is, if it is expected."""


def judge(ours: Found, theirs: Found) -> Iterator[Verdict]:
    """Compare what both sides have an outcome for."""
    for (mode, case), outcome in ours.items():
        if "skipped" in outcome or "skipped" in theirs[mode, case]:
            continue  # the eager mode tells why
        times = max([1.0, *(each.times for each in LOOSER if case.startswith(each.case))])
        least = 0.1 if mode in ("gradient", "second") else 0.0
        found = difference(outcome, theirs[mode, case], Allowed(times, least))
        expected = (known for known in (*MEANT, *OPEN) if known.covers(mode, case, found))
        yield Verdict(mode, case, found, next(expected, None) if found else None)
