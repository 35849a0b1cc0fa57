"""A ledger that cannot be trusted is refused, with the reason."""

from __future__ import annotations

import os
import struct
import sys

import pytest

from berth.backends.ledger import Ledger, list_ledgers
from berth.errors import LedgerError
from tests.backends.ledger_files import refusal, write_file
from tests.backends.ledger_processes import CAPACITY, MACHINE, Worker, as_root

# --- what cannot be trusted ----------------------------------------------------------


def word(index, value):
    def change(data):
        data[8 * index : 8 * index + 8] = struct.pack("=Q", value)
        return data

    return change


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
    path.chmod(0o770)
    with pytest.raises(LedgerError) as error:
        use(path)
    problem = "others may write to it (its mode is 0770)"
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


def test_directory_that_cannot_be_made_is_an_error(tmp_path):
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


def test_directory_that_others_may_only_read_is_used(tmp_path):
    path = tmp_path / "d"
    path.mkdir()
    path.chmod(0o755)
    ledger = Ledger.open(MACHINE, path)
    [file] = path.glob("*.ledger")
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(list_ledgers(path)) == 1
    ledger.close()
