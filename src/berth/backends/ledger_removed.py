"""Ledgers that were removed or moved while processes use them, which a newcomer has to know of.

Nothing leads to such a file any more, but a process that uses it still maps it, and Linux tells
of the mappings of a user's processes. Without a look there, the next process would make a new
file, and give away memory that is held. That a file was moved is seen by the notes in it, which
say where it was when the process joined.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from berth.backends.ledger_locks import command_of, locked_inodes
from berth.backends.ledger_notes import beginning_of_note, place_of
from berth.errors import LedgerError, explain

_PATIENCE = 2.0
"""Seconds in which a process that removed the file itself, as the last one, has ended."""
_PAUSE = 0.01
_known: dict[Path, frozenset[int]] = {}
"""The inodes of locked files that were found to be others', by the path looked for."""


def check_not_removed(path: Path) -> None:
    """Raise LedgerError if processes use a file that was at the path, and is there no more."""
    deadline = time.monotonic() + _PATIENCE
    while pids := users_of_removed(path):
        if os.path.lexists(path):
            return  # another newcomer was faster
        if time.monotonic() > deadline:
            raise LedgerError(_message(path, pids))
        time.sleep(_PAUSE)


def users_of_removed(path: Path) -> list[int]:
    """List this user's processes that map a file which was removed from the path."""
    locked = locked_inodes()
    known = _known.get(path, frozenset()) & locked
    if not locked - known - {entry.inode() for entry in os.scandir(path.parent)}:
        return []  # at a hundredth of the cost
    found = []
    with suppress(OSError):  # not Linux
        for entry in os.scandir("/proc"):
            with suppress(OSError):  # just ended, or another user's
                if entry.name.isdigit() and entry.stat().st_uid == os.geteuid():
                    pid = int(entry.name)
                    if _maps_removed(pid, path):
                        found.append(pid)
    _known[path] = known if found else locked
    return found


def _maps_removed(pid: int, path: Path) -> bool:
    """Tell whether a process maps a file that was at a path, and is there no more."""
    was_at = os.fsencode(f"{os.path.realpath(path.parent)}/{path.name}")
    name = os.fsencode(f"/{path.name}")
    for line in Path(f"/proc/{pid}/maps").read_bytes().splitlines():
        _, slash, rest = line.partition(b"/")
        if slash + rest == was_at + b" (deleted)":
            return True
        if rest.endswith(name[1:]) and (slash + rest).endswith(name):
            content = Path(os.fsdecode(slash + rest)).read_bytes()
            if slash + rest != was_at and beginning_of_note(pid, place_of(path)) in content:
                return True
    return False


def _message(path: Path, pids: list[int]) -> str:
    named = ", ".join(f"process {pid} ({command_of(pid)})" for pid in pids)
    return explain(
        f"Cannot use the ledger of simulated GPUs {path}: it was removed or moved while "
        f"it is in use by {named}, and what is held there cannot be seen.",
        "End that program, or wait until it ends.",
        "If a service cleans that directory, BERTH_LEDGER_DIR names another place.",
    )
