"""Helpers of the parity tests: TensorFlow's line of a message, programs of their own."""

from __future__ import annotations

import os
import subprocess
import sys

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
    return finish([sys.executable, "-c", program], environ)


def run_in_shell(line: str, **environ: str) -> str:
    """Run a line of shell, where ``$PYTHON`` is the interpreter; return what it printed."""
    return finish(["sh", "-c", line], {"PYTHON": sys.executable, **environ})


def finish(command: list[str], environ: dict[str, str]) -> str:
    done = subprocess.run(
        command,
        env=HERMETIC | environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
