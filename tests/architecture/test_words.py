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
    r"\bcall_quietly\b": "ignore_fp_errors",
    r"\bMisfit\b": "ShapeMismatch",
    r"\bRecipe\b": "an entry of the dispatch cache",
    r"\bconvert_now\b": "convert_eager",
    r"\bwait_out\b": "wait_uninterrupted",
    r"\bgives way\b": "is overridden by",
    r"\bslide a filter\b": "2-D convolution",
    r"\bgoing backwards\b": "backpropagation",
    r"\bdocument 0\d\d\b": "the public page or API that it is about",
}
IN_PAGES = {
    r"\b(?:no|some)body\b|\bwhoever\b": "name the caller, the thread, the user",
    r"\bwish(?:es|ed)?\b": "environment defaults, options",
    r"\bnumbered anew\b": "renumbered",
    r"\bcounts more than\b|\bcounts more\.": "overrides, takes precedence",
    r"\bmakes? an error of\b": "raises an error for",
    r"\bfaces?\b": "public API",
    r"§": "the public page or API that it is about",
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
    page.write_text("```\nwhoever\n```\nIt counts more than that.\n")

    assert used(page, IN_PAGES, but=QUOTED) == [
        "page.md:4: 'counts more than': say overrides, takes precedence"
    ]
