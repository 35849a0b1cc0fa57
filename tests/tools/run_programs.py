"""Helpers of the tests of `berth run`: programs in a folder, run by the command or by Python."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.fork_server import Ended, run

BERTH = [sys.executable, str(Path(sysconfig.get_path("scripts")) / "berth")]
"""By the Python of the tests, by whichever of its names the script would call it."""
PATIENCE = 60.0

ENVIRON = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("BERTH_", "CUDA_", "NVIDIA_", "TF_", "PYTHON"))
}


def start(
    command: list[str], folder: Path, environ: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start a command in a folder, with ledgers of its own there."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environ_of(folder, environ or {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def environ_of(folder: Path, environ: dict[str, str]) -> dict[str, str]:
    ledgers = folder / ".ledgers"
    ledgers.mkdir(mode=0o700, exist_ok=True)
    return {**ENVIRON, "BERTH_LEDGER_DIR": str(ledgers), **environ}


def end(process: subprocess.Popen[str], stdin: str = "") -> Ended:
    """Wait for a process to end by itself."""
    try:
        out, err = process.communicate(stdin, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Ended(out, err, process.returncode)


def berth(folder: Path, *words: str, stdin: str = "", **environ: str) -> Ended:
    """Run `berth` with these words in a folder, without the start of an interpreter."""
    return run([BERTH[1], *words], environ_of(folder, environ), folder, stdin)


def python(*words: str) -> list[str]:
    """Return the command that runs these words with Python."""
    return [sys.executable, *words]


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    """Write files, by their paths in a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
