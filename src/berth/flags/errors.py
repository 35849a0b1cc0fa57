"""Errors of command-line flags, under absl-py's names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from berth.public import public_v1

_MAX_ERRORS = 0.5
"""Names with fewer errors than this part of their length are suggested."""


@public_v1("flags.Error")
class Error(Exception):
    """The base of all errors of flags."""


@public_v1("flags.DuplicateFlagError")
class DuplicateFlagError(Error):
    """A flag is defined twice."""


@public_v1("flags.FlagNameConflictsWithMethodError")
class FlagNameConflictsWithMethodError(Error):
    """A flag has the name of a method of FLAGS."""


@public_v1("flags.IllegalFlagValueError")
class IllegalFlagValueError(Error):
    """A flag does not take a value."""


@public_v1("flags.UnparsedFlagAccessError")
class UnparsedFlagAccessError(Error):
    """A flag is read before the command line is parsed."""


@public_v1("flags.CantOpenFlagFileError")
class CantOpenFlagFileError(Error):
    """The file of ``--flagfile`` cannot be read."""


@public_v1("flags.ValidationError")
class ValidationError(Error):
    """A validator refuses the value of a flag."""


@public_v1("flags.UnrecognizedFlagError")
class UnrecognizedFlagError(Error):
    """A flag is not defined. ``flagname`` and ``flagvalue`` are what was given."""

    def __init__(
        self, flagname: str, flagvalue: str = "", suggestions: Sequence[str] = ()
    ) -> None:
        near = f". Did you mean: {', '.join(suggestions)} ?" if suggestions else ""
        super().__init__(f"Unknown command line flag {flagname!r}{near}")
        self.flagname, self.flagvalue = flagname, flagvalue


def suggest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names whose beginnings are nearest to a mistyped one.

    >>> suggest("batchsize", ["rate", "batch_size"]), suggest("xyz", ["rate"])
    (['batch_size'], [])
    """
    if len(name) <= 2:
        return []
    near = sorted((_n_edits(name, each[: len(name)]), each) for each in known)
    if not near or near[0][0] >= _MAX_ERRORS * len(name):
        return []
    return [each for n_edits, each in near if n_edits == near[0][0]]


def _n_edits(a: str, b: str) -> int:
    """Count the letters to insert, delete, replace or swap to make `b` of `a`."""
    two_up: list[int] = []
    above = list(range(len(b) + 1))
    for i, letter in enumerate(a):
        row = [i + 1]
        for j, other in enumerate(b):
            best = min(row[j] + 1, above[j + 1] + 1, above[j] + (letter != other))
            if i and j and letter == b[j - 1] and a[i - 1] == other:
                best = min(best, two_up[j - 1] + 1)
            row.append(best)
        two_up, above = above, row
    return above[-1]
