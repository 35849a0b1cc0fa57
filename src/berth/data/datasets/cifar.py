"""CIFAR-10's binary files: records of a label and 3 x 32 x 32 bytes, colour by colour.

The data set also comes "for Python", as pickles. Those are not read: a pickle runs whatever
code its author put into it.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

SIZE = 32
N_CLASSES = 10
RECORD_BYTES = 1 + 3 * SIZE * SIZE


class Images(NamedTuple):
    """Images, (image, row, column, colour), and the label of each."""

    images: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.uint8]


def read_cifar10(path: Any) -> Images:
    """Read a file of CIFAR-10; ValueError if it is not one."""
    path = os.fspath(path)
    n_bytes = os.path.getsize(path)
    if not n_bytes or n_bytes % RECORD_BYTES:
        raise ValueError(
            f"{path} has {n_bytes} bytes: CIFAR-10's binary files have records of "
            f"{RECORD_BYTES} bytes, and nothing else."
        )
    records = np.fromfile(path, np.uint8).reshape(-1, RECORD_BYTES)
    labels = records[:, 0].copy()
    wrong = np.flatnonzero(labels >= N_CLASSES)
    if wrong.size:
        first = int(wrong[0])
        raise ValueError(
            f"{path}: record {first} has the label {labels[first]}, and CIFAR-10 has 0 to 9."
        )
    planes = records[:, 1:].reshape(-1, 3, SIZE, SIZE)
    return Images(np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels)
