"""The list of operations in docs/tf-parity.md: each public function, and how it compares.

``make parity`` writes it, between two marks, from the verdicts of a whole run in which
nothing was left to look at. So it tells no difference that `known` has no reason for, and a
test without TensorFlow can tell when it is out of date: ``tests/architecture``.

An outcome counts for every function that its case names. A difference belongs to one: the
last that is named in the beginning by which `known` knows the case, or else the first.
"""

from __future__ import annotations

import datetime
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path

from tests.parity.differential.coverage import Function, full_names, functions_of, listed
from tests.parity.differential.elsewhere import OWN, TESTS
from tests.parity.differential.known import MEANT, Known
from tests.parity.differential.verdict import Verdict

PAGE = Path(__file__).parents[3] / "docs" / "tf-parity.md"
BEGIN = "<!-- make parity writes from here -->"
END = "<!-- to here -->"
ON_PURPOSE, NOT_YET = "on purpose", "not yet"
HEAD = ("| function | outcomes | state |", "|---|---|---|")
OPERATORS = "operators of tensors: `+`, `==`, `[…]` and others"
INTRODUCTION = """\
Each public function beside TensorFlow's. `make parity` evaluates the same expressions with
both: eagerly, in functions with known and with unknown shapes, first and second derivatives,
and in sessions. It compares values, shapes, types and the classes of errors. A function has
one row with all its names; TensorFlow 1's has its own if it is another than TensorFlow 2's.
What TensorFlow has besides is in [ops.md](ops.md).

The state is *same*; or it says in how many outcomes something differs *on purpose*, and in how
many it is *not yet* as in TensorFlow. An outcome counts for each function that takes part in
it, a difference for one. What is no expression to compare names a test of berth's own, which
was written from TensorFlow's behaviour."""


def blamed(verdict: Verdict, known: Known) -> Function | None:
    """Return the function that a difference belongs to; None if it is an operator's."""
    places = functions_of(verdict.mode, verdict.case)
    fitting = (each for each in known.case.split("|") if verdict.case.startswith(each))
    end = len(next(fitting))
    within = [function for function, place in places.items() if place < end]
    return within[-1] if within else next(iter(places), None)


class Tally:
    """What a run says of each function; None stands for the operators of tensors."""

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        self.outcomes: Counter[Function | None] = Counter()
        self.differences: dict[Function | None, Counter[str]] = {}
        for verdict in verdicts:
            taking_part = functions_of(verdict.mode, verdict.case).keys() or {None}
            self.outcomes.update(taking_part)
            if (known := verdict.known) is not None:
                kind = ON_PURPOSE if known in MEANT else NOT_YET
                counts = self.differences.setdefault(blamed(verdict, known), Counter())
                counts[f"{kind} in {{}}: {known.reason}"] += 1

    def row(self, function: Function | None, names: Sequence[str]) -> str:
        """Return the row of a function, with what is meant before what is not."""
        shown = ", ".join(f"`{name}`" for name in names) or OPERATORS
        if not self.outcomes[function]:
            state = "berth's own" if names[0] in OWN else f"tested by `{TESTS[names[0]]}`"
            return f"| {shown} | — | {state} |"
        counts = self.differences.get(function, Counter())
        ordered = sorted(counts.items(), key=lambda item: item[0].startswith(NOT_YET))
        state = "<br>".join(text.format(count) for text, count in ordered) or "same"
        return f"| {shown} | {self.outcomes[function]} | {state} |"


class Added:
    """The rows that a page has, and those of a run for the functions that it has not."""

    def __init__(self, page: str, verdicts: Iterable[Verdict]) -> None:
        rows = [line for line in page.splitlines() if line.startswith("| ")]
        self.rows = {row[2:].partition(" | ")[0]: row for row in rows}
        self.new = Tally(verdicts)

    def row(self, function: Function | None, names: Sequence[str]) -> str:
        """Return the row that is there, or else what the run says."""
        shown = ", ".join(f"`{name}`" for name in names) or OPERATORS
        return self.rows.get(shown) or self.new.row(function, names)


def module_of(name: str) -> str:
    return name.rpartition(".")[0]


def tables(tally: Tally | Added) -> Iterator[str]:
    """Write a table for each module, those of TensorFlow 1 last."""
    rows = [(full_names(each), each.function) for each in listed()]
    modules = {module_of(names[0]) for names, _ in rows}
    for module in sorted(modules, key=lambda each: ("compat.v1" in each, each)):
        yield from ("", f"### {module}", "", *HEAD)
        if module == "tf":
            yield tally.row(None, ())
        for names, function in rows:
            if module_of(names[0]) == module:
                yield tally.row(function, names)


def totals(verdicts: Sequence[Verdict], tensorflow: str) -> str:
    """Say in a line what was compared, when, and with what."""
    cases = len({verdict.case for verdict in verdicts})
    meant = sum(verdict.known in MEANT for verdict in verdicts)
    missing = sum(verdict.known is not None for verdict in verdicts) - meant
    versions = [
        f"berth {metadata.version('berth')}",
        f"TensorFlow {tensorflow}",
        f"Python {platform.python_version()}",
        f"NumPy {metadata.version('numpy')}",
    ]
    return (
        f"{datetime.date.today()}, {', '.join(versions)}: {len(verdicts):,} outcomes of "
        f"{cases:,} expressions; {meant} differ on purpose, {missing} not yet the same."
    )


def section(verdicts: Sequence[Verdict], tensorflow: str) -> str:
    """Return all that is between the marks."""
    lines = tables(Tally(verdicts))
    return "\n".join([INTRODUCTION, "", totals(verdicts, tensorflow), *lines])


def add(verdicts: Sequence[Verdict]) -> None:
    """Write the rows of new functions into the page, from a run of their cases alone."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    listing, _, after = rest.partition(END)
    head, _, _ = listing.partition("\n### ")
    lines = "\n".join(tables(Added(listing, verdicts)))
    PAGE.write_text(f"{before}{BEGIN}{head.rstrip()}\n{lines}\n\n{END}{after}")


def write(verdicts: Sequence[Verdict], tensorflow: str) -> None:
    """Write the list into the page, in place of the one that is there."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{section(verdicts, tensorflow)}\n\n{END}{after}")
