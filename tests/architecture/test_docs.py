"""What the documentation shows is what happens."""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from berth.backends.profiles import PROFILES
from berth.eager.mode import set_eager
from berth.memory.limits import _reserve
from berth.tools.cli import command_parser

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
        ("how-to/train-on-several-gpus", 12),
        ("how-to/save-and-restore", 16),
        ("how-to/train-with-hooks", 13),
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


def test_architecture_is_drawn_from_the_imports(monkeypatch):
    """Run `make reference` if this fails."""
    monkeypatch.syspath_prepend(ROOT / "dev")
    import make_architecture

    assert make_architecture.PICTURE.read_text() == make_architecture.picture()


# --- claims of the prose that a command can check -------------------------------------------


def test_pages_name_commands_that_exist():
    """``berth check --size`` in a page is a command, with an option of it."""
    [commands] = [
        action.choices
        for action in command_parser()._actions
        if isinstance(action.choices, dict)
    ]
    for path in PAGES:
        for name, words in re.findall(r"`berth ([a-z]+)\b([^`]*)`", path.read_text()):
            assert name in commands, f"{path.name}: berth {name}"
            own, *_ = re.split(r"\s\S+\.py\b", words)
            known = commands[name]._option_string_actions
            for option in re.findall(r"(?<!\S)--?[a-z][\w-]*", own):
                assert option in known, f"{path.name}: berth {name} {option}"


def test_pages_name_targets_that_exist():
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M)
    for path in PAGES:
        for target in re.findall(r"`make ([a-z]+)`", path.read_text()):
            assert target in targets, f"{path.name}: make {target}"


def test_pages_name_variables_that_are_read(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "dev")
    import make_reference

    # Of TensorFlow, and said not to be there; and of `make bench`.
    others = {"TF_GPU_ALLOCATOR", "TF_BFC_MEMORY_DUMP", "BERTH_BENCH_VENV"}
    read = make_reference.variables_read() | others
    for path in PAGES:
        for name in re.findall(r"\b((?:BERTH|CUDA|TF)_[A-Z_]+)\b", path.read_text()):
            assert name in read | {"CUDA_ERROR_OUT_OF_MEMORY"}, f"{path.name}: {name}"


def test_pages_name_functions_that_exist():
    import berth

    for path in PAGES:
        for name in re.findall(r"`berth\.([a-z_]+)\(", path.read_text()):
            assert hasattr(berth, name), f"{path.name}: berth.{name}"


def test_named_defaults_are_the_code_s():
    page = (ROOT / "docs/concepts/memory.md").read_text()
    [small, rest] = re.findall(
        r"reserve for the system: (\d+) MiB .*? otherwise ([\d, or]+) MiB", page
    )[0]
    reserves = {
        _reserve(2**30, None) // 2**20,
        *(_reserve(2**35, (n, 0)) // 2**20 for n in range(3, 13)),
    }
    assert {int(small), *map(int, re.findall(r"\d+", rest))} == reserves


def test_counted_cards_are_those_there_are():
    assert f"{len(PROFILES)} cards" in README


def test_json_has_the_documented_keys(tmp_path):
    page = (ROOT / "docs/reference/json.md").read_text()
    for command in ("devices", "limits"):
        _, _, section = page.partition(f"## berth {command} --json")
        section = section.split("\n## ")[0]
        of_report, of_device = (_keys(part) for part in section.split("and for each device:"))
        printed = json.loads(
            run("-m", "berth", command, "--sim", "1xT4", "--json", cwd=tmp_path).stdout
        )
        assert set(printed) == of_report | {"berth", "command"}
        assert printed["command"] == command
        assert set(printed["devices"][-1]) == of_device


def _keys(table: str) -> set[str]:
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return {key for cell in first_cells for key in re.findall(r"`(\w+)`", cell)}


def test_messages_in_troubleshooting_are_the_code_s():
    """The beginning of each error that the table quotes stands in the code."""
    page = (ROOT / "docs/troubleshooting.md").read_text()
    quoted = re.findall(r"^\| `([^`]+)`", page, re.M)
    sources = " ".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    joined = re.sub(r'"\s*f?"', "", sources)
    assert len(quoted) > 5
    for message in quoted:
        text = re.sub(r"^\w+(Error|Warning): ", "", message).split(" …")[0]
        words = re.split(r"tf\.keras|GPU:0|`", text)
        assert all(part.strip() in joined for part in words), message
