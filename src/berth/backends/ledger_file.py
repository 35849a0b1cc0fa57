"""A ledger's table in a file that processes share: how they take turns, and who lives.

Each process has two open file descriptions of the file (see `ledger_locks`):

    for turns   has a descriptor, and `flock` while this process reads or changes the words
    for life    has no descriptor, only the mapping of the words; holds the lock on the byte of
                the process's slot. No program can close it by mistake (`os.closerange`), no
                child inherits it, `exec` and death end it.

A slot whose byte is not locked is dead, and cleared by the next process that asks.

What can happen to the file while it is in use, and what that leads to:
  - The descriptor is closed, or is another file's by now: it is opened again. It is recognised
    by the identity at the end of the file, which is read before each turn.
  - The file is cut short or overwritten: the identity is not there, and every use is refused
    (`LedgerError`), without touching the mapping, whose pages may be gone (SIGBUS).
  - It is removed, moved or replaced: what this process holds is invisible to those who open it
    now. Whatever takes or counts memory looks whether the file is in its place, and says so.
  - A process stops while it has its turn: others wait `MAX_WAIT` seconds, then name it.
  - It is copied: another file, whose slots are all dead.

Invariants, true after every instruction of every process:
  1. The words change under `flock` only. It is held on one file at a time.
  2. One that was removed while we waited for `flock` is recognised, and opened again.
  3. The lock on a slot's byte is taken, and the slot cleared, under `flock`.

On a file system whose mappings do not keep the open file description (overlayfs), the one for
life keeps its descriptor, and a program that closes it is taken for dead.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

from berth.backends.ledger_directory import (
    check_directory,
    is_at,
    open_file,
    publish,
    read_layout,
    refusal,
)
from berth.backends.ledger_locks import (
    EXCLUSIVE,
    MAX_WAIT,
    MAX_WAIT_SHORT,
    SHARED,
    UNLOCK,
    flock,
    is_locked,
    lock_byte,
    wait_for_flock,
)
from berth.backends.ledger_mapping import Mapping
from berth.backends.ledger_notes import LedgerInfo, read_info
from berth.backends.ledger_removed import check_not_removed
from berth.backends.ledger_table import N_SLOTS, WORD, Layout, Table
from berth.errors import LedgerError, explain

_LOOK_EVERY = 1e-3
"""Seconds between two looks whether the file is in its place."""


class SharedTable(Table):
    """The table in a file, with `flock` held on it when it is opened."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self._path = path
        self._mapping: Mapping | None = None
        self._life_fd: int | None = None
        self._next_look = 0.0
        self._fd = open_file(path, os.O_RDWR)
        status = os.fstat(self._fd)
        self._file = (status.st_dev, status.st_ino)
        try:
            wait_for_flock(self._fd, MAX_WAIT)
            if not is_at(path, self._fd):
                raise FileNotFoundError(errno.ENOENT, "removed meanwhile", str(path))
            found = read_layout(path, self._fd)
            _compare(path, found, layout)
            self._end_at = found.end_at
            self._identity = os.pread(self._fd, WORD, found.end_at)
            self._life_fd = open_file(path, os.O_RDWR)
            self._mapping = Mapping(self._life_fd, found.n_bytes)
            super().__init__(found, self._mapping.words)
            self.check()
        except BaseException:
            self.abandon()
            raise

    def lock(self, seconds: float = MAX_WAIT) -> None:
        try:
            if os.pread(self._fd, WORD, self._end_at) == self._identity:
                flock(self._fd, EXCLUSIVE)
                return
        except OSError:  # another process has it, or the descriptor is closed
            pass
        self._wait(seconds)

    def unlock(self) -> None:
        try:  # noqa: SIM105 - on the way of every reservation
            flock(self._fd, UNLOCK)
        except OSError:  # closed meanwhile, which unlocked it
            pass

    def check_place(self) -> None:
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_EVERY
        try:
            status = os.lstat(self._path)
            if (status.st_dev, status.st_ino) == self._file:
                return
        except OSError:
            pass
        self._next_look = 0.0
        raise self._removed()

    def join(self) -> None:
        assert self._life_fd is not None, "it joins once"
        for slot in range(N_SLOTS):
            if lock_byte(self._life_fd, slot):
                self._occupy(slot)
                self._keep_lock()
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
            self.lock(MAX_WAIT_SHORT)
            self.clear(self.slot)
            # A file that was removed by hand, or that took its place, is not ours.
            if not self.living() and is_at(self._path, self._fd):
                self._path.unlink()
        except LedgerError:
            pass  # cut short, or another process is stopped: our slot is dead in a moment
        finally:
            self.abandon()

    def abandon(self) -> None:
        # Closing ends this process's locks. A forked child closes its copies for the sake
        # of others: `flock` lasts as long as any copy of its descriptor.
        mapping, self._mapping = self._mapping, None
        if mapping is not None:
            self._note_lengths.release()
            mapping.close()
        for fd in (self._fd, self._life_fd):
            if fd is not None and self._is_ours(fd):  # and not another file's by now
                os.close(fd)
        self._fd, self._life_fd = -1, None

    def __del__(self) -> None:
        if hasattr(self, "_fd"):  # an interrupt may have come before its owner had it
            self.abandon()

    def is_alive(self, slot: int) -> bool:
        return slot == self.slot or is_locked(self._fd, slot)

    def refusal(self, problem: str) -> LedgerError:
        return refusal(self._path, problem)

    def _wait(self, seconds: float) -> None:
        if not self._is_ours(self._fd):
            self._fd = self._open_again()
        if os.pread(self._fd, WORD, self._end_at) != self._identity:
            raise self.refusal("it was cut short or overwritten while in use")
        wait_for_flock(self._fd, seconds)

    def _open_again(self) -> int:
        try:
            fd = open_file(self._path, os.O_RDWR)
        except FileNotFoundError:
            raise self._removed() from None
        if not self._is_ours(fd):
            os.close(fd)
            raise self._removed()
        return fd

    def _removed(self) -> LedgerError:
        return LedgerError(
            explain(
                f"The ledger of simulated GPUs {self._path} was removed or replaced while "
                f"process {os.getpid()} uses it: other processes cannot see what it holds.",
                f"End all programs that use {self.layout.machine}, and start them again.",
                "If a service cleans that directory, BERTH_LEDGER_DIR names another place.",
            )
        )

    def _is_ours(self, fd: int) -> bool:
        try:
            status = os.fstat(fd)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._file

    def _keep_lock(self) -> None:
        """Leave the lock on our slot to the mapping alone, if that keeps it."""
        assert self._life_fd is not None
        os.close(self._life_fd)
        self._life_fd = None
        if not is_locked(self._fd, self.slot):
            self._life_fd = open_file(self._path, os.O_RDWR)
            lock_byte(self._life_fd, self.slot)


class Snapshot(Table):
    """The table of any machine as it was at one moment, for looking only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        fd = open_file(path, os.O_RDONLY)
        try:
            wait_for_flock(fd, MAX_WAIT_SHORT, SHARED)
            if not is_at(path, fd):
                raise FileNotFoundError(errno.ENOENT, "removed meanwhile", str(path))
            found = read_layout(path, fd)
            content = os.pread(fd, found.n_bytes, 0)
            if len(content) != found.n_bytes:
                raise refusal(path, "it was cut short")
            super().__init__(found, memoryview(bytearray(content)).cast("Q"))
            self.check()
            self._living = [slot for slot in self._noted() if is_locked(fd, slot)]
        finally:
            os.close(fd)

    def is_alive(self, slot: int) -> bool:
        return slot in self._living

    def refusal(self, problem: str) -> LedgerError:
        return refusal(self._path, problem)


def open_shared(path: Path, layout: Layout) -> SharedTable:
    """Open the file of a machine with its lock held, and make it if there is none."""
    while True:
        try:
            return SharedTable(path, layout)
        except FileNotFoundError:  # not made yet, or removed by the last process to leave
            check_not_removed(path)
            publish(path, layout)


def read_all(
    directory: Path, on_error: Callable[[LedgerError], None] | None
) -> list[LedgerInfo]:
    """Read all ledgers of a directory. Those that cannot be read go to `on_error`, if given."""
    if not os.path.lexists(directory):
        return []
    check_directory(directory)
    found = []
    for path in sorted(directory.glob("*.ledger")):
        try:
            found.append(read_info(Snapshot(path)))
        except FileNotFoundError:  # its last process has just left
            continue
        except LedgerError as error:
            if on_error is None:
                raise
            on_error(error)
    return found


def _compare(path: Path, found: Layout, expected: Layout) -> None:
    if found.machine != expected.machine:
        raise refusal(path, f"it is that of another machine, {found.machine!r}")
    if found.capacities != expected.capacities:
        theirs, ours = (
            ", ".join(f"{capacity:,}" for capacity in layout.capacities)
            for layout in (found, expected)
        )
        raise refusal(path, f"its cards have {theirs} bytes, and ours {ours}")
