"""What the documentation shows is what happens."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
    ("name", "at_least"),
    [
        ("how-to/choose-devices", 10),
        ("how-to/limit-memory", 6),
        ("how-to/debug-placement", 15),
        ("how-to/train-on-several-gpus", 8),
        ("concepts/devices", 3),
        ("concepts/placement", 7),
        ("concepts/eager", 15),
    ],
)
def test_pages_print_what_they_show(name, at_least):
    import berth as tf
    import berth.compat.v1 as tf1

    page = (ROOT / f"docs/{name}.md").read_text()
    before = set_eager("berth.compat.v1 as tf" not in page)
    tf1.reset_default_graph()
    sessions = "".join(b for b in re.findall(r"```python\n(.*?)```", page, re.S) if ">>>" in b)
    test = doctest.DocTestParser().get_doctest(sessions, {"tf": tf}, Path(name).stem, None, 0)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    set_eager(before)

    assert result.attempted >= at_least
    assert result.failed == 0


def test_list_of_operations_is_true():
    """docs/ops.md is what docs/make_ops.py writes."""
    code = "import make_ops; print(make_ops.page() == make_ops.PAGE.read_text())"
    result = run("-c", code, cwd=ROOT / "docs")

    assert (result.stdout, result.stderr) == ("True\n", "")


@pytest.mark.parametrize("name", ["cards.md", "cli.md", "environment.md", "errors.md"])
def test_reference_is_current(name, monkeypatch):
    """Run `make reference` if this fails."""
    monkeypatch.syspath_prepend(ROOT / "dev")
    import make_reference

    assert (ROOT / "docs/reference" / name).read_text() == make_reference.MAKERS[name]()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    """Files exist, and headings; the built site is checked again by `make docs`."""
    prose = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        file, _, anchor = target.partition("#")
        if target.startswith("https://") or file.endswith(MADE_BY_SITE):
            continue
        page = path.parent / file if file else path
        assert page.exists(), target
        assert not anchor or anchor in anchors_of(page), target


MADE_BY_SITE = ("reference/api.md",)


def anchors_of(page: Path) -> set[str]:
    """Return the ids of a page's headings, as GitHub and MkDocs make them."""
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    headings = re.findall(r"^#+ (.+)$", prose, re.M)
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def test_site_has_every_page():
    """What is in docs/ is in the table of contents of mkdocs.yml, or on a page's index."""
    contents = (ROOT / "mkdocs.yml").read_text() + (
        ROOT / "docs/decisions/index.md"
    ).read_text()
    pages = [path.relative_to(ROOT / "docs") for path in PAGES if path.parent != ROOT]
    missing = [str(page) for page in pages if page.name not in contents]
    assert missing == []


def test_named_parity_tests_exist():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)", (ROOT / "docs/tf-parity.md").read_text())
    assert len(named) > 50
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text(), f"{path}::{test}"
