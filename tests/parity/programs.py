"""Helpers of the parity tests: TensorFlow's line of a message, programs of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests import fork_server

HERMETIC = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("BERTH_SIM", "CUDA_", "NVIDIA_", "OPENBLAS_", "TF_"))
}


def first_line(error: BaseException) -> str:
    """TensorFlow's own text: berth only ever adds lines below it."""
    return str(error).split("\n")[0]


def run(program: str, **environ: str) -> str:
    """Run a program in a process of its own; return what it printed."""
    ended = fork_server.run(["-c", program], HERMETIC | environ)
    assert ended.code == 0, ended.err
    return ended.out


def run_in_shell(line: str, **environ: str) -> str:
    """Run a line of shell, where ``$PYTHON`` is the interpreter; return what it printed."""
    done = type_line(line, **environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


def type_line(
    line: str, folder: Path | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Type a line in a terminal, where `python`, ``$PYTHON`` and `berth` are known."""
    commands = fork_server.commands()
    known = {"PYTHON": f"{commands}/python", "PATH": f"{commands}:{HERMETIC['PATH']}"}
    return subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env=HERMETIC | known | environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
