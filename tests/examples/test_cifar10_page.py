"""docs/how-to/train-cifar10.md: its commands print what it shows, its code is the example's."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.architecture.test_examples import matches, read
from tests.fork_server import commands
from tests.tools.run_programs import environ_of

ROOT = Path(__file__).parents[2]
PAGE = "docs/how-to/train-cifar10.md"
SECTIONS = read(PAGE)


def masked(text: str) -> str:
    """Leave out how much memory it takes, which depends on the number of cores."""
    return re.sub(r"[\d.]+ MiB", "<memory>", text)


def test_commands_print_what_is_shown(tmp_path):
    """One after the other, in one folder: what a command leaves, the next one finds."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = os.pathsep.join([commands(), os.environ["PATH"]])
    shown = [each for section in SECTIONS for each in section.commands]
    assert len(shown) == 5
    for command, expected in shown:
        ended = subprocess.run(
            ["bash", "-c", command.replace("\\\n", " ")],
            cwd=tmp_path,
            env=environ_of(tmp_path, {"PATH": path, "COLUMNS": "100"}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert matches(masked(expected), masked(ended.stdout)), f"$ {command}\n{ended.stdout}"
    assert_same_curve(tmp_path / "loss.svg", ROOT / "docs/how-to/cifar10-loss.svg")


def points(path: Path) -> dict[int, float]:
    """Return the height of the curve at each place."""
    [text] = re.findall(r'polyline points="([^"]+)"', path.read_text())
    return {int(x): float(y) for x, y in (point.split(",") for point in text.split())}


def assert_same_curve(drawn: Path, shown: Path) -> None:
    """Compare what both have: the page's picture has every step, the command's every tenth."""
    drawn_points, shown_points = points(drawn), points(shown)
    assert len(shown_points) == 60
    assert drawn_points == pytest.approx({x: shown_points[x] for x in drawn_points}, abs=1.5)


def test_code_shown_is_the_example_s():
    text = (ROOT / "examples/cifar10/train.py").read_text()
    programs = [program for section in SECTIONS for program in section.programs]
    assert len(programs) == 2
    for program in programs:
        assert program in text
