"""The tutorial's programs are those of examples/, and print what it shows.

A page shows programs (blocks of Python) and commands (blocks that begin with ``$``, each with
its output). The commands of a section are run one after the other, as by a user with as many
terminals as it takes: one that ends in a prompt stays, with what it holds, until the section
is over.

Words are compared, not blanks: pages wrap long lines, and the widths of tables vary. ``...``
stands for what a page leaves out. What depends on the computer and on the moment is masked on
both sides (`MASKS`).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(ROOT.glob("examples/*.py"))
PROMPT = "Press Enter to end."
MASKS = {
    r"(?m)^ *CPU:0 .*GiB.*$": "CPU:0 <memory>",
    r"CPU:0 \([^)]+\)": "CPU:0 (<model>)",
    r"\d\d:\d\d:\d\d": "<time>",
    r"pid \d+": "pid <pid>",
    r"\d+ +\S+ +berth run": "<pid> <user> berth run",
    r"[\d.]+ [mµ]?s\b": "<seconds>",
    r"[\d.]+ of it here": "<part> of it here",
    r"\S*/examples/": "examples/",
}


class Section(NamedTuple):
    """A part of a page, with its programs and its commands."""

    title: str
    programs: list[str]
    commands: list[tuple[str, str]]
    """Each with its output."""


def read(page: str) -> list[Section]:
    text = (ROOT / page).read_text()
    parts = re.split(r"^## ", text, flags=re.M)
    return [_read_section(page, part) for part in parts]


def _read_section(page: str, text: str) -> Section:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.S | re.M)
    programs = [body for language, body in blocks if language == "python"]
    shells = "".join(body for language, body in blocks if body.startswith("$ "))
    # A command may go on in lines that begin as a shell's do.
    commands = re.findall(r"^\$ (.*(?:\n> .*)*)\n((?:(?!\$ ).*\n)*)", shells, re.M)
    title = text.split("\n", maxsplit=1)[0].strip("# ")
    named = [(command.replace("\n> ", "\n"), output) for command, output in commands]
    return Section(f"{page}: {title}", programs, named)


SECTIONS = [s for page in ("README.md", "docs/tutorial.md") for s in read(page) if s.commands]
SHOWN = [program for section in read("docs/tutorial.md") for program in section.programs]


def start(command: str, ledgers: Path) -> subprocess.Popen[str]:
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("BERTH_", "CUDA_", "TF_"))}
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    own = {"BERTH_LEDGER_DIR": str(ledgers), "COLUMNS": "100", "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        ["bash", "-c", command],
        cwd=ROOT,
        env=keep | own | {"PATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # a terminal shows both
        text=True,
    )


def play(section: Section, ledgers: Path) -> list[str]:
    """Run a section's commands; return what each printed."""
    printed, waiting = [], []
    ledgers.mkdir(mode=0o700)
    try:
        for command, shown in section.commands:
            process = start(command, ledgers)
            if shown.rstrip().endswith(PROMPT):
                waiting.append(process)
                printed.append("".join(_until_prompt(process)))
            else:
                printed.append(process.communicate(timeout=60)[0])
    finally:
        for process in waiting:
            process.communicate("\n", timeout=60)
    return printed


def _until_prompt(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    seen = ""
    while not seen.endswith(PROMPT) and (character := process.stdout.read(1)):
        seen += character
        yield character


def words(text: str) -> str:
    """Mask what varies, and take all blanks between two words for one."""
    for pattern, mask in MASKS.items():
        text = re.sub(pattern, mask, text)
    return " ".join(text.split())


def matches(shown: str, printed: str) -> bool:
    parts = re.split(r"(?m)^ *\.\.\.$", shown)
    pattern = " .* ".join(re.escape(words(part)) for part in parts)
    return re.fullmatch(pattern, words(printed)) is not None


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)
def test_commands_print_what_is_shown(section, tmp_path):
    printed = play(section, tmp_path / "ledgers")
    for (command, shown), output in zip(section.commands, printed, strict=True):
        assert matches(shown, output), f"$ {command}\n{output}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_in_the_tutorial(path):
    """Its text, byte for byte, and the command on its first line."""
    text = path.read_text()
    command = text.splitlines()[0].removeprefix("# ")

    assert shlex.split(command)[0] == "berth"
    assert command.endswith(f" examples/{path.name}")
    assert text in SHOWN
    assert command in [command for section in SECTIONS for command, _ in section.commands]


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_program_shown_is_an_example(page):
    programs = [program for section in read(page) for program in section.programs]
    texts = [path.read_text() for path in EXAMPLES]

    assert programs
    for program in programs:
        assert program in texts, program


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_blocks_fit_the_page(page):
    """A line of a device mapping takes 101 columns; nothing takes more."""
    blocks = "".join(re.findall(r"^```.*?^```", (ROOT / page).read_text(), re.S | re.M))
    assert [line for line in blocks.splitlines() if len(line) > 101] == []


def test_what_is_covered_is_covered():
    """docs/how-to/move-from-tensorflow.md promises at least so many in ten; docs/ops.md counts."""
    page = (ROOT / "docs/how-to/move-from-tensorflow.md").read_text()
    promised = re.findall(r"^\| `(tf[\w.]*)` \| (\d+) of 10 \|", page, re.M)
    counted = re.findall(
        r"^\| `([\w.]+)`: (\d+) of (\d+) there", (ROOT / "docs/ops.md").read_text(), re.M
    )
    tenths = {name: 10 * int(there) // int(all_) for name, there, all_ in counted}

    assert len(promised) > 5
    assert [name for name, least in promised if tenths[name] < int(least)] == []
