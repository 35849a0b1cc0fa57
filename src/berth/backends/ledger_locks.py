"""The locks of a ledger's file, and which process holds them.

All belong to an *open file description*, so closing another descriptor of the file, which a
program may do by copying the folder, leaves them alone (POSIX locks would end). Two kinds:

    flock             on the whole file: held while the table is read or changed
    byte i (OFD lock) held by the process of slot i for as long as it uses the ledger; the
                      kernel ends it with the process, however that dies

The two do not conflict on a local file system.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from berth.errors import LedgerBusyError, explain
from berth.printable import printable_line

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
flock: Callable[[int, int], None] = getattr(fcntl, "flock", None)  # type: ignore[assignment]
"""Lock or unlock a file. Locking twice is locking once; unlocking too much is harmless."""
EXCLUSIVE, SHARED, UNLOCK = 2 | 4, 1 | 4, 8
"""Arguments of `flock` on every Unix; the first two raise BlockingIOError rather than wait."""

MAX_WAIT = 10.0
"""Seconds to wait for a lock that processes hold for microseconds."""
MAX_WAIT_SHORT = 1.0
"""Seconds where there is something else to do: for releasing, and for looking."""
_FIRST_SLEEP, _MAX_SLEEP = 20e-6, 2e-3


def can_share() -> bool:
    """Tell whether this system has the locks that sharing takes. Linux has."""
    return hasattr(fcntl, "F_OFD_SETLK")


def wait_for_flock(fd: int, seconds: float, kind: int = EXCLUSIVE) -> None:
    """Take `flock` on a file, or raise LedgerBusyError after so many seconds."""
    deadline = time.monotonic() + seconds
    sleep = _FIRST_SLEEP
    while True:
        with suppress(BlockingIOError):
            flock(fd, kind)
            return
        if time.monotonic() > deadline:
            raise _busy(fd, seconds)
        time.sleep(sleep)
        sleep = min(2 * sleep, _MAX_SLEEP)


def lock_byte(fd: int, at: int) -> bool:
    """Lock a byte for as long as the open file description exists; False if it is locked."""
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _byte_range(at, 1))
    except (BlockingIOError, PermissionError):
        return False
    return True


def is_locked(fd: int, at: int, n_bytes: int = 1) -> bool:
    """Tell whether another open file description has locked any of the bytes."""
    answer = fcntl.fcntl(fd, fcntl.F_OFD_GETLK, _byte_range(at, n_bytes))
    return bool(_FLOCK.unpack(answer)[0] != fcntl.F_UNLCK)


_FLOCK = struct.Struct("hhqqi4x")
"""Linux's `struct flock`: type, whence, start, length, process."""


def _byte_range(at: int, n_bytes: int) -> bytes:
    return _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, at, n_bytes, 0)


def _busy(fd: int, seconds: float) -> LedgerBusyError:
    pid = _flock_owner(os.fstat(fd))
    path = os.readlink(f"/proc/self/fd/{fd}") if os.path.exists("/proc/self/fd") else "in use"
    first_line = f"Cannot use the ledger of simulated GPUs {path}: "
    limit = f"has not unlocked it for {seconds:g} seconds."
    if pid is None:
        return LedgerBusyError(first_line + f"another process {limit}")
    name = f"process {pid} ({command_of(pid)})"
    if _is_stopped(pid):
        return LedgerBusyError(
            explain(
                f"{first_line}{name} is stopped, and {limit}",
                f"Continue it (kill -CONT {pid}), or end it (kill -KILL {pid}).",
            )
        )
    return LedgerBusyError(
        explain(f"{first_line}{name} {limit}", "Try again, or end that process.")
    )


def _flock_owner(status: os.stat_result) -> int | None:
    """Return the process that the kernel names as the holder of `flock` on a file."""
    with suppress(OSError, ValueError), open("/proc/locks") as lines:
        for line in lines:  # 1: FLOCK  ADVISORY  WRITE 707 00:1a:567 0 EOF
            words = line.split()
            if words[1] == "FLOCK" and words[5].rpartition(":")[2] == str(status.st_ino):
                return int(words[4])
    return None


def locked_inodes() -> frozenset[int]:
    """List the files of which some process has locked a part, as a user of a ledger does."""
    found = set()
    with suppress(OSError, ValueError), open("/proc/locks") as lines:
        for line in lines:  # 2: OFDLCK ADVISORY  WRITE -1 00:1a:567 3 3
            words = line.split()
            if "OFDLCK" in words[1:3]:  # "->" is before one that waits
                found.add(int(words[-3].rpartition(":")[2]))
    return frozenset(found)


def command_of(pid: int) -> str:
    """Return what a process was started by, for people."""
    with suppress(OSError), open(f"/proc/{pid}/cmdline", errors="replace") as file:
        return printable_line(file.read().replace("\0", " "))[:60]
    return "unknown"


def _is_stopped(pid: int) -> bool:
    with suppress(OSError), open(f"/proc/{pid}/stat", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0] in "Tt"  # by a signal, by a debugger
    return False
