"""What programs of the same user do to a ledger in use, and that no card is overcommitted."""

from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path

import pytest

from berth.backends import ledger_directory, ledger_file, ledger_removed
from berth.backends.ledger import Ledger, list_ledgers
from berth.backends.machine import Machine
from berth.errors import LedgerBusyError, LedgerError
from tests.backends.ledger_files import refusal, write_file
from tests.backends.ledger_processes import CAPACITY, MACHINE, as_root


def look_again():
    """Wait until a ledger looks again whether its file is in its place."""
    time.sleep(2 * ledger_file._LOOK_EVERY)


# --- what a program does to itself -------------------------------------------------------


def test_copying_the_directory_frees_nothing(ledger, worker, tmp_path):
    other = worker()
    other("reserve", 0, CAPACITY)
    other("copy_directory", str(tmp_path / "copy"))

    assert ledger.used(0) == CAPACITY
    assert [info.holders for info in list_ledgers(tmp_path / "copy")] == [[]]


def test_loading_berth_twice_frees_nothing(ledger, worker):
    other = worker()
    other("reserve", 0, CAPACITY - 5)
    assert other("load_berth_again") == [2, 3]

    assert ledger.used(0) == CAPACITY - 5
    assert len(ledger.holders()) == 2


def test_closing_all_descriptors_frees_nothing(directory, ledger, worker, tmp_path):
    other = worker()
    other("reserve", 0, CAPACITY - 5)
    own = [tmp_path / f"own{i}" for i in range(8)]
    other("close_all_descriptors", [str(path) for path in own])
    assert ledger.used(0) == CAPACITY - 5
    # It opens the file again, and leaves alone the files that have its numbers now.
    other("reserve", 0, 5)
    assert ledger.used(0) == CAPACITY
    other("write_own_files")
    other("close")
    other("write_own_files")

    assert ledger.used(0) == 0
    assert [path.read_text() for path in own] == ["mine\nmine\n"] * 8


def test_exec_frees_everything(ledger, worker):
    other = worker()
    other("reserve", 0, CAPACITY)
    print('["become", "sleep", "60"]', file=other.process.stdin, flush=True)
    deadline = time.monotonic() + 30
    while ledger.used(0):
        assert time.monotonic() < deadline
    assert other.process.poll() is None


def test_killed_process_holds_nothing_though_a_fork_without_python_lives(
    ledger, worker, forked
):
    other = worker()
    other("reserve", 0, CAPACITY)
    forked.append(other("fork_without_python"))
    assert ledger.used(0) == CAPACITY
    other.kill()

    assert ledger.used(0) == 0


# --- what happens to the file ------------------------------------------------------------


def remove(path):
    path.unlink()


def move(path):
    path.rename(path.with_name("elsewhere"))


def replace(path):
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


@pytest.mark.parametrize("lose", [remove, move, replace])
def test_lost_file_is_noticed(directory, lose):
    ledger = Ledger.open(MACHINE, directory)
    ledger.reserve(0, 100)
    [path] = directory.glob("*.ledger")
    lose(path)
    look_again()
    message = (
        f"The ledger of simulated GPUs {path} was removed or replaced while process "
        f"{os.getpid()} uses it: other processes cannot see what it holds.\n"
        "  End all programs that use 2xT4:1MiB, and start them again.\n"
        "  If a service cleans that directory, BERTH_LEDGER_DIR names another place."
    )
    for take in (
        lambda: ledger.reserve(0, 1),
        lambda: ledger.attach(0, 1),
        lambda: ledger.claim(1, lambda card, free: 1),
        lambda: ledger.used(0),
    ):
        with pytest.raises(LedgerError) as error:
            take()
        assert str(error.value) == message
    # What is held can be returned, and a new ledger opened.
    ledger.release(0, 100)
    ledger.close()
    for left in directory.iterdir():
        left.unlink()
    ledger = Ledger.open(MACHINE, directory)
    ledger.reserve(0, CAPACITY)
    ledger.close()


@pytest.mark.parametrize("n_bytes", [0, 100, 8192, 145_504])
def test_file_cut_short_is_an_error_and_no_signal(directory, worker, n_bytes):
    other = worker()
    other("reserve", 0, 100)
    [path] = directory.glob("*.ledger")
    os.truncate(path, n_bytes)
    expected = "LedgerError: " + refusal(path, "it was cut short or overwritten while in use")
    for name, *args in (["used", 0], ["reserve", 0, 5], ["release", 0, 5], ["holders"]):
        assert other.error_of(name, *args) == expected
    other("close")
    other.end()
    assert other.process.returncode == 0


def test_overwritten_file_is_refused(directory, ledger):
    [path] = directory.glob("*.ledger")
    n_bytes = path.stat().st_size
    os.truncate(path, 0)
    os.truncate(path, n_bytes)
    with pytest.raises(LedgerError, match="it was cut short or overwritten while in use"):
        ledger.reserve(0, 1)


def test_full_disk_is_an_error(directory, monkeypatch):
    def write_nothing(fd, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(ledger_directory.os, "write", write_nothing)
        with pytest.raises(LedgerError) as error:
            Ledger.open(MACHINE, directory)
    name = ledger_directory.file_name(
        ledger_file.Layout(MACHINE.name, tuple(card.memory_bytes for card in MACHINE.cards))
    )
    assert str(error.value) == (
        f"Cannot keep ledgers of simulated GPUs in {directory}: {name} cannot be written "
        "(No space left on device).\n"
        "  Make room there.\n"
        "  BERTH_LEDGER_DIR names another place: a directory that only you may use, or one that "
        "can be made."
    )
    assert list(directory.iterdir()) == []
    Ledger.open(MACHINE, directory).close()


@as_root
def test_full_file_system_is_an_error(tmp_path):
    """A real one: too small for a ledger."""
    folder = tmp_path / "small"
    folder.mkdir(mode=0o700)
    if os.system(f"mount -t tmpfs -o size=64k,mode=700 none {folder} 2>/dev/null"):
        pytest.skip("cannot mount here")
    try:
        with pytest.raises(LedgerError, match="No space left on device"):
            Ledger.open(MACHINE, folder)
        assert list(folder.iterdir()) == []
    finally:
        os.system(f"umount {folder}")


def test_files_of_killed_processes_are_removed(directory, worker, open_ledger):
    killed, living = worker(), Ledger.open(Machine.parse("4xT4:1MiB"), directory)
    draft = directory / "draft.new"
    draft.write_bytes(b"half")
    foreign = directory / "foreign.ledger"
    foreign.write_bytes(b"not a ledger")
    killed.kill()
    open_ledger("1xT4:1MiB")

    names = sorted(path.name.partition("-")[0] for path in directory.iterdir())
    assert names == ["1xT4", "4xT4", "foreign.ledger"]
    living.close()


@as_root
def test_directory_planted_by_another_user_is_refused_with_advice(tmp_path):
    path = tmp_path / "d"
    path.mkdir(mode=0o700)
    os.chown(path, 65534, 65534)
    for use in (lambda: Ledger.open(MACHINE, path), lambda: list_ledgers(path)):
        with pytest.raises(LedgerError, match="BERTH_LEDGER_DIR names another place"):
            use()


# --- a process that is stopped in its turn -----------------------------------------------


@pytest.fixture
def stopped(directory, ledger, worker, monkeypatch):
    """A process that has the lock, and is stopped; others wait for 0.2 seconds."""
    ledger.reserve(0, 100)
    other = worker()
    other("reserve", 0, 5)
    other("hold_the_lock")
    os.kill(other.pid, signal.SIGSTOP)
    wait = ledger_file.wait_for_flock
    monkeypatch.setattr(
        ledger_file, "wait_for_flock", lambda fd, seconds, *kind: wait(fd, 0.2, *kind)
    )
    yield other
    if other.process.poll() is None:
        os.kill(other.pid, signal.SIGCONT)


def test_stopped_process_is_named(directory, ledger, stopped):
    [path] = directory.glob("*.ledger")
    with pytest.raises(LedgerBusyError) as error:
        ledger.reserve(0, 1)
    first, advice = str(error.value).splitlines()
    assert first.startswith(
        f"Cannot use the ledger of simulated GPUs {path}: process {stopped.pid} ("
    )
    assert first.endswith(") is stopped, and has not unlocked it for 0.2 seconds.")
    assert advice == (
        f"  Continue it (kill -CONT {stopped.pid}), or end it (kill -KILL {stopped.pid})."
    )
    stopped.kill()
    assert ledger.used(0) == 100


def test_release_does_not_fail_for_a_stopped_process(ledger, stopped):
    ledger.release(0, 30)
    ledger.release(0, 20)
    stopped.kill()

    assert ledger.used(0) == 50


def test_closing_does_not_fail_for_a_stopped_process(directory, ledger, stopped):
    ledger.close()
    stopped.kill()
    [info] = list_ledgers(directory)

    assert info.holders == []  # our row is dead, though it could not be cleared


def test_listing_leaves_out_what_a_stopped_process_has_locked(directory, stopped):
    lone = Ledger.open(Machine.parse("1xK20m"), directory)
    problems: list[LedgerError] = []
    found = list_ledgers(directory, problems.append)
    lone.close()

    assert [info.machine for info in found] == ["1xK20m"]
    [problem] = problems
    assert f"process {stopped.pid} (" in str(problem)


def test_listing_leaves_out_corrupt_ledgers(directory, open_ledger):
    bad = write_file(directory, lambda data: data[:-8])
    open_ledger("1xK20m")
    problems: list[LedgerError] = []
    found = list_ledgers(directory, problems.append)

    assert [info.machine for info in found] == ["1xK20m"]
    assert [str(problem) for problem in problems] == [
        refusal(bad, "it has 145,504 bytes where 145,512 belong")
    ]
    Path(bad).unlink()


@pytest.mark.parametrize("what", ["file removed", "file moved", "directory moved"])
def test_newcomer_refuses_a_file_that_was_removed_while_in_use(
    directory, worker, open_ledger, monkeypatch, what
):
    """It cannot know what the others hold, so it takes nothing; when they ended, it may."""
    monkeypatch.setattr(ledger_removed, "_PATIENCE", 0.1)
    inside = worker()
    inside("reserve", 0, 2**20)
    [path] = directory.glob("*.ledger")
    elsewhere = directory.with_name("elsewhere")
    if what == "file removed":
        path.unlink()
    elif what == "file moved":
        elsewhere.mkdir()
        path.rename(elsewhere / path.name)
    else:
        directory.rename(elsewhere)
        directory.mkdir(0o700)
    with pytest.raises(LedgerError) as error:
        open_ledger()
    pid = inside.process.pid
    assert str(error.value).startswith(
        f"Cannot use the ledger of simulated GPUs {path}: it was removed or moved while it is in "
        f"use by process {pid} ("
    )
    assert not list(directory.glob("*.ledger"))
    inside.kill()
    inside.process.wait()
    open_ledger().reserve(0, 2**20)
