"""The ledger's files: who makes them, who removes them."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from berth.backends import ledger_directory, ledger_file
from berth.backends.ledger import Ledger, list_ledgers
from berth.errors import LedgerError
from tests.backends.ledger_files import write_file
from tests.backends.ledger_processes import CAPACITY, MACHINE, PATIENCE

# --- files ---------------------------------------------------------------------------


def test_last_close_removes_the_files(directory, worker):
    ledger = Ledger.open(MACHINE, directory)
    other = worker()
    names = sorted(path.name.split(".")[-1] for path in directory.iterdir())
    assert names == ["ledger"]
    ledger.close()
    assert other("used", 0) == 0
    assert len(list(directory.iterdir())) == 1
    other("close")

    assert list(directory.iterdir()) == []


def test_files_go_from_wherever_we_are(directory, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.open(MACHINE, directory.name)
    assert len(list(directory.iterdir())) == 1
    monkeypatch.chdir(directory)
    ledger.close()

    assert list(directory.iterdir()) == []


def test_files_go_with_the_last_program(directory, worker):
    worker().end()

    assert list(directory.iterdir()) == []


def test_files_of_the_dead_are_used_again(directory, worker):
    other = worker()
    other("reserve", 0, CAPACITY)
    other.kill()
    assert len(list(directory.iterdir())) == 1
    ledger = Ledger.open(MACHINE, directory)
    ledger.reserve(0, CAPACITY)
    ledger.close()

    assert list(directory.iterdir()) == []


def test_file_removed_while_opening_is_made_again(directory, worker, monkeypatch):
    other = worker()
    open_file = ledger_file.open_file

    def open_and_lose(path, flags):
        monkeypatch.setattr(ledger_file, "open_file", open_file)
        fd = open_file(path, flags)
        other("close")
        return fd

    monkeypatch.setattr(ledger_file, "open_file", open_and_lose)
    ledger = Ledger.open(MACHINE, directory)
    third = worker()

    assert {holder["pid"] for holder in third("holders")} == {os.getpid(), third.pid}
    ledger.close()


def test_files_that_took_our_place_are_left_alone(directory, ledger, worker, tmp_path):
    """Another process uses the file that was moved here: it is not ours to remove."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    other = worker(elsewhere)
    other("reserve", 0, 5)
    [theirs], [ours] = elsewhere.iterdir(), directory.iterdir()
    theirs.replace(ours)
    ledger.close()

    assert list(directory.iterdir()) == [ours]
    third = worker()
    assert {holder["pid"] for holder in third("holders")} == {other.pid, third.pid}
    assert third("used", 0) == 5


def test_successors_may_come_while_files_are_removed(directory, worker, monkeypatch):
    """They wait until the last one, which removes the files, has ended."""
    ledger = Ledger.open(MACHINE, directory)
    successor = threading.Thread(target=worker)
    unlink = Path.unlink

    def unlink_and_be_succeeded(path, missing_ok=False):
        unlink(path, missing_ok=missing_ok)
        if path.suffix == ".ledger":
            monkeypatch.setattr(Path, "unlink", unlink)
            successor.start()

    monkeypatch.setattr(Path, "unlink", unlink_and_be_succeeded)
    ledger.close()
    successor.join()

    assert len(worker()("holders")) == 2


def test_second_link_to_a_file_in_use_is_not_written(directory, worker, open_ledger):
    """As a process leaves it that is killed right after it published the file."""
    other = worker()
    other("reserve", 0, 5)
    [path] = directory.glob("*.ledger")
    os.link(path, path.with_suffix(".new"))
    open_ledger()

    assert other("used", 0) == 5
    assert list(directory.iterdir()) == [path]


def test_half_made_file_is_not_used(directory):
    ledger = Ledger.open(MACHINE, directory)
    [path] = directory.glob("*.ledger")
    ledger.close()
    path.with_suffix(".new").write_bytes(b"half")
    ledger = Ledger.open(MACHINE, directory)
    ledger.reserve(0, 5)
    ledger.close()

    assert list(directory.iterdir()) == []


def test_open_and_close_leak_nothing(directory, worker):
    other = worker()
    n_open = len(os.listdir("/dev/fd"))
    for _ in range(300):
        ledger = Ledger.open(MACHINE, directory)
        ledger.attach(0, 10)
        ledger.close()

    assert len(os.listdir("/dev/fd")) == n_open
    assert [holder["pid"] for holder in other("holders")] == [other.pid]
    assert other("used", 0) == 0


def test_refused_files_leak_nothing(directory):
    path = write_file(directory, lambda data: data[:-8])
    n_open = len(os.listdir("/dev/fd"))
    for _ in range(20):
        with pytest.raises(LedgerError):
            Ledger.open(MACHINE, directory)

    assert len(os.listdir("/dev/fd")) == n_open
    path.unlink()


def test_failure_to_open_blocks_no_one(directory, monkeypatch):
    with monkeypatch.context() as patch:
        patch.delattr(sys, "orig_argv")
        with pytest.raises(AttributeError):
            Ledger.open(MACHINE, directory)
    waiting = threading.Thread(
        target=lambda: Ledger.open(MACHINE, directory).close(), daemon=True
    )
    waiting.start()
    waiting.join(PATIENCE)

    assert not waiting.is_alive()
    assert list(directory.iterdir()) == []


def test_directory_is_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    ledger = Ledger.open(MACHINE)
    [folder] = tmp_path.iterdir()
    found = list_ledgers()
    ledger.close()

    assert folder.name == f"berth-{os.geteuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [info.machine for info in found] == ["2xT4:1MiB"]


def test_directory_is_in_memory_where_possible(monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path == "/dev/shm")
    assert ledger_directory.find_directory(None) == Path(f"/dev/shm/berth-{os.geteuid()}")
