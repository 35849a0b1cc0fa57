"""idx files, the format of MNIST: a header with the sizes, then the elements.

The header is two zero bytes, the type of the elements (8: unsigned bytes), the number of
dimensions, and each dimension as 32 bits, the most significant first.
"""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from berth.data.datasets.blocks import read_exactly

N_CLASSES = 10
IMAGES_MAGIC, LABELS_MAGIC = 2051, 2049
"""Unsigned bytes, of three dimensions and of one."""


def read_pair(
    images_path: Any, labels_path: Any
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Read images and their labels; ValueError if they do not belong together."""
    images, labels = read_images(images_path), read_labels(labels_path)
    if len(images) != len(labels):
        raise ValueError(
            f"{labels_path} has {len(labels)} labels, and {images_path} {len(images)} images."
        )
    if labels.size and labels.max() >= N_CLASSES:
        raise ValueError(f"{labels_path} has the label {labels.max()}, and there are 0 to 9.")
    return images, labels


def read_images(path: Any) -> npt.NDArray[np.uint8]:
    """Read a file of images: (image, row, column)."""
    return _read(os.fspath(path), IMAGES_MAGIC, "image")


def read_labels(path: Any) -> npt.NDArray[np.uint8]:
    """Read a file of labels."""
    return _read(os.fspath(path), LABELS_MAGIC, "label")


def _read(path: str, magic: int, what: str) -> npt.NDArray[np.uint8]:
    """Read a file that is compressed by gzip; ValueError if it is not of this kind."""
    n_dims = magic & 0xFF
    try:
        with gzip.open(path, "rb") as file:
            header = file.read(4 + 4 * n_dims)
            found = int.from_bytes(header[:4], "big")
            if len(header) >= 4 and found != magic:  # TensorFlow's words
                raise ValueError(f"Invalid magic number {found} in MNIST {what} file: {path}")
            if len(header) < 4 + 4 * n_dims:
                raise ValueError(f"{path} ends within its header, after {len(header)} bytes.")
            dims = struct.unpack(f">{n_dims}I", header[4:])
            data = read_exactly(file, math.prod(dims), path)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be decompressed by gzip: {error}") from error
    return np.frombuffer(data, np.uint8).reshape(dims)
