"""The field's words: phrases that were riddles stay out of the code and the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("dev/*.py")])
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
# What an out-of-memory error or TensorFlow itself says is quoted, and not ours to choose.
QUOTED = re.compile(r"^```.*?^```", re.S | re.M)

EVERYWHERE = {
    r"\bMOST_[A-Z]+": "MAX_…",
    r"\bcall_quietly\b|\b_joins_quietly\b": "ignore_fp_errors, or what is left out",
    r"\bMisfit\b": "ShapeMismatch",
    r"\bRecipe\b": "an entry of the dispatch cache",
    r"\bconvert_now\b": "convert_eager",
    r"\bwait_out\b": "wait_uninterrupted",
    r"\bstand_ins?\b|\b_stand_in\b": "shim, placeholder, unused value",
    r"\blet_go\b|\blet_in\b|\bgive_up\b": "release, receive, drain",
    r"\bheir_of\b": "parent_pid",
    r"(?:def |\.)(?:lose|worded|told)\(": "invalidate, with_message, logged",
    r"\b(?:[Nn]o|[Ss]ome|[Aa]ny|[Ee]very)body\b|\b[Ww]hoever\b": "name the caller, the thread, the user",
    r"\bgives? way\b": "is overridden by",
    r"\bnumbered anew\b|\bfits_anew\b": "renumbered; fits_fresh_arena",
    r"\bcounts more than\b|\bcounts more\.": "overrides, takes precedence",
    r"\bmakes? an error of\b": "raises an error for",
    r"\bfree in pieces of\b": "largest free block",
    r"\bfaces?\b|\b_FACES\b|\b_face\b": "public API",
    r"\bturned over\b": "transposed, inverted",
    r"\bgoes? back through\b|\bbodies of calls\b": "backpropagation; subgraphs",
    r"\bslide a filter\b": "2-D convolution",
    r"\bgoing backwards\b": "backpropagation",
    r"\bdocument 0\d\d\b|§": "the public page, API or source that it is about",
    r"\bthe documents\b": "TensorFlow 1, its guides, its errors",
}
IN_PAGES = {
    r"\bwish(?:es|ed)?\b": "environment defaults, options",
}


def used(
    path: Path, phrases: dict[str, str], *, but: re.Pattern[str] | None = None
) -> list[str]:
    """List the phrases that a file uses, each with the line and what to write instead."""
    text = path.read_text()
    if but is not None:
        text = but.sub(lambda block: "\n" * block[0].count("\n"), text)
    return [
        f"{path.relative_to(ROOT)}:{number}: {found[0]!r}: say {better}"
        for number, line in enumerate(text.splitlines(), 1)
        for phrase, better in phrases.items()
        for found in re.finditer(phrase, line)
    ]


def test_code_uses_the_field_s_words():
    assert [each for path in SOURCES for each in used(path, EVERYWHERE)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_use_the_field_s_words(path):
    assert used(path, EVERYWHERE | IN_PAGES, but=QUOTED) == []


def test_phrases_are_found(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```\nwhoever\n```\nIt is as people wish.\n")

    assert used(page, IN_PAGES, but=QUOTED) == [
        "page.md:4: 'wish': say environment defaults, options"
    ]
