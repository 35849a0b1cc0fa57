"""`import berth` is light: it opens nothing, starts nothing and drags nothing in."""

from __future__ import annotations

import subprocess
import sys

PROBE = """
import sys, threading
import berth, berth.compat.v1
from berth.front.context import context
heavy = {"cupy", "rich", "tensorflow", "asyncio", "http.server", "multiprocessing"}
print(sorted(heavy & set(sys.modules)))
print(threading.active_count())
print(context().has_listed_devices)
"""


def test_import_is_light():
    result = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines() == ["[]", "1", "False"]


def test_import_reads_no_environment(monkeypatch):
    """A bad BERTH_SIM is an error when devices are asked for, not before."""
    monkeypatch.setenv("BERTH_SIM", "4xnonsense")
    subprocess.run([sys.executable, "-c", "import berth"], check=True)
