"""Arrays of bytes in .npz files, which strangers may have made: nothing is unpickled.

NumPy allocates what the header of an array says; here memory is taken as data arrives.
"""

from __future__ import annotations

import math
import re
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import IO

import numpy as np
import numpy.typing as npt

from berth.data.datasets.blocks import read_exactly

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([^']{1,20})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18},? ?){0,8})\), \} *\n?"
)
"""What NumPy writes before an array: a dictionary as text. It is matched, not evaluated."""
_ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError),
    *(NotImplementedError, OverflowError, RuntimeError),
)


class NpzError(ValueError):
    """A file is not what it should be; the message names it."""


def read_npz(path: str, names: Sequence[str]) -> list[npt.NDArray[np.uint8]]:
    """Read arrays of unsigned bytes by their names; ValueError if they are not there."""
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return [_read_member(archive, name, path) for name in names]
        except NpzError:
            raise
        except (*_ZIP_ERRORS, OSError, ValueError) as error:  # of the format: it is open
            raise NpzError(f"{path} is not a whole .npz file: {error}") from error


def _read_member(archive: zipfile.ZipFile, name: str, path: str) -> npt.NDArray[np.uint8]:
    if f"{name}.npy" not in archive.namelist():
        raise NpzError(f"{path} has no array {name}; it has {archive.namelist()}.")
    member = archive.getinfo(f"{name}.npy")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise NpzError(f"{path}: {name} is compressed in a way that NumPy does not use.")
    with archive.open(member) as file:
        return _read_array(file, f"{path}, {name}")


def _read_array(file: IO[bytes], where: str) -> npt.NDArray[np.uint8]:
    start = file.read(len(_MAGIC) + 2)
    length = int.from_bytes(start[-2:], "little")
    header = _HEADER.fullmatch(file.read(length)) if start.startswith(_MAGIC) else None
    if header is None:
        raise NpzError(f"{where}: not an array that NumPy wrote.")
    dtype, order, dims = (part.decode("ascii", "replace") for part in header.groups())
    shape = tuple(map(int, dims.replace(",", " ").split()))
    if dtype != "|u1" or order != "False":
        kind = f"{dtype} of shape {shape}, Fortran order {order}"
        raise NpzError(f"{where}: {kind}; unsigned bytes are expected, in C order.")
    data = read_exactly(file, math.prod(shape), where)
    return np.frombuffer(data, np.uint8).reshape(shape)
