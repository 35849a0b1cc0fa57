"""Unfinished files: they have temporary names until all of them is written.

A file gets its name by `os.replace` when all of it is on the disk, so its readers see the old
or the new one. A killed process leaves its unfinished files behind. It held a lock on each,
which the kernel has released: the next process that writes there removes what is not locked.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import time
from contextlib import nullcontext, suppress
from typing import Any

from berth.blocks import FunctionBlock, Use
from berth.errors import DeadlineExceededError, explain
from berth.file_errors import naming

MAX_WAIT_SECONDS = 60.0
_BUFFER_SIZE = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_UNFINISHED = re.compile(r"\.unfinished-[0-9a-f]{12}\Z")
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.EBADF}


def folder_of(path: str) -> str:
    return os.path.dirname(path) or "."


def folder_locked(folder: str) -> FunctionBlock[None]:
    """Lock a folder: one process, and thread, at a time changes the checkpoints in it."""
    return FunctionBlock(_lock_folder, folder)


def _lock_folder(use: Use, folder: str) -> None:
    opened: list[tuple[int]] = []
    use.at_end(os.close, opened)  # which unlocks it
    with naming(folder):
        opened.extend(zip(map(os.open, [folder], [_FOLDER])))  # no interrupt in between
    _lock_in_time(opened[0][0], folder)


def _lock_in_time(descriptor: int, folder: str) -> None:
    end = time.monotonic() + MAX_WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno in _NO_LOCKS:  # some network file systems
                return
            if error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                raise
        if time.monotonic() > end:
            raise DeadlineExceededError(
                None,
                None,
                explain(
                    f"{folder}: another process has not finished writing there for "
                    f"{MAX_WAIT_SECONDS:g} seconds",
                    "It holds a lock on the folder. Is it stopped?",
                ),
            )
        time.sleep(0.002)


def unfinished_name(path: str) -> str:
    """Return a name for a file that will become `path`."""
    return f"{path}.unfinished-{secrets.token_hex(6)}"


def sync_folder(folder: str) -> None:
    """Return when the names in a folder are on the disk."""
    with naming(folder):
        descriptor = os.open(folder, _FOLDER)
    try:
        with suppress(OSError):  # some file systems have no such thing
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


class UnfinishedFile:
    """A file that will become `path`. If the ``with`` block ends before that, it is removed."""

    def __init__(self, path: str, *, is_locked: bool = False) -> None:
        self.path = path
        self._temporary = unfinished_name(path)
        # The file is locked before the folder is not any more, so it never looks abandoned.
        lock = nullcontext() if is_locked else folder_locked(folder_of(path))
        with lock, naming(self._temporary):
            self.file = open(self._temporary, "xb", _BUFFER_SIZE)  # noqa: SIM115
            with suppress(OSError):
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def __enter__(self) -> UnfinishedFile:
        return self

    def write(self, data: Any) -> None:
        """Append bytes."""
        with naming(self._temporary):
            self.file.write(data)

    def finish(self) -> None:
        """Return when all of it is on the disk."""
        with naming(self._temporary):
            self.file.flush()
            os.fsync(self.file.fileno())

    def place(self, path: str | None = None) -> None:
        """Give the finished file its name, in place of the file that has it."""
        with naming(self._temporary):
            os.replace(self._temporary, path or self.path)
        self._temporary = ""

    def __exit__(self, *exception: object) -> None:
        if self._temporary:
            with suppress(OSError):
                os.unlink(self._temporary)
        with suppress(OSError):  # of what was not written, which no one will read
            self.file.close()


def replace_file(path: str, data: bytes) -> None:
    """Write a file so that its readers see the old or the new contents, and nothing else."""
    with UnfinishedFile(path) as new:
        new.write(data)
        new.finish()
        new.place()


def remove_abandoned(folder: str) -> None:
    """Remove the unfinished files of processes that were killed."""
    with folder_locked(folder), os.scandir(folder) as entries:
        for entry in entries:
            if _UNFINISHED.search(entry.name):
                with suppress(OSError), open(entry.path, "rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(entry.path)
