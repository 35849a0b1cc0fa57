"""A ledger's table in a file: how processes find it, trust it and take turns.

A process of a slot holds a POSIX lock on the slot's byte of a second file, the lock
file. The kernel frees it when the process dies, however that comes about, so that who
can lock a byte knows its slot to be dead.

Invariants, true after every instruction of every process:
  1. The words change under `flock` on their file only. It is held on one file at a
     time, and ends with its holder: no one inherits it (see `abandon`).
  2. The file at a path is whole: it is filled under another name, then linked. One that
     was removed while we waited for its `flock` is recognised, and opened anew.
  3. The lock file is the one whose inode the head tells. That word is 0 when the file
     is made, and again before the last process to leave removes it. With 0 no process
     is alive, and a lock file that lies about is replaced. Otherwise one that is missing
     or different is refused: it would show the living as dead.
  4. Closing any descriptor of the lock file would free our byte. So a process has one
     for each path (`ledger` sees to that), and never maps that file: a mapping has a
     descriptor of its own.
  5. What this user's berth did not write is refused and left as it is.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
import struct
from contextlib import suppress
from pathlib import Path

from berth.backends.ledger_table import (
    HEAD,
    INODE_WORD,
    MAGIC,
    N_SLOTS,
    VERSION,
    WORD,
    Layout,
    Table,
)
from berth.errors import LedgerError, explain

try:
    import fcntl
except ImportError:  # Windows: a ledger is of one process there
    fcntl = None  # type: ignore[assignment]


def can_share() -> bool:
    """Tell whether this system has the locks that sharing takes."""
    return fcntl is not None


class SharedTable(Table):
    """The table in a file, with `flock` held on it when it is opened.

    Without a layout it is for looking only: at the file of any machine, from no slot,
    and together with others who look.
    """

    def __init__(self, path: Path, layout: Layout | None = None) -> None:
        self._path, self._lock_path = path, path.with_suffix(".locks")
        self._looks = layout is None
        self._turn = fcntl.LOCK_SH if self._looks else fcntl.LOCK_EX
        self._lock_fd: int | None = None
        self._mapping: mmap.mmap | None = None
        self._fd = self._open(path)
        try:
            self.lock()
            if not _is_at(path, self._fd):
                raise FileNotFoundError(errno.ENOENT, "removed meanwhile", str(path))
            found = _read_layout(path, self._fd)
            _compare(path, found, layout or found)
            access = mmap.ACCESS_READ if self._looks else mmap.ACCESS_WRITE
            mapping = mmap.mmap(self._fd, found.n_bytes, access=access)
            super().__init__(found, mapping)
            self._mapping = mapping
            self.check()
            self._open_locks()
        except BaseException:
            self.abandon()
            raise

    def lock(self) -> None:
        fcntl.flock(self._fd, self._turn)

    def unlock(self) -> None:
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def join(self) -> None:
        assert self._lock_fd is not None, "who only looks does not join"
        for slot in range(N_SLOTS):
            try:
                fcntl.lockf(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
            except (BlockingIOError, PermissionError):
                continue
            self.clear(slot)
            self.slot = slot
            return
        raise LedgerError(
            explain(
                f"Cannot use the simulated machine {self.layout.machine}: {N_SLOTS} "
                "processes use it already, and there is no room for more.",
                "Wait until one of them ends.",
            )
        )

    def leave(self) -> None:
        try:
            self.lock()
            self.clear(self.slot)
            # A file that someone removed by hand, or that took its place, is not ours.
            if not self.living() and _is_at(self._path, self._fd):
                self._words[INODE_WORD] = 0
                self._lock_path.unlink(missing_ok=True)
                self._path.unlink()
        finally:
            self.abandon()

    def abandon(self) -> None:
        # Closing ends a process's own locks. A forked child closes its copies for the
        # sake of others: a `flock` lasts as long as any copy of its descriptor, and the
        # mapping has one. If the parent is killed in the middle, it must end there.
        if self._mapping is not None:
            self._note_lengths.release()
            self._words.release()
            self._mapping.close()
        if self._lock_fd is not None:
            os.close(self._lock_fd)
        os.close(self._fd)

    def is_alive(self, slot: int) -> bool:
        if slot == self.slot:  # asking the kernel would end our own lock
            return True
        if self._lock_fd is None:
            return False
        try:
            # Shared, so that those who look do not take each other for the holder.
            fcntl.lockf(self._lock_fd, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, slot)
        except (BlockingIOError, PermissionError):
            return True
        finally:
            fcntl.lockf(self._lock_fd, fcntl.LOCK_UN, 1, slot)
        return False

    def refusal(self, problem: str) -> LedgerError:
        return _refusal(self._path, problem)

    def _open(self, path: Path) -> int:
        return _open_file(path, os.O_RDONLY if self._looks else os.O_RDWR)

    def _open_locks(self) -> None:
        inode = self._words[INODE_WORD]
        if inode == 0:
            if not self._looks:
                self._make_locks()
            return
        try:
            self._lock_fd = self._open(self._lock_path)
        except FileNotFoundError:
            raise self.refusal("its lock file is missing") from None
        if os.fstat(self._lock_fd).st_ino != inode:
            raise self.refusal("its lock file has been replaced")

    def _make_locks(self) -> None:
        self._lock_path.unlink(missing_ok=True)
        self._lock_fd = _open_file(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        self._words[INODE_WORD] = os.fstat(self._lock_fd).st_ino


def open_shared(path: Path, layout: Layout) -> SharedTable:
    """Open the file of a machine with its lock held, and make it if there is none."""
    while True:
        try:
            return SharedTable(path, layout)
        except FileNotFoundError:  # not made yet, or removed by the last process to leave
            _publish(path, layout)


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
        raise LedgerError(
            explain(
                f"Cannot keep ledgers of simulated GPUs in {path}: it cannot be made "
                f"({error.strerror}).",
                "BERTH_LEDGER_DIR names another place: a directory that only you may use, or "
                "one that can be made.",
            )
        ) from None


def check_directory(path: Path) -> os.stat_result:
    """Refuse a directory in which anyone else could put a file in our way."""
    status = path.lstat()
    advice = f"Remove it, or have its owner do so: rm -r {path}"
    if stat.S_ISLNK(status.st_mode):
        problem = "it is a symbolic link"
    elif not stat.S_ISDIR(status.st_mode):
        problem = "it is not a directory"
    elif status.st_uid != os.geteuid():
        problem = _foreign(status)
    elif status.st_mode & 0o077:
        problem = f"others may use it (its mode is {stat.S_IMODE(status.st_mode):04o})"
        advice = f"Keep it to yourself: chmod 700 {path}"
    else:
        return status
    first_line = f"Cannot keep ledgers of simulated GPUs in {path}: {problem}."
    raise LedgerError(explain(first_line, advice))


def _publish(path: Path, layout: Layout) -> None:
    """Make a whole file appear at the path, unless there is one."""
    draft = path.with_suffix(".new")
    fd = _open_file(draft, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        if not _is_at(draft, fd):
            return  # whoever was before us is done with it
        # One that is not empty was left by a process that was killed here. It may even
        # be the published file, under its other name.
        if os.fstat(fd).st_size == 0:
            # Zeros are written too: if there is no room for a page, we learn it here
            # and not by being killed when we touch it.
            with open(fd, "wb", closefd=False) as file:
                file.write(layout.head.ljust(layout.n_bytes, b"\0"))
            with suppress(FileExistsError):
                os.link(draft, path)
        draft.unlink()
    finally:
        os.close(fd)


def _open_file(path: Path, flags: int) -> int:
    try:
        # Not to wait, in case it is a pipe.
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EACCES, errno.EISDIR, errno.ENXIO):
            raise
        raise _refusal(path, f"it cannot be opened ({error.strerror})") from None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise _refusal(path, "it is not a file")
    if status.st_uid != os.geteuid():
        os.close(fd)
        raise _refusal(path, _foreign(status))
    return fd


def _foreign(status: os.stat_result) -> str:
    return f"it belongs to user {status.st_uid}, and this is user {os.geteuid()}"


def _is_at(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def _read_layout(path: Path, fd: int) -> Layout:
    start = os.pread(fd, HEAD.size, 0)
    if len(start) < HEAD.size or not start.startswith(MAGIC):
        raise _refusal(path, "it does not begin as a ledger does")
    _, version, n_cards, n_slots, note_bytes, name_bytes, _ = HEAD.unpack(start)
    if version != VERSION:
        raise _refusal(path, f"it has version {version}, and this berth {VERSION}")
    n_bytes = os.fstat(fd).st_size
    if n_cards * WORD + name_bytes > n_bytes:  # before we make room for as much
        raise _refusal(path, "its head is longer than the file")
    rest = os.pread(fd, n_cards * WORD + name_bytes, HEAD.size)
    try:
        capacities = struct.unpack(f"={n_cards}Q", rest[: n_cards * WORD])
        found = Layout(rest[n_cards * WORD :].decode(), capacities)
    except (struct.error, UnicodeDecodeError):
        raise _refusal(path, "its head cannot be read") from None
    if (n_slots, note_bytes) != (N_SLOTS, found.note_words * WORD):
        raise _refusal(
            path,
            f"{n_cards} cards, {n_slots} slots and notes of {note_bytes} bytes do not go "
            "together",
        )
    if n_bytes != found.n_bytes:
        raise _refusal(path, f"it has {n_bytes:,} bytes where {found.n_bytes:,} belong")
    return found


def _compare(path: Path, found: Layout, expected: Layout) -> None:
    if found.machine != expected.machine:
        raise _refusal(path, f"it is that of another machine, {found.machine!r}")
    if found.capacities != expected.capacities:
        theirs, ours = (
            ", ".join(f"{capacity:,}" for capacity in layout.capacities)
            for layout in (found, expected)
        )
        raise _refusal(path, f"its cards have {theirs} bytes, and ours {ours}")


def _refusal(path: Path, problem: str) -> LedgerError:
    return LedgerError(
        explain(
            f"Cannot use the ledger of simulated GPUs {path}: {problem}.",
            "Nothing in it was changed. Stop the programs that use it, and remove it:",
            f"rm {path.with_suffix('')}.*",
        )
    )
