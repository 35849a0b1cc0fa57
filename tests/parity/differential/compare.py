"""Tells in which way two outcomes of a case differ."""

from __future__ import annotations

import numpy as np

from tests.parity.differential.outcome import Outcome, array_of

TOLERANCES = {
    "float16": (2e-3, 2e-3),
    "float32": (1e-5, 1e-6),
    "float64": (1e-11, 1e-13),
    "complex64": (1e-5, 1e-6),
    "complex128": (1e-11, 1e-13),
}
"""What each number may be off: relative to itself, and to the largest of its array."""


def difference(ours: Outcome, theirs: Outcome, loosened: float = 1.0) -> str:
    """Say how our outcome differs from theirs; nothing if it does not."""
    if "error" in ours or "error" in theirs:
        names = ours.get("error", "a value"), theirs.get("error", "a value")
        return "" if names[0] == names[1] else f"{names[0]}, not {names[1]}"
    found = value_difference(ours, theirs, loosened)
    if not found and ours.get("shapes") != theirs.get("shapes"):
        found = shape_difference(ours["shapes"], theirs["shapes"])
    if not found and "warned" in ours:
        found = f"warns: {ours['warned']}"
    return found


def shape_difference(ours: list[str], theirs: list[str]) -> str:
    """Compare what is known of the shapes while a function is traced."""
    for mine, other in zip(ours, theirs, strict=True):
        if mine != other:
            return f"traced as {mine}, not {other}"
    return ""


def value_difference(ours: Outcome, theirs: Outcome, loosened: float) -> str:
    kinds = "skipped", "python", "kind", "fields", "keys", "dtype", "shape", "texts"
    for key in kinds:
        if ours.get(key) != theirs.get(key):
            return f"{key} {ours.get(key)}, not {theirs.get(key)}"
    if "items" in ours:
        if len(ours["items"]) != len(theirs["items"]):
            return f"{len(ours['items'])} results, not {len(theirs['items'])}"
        for number, (mine, other) in enumerate(zip(ours["items"], theirs["items"], strict=True)):
            if found := value_difference(mine, other, loosened):
                return f"[{number}] {found}"
    return number_difference(ours, theirs, loosened) if "bytes" in ours else ""


def number_difference(ours: Outcome, theirs: Outcome, loosened: float) -> str:
    mine, other = array_of(ours), array_of(theirs)
    if mine.dtype.kind not in "fc":
        wrong = mine != other
    else:
        relative, absolute = (loosened * each for each in TOLERANCES[ours["dtype"]])
        finite = np.abs(other[np.isfinite(other)])
        largest = float(finite.max()) if finite.size else 0.0
        wrong = ~np.isclose(mine, other, relative, absolute * largest, equal_nan=True)
    if not wrong.any():
        return ""
    first = tuple(int(n) for n in np.argwhere(wrong)[0])
    share = f"{wrong.sum()} of {wrong.size}"
    return f"{share} differ: at {first} {mine[first]!r}, not {other[first]!r}"
