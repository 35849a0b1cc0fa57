"""Damaged files of the other readers: first-version checkpoints, records, examples, graphs."""

from __future__ import annotations

import gzip
import io
import os
import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.data.tf_record import framed, read_records
from berth.errors import OpError
from berth.proto.wire import DecodeError
from berth.summary.events import summary_iterator
from berth.summary.messages import Event
from berth.train.checkpoints.slice_files import SliceFiles
from berth.train.checkpoints.table import Table, write_table
from tests.properties.test_fuzz_checkpoints import damaged
from tests.train.checkpoints.test_slice_files import RIGHT, V1

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
N_FILES = 20_000 if IS_DEEP else 60
N_GRAPHS = 5_000 if IS_DEEP else 15
SEED = 20161216
META = Path(__file__).parents[1] / "train/saving/data/tensorflow.meta"
RECORDS = [b"first", b"", bytes(range(200)), b"last" * 9]
CONSTANT_BYTES = 150_000
"""What the readers take for their objects, however small the file is."""


@pytest.fixture
def path(tmp_path):
    read_slices(str(V1))  # what is made once, such as tables of checksums, is not counted
    tracemalloc.start()
    yield str(tmp_path / "damaged")
    tracemalloc.stop()


def read(path: str, content: bytes, function, expansion: int = 4):
    """Read a file in memory that its size bounds; None for an error that names it."""
    Path(path).write_bytes(content)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        found = function(path)
    except OpError as error:
        if path not in str(error):
            raise
        found = None
    used = tracemalloc.get_traced_memory()[1] - before
    assert used < CONSTANT_BYTES + expansion * len(content)
    return found


def read_slices(path: str) -> dict[str, np.ndarray]:
    with SliceFiles(path) as tensors:
        return {name: tensors.read(name) for name in tensors.names()}


def test_first_version_is_right_or_refused(path):
    random_ = random.Random(SEED)
    content = V1.read_bytes()
    n_read = 0
    for _ in range(N_FILES):
        found = read(path, damaged(content, random_), read_slices)
        for name, array in (found or {}).items():
            np.testing.assert_array_equal(array, RIGHT[name])
            n_read += 1
    assert n_read


def test_lying_slices_take_no_memory(path):
    """Entries are damaged, and the table around them is right, checksums and all."""
    random_ = random.Random(SEED)
    entries = dict(Table(io.BytesIO(V1.read_bytes())).items())
    for _ in range(N_FILES):
        changed = {
            key: damaged(value, random_) if random_.random() < 0.2 else value
            for key, value in entries.items()
        }
        read(path, write_table(changed.items()), read_slices, expansion=32)


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_records_are_right_or_refused(path, compression):
    random_ = random.Random(SEED)
    plain = b"".join(map(framed, RECORDS))
    content = gzip.compress(plain) if compression else plain
    n_whole = 0
    for _ in range(N_FILES):
        found: list[bytes] = []

        def keep(path: str, found: list[bytes] = found) -> bool:
            found.extend(read_records(path, compression))
            return True

        n_whole += bool(read(path, damaged(content, random_), keep, expansion=1100))
        assert all(record in RECORDS for record in found)
    assert n_whole or compression


def test_examples_are_messages_or_refused():
    random_ = random.Random(SEED)
    example = tf.train.Example()
    example.features.feature["x"].float_list.value.extend([1.0, 2.0])
    example.features.feature["n"].int64_list.value.append(-7)
    example.features.feature["s"].bytes_list.value.append(b"text")
    content = example.SerializeToString()
    n_read = 0
    for _ in range(N_FILES):
        changed = damaged(content, random_)
        try:
            tf.train.Example.FromString(changed).SerializeToString()
            n_read += 1
        except DecodeError:
            continue
    assert n_read


def test_events_are_read_or_refused(path):
    random_ = random.Random(SEED)
    events = [Event(wall_time=1.5, step=k, file_version="brain.Event:2") for k in range(3)]
    records = [event.SerializeToString() for event in events]
    content = b"".join(map(framed, records))
    for _ in range(N_FILES):
        found = read(path, damaged(content, random_), lambda path: list(summary_iterator(path)))
        assert all(event in events for event in found or ())


def test_graphs_are_imported_or_refused(path):
    """A graph has no checksum: what is damaged may be another graph."""
    random_ = random.Random(SEED)
    content = META.read_bytes()
    n_read = 0
    for _ in range(N_GRAPHS):
        Path(path).write_bytes(damaged(content, random_))
        try:
            with tf.Graph().as_default():
                tf.train.import_meta_graph(path)
            n_read += 1
        except OSError as error:
            if path not in str(error):
                raise
        except UnicodeDecodeError:
            raise
        except (OpError, ValueError, KeyError):  # of a name, a type, a shape
            continue
    assert n_read or not IS_DEEP
