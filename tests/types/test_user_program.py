"""Type checkers accept a user's program, infer real types and report typical mistakes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = [str(HERE / f"{name}.py") for name in ("program", "mistakes", "revealed")]
COMMANDS = {
    "mypy": ["mypy", "--follow-imports=silent"],
    "pyright": ["basedpyright", "--pythonpath", sys.executable],
}


def lines_of(report: str, program: str, kind: str) -> dict[int, str]:
    """Return the messages of a kind about a program, by line."""
    found = re.findall(rf"{program}\.py:(\d+)[:\d]*(?: -|:) {kind}:? (.*)", report)
    return {int(line): message for line, message in found}


def marked(program: str) -> dict[int, str]:
    """Return the comments at the ends of a program's lines, by line."""
    lines = (HERE / f"{program}.py").read_text().splitlines()
    return {n: line.split("  # ")[1] for n, line in enumerate(lines, 1) if "  # " in line}


def inferred(message: str) -> str:
    """Return the type that a message of `reveal_type` is about, without modules."""
    named = message.rsplit(" is ", maxsplit=1)[-1].strip('"').replace("NDArray", "ndarray")
    return re.sub(r"\b(berth|numpy)(\.\w+)*\.", "", named)


# One test for each, because a checker takes seconds to start.
@pytest.mark.parametrize("checker", COMMANDS)
def test_checkers_help_users(checker: str) -> None:
    command = [sys.executable, "-m", *COMMANDS[checker], *PROGRAMS]
    report = subprocess.run(
        command, capture_output=True, check=False, text=True, cwd=HERE.parents[1]
    ).stdout
    assert lines_of(report, "program", "error") == {}
    assert set(lines_of(report, "mistakes", "error")) == set(marked("mistakes"))
    found = lines_of(report, "revealed", "note") | lines_of(report, "revealed", "information")
    for line, name in marked("revealed").items():
        assert inferred(found[line]).startswith(name)
