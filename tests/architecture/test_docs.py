"""What the documentation shows is what happens."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from berth.backends.profiles import PROFILES
from berth.eager.mode import set_eager

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    hidden = ("BERTH_SIM", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "COLUMNS")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "at_least"), [("devices", 10), ("memory", 6), ("graphs", 15), ("eager", 15)]
)
def test_guides_print_what_they_show(name, at_least):
    import berth as tf

    before = set_eager(name != "graphs")
    page = (ROOT / f"docs/{name}.md").read_text()
    sessions = "".join(b for b in re.findall(r"```python\n(.*?)```", page, re.S) if ">>>" in b)
    test = doctest.DocTestParser().get_doctest(sessions, {"tf": tf}, name, None, 0)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    set_eager(before)

    assert result.attempted >= at_least
    assert result.failed == 0


def test_list_of_operations_is_true():
    """docs/ops.md is what docs/make_ops.py writes."""
    code = "import make_ops; print(make_ops.page() == make_ops.PAGE.read_text())"
    result = run("-c", code, cwd=ROOT / "docs")

    assert (result.stdout, result.stderr) == ("True\n", "")


def test_listed_cards_are_the_profiles():
    page = (ROOT / "docs/simulated-machines.md").read_text()
    for p in PROFILES:
        major, minor = p.compute_capability
        row = (
            f"| `{p.key}` | {p.model} | {p.memory_bytes >> 20} | {major}.{minor} | "
            f"{p.multiprocessors} | {p.context_bytes >> 20} |"
        )
        assert row in page
    assert page.count("| `") == len(PROFILES) + 5  # and five rows of examples
    assert f"{len(PROFILES)} cards" in README


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    prose = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)#]+)", prose):
        if not target.startswith("https://"):
            assert (path.parent / target).exists(), target


def test_named_parity_tests_exist():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)", (ROOT / "docs/tf-parity.md").read_text())
    assert len(named) > 50
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text(), f"{path}::{test}"
