"""Ledgers for the tests: in this process, and in others."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from importlib.util import find_spec

import pytest

from berth.backends import ledger as ledger_module
from berth.backends.ledger import Ledger
from berth.backends.machine import Machine
from tests.backends.ledger_processes import Worker

collect_ignore_glob = [] if find_spec("fcntl") else ["test_ledger_*.py"]


@pytest.fixture
def directory(tmp_path):
    path = tmp_path / "ledgers"
    path.mkdir(mode=0o700)
    yield path
    assert ledger_module._ledgers == {}, "a test left its ledger open"


@pytest.fixture
def worker(directory):
    """Start other processes: ``worker()``, ``worker(another_directory)``."""
    started = []

    def start(place=directory):
        started.append(Worker(place))
        started[-1]("used", 0)
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.process.communicate()


@pytest.fixture
def open_ledger(directory):
    """Open a ledger of this process: ``open_ledger()``, ``open_ledger("1xT4:1MiB")``."""
    with ExitStack() as stack:

        def start(machine="2xT4:1MiB"):
            ledger = Ledger.open(Machine.parse(machine), directory)
            stack.callback(ledger.close)  # again, in many tests: that does nothing
            return ledger

        yield start


@pytest.fixture
def ledger(open_ledger):
    return open_ledger()


@pytest.fixture
def forked():
    """A list for the processes that a worker forks: they end with the test."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
