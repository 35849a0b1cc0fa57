"""Tells in which way two outcomes of a case differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tests.parity.differential.outcome import Outcome, array_of

TOLERANCES = {
    "float16": (2e-3, 2e-3),
    "float32": (1e-5, 1e-6),
    "float64": (1e-11, 1e-13),
    "complex64": (1e-5, 1e-6),
    "complex128": (1e-11, 1e-13),
}
"""What each number may be off: relative to itself, and to the largest of the outcome."""
STRUCTURE = ("kind", "fields", "keys", "python", "dtype", "shape", "texts")


class Allowed(NamedTuple):
    """How much numbers may differ."""

    times: float = 1.0
    """How many times the usual error is right, too."""
    least: float = 0.0
    """The size below which the largest number of an outcome counts as this large: where
    numbers cancel out, what is left is noise."""


def difference(ours: Outcome, theirs: Outcome, allowed: Allowed) -> str:
    """Say how our outcome differs from theirs; nothing if it does not."""
    if "error" in ours or "error" in theirs:
        names = ours.get("error", "a value"), theirs.get("error", "a value")
        return "" if names[0] == names[1] else f"{names[0]}, not {names[1]}"
    largest = max([allowed.least, *sizes(theirs)])
    found = value_difference(ours, theirs, allowed._replace(least=largest))
    if not found and "shapes" in ours:
        found = shape_difference(ours["shapes"], theirs["shapes"])
    if not found and "warned" in ours:
        found = f"warns: {ours['warned']}"
    return found


def sizes(outcome: Outcome) -> Iterator[float]:
    """Go through the sizes of an outcome's tensors: that of their largest number."""
    for item in outcome.get("items", ()):
        yield from sizes(item)
    if "bytes" in outcome:
        array = array_of(outcome)
        finite = np.abs(array[np.isfinite(array)])
        yield float(finite.max()) if finite.size else 0.0


def shape_difference(ours: list[str], theirs: list[str]) -> str:
    """Compare what is known of the shapes while a function is traced: more may be."""
    for mine, other in zip(ours, theirs, strict=True):
        if other in ("<unknown>", mine):
            continue
        if mine == "<unknown>" or not is_as_exact(mine.split(", "), other.split(", ")):
            return f"traced as {mine}, not {other}"
    return ""


def is_as_exact(ours: list[str], theirs: list[str]) -> bool:
    is_same = len(ours) == len(theirs)
    return is_same and all(a == b or "None" in b for a, b in zip(ours, theirs, strict=True))


def value_difference(ours: Outcome, theirs: Outcome, allowed: Allowed) -> str:
    if "python" in ours and "bytes" in theirs and not array_of(theirs).any():
        return f"{ours['python']}, not zeros"
    for key in STRUCTURE:
        if ours.get(key) != theirs.get(key):
            return f"{key} {ours.get(key, '-')}, not {theirs.get(key, '-')}"
    if "items" in ours:
        pairs = list(zip(ours["items"], theirs["items"], strict=False))
        if not len(pairs) == len(ours["items"]) == len(theirs["items"]):
            return f"{len(ours['items'])} results, not {len(theirs['items'])}"
        for number, (mine, other) in enumerate(pairs):
            if found := value_difference(mine, other, allowed):
                return f"[{number}] {found}"
    return number_difference(ours, theirs, allowed) if "bytes" in ours else ""


def number_difference(ours: Outcome, theirs: Outcome, allowed: Allowed) -> str:
    mine, other = array_of(ours), array_of(theirs)
    if mine.dtype.kind not in "fc":
        wrong = mine != other
    else:
        relative, absolute = (allowed.times * each for each in TOLERANCES[ours["dtype"]])
        wrong = ~np.isclose(mine, other, relative, absolute * allowed.least, equal_nan=True)
    if not wrong.any():
        return ""
    first = tuple(int(n) for n in np.argwhere(wrong)[0])
    share = f"{wrong.sum()} of {wrong.size} differ"
    return f"{share}: at {first} {mine[first]!r}, not {other[first]!r}"
