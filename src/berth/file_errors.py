"""Errors of files: an ``OSError`` as the class and words of TensorFlow's."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from berth.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)

_CLASSES: dict[type[OpError], tuple[int, ...]] = {
    NotFoundError: (errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.ESRCH),
    PermissionDeniedError: (errno.EACCES, errno.EPERM, errno.EROFS),
    AlreadyExistsError: (errno.EEXIST,),
    ResourceExhaustedError: (
        *(errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EMLINK),
    ),
    FailedPreconditionError: (
        *(errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY, errno.EBUSY, errno.ETXTBSY),
    ),
    InvalidArgumentError: (errno.EINVAL, errno.ENAMETOOLONG, errno.EILSEQ, errno.EBADF),
    UnimplementedError: (errno.ENOSYS, errno.ENOTSUP),
}
_CLASS_OF = {number: cls for cls, numbers in _CLASSES.items() for number in numbers}


def from_os_error(error: OSError, path: str | os.PathLike[str]) -> OpError:
    """Return TensorFlow's error for a file: ``model.index; No such file or directory``."""
    cls = _CLASS_OF.get(error.errno or 0, UnknownError)
    return cls(None, None, f"{os.fspath(path)}; {error.strerror or error}")


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise what goes wrong with a file in the block as TensorFlow's error, with its name."""
    try:
        yield
    except OSError as error:
        raise from_os_error(error, path) from error
