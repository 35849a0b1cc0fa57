"""Other processes with a ledger: those that are asked, and those that are killed."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from berth.backends.machine import Machine

WORKER = Path(__file__).with_name("ledger_worker.py")
MACHINE = Machine.parse("2xT4:1MiB")
CAPACITY = 2**20
PATIENCE = 30.0
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


class Worker:
    """Another process with a ledger of the machine, that does as it is asked."""

    def __init__(self, directory: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER), "serve", str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid

    def __call__(self, name: str, *args: Any) -> Any:
        reply = self._ask(name, *args)
        assert "error" not in reply, reply["error"]
        return reply["answer"]

    def error_of(self, name: str, *args: Any) -> str:
        """Ask for something that must fail, and return the error."""
        return str(self._ask(name, *args)["error"])

    def _ask(self, name: str, *args: Any) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps([name, *args]), file=self.process.stdin, flush=True)
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        assert ready, f"no answer to {name}{args}"
        reply: dict[str, Any] = json.loads(self.process.stdout.readline())
        return reply

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """Let it reach the end of its program, with its ledger open."""
        self.process.communicate(timeout=PATIENCE)


def run_worker(mode, *args):
    command = [sys.executable, str(WORKER), mode, *map(str, args)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, errors = process.communicate(timeout=600)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, errors) == (0, ""), errors
    return json.loads(out)
