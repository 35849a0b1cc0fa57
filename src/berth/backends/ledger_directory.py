"""The directory of a user's ledgers: where it is, whether it can be trusted, and its files.

A ledger is one file, `NAME.ledger`. It is filled as `NAME.new`, then linked, so the file at a
path is always whole. What no living process uses is removed by the next one that opens any
ledger of the directory: drafts of killed processes, ledgers whose processes were all killed.
What this user's berth did not write is refused and left as it is.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import struct
from contextlib import suppress
from pathlib import Path

from berth.backends.ledger_locks import EXCLUSIVE, MAX_WAIT, flock, is_locked, wait_for_flock
from berth.backends.ledger_table import HEAD, MAGIC, N_SLOTS, VERSION, WORD, Layout
from berth.errors import LedgerError, explain

_ELSEWHERE = (
    "BERTH_LEDGER_DIR names another place: a directory that only you may use, or one that can "
    "be made."
)


def file_name(layout: Layout) -> str:
    """Name the file of a machine."""
    digest = hashlib.sha256(f"{layout.machine} {layout.capacities}".encode()).hexdigest()[:16]
    readable = re.sub(r"[^A-Za-z0-9]+", "-", layout.machine)[:40]
    return f"{readable}-{digest}.ledger"


def find_directory(directory: str | os.PathLike[str] | None) -> Path:
    """Name the directory of this user's ledgers: in memory, where there is such a one."""
    if directory is not None:
        return Path(directory).absolute()  # we may be elsewhere when we leave
    base = "/dev/shm"
    if not os.access(base, os.W_OK | os.X_OK):
        import tempfile  # noqa: PLC0415 (takes 3 ms, and is seldom needed)

        base = tempfile.gettempdir()
    return Path(base, f"berth-{os.geteuid()}")


def make_directory(path: Path) -> None:
    """Make the directory of this user's ledgers."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise _unusable(path, f"it cannot be made ({error.strerror})", _ELSEWHERE) from None


def check_directory(path: Path) -> os.stat_result:
    """Refuse a directory in which another user could put a file in our way."""
    status = path.lstat()
    advice = [f"Remove it, or have its owner do so: rm -r {path}", _ELSEWHERE]
    if stat.S_ISLNK(status.st_mode):
        problem = "it is a symbolic link"
    elif not stat.S_ISDIR(status.st_mode):
        problem = "it is not a directory"
    elif status.st_uid != os.geteuid():
        problem = _foreign(status)
    elif status.st_mode & 0o022:  # to read it is harmless: the files are their owner's alone
        problem = f"others may write to it (its mode is {stat.S_IMODE(status.st_mode):04o})"
        advice = [f"Keep it to yourself: chmod 700 {path}"]
    else:
        return status
    raise _unusable(path, problem, *advice)


def publish(path: Path, layout: Layout) -> None:
    """Make a whole file appear at the path, unless there is one."""
    draft = path.with_suffix(".new")
    try:
        fd = open_file(draft, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise refusal(path, f"it cannot be made ({error.strerror})") from None
    try:
        wait_for_flock(fd, MAX_WAIT)
        if not is_at(draft, fd):
            return  # the process before us is done with it
        try:
            # One that is not empty was left by a process that was killed here. It may even
            # be the published file, under its other name.
            if os.fstat(fd).st_size == 0:
                _fill(fd, layout)
                with suppress(FileExistsError):
                    os.link(draft, path)
        except OSError as error:
            raise _unusable(
                path.parent,
                f"{path.name} cannot be written ({error.strerror})",
                "Make room there.",
                _ELSEWHERE,
            ) from None
        finally:
            draft.unlink(missing_ok=True)
    finally:
        os.close(fd)


def _fill(fd: int, layout: Layout) -> None:
    # Zeros are written too: if there is no room for a page, we learn it here and not by being
    # killed when we touch it.
    content = layout.empty(os.urandom(WORD))
    while content:
        content = content[os.write(fd, content) :]


def remove_dead(directory: Path) -> None:
    """Remove the drafts and the ledgers of which no process lives."""
    for path in directory.iterdir():
        if path.suffix in (".ledger", ".new"):
            with suppress(OSError, LedgerError):  # in use, just gone, or not ours to judge
                _remove_if_dead(path)


def _remove_if_dead(path: Path) -> None:
    fd = open_file(path, os.O_RDWR)
    try:
        flock(fd, EXCLUSIVE)
        if not is_at(path, fd):
            return
        if path.suffix == ".ledger":
            read_layout(path, fd)  # refuses what is not a ledger
        if path.suffix == ".new" or not is_locked(fd, 0, N_SLOTS):
            path.unlink()
    finally:
        os.close(fd)


def open_file(path: Path, flags: int) -> int:
    """Open a file of this user, and nothing else."""
    try:
        # Not to wait, in case it is a pipe.
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EACCES, errno.EISDIR, errno.ENXIO):
            raise
        raise refusal(path, f"it cannot be opened ({error.strerror})") from None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise refusal(path, "it is not a file")
    if status.st_uid != os.geteuid():
        os.close(fd)
        raise refusal(path, _foreign(status))
    return fd


def is_at(path: Path, fd: int) -> bool:
    """Tell whether an open file is still the one at the path."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def read_layout(path: Path, fd: int) -> Layout:
    """Read the head of a ledger. LedgerError if it is none, or not whole."""
    start = os.pread(fd, HEAD.size, 0)
    if len(start) < HEAD.size or not start.startswith(MAGIC):
        raise refusal(path, "it does not begin as a ledger does")
    _, version, n_cards, n_slots, note_bytes, name_bytes, identity, _ = HEAD.unpack(start)
    if version != VERSION:
        raise refusal(path, f"it has version {version}, and this berth {VERSION}")
    n_bytes = os.fstat(fd).st_size
    if n_cards * WORD + name_bytes > n_bytes:  # before we make room for as much
        raise refusal(path, "its head is longer than the file")
    rest = os.pread(fd, n_cards * WORD + name_bytes, HEAD.size)
    try:
        capacities = struct.unpack(f"={n_cards}Q", rest[: n_cards * WORD])
        found = Layout(rest[n_cards * WORD :].decode(), capacities)
    except (struct.error, UnicodeDecodeError):
        raise refusal(path, "its head cannot be read") from None
    if (n_slots, note_bytes) != (N_SLOTS, found.note_words * WORD):
        raise refusal(
            path,
            f"{n_cards} cards, {n_slots} slots and notes of {note_bytes} bytes do not go "
            "together",
        )
    if n_bytes != found.n_bytes:
        raise refusal(path, f"it has {n_bytes:,} bytes where {found.n_bytes:,} belong")
    if os.pread(fd, WORD, found.end_at) != struct.pack("=Q", identity):
        raise refusal(path, "it ends as another file does")
    return found


def refusal(path: Path, problem: str) -> LedgerError:
    """Make the error that says why a file is not used."""
    return LedgerError(
        explain(
            f"Cannot use the ledger of simulated GPUs {path}: {problem}.",
            "Nothing in it was changed. Stop the programs that use it, and remove it:",
            f"rm {path.with_suffix('')}.*",
        )
    )


def _foreign(status: os.stat_result) -> str:
    return f"it belongs to user {status.st_uid}, and this is user {os.geteuid()}"


def _unusable(directory: Path, problem: str, *advice: str) -> LedgerError:
    first_line = f"Cannot keep ledgers of simulated GPUs in {directory}: {problem}."
    return LedgerError(explain(first_line, *advice))
