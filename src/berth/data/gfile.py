"""``tf.io.gfile`` and ``tf.gfile``: files and folders, with TensorFlow's errors.

Paths are those of this computer: a ``gs://`` or ``hdfs://`` path is an error that says so.
"""

from __future__ import annotations

import glob as _glob
import os
import re
import shutil
from collections.abc import Iterator
from types import TracebackType
from typing import Any, NamedTuple

from berth import file_errors
from berth.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnimplementedError,
)
from berth.finalizers import Finalizer
from berth.public import public, public_v1

_MODES = ("r", "w", "a", "r+", "w+", "a+")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")


def local_path(path: Any) -> str:
    """Return a path of this computer: text, from bytes or a Path; ``file://`` is left out."""
    text = os.fsdecode(path)
    found = _SCHEME.match(text)
    if found is None:
        return text
    if found[1] != "file":
        message = f"File system scheme '{found[1]}' not implemented (file: '{text}')"
        raise UnimplementedError(None, None, message)
    return text.removeprefix("file://")


@public("io.gfile.GFile")
@public_v1("gfile.GFile", "gfile.FastGFile", "gfile.Open")
class GFile:
    """A file, opened when it is first read or written.

    Text by default; with ``b`` in the mode, bytes.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name = name
        self._mode = mode
        self._path = local_path(name)
        self._file: Any = None
        if mode.replace("b", "") not in _MODES:
            message = "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'"
            raise InvalidArgumentError(None, None, message)

    @property
    def name(self) -> Any:
        """The name that it was opened by."""
        return self._name

    @property
    def mode(self) -> str:
        return self._mode

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return stat(self._path).length

    def read(self, n: int = -1) -> Any:
        """Read so many characters or bytes; by default all."""
        return self._readable().read(n)

    def readline(self) -> Any:
        """Read the next line, with its end; at the end of the file an empty one."""
        return self._readable().readline()

    def readlines(self) -> list[Any]:
        """Read all lines that are left."""
        return list(self._readable().readlines())

    def write(self, file_content: Any) -> None:
        """Append text or bytes."""
        if not set(self._mode) & set("wa+"):
            raise PermissionDeniedError(None, None, "File isn't open for writing")
        content = file_content
        if "b" in self._mode and isinstance(content, str):
            content = content.encode()
        elif "b" not in self._mode and isinstance(content, bytes):
            content = content.decode()
        with file_errors.naming(self._path):
            self._opened().write(content)

    def seek(self, offset: int | None = None, whence: int = 0, position: Any = None) -> None:
        """Go to a place in the file."""
        place = position if offset is None else offset
        if place is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (0, 1, 2):
            message = f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            raise InvalidArgumentError(None, None, message)
        with file_errors.naming(self._path):
            self._readable().seek(place, whence)

    def tell(self) -> int:
        """Return the place in the file."""
        return int(self._readable().tell())

    def flush(self) -> None:
        """Write out what is still in memory."""
        if self._file is not None:
            with file_errors.naming(self._path):
                self._file.flush()

    def close(self) -> None:
        """Close the file. It can be read again from the start."""
        file, self._file = self._file, None
        if file is not None:
            with file_errors.naming(self._path):
                file.close()
            self._at_end.detach()

    def seekable(self) -> bool:
        return True

    def _readable(self) -> Any:
        if not set(self._mode) & set("r+"):
            raise PermissionDeniedError(None, None, "File isn't open for reading")
        with file_errors.naming(self._path):
            return self._opened()

    def _opened(self) -> Any:
        if self._file is None:
            is_bytes = "b" in self._mode
            options = {} if is_bytes else {"encoding": "utf-8", "newline": ""}
            self._file = open(self._path, self._mode, **options)  # type: ignore[call-overload]  # noqa: SIM115
            self._at_end = Finalizer(self, self._file.close)
        return self._file

    def __enter__(self) -> GFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        while line := self.readline():
            yield line


class FileStatistics(NamedTuple):
    """The size of a file, when it was changed, and whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


@public("io.gfile.stat")
@public_v1("gfile.Stat")
def stat(path: Any) -> FileStatistics:
    """Return the size of a file, and when it was changed."""
    path = local_path(path)
    with file_errors.naming(path):
        found = os.stat(path)
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(path))


@public("io.gfile.exists")
@public_v1("gfile.Exists")
def exists(path: Any) -> bool:
    """Tell whether a file or folder exists."""
    return os.path.exists(local_path(path))


@public("io.gfile.isdir")
@public_v1("gfile.IsDirectory")
def isdir(path: Any) -> bool:
    """Tell whether a path is a folder."""
    return os.path.isdir(local_path(path))


@public("io.gfile.join")
def join(path: Any, *paths: Any) -> Any:
    """Join parts of a path."""
    return os.path.join(path, *paths)


@public("io.gfile.glob")
@public_v1("gfile.Glob")
def glob(pattern: Any) -> list[str]:
    """List the files that match a pattern, or one of several."""
    patterns = pattern if isinstance(pattern, list | tuple) else [pattern]
    return sorted(found for each in patterns for found in _glob.glob(local_path(each)))


@public("io.gfile.listdir")
@public_v1("gfile.ListDirectory")
def listdir(path: Any) -> list[str]:
    """List the names in a folder."""
    path = local_path(path)
    if not os.path.isdir(path):
        raise NotFoundError(None, None, f"Could not find directory {path}")
    with file_errors.naming(path):
        return sorted(os.listdir(path))


@public("io.gfile.mkdir")
@public_v1("gfile.MkDir")
def mkdir(path: Any) -> None:
    """Create a folder, whose parent has to exist."""
    path = local_path(path)
    with file_errors.naming(path):
        if not os.path.isdir(path):
            os.mkdir(path)


@public("io.gfile.makedirs")
@public_v1("gfile.MakeDirs")
def makedirs(path: Any) -> None:
    """Create a folder, and the folders above it."""
    path = local_path(path)
    with file_errors.naming(path):
        os.makedirs(path, exist_ok=True)


@public("io.gfile.remove")
@public_v1("gfile.Remove")
def remove(path: Any) -> None:
    """Delete a file."""
    path = local_path(path)
    with file_errors.naming(path):
        os.remove(path)


@public("io.gfile.rmtree")
@public_v1("gfile.DeleteRecursively")
def rmtree(path: Any) -> None:
    """Delete a folder with all that is in it."""
    path = local_path(path)
    if not os.path.isdir(path):
        raise NotFoundError(None, None, f"{path} not found")
    with file_errors.naming(path):
        shutil.rmtree(path)


@public("io.gfile.copy")
@public_v1("gfile.Copy")
def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file; one that exists is replaced only if `overwrite` says so."""
    source, target = local_path(src), local_path(dst)
    _check_free(target, overwrite)
    with file_errors.naming(source):
        shutil.copyfile(source, target)


@public("io.gfile.rename")
@public_v1("gfile.Rename")
def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Rename or move a file; one that exists is replaced only if `overwrite` says so."""
    source, target = local_path(src), local_path(dst)
    _check_free(target, overwrite)
    with file_errors.naming(source):
        os.replace(source, target)


def _check_free(path: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise AlreadyExistsError(None, None, "file already exists")


@public("io.gfile.walk")
def walk(
    top: Any, topdown: bool = True, onerror: Any = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Iterate over the folders below one: name, folders in it, files in it."""
    return os.walk(local_path(top), topdown, onerror)


@public_v1("gfile.Walk")
def walk_v1(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Iterate over the folders below one: name, folders in it, files in it."""
    return walk(top, in_order)


@public("io.gfile.get_registered_schemes")
def get_registered_schemes() -> list[str]:
    """List the kinds of paths that can be opened."""
    return ["", "file"]
