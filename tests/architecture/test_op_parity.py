"""The list of operations in docs/tf-parity.md is that of the public functions."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.parity.differential.elsewhere import OWN, TESTS
from tests.parity.differential.known import MEANT, OPEN

ROOT = Path(__file__).parents[2]
STATE = re.compile(
    r"same|tested by `tests/[\w/]+\.py::\w+`|berth's own"
    r"|(?P<kind>on purpose|not yet) in \d+: (?P<reason>.+)"
)


@pytest.fixture
def coverage(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "docs")
    from tests.parity.differential import coverage

    return coverage


@pytest.fixture(scope="module")
def rows() -> dict[str, str]:
    """Return the state of each function, by its names as they are shown."""
    page = (ROOT / "docs/tf-parity.md").read_text()
    _, _, section = page.partition("<!-- make parity writes from here -->")
    section, _, _ = section.partition("<!-- to here -->")
    tables = [line for line in section.splitlines() if line.startswith("| ")]
    lines = [line[2:-2].split(" | ") for line in tables if not line.startswith("| function ")]
    assert len({names for names, _, _ in lines}) == len(lines), "a row is there twice"
    return {names: state for names, _, state in lines}


def test_every_function_has_a_row(coverage, rows):
    """Run `make parity` if this fails: it writes the list."""
    public = [coverage.full_names(each) for each in coverage.listed()]
    wanted = [", ".join(f"`{name}`" for name in names) for names in public]
    assert sorted(names for names in rows if names.startswith("`tf.")) == sorted(wanted)


def test_shown_reasons_are_the_known(rows):
    """Run `make parity` if this fails: it writes the list."""
    states = [STATE.fullmatch(each) for state in rows.values() for each in state.split("<br>")]
    assert None not in states
    shown = {(state["kind"], state["reason"]) for state in states if state["reason"]}
    meant = {("on purpose", known.reason) for known in MEANT}
    assert shown == meant | {("not yet", known.reason) for known in OPEN}


def test_functions_without_outcomes_exist(coverage):
    public = {coverage.full_names(each)[0] for each in coverage.listed()}
    assert {*OWN, *TESTS} - public == set()


def test_every_function_is_compared(coverage):
    assert coverage.without_a_case() == []
