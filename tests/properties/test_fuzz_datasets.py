"""Damaged files of data sets: right data or a clear error, in no more memory than they have."""

from __future__ import annotations

import gzip
import io
import os
import random
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from berth.data.datasets.cifar import RECORD_BYTES, read_cifar10
from berth.data.datasets.idx import read_images, read_labels
from berth.data.datasets.npz import read_npz
from tests.properties.test_fuzz_checkpoints import damaged

N_FILES = 25_000 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 100
SEED = 19980101

IMAGES = np.arange(5 * 6 * 7, dtype=np.uint8).reshape(5, 6, 7)
LABELS = np.arange(30, dtype=np.uint8) % 10
PLAIN = struct.pack(">4I", 2051, *IMAGES.shape) + IMAGES.tobytes()
RECORDS = b"".join(bytes([k]) + bytes(range(256)) * 12 for k in range(2))
ALLOWED_BYTES = 200_000
MAX_RATIO = 1032
"""How much deflate can expand what it is given."""


def npz() -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, x=IMAGES, y=LABELS)
    return file.getvalue()


def idx(plain: bytes) -> bytes:
    return gzip.compress(plain, 1)


def names_the_file(read: Callable[[str], Any], path: str, content: bytes) -> Any:
    """Read a file; None for an error that names it. Any other error fails the test."""
    with open(path, "wb") as file:
        file.write(content)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        found = read(path)
    except ValueError as error:
        if path not in str(error):
            raise
        found = None
    used = tracemalloc.get_traced_memory()[1] - before
    assert used < ALLOWED_BYTES + 3 * MAX_RATIO * len(content)
    return found


@pytest.fixture
def path(tmp_path):
    tracemalloc.start()
    yield str(tmp_path / "damaged")
    tracemalloc.stop()


def test_compressed_files_are_right_or_refused(path):
    """A checksum catches what was changed, except in the headers of gzip and zip."""
    random_ = random.Random(SEED)
    labels = struct.pack(">2I", 2049, len(LABELS)) + LABELS.tobytes()
    n_read = 0
    for _ in range(N_FILES):
        for read, content, right in (
            (read_images, idx(PLAIN), IMAGES),
            (read_labels, idx(labels), LABELS),
            (lambda file: read_npz(file, ["x", "y"])[0], npz(), IMAGES),
        ):
            found = names_the_file(read, path, damaged(content, random_))
            if found is not None:
                np.testing.assert_array_equal(found, right)
                n_read += 1
    assert n_read


def test_lying_headers_take_no_memory(path):
    """What is within gzip is damaged, so that its checksum is right."""
    random_ = random.Random(SEED)
    for _ in range(N_FILES):
        plain = damaged(PLAIN, random_)
        found = names_the_file(read_images, path, idx(plain))
        if found is not None:
            assert plain[16:] == found.tobytes()
            assert struct.unpack(">3I", plain[4:16]) == found.shape


def test_lying_arrays_take_no_memory(path):
    file = io.BytesIO()
    np.save(file, IMAGES)
    plain = file.getvalue()
    random_ = random.Random(SEED)
    for _ in range(N_FILES):
        archive = io.BytesIO()
        changed = damaged(plain[:120], random_) + plain[120:]
        with zipfile.ZipFile(archive, "w") as zipped:
            zipped.writestr("x.npy", changed)
        found = names_the_file(lambda file: read_npz(file, ["x"])[0], path, archive.getvalue())
        if found is not None:
            assert changed.endswith(found.tobytes())


def test_records_are_right_or_refused(path):
    random_ = random.Random(SEED)
    n_read = 0
    for _ in range(N_FILES):
        content = damaged(RECORDS, random_)
        found = names_the_file(read_cifar10, path, content)
        if found is None:
            is_wrong_size = len(content) % RECORD_BYTES or not content
            assert is_wrong_size or max(content[::RECORD_BYTES]) > 9
            continue
        n_read += 1
        planes = np.frombuffer(content, np.uint8).reshape(-1, RECORD_BYTES)
        np.testing.assert_array_equal(found.labels, planes[:, 0])
        np.testing.assert_array_equal(
            found.images.transpose(0, 3, 1, 2).reshape(len(planes), -1), planes[:, 1:]
        )
    assert n_read
