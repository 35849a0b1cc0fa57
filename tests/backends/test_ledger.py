"""The ledger: simulated GPUs shared between processes, which may die at any moment."""

from __future__ import annotations

import gc
import json
import os
import random
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from berth.backends import ledger as ledger_module
from berth.backends import ledger_directory, ledger_file
from berth.backends.ledger import Ledger, list_ledgers
from berth.backends.ledger_notes import CardUse, LedgerInfo
from berth.backends.machine import Machine
from berth.deferred import DeferredWork
from berth.errors import DeviceMemoryError, LedgerError

pytest.importorskip("fcntl")

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


@pytest.fixture
def directory(tmp_path):
    path = tmp_path / "ledgers"
    path.mkdir(mode=0o700)
    yield path
    assert ledger_module._ledgers == {}, "a test left its ledger open"


@pytest.fixture
def worker(directory):
    """Start other processes: ``worker()``."""
    started = []

    def start():
        started.append(Worker(directory))
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
    assert (process.returncode, errors) == (0, "")
    return json.loads(out)


# --- accounting in one process -------------------------------------------------------


def test_bytes_are_taken_and_given_back(ledger):
    ledger.reserve(0, 1000)
    ledger.reserve(0, 24)
    ledger.reserve(1, 7)
    ledger.release(0, 1000)

    assert (ledger.used(0), ledger.used(1)) == (24, 7)


def test_context_is_taken_once(ledger):
    ledger.attach(0, 300)
    ledger.attach(0, 300)
    ledger.reserve(0, 5)

    assert (ledger.used(0), ledger.used(1)) == (305, 0)
    assert (ledger.is_attached(0), ledger.is_attached(1)) == (True, False)


def test_context_cannot_be_released(ledger):
    ledger.attach(0, 300)
    ledger.reserve(0, 5)
    with pytest.raises(ValueError, match=r"^Cannot release 6 bytes of card 0 of ") as error:
        ledger.release(0, 6)

    assert str(error.value).endswith(" of 2xT4:1MiB: this process has reserved 5.")
    assert ledger.used(0) == 305


@pytest.mark.parametrize("method", ["reserve", "attach"])
def test_capacity_holds_to_the_byte(ledger, method):
    ledger.reserve(0, CAPACITY - 10)
    with pytest.raises(DeviceMemoryError) as error:
        getattr(ledger, method)(0, 11)
    assert str(error.value) == (
        "card 0 of 2xT4:1MiB cannot reserve 11 bytes: 10 of 1,048,576 bytes are free."
    )
    assert ledger.used(0) == CAPACITY - 10
    getattr(ledger, method)(0, 10)

    assert ledger.used(0) == CAPACITY


def test_cards_that_are_not_there_are_refused(ledger):
    for card in (-1, 2):
        for ask in (ledger.used, ledger.holders):
            with pytest.raises(
                ValueError, match=rf"^2xT4:1MiB has no card {card}: it has 2\.$"
            ):
                ask(card)
        for change in (ledger.reserve, ledger.release, ledger.attach):
            with pytest.raises(
                ValueError, match=rf"^2xT4:1MiB has no card {card}: it has 2\.$"
            ):
                change(card, 1)


@pytest.mark.parametrize("nbytes", [0, -1, 2**63])
def test_sizes_out_of_range_are_refused(ledger, nbytes):
    message = f"Cannot account for {nbytes} bytes: name from 1 to 2**63 - 1."
    for change in (ledger.reserve, ledger.release, ledger.attach):
        with pytest.raises(ValueError, match=re.escape(message)):
            change(0, nbytes)
    with pytest.raises(ValueError, match=re.escape(message)):
        ledger.describe(0, limit_bytes=nbytes, growth=True)

    assert ledger.used(0) == 0


def test_accounts_agree_with_a_naive_model(ledger):
    rng = random.Random(7)
    held: list[tuple[int, int]] = []
    n_refused = 0
    for _ in range(2000):
        if held and rng.random() < 0.45:
            ledger.release(*held.pop(rng.randrange(len(held))))
        else:
            card, nbytes = rng.randrange(2), rng.randrange(1, CAPACITY // 4)
            fits = sum(n for c, n in held if c == card) + nbytes <= CAPACITY
            if fits:
                ledger.reserve(card, nbytes)
                held.append((card, nbytes))
            else:
                with pytest.raises(DeviceMemoryError):
                    ledger.reserve(card, nbytes)
                n_refused += 1
        for card in range(2):
            assert ledger.used(card) == sum(n for c, n in held if c == card)
    assert n_refused > 100


def test_one_process_has_one_slot(directory, ledger):
    again = Ledger.open(MACHINE, directory.parent / "." / directory.name)
    again.reserve(0, 5)

    assert again is ledger
    assert len(ledger.holders()) == 1

    again.close()
    assert ledger.used(0) == 5


def test_closed_ledger_is_refused(directory):
    ledger = Ledger.open(MACHINE, directory)
    ledger.attach(1, 1)
    ledger.reserve(0, 10)
    ledger.close()
    with pytest.raises(RuntimeError, match=r"^The ledger of 2xT4:1MiB is closed\.$"):
        ledger.used(0)
    with pytest.raises(RuntimeError, match=r"^The ledger of 2xT4:1MiB is closed\.$"):
        ledger.reserve(0, 1)
    with pytest.raises(RuntimeError, match=r"^The ledger of 2xT4:1MiB is closed\.$"):
        ledger.attach(1, 1)
    # Finalizers come late.
    ledger.release(0, 10)
    ledger.close()


def test_machines_do_not_meet(directory, ledger):
    other = Ledger.open(Machine.parse("1xT4:1MiB"), directory)
    other.reserve(0, 100)

    assert ledger.used(0) == 0
    other.close()


def test_holder_tells_who_it_is(ledger):
    import pwd

    ledger.attach(1, 10)
    ledger.describe(0, limit_bytes=5000, growth=False)
    ledger.describe(1, limit_bytes=None, growth=True)
    [holder] = ledger.holders()

    assert holder.pid == os.getpid()
    assert holder.user == pwd.getpwuid(os.geteuid()).pw_name
    assert Path(sys.executable).name in holder.command
    assert abs(time.time() - holder.since) < 60
    assert holder.cards == {0: CardUse(0, 5000, False), 1: CardUse(10, None, True)}
    assert ledger.holders(0) == []
    assert ledger.holders(1) == [holder]


@pytest.mark.parametrize("character", ["x", "é", "\U0001f6a2", "\udcff", "\0", '"'])
def test_long_commands_are_cut(directory, monkeypatch, character):
    monkeypatch.setattr(sys, "orig_argv", ["python", character * 5000])
    machine = Machine.parse("64xT4:1MiB")
    ledger = Ledger.open(machine, directory)
    for card in range(64):
        ledger.describe(card, limit_bytes=2**63 - 1, growth=False)
    [holder] = ledger.holders()
    ledger.close()

    assert len(holder.cards) == 64
    assert holder.command.startswith("python")
    assert holder.command.endswith("...")
    assert holder.command.encode().decode() == holder.command


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


def test_file_removed_while_opening_is_made_anew(directory, worker, monkeypatch):
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


def test_files_that_took_our_place_are_left_alone(directory, worker, ledger):
    for path in list(directory.iterdir()):
        path.unlink()
    other = worker()
    other("reserve", 0, 5)
    ledger.close()

    assert len(list(directory.iterdir())) == 1
    assert len(worker()("holders")) == 2


def test_successors_may_come_while_files_are_removed(directory, worker, monkeypatch):
    ledger = Ledger.open(MACHINE, directory)
    unlink = Path.unlink

    def unlink_and_be_succeeded(path, missing_ok=False):
        unlink(path, missing_ok=missing_ok)
        if path.suffix == ".ledger":
            monkeypatch.setattr(Path, "unlink", unlink)
            worker()

    monkeypatch.setattr(Path, "unlink", unlink_and_be_succeeded)
    ledger.close()

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


# --- what cannot be trusted ----------------------------------------------------------


def write_file(directory, change):
    """Put a changed copy of a good file, as the dead leave it, where it is looked for."""
    ledger = Ledger.open(MACHINE, directory)
    [path] = directory.glob("*.ledger")
    good = bytearray(path.read_bytes())
    ledger.close()
    path.write_bytes(change(good))
    return path


def word(index, value):
    def change(data):
        data[8 * index : 8 * index + 8] = struct.pack("=Q", value)
        return data

    return change


def refusal(path, problem):
    return (
        f"Cannot use the ledger of simulated GPUs {path}: {problem}.\n"
        "  Nothing in it was changed. Stop the programs that use it, and remove it:\n"
        f"  rm {path.with_suffix('')}.*"
    )


# Words: 0 magic, 1 version, 2 cards, 3 slots, 4 note, 5 name, 6 identity, 7 slots ever used, 8 and
# 9 capacities, 10 and 11 the name, 12 usage of card 0, 140 of card 1, 268 and 396 claims, 524 the
# first note, and the identity again at the end.
CORRUPT = {
    "empty": (lambda data: b"", "it does not begin as a ledger does"),
    "short": (lambda data: data[:50], "it does not begin as a ledger does"),
    "magic": (word(0, 1), "it does not begin as a ledger does"),
    "version": (word(1, 4), "it has version 4, and this berth 3"),
    "no-cards": (
        word(2, 0),
        "0 cards, 128 slots and notes of 1104 bytes do not go together",
    ),
    "many-cards": (
        word(2, 3),
        "3 cards, 128 slots and notes of 1104 bytes do not go together",
    ),
    "countless-cards": (word(2, 2**63), "its head is longer than the file"),
    "slots": (
        word(3, 64),
        "2 cards, 64 slots and notes of 1104 bytes do not go together",
    ),
    "notes": (
        word(4, 512),
        "2 cards, 128 slots and notes of 512 bytes do not go together",
    ),
    "long-name": (word(5, 2**63), "its head is longer than the file"),
    "name-no-text": (word(10, 0xFF), "its head cannot be read"),
    "other-name": (
        lambda data: data.replace(b"2xT4:1MiB", b"2xT4:1GiB"),
        "it is that of another machine, '2xT4:1GiB'",
    ),
    "capacities": (
        word(9, 4096),
        "its cards have 1,048,576, 4,096 bytes, and ours 1,048,576, 1,048,576",
    ),
    "truncated": (lambda data: data[:-8], "it has 145,504 bytes where 145,512 belong"),
    "longer": (lambda data: data + b"\0", "it has 145,513 bytes where 145,512 belong"),
    "use-beyond-capacity": (
        word(12, CAPACITY + 1),
        "1,048,577 bytes of card 0 are in use, and it has 1,048,576",
    ),
    "sum-beyond-capacity": (
        lambda data: word(140, CAPACITY)(word(267, 1)(data)),
        "1,048,577 bytes of card 1 are in use, and it has 1,048,576",
    ),
    "huge-use": (
        word(267, 2**64 - 1),
        "18,446,744,073,709,551,615 bytes of card 1 are in use, and it has 1,048,576",
    ),
    "use-without-note": (word(143, 5), "slot 3 uses card 1 and has no note"),
    "identity": (word(6, 7), "it ends as another file does"),
    "notes-of-more-slots": (
        lambda data: word(7, 0)(word(524, 2)(data)),
        "it counts 0 used slots, and has notes of more",
    ),
    "countless-slots": (word(7, 129), "it counts 129 used slots, and has notes of more"),
    "claim-beyond-use": (word(271, 5), "slot 3 claims more of card 0 than it uses"),
}


@pytest.mark.parametrize("kind", CORRUPT)
def test_corrupt_file_is_refused(directory, kind):
    change, problem = CORRUPT[kind]
    path = write_file(directory, change)
    before = path.read_bytes()
    with pytest.raises(LedgerError) as error:
        Ledger.open(MACHINE, directory)

    assert str(error.value) == refusal(path, problem)
    assert path.read_bytes() == before
    assert [p.name for p in directory.iterdir() if p.suffix == ".ledger"] == [path.name]


def test_good_file_is_not_refused(directory):
    """The other half of the test above: what is changed there is good before."""
    write_file(directory, lambda data: data)
    ledger = Ledger.open(MACHINE, directory)
    assert ledger.used(0) == 0
    ledger.close()


def spoil(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


BAD_NOTES = {
    "no-json": b"{",
    "no-text": b"\xff\xff",
    "no-object": b"[]",
    "deep": b"[" * 1000,
    "wrong-type": b'{"pid":"1","user":"u","command":"c","since":1.5,"cards":{}}',
    "missing": b'{"pid":1,"user":"u","command":"c","since":1.5}',
    "bad-card": b'{"pid":1,"user":"u","command":"c","since":1.5,"cards":{"a":[1,true]}}',
    "bad-terms": b'{"pid":1,"user":"u","command":"c","since":1.5,"cards":{"0":"ab"}}',
}


@pytest.fixture(scope="module")
def neighbour(tmp_path_factory):
    """A process in slot 0 of a ledger, whose note tests spoil."""
    directory = tmp_path_factory.mktemp("ledgers")
    process = Worker(directory)
    process("used", 0)
    [path] = directory.glob("*.ledger")
    yield path
    process.kill()
    process.process.communicate()


@pytest.mark.parametrize("kind", BAD_NOTES)
def test_unreadable_note_of_the_living_is_refused(neighbour, kind):
    note = BAD_NOTES[kind]
    spoil(neighbour, 8 * 524, struct.pack("=Q", len(note)) + note)
    with pytest.raises(LedgerError) as error:
        Ledger.open(MACHINE, neighbour.parent)
    assert str(error.value) == refusal(neighbour, "the note of slot 0 cannot be read")
    with pytest.raises(LedgerError) as error:
        list_ledgers(neighbour.parent)
    assert str(error.value) == refusal(neighbour, "the note of slot 0 cannot be read")


def test_endless_note_of_the_living_is_refused(neighbour):
    spoil(neighbour, 8 * 524, struct.pack("=Q", 2**40))
    with pytest.raises(LedgerError) as error:
        Ledger.open(MACHINE, neighbour.parent)
    assert str(error.value) == refusal(
        neighbour, "the note of slot 0 has 1,099,511,627,776 bytes"
    )


def test_unreadable_note_of_the_dead_is_cleared(directory, worker):
    other = worker()
    other("reserve", 1, 50)
    [path] = directory.glob("*.ledger")
    other.kill()
    spoil(path, 8 * 525, b"half writ")
    ledger = Ledger.open(MACHINE, directory)

    assert ledger.used(1) == 0
    assert [holder.pid for holder in ledger.holders()] == [os.getpid()]
    ledger.close()


def test_use_spoiled_later_is_noticed(directory, ledger):
    [path] = directory.glob("*.ledger")
    spoil(path, 8 * 12, struct.pack("=Q", CAPACITY + 1))
    problem = "1,048,577 bytes of card 0 are in use, and it has 1,048,576"
    with pytest.raises(LedgerError) as error:
        ledger.reserve(0, 1)
    assert str(error.value) == refusal(path, problem)
    with pytest.raises(LedgerError) as error:
        ledger.used(0)
    assert str(error.value) == refusal(path, problem)


def make_link(path):
    (path.parent / "elsewhere").write_bytes(b"")
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (make_link, f"it cannot be opened ({os.strerror(40)})"),
        (lambda path: path.mkdir(), f"it cannot be opened ({os.strerror(21)})"),
        (os.mkfifo, "it is not a file"),
    ],
    ids=["link", "directory", "pipe"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the numbers of errors are Linux's")
def test_what_is_no_file_is_refused(directory, make, problem):
    path = write_file(directory, lambda data: data)
    path.unlink()
    make(path)
    with pytest.raises(LedgerError) as error:
        Ledger.open(MACHINE, directory)
    assert str(error.value) == refusal(path, problem)


@as_root
def test_file_of_another_user_is_refused(directory):
    path = write_file(directory, lambda data: data)
    os.chown(path, 65534, 65534)
    with pytest.raises(LedgerError) as error:
        Ledger.open(MACHINE, directory)
    assert str(error.value) == refusal(path, "it belongs to user 65534, and this is user 0")


def directory_refusal(path, problem, advice):
    lines = [f"Cannot keep ledgers of simulated GPUs in {path}: {problem}.", f"{advice} {path}"]
    return "\n  ".join(lines + [ELSEWHERE] * (advice == REMOVE))


REMOVE = "Remove it, or have its owner do so: rm -r"
ELSEWHERE = (
    "BERTH_LEDGER_DIR names another place: a directory that only you may use, or one that can "
    "be made."
)


@pytest.mark.parametrize("use", [lambda path: Ledger.open(MACHINE, path), list_ledgers])
def test_directory_open_to_others_is_refused(tmp_path, use):
    path = tmp_path / "d"
    path.mkdir()
    path.chmod(0o750)
    with pytest.raises(LedgerError) as error:
        use(path)
    problem = "others may use it (its mode is 0750)"
    advice = "Keep it to yourself: chmod 700"
    assert str(error.value) == directory_refusal(path, problem, advice)


@pytest.mark.parametrize("dangling", [False, True])
def test_directory_by_link_is_refused(tmp_path, dangling):
    path = tmp_path / "d"
    path.symlink_to(tmp_path / "nowhere" if dangling else tmp_path)
    with pytest.raises(LedgerError) as error:
        Ledger.open(MACHINE, path)
    assert str(error.value) == directory_refusal(path, "it is a symbolic link", REMOVE)
    assert list(tmp_path.iterdir()) == [path]


def test_directory_that_is_a_file_is_refused(tmp_path):
    path = tmp_path / "d"
    path.touch()
    with pytest.raises(LedgerError) as error:
        Ledger.open(MACHINE, path)
    assert str(error.value) == directory_refusal(path, "it is not a directory", REMOVE)


def test_directory_that_cannot_be_made_is_told(tmp_path):
    path = tmp_path / "missing" / "d"
    with pytest.raises(LedgerError) as error:
        Ledger.open(MACHINE, path)
    assert str(error.value) == (
        f"Cannot keep ledgers of simulated GPUs in {path}: it cannot be made "
        "(No such file or directory).\n"
        "  BERTH_LEDGER_DIR names another place: a directory that only you may use, or one that "
        "can be made."
    )


@as_root
def test_directory_of_another_user_is_refused(tmp_path):
    path = tmp_path / "d"
    path.mkdir(mode=0o700)
    os.chown(path, 65534, 65534)
    with pytest.raises(LedgerError) as error:
        Ledger.open(MACHINE, path)
    problem = "it belongs to user 65534, and this is user 0"
    assert str(error.value) == directory_refusal(path, problem, REMOVE)


# --- several processes ---------------------------------------------------------------


def test_processes_see_each_other(ledger, worker):
    other = worker()
    ledger.attach(0, 100)
    other("attach", 0, 10)
    other("reserve", 1, CAPACITY - 5)
    other("describe", 1, 4096, False)
    with pytest.raises(DeviceMemoryError) as error:
        ledger.reserve(1, 6)
    ledger.reserve(1, 5)
    theirs = {holder.pid: holder.cards for holder in ledger.holders()}

    assert (error.value.free, error.value.total) == (5, CAPACITY)
    assert ledger.used(0) == other("used", 0) == 110
    assert theirs == {
        os.getpid(): {0: CardUse(100), 1: CardUse(5)},
        other.pid: {0: CardUse(10), 1: CardUse(CAPACITY - 5, 4096, False)},
    }
    assert [holder["pid"] for holder in other("holders")] == [os.getpid(), other.pid]


def test_closing_gives_everything_back(ledger, worker):
    other = worker()
    other("attach", 0, 10)
    other("reserve", 1, CAPACITY)
    other("close")

    assert (ledger.used(0), ledger.used(1)) == (0, 0)


@pytest.mark.parametrize("question", ["used", "reserve", "attach", "holders", "list"])
def test_killed_process_holds_nothing(directory, ledger, worker, question):
    other = worker()
    other("reserve", 0, CAPACITY)
    assert ledger.used(0) == CAPACITY
    other.kill()
    asked = time.monotonic()
    if question == "used":
        assert ledger.used(0) == 0
    elif question == "holders":
        assert len(ledger.holders()) == 1
    elif question == "list":
        assert [len(info.holders) for info in list_ledgers(directory)] == [1]
    else:
        getattr(ledger, question)(0, CAPACITY)

    assert time.monotonic() - asked < 0.2


def test_killed_process_holds_nothing_though_its_child_lives(ledger, worker, forked):
    other = worker()
    other("reserve", 0, CAPACITY)
    forked.append(other("fork_one_that_stays"))
    assert ledger.used(0) == CAPACITY
    other.kill()
    asked = time.monotonic()

    assert ledger.used(0) == 0
    assert time.monotonic() - asked < 0.2


def test_killed_in_a_change_it_blocks_no_one_though_its_child_lives(worker, forked):
    other, third = worker(), worker()
    other("reserve", 0, 100)
    forked.append(other("fork_one_that_stays"))
    other("hold_the_lock")
    other.kill()

    assert third("used", 0) == 0  # fails after PATIENCE if the child has the lock


def test_forked_child_has_no_part_in_its_parents_ledger(ledger, worker):
    other = worker()
    other("reserve", 0, 100)
    told = other("fork_one_that_looks")
    message = (
        f"The simulated GPUs of 2xT4:1MiB were opened by process {other.pid} before it "
        "forked this one, which cannot use them.\n"
        "  Open them after the fork, or start processes by multiprocessing's 'spawn'."
    )

    assert [told[name] for name in ("used", "reserve", "holders")] == [message] * 3
    assert told["used afresh"] == 105
    assert set(told["holders afresh"]) == {os.getpid(), other.pid, told["pid"]}
    # The parent's slot is as it was.
    assert ledger.used(0) == other("used", 0) == 100
    other("release", 0, 60)
    assert ledger.used(0) == 40


def test_slots_run_out_with_a_clear_error(directory, worker, forked):
    other = worker()
    forked += other("fork_many_that_join", 127)
    with pytest.raises(LedgerError) as error:
        Ledger.open(MACHINE, directory)
    assert str(error.value) == (
        "Cannot use the simulated machine 2xT4:1MiB: 128 processes use it already, and "
        "there is no room for more.\n"
        "  Wait until one of them ends."
    )
    assert len(other("holders")) == 128
    os.kill(forked.pop(), signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while len(other("holders")) == 128:  # it is not our child: we cannot wait for it
        assert time.monotonic() < deadline
    Ledger.open(MACHINE, directory).close()


def test_listing_takes_no_part(directory, worker):
    other = worker()
    other("attach", 1, 10)
    [path] = directory.glob("*.ledger")
    before = path.read_bytes()
    n_open = len(os.listdir("/dev/fd"))
    [info] = list_ledgers(directory)

    assert (info.machine, info.capacities) == ("2xT4:1MiB", (CAPACITY, CAPACITY))
    assert [(holder.pid, holder.cards) for holder in info.holders] == [
        (other.pid, {1: CardUse(10)})
    ]
    assert path.read_bytes() == before
    assert len(os.listdir("/dev/fd")) == n_open


def test_listing_keeps_our_own_slot(directory, ledger, worker):
    other = worker()
    ledger.reserve(0, 100)
    [info] = list_ledgers(directory)

    assert {holder.pid for holder in info.holders} == {os.getpid(), other.pid}
    assert other("used", 0) == 100


def test_listing_shows_every_machine(directory, worker):
    other = worker()
    lone = Ledger.open(Machine.parse("1xK20m"), directory)
    found = list_ledgers(directory)
    lone.close()
    other.kill()

    assert [info.machine for info in found] == ["1xK20m", "2xT4:1MiB"]
    assert list_ledgers(directory) == [LedgerInfo("2xT4:1MiB", (CAPACITY, CAPACITY), [])]
    assert list_ledgers(directory / "nowhere") == []


def test_ledger_without_shared_locks_is_of_one_process():
    """As on Windows: no fcntl, no pwd, no user ids, no fork."""
    program = """
import os, sys
sys.modules["fcntl"] = sys.modules["pwd"] = None
for name in ("fork", "register_at_fork", "geteuid", "getuid"):
    delattr(os, name)
from berth.backends.ledger import *
from berth.backends.ledger import Ledger, list_ledgers
from berth.backends.machine import Machine
ledger = Ledger.open(Machine.parse("2xT4:1MiB"))
ledger.attach(0, 10)
ledger.reserve(0, 2**20 - 10)
try:
    ledger.reserve(0, 1)
except MemoryError as error:
    print(error)
ledger.release(0, 2**20 - 10)
assert Ledger.open(Machine.parse("2xT4:1MiB")) is ledger
[holder] = ledger.holders()
assert holder.pid == os.getpid()
print(ledger.used(0), holder.cards, [info.machine for info in list_ledgers()])
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    assert result.stdout == (
        "card 0 of 2xT4:1MiB cannot reserve 1 bytes: 0 of 1,048,576 bytes are free.\n"
        "10 {0: CardUse(nbytes=10, limit_bytes=None, growth=None, claimed_bytes=0)} ['2xT4:1MiB']\n"
    )


# --- finalizers and threads ----------------------------------------------------------


class Garbage:
    """Gives bytes back when it is collected, and notes whether that was in a change."""

    def __init__(self, ledger, nbytes, where):
        self.itself = self
        self.give_back = lambda: ledger.release(0, nbytes)
        self.where = where

    def __del__(self):
        self.where.append(ledger_module._lock._is_owned())
        self.give_back()


def test_finalizers_release_in_the_middle_of_changes(ledger, open_ledger):
    other = open_ledger("1xT4:1MiB")
    where: list[bool] = []
    rng = random.Random(3)
    before = gc.get_threshold()
    gc.freeze()  # or collecting would take long
    try:
        for i in range(600):
            owner = (ledger, other)[i % 2]
            owner.reserve(0, 7)
            gc.collect()
            # So many objects from here, in the middle of anything, it is collected.
            gc.set_threshold(rng.randrange(1, 20))
            Garbage(owner, 7, where)
            ledger.reserve(1, 1)
            ledger.release(1, 1)
            ledger.used(1)
            gc.set_threshold(*before)
        gc.collect()
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()

    assert len(where) == 600
    assert True in where
    assert (ledger.used(0), ledger.used(1), other.used(0)) == (0, 0, 0)


def test_release_is_seen_by_the_next_call(ledger):
    ledger.reserve(0, 10)
    with ledger_module._lock:  # as if another thread were in the middle of a change
        ledger.release(0, 10)

    assert ledger.used(0) == 0


def test_finalizers_close_in_the_middle_of_changes(directory, monkeypatch, ledger, open_ledger):
    other, again = open_ledger("1xT4:1MiB"), open_ledger()
    used = ledger_file.SharedTable.used
    ledger.reserve(0, 5)

    def close_both_and_go_on(table, card):
        other.close()
        again.close()
        again.release(0, 5)
        return used(table, card)

    with monkeypatch.context() as patch:
        patch.setattr(ledger_file.SharedTable, "used", close_both_and_go_on)
        ledger.reserve(0, 100)

    assert list(directory.glob("1xT4*")) == []  # at once, and not with the next call
    assert ledger.used(0) == 100
    with pytest.raises(RuntimeError, match="is closed"):
        other.used(0)


def run_threads(n, work):
    """Run work(0), work(1), … at the same time, and raise what any of them raises."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(n) as pool:
            list(pool.map(work, range(n)))
    finally:
        sys.setswitchinterval(interval)


def test_threads_share_a_ledger(ledger):
    n_refused = [0] * 4

    def work(index):
        rng = random.Random(index)
        held: list[int] = []
        for _ in range(500):
            if held and rng.random() < 0.4:
                ledger.release(0, held.pop())
                continue
            nbytes = rng.randrange(1, CAPACITY // 3)
            try:
                ledger.reserve(0, nbytes)
            except DeviceMemoryError:
                n_refused[index] += 1
            else:
                held.append(nbytes)
            assert sum(held) <= ledger.used(0) <= CAPACITY
        for nbytes in held:
            ledger.release(0, nbytes)

    run_threads(4, work)

    assert min(n_refused) > 0
    assert ledger.used(0) == 0


def test_threads_take_one_context(ledger):
    threads = [threading.Thread(target=ledger.attach, args=[0, 300]) for _ in range(2)]
    with ledger_module._lock:
        for thread in threads:
            thread.start()
        time.sleep(0.05)  # until both have come to the lock
    for thread in threads:
        thread.join()

    assert ledger.used(0) == 300


def test_threads_open_and_close_one_ledger(directory):
    def work(_):
        for _ in range(100):
            ledger = Ledger.open(MACHINE, directory)
            ledger.reserve(0, 10)
            ledger.release(0, 10)
            ledger.close()

    run_threads(4, work)

    assert list(directory.iterdir()) == []


def test_deferred_work_waits_for_the_lock_s_holder():
    lock, done = threading.Lock(), []
    work = DeferredWork(lock, done.append)
    work.post(1)
    assert done == [1]
    with lock:
        work.post(2)
        work.post(3)
        assert done == [1]
    assert list(work.pending) == [2, 3]
    work.flush()

    assert done == [1, 2, 3]
    assert not lock.locked()


def test_deferred_work_that_comes_late_is_not_missed():
    class Lock:
        """Before it is released, another thread finds it taken."""

        def __init__(self):
            self.lock = threading.Lock()
            self.release = self.release_late
            self.acquire = self.lock.acquire

        def release_late(self):
            self.release = self.lock.release
            work.post("late")
            self.release()

    done: list[str] = []
    work = DeferredWork(Lock(), done.append)
    work.post("early")

    assert done == ["early", "late"]


def test_deferred_work_may_post_more():
    done = []

    def handle(item):
        assert lock.locked()
        if item:
            work.post(item - 1)
        done.append(item)

    lock = threading.Lock()
    work = DeferredWork(lock, handle)
    work.post(3)

    assert done == [3, 2, 1, 0]


def test_deferred_work_goes_on_after_errors():
    done = []

    def handle(item):
        if item == "bad":
            raise ValueError(item)
        done.append(item)

    lock = threading.Lock()
    work = DeferredWork(lock, handle)
    with lock:
        for item in ("good", "bad", "last"):
            work.post(item)
    with pytest.raises(ValueError, match=r"^bad$"):
        work.flush()
    assert (done, lock.locked()) == (["good"], False)
    work.flush()

    assert done == ["good", "last"]


def test_deferred_work_leaves_nothing_behind():
    """Who finds the lock taken leaves the work to the other, who must not miss it."""
    done: list[int] = []
    work = DeferredWork(threading.Lock(), done.append)
    run_threads(2, lambda _: [work.post(i) for i in range(20_000)])

    assert len(done) == 40_000
    assert not work.pending


# --- death at any moment -------------------------------------------------------------


def test_killed_at_any_line_it_leaves_the_ledger_usable(tmp_path):
    alone, beside = tmp_path / "alone", tmp_path / "beside"
    alone.mkdir(mode=0o700)
    beside.mkdir(mode=0o700)
    with ThreadPoolExecutor(2) as pool:
        reports = [
            pool.submit(run_worker, "crash-everywhere", alone, 0),
            pool.submit(run_worker, "crash-everywhere", beside, 1000),
        ]

    assert all(report.result()["crashes"] > 300 for report in reports)


def test_random_work_and_random_kills(directory):
    n_kills = int(os.environ.get("BERTH_STRESS_KILLS", "200"))
    report = run_worker("stress", directory, n_kills)

    assert report["kills"] == n_kills
    assert report["operations"] > n_kills
    assert report["refusals"] > 0
    assert report["lives"] > 0
