"""Damaged checkpoints: the right values or a clear error, in no more memory than they need."""

from __future__ import annotations

import io
import os
import random
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from berth.errors import OpError
from berth.train.checkpoints.checkpoint_reader import CheckpointReader
from berth.train.checkpoints.table import Table, write_table
from tests.train.checkpoints.files import EVERY_TYPE, PART, VALUES

N_FILES = 50_000 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 120
SEED = 20151109

INDEX = Path(f"{EVERY_TYPE}.index").read_bytes()
DATA = Path(f"{EVERY_TYPE}.data-00000-of-00001").read_bytes()
RIGHT = {**VALUES, "part": PART}
ODD_BYTES = (b"\0", b"\xff", b"\x7f", b"\x80", b"\xff" * 9 + b"\x01", b"\x80" * 12)
ALLOWED_BYTES = 64 * (len(INDEX) + len(DATA)) + 100_000


def damaged(data: bytes, random_: random.Random) -> bytes:
    """Change some bytes, repeat, remove or insert some, or cut the rest off."""
    out = bytearray(data)
    for _ in range(random_.randint(1, 3)):
        at = random_.randrange(len(out) + 1)
        length = random_.randrange(12)
        match random_.randrange(6):
            case 0 if at < len(out):
                out[at] ^= 1 << random_.randrange(8)
            case 1:
                out[at : at + length] = random_.randbytes(length)
            case 2:
                del out[at : at + length]
            case 3:
                out[at:at] = random_.choice(ODD_BYTES)
            case 4:
                out[at:at] = out[at : at + length]
            case 5 if random_.random() < 0.2:
                del out[at:]
    return bytes(out)


@pytest.fixture
def prefix(tmp_path):
    return tmp_path / "m"


def write(prefix: Path, index: bytes, data: bytes) -> None:
    prefix.with_name("m.index").write_bytes(index)
    prefix.with_name("m.data-00000-of-00001").write_bytes(data)


def read_all(prefix: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Read what can be read; any error but berth's own fails the test."""
    names: list[str] = []
    with named_in_errors(prefix):
        reader = CheckpointReader(str(prefix))
        reader.debug_string()
        names += reader.get_variable_to_shape_map()
    for name in names:
        with named_in_errors(prefix):
            yield name, reader.get_tensor(name)


@contextmanager
def named_in_errors(prefix: Path) -> Iterator[None]:
    try:
        yield
    except OpError as error:
        text = str(error)
        is_named = str(prefix) in text or text.startswith("Key ")
        if not is_named:
            raise


def test_damaged_files_give_right_values_or_errors(prefix):
    random_ = random.Random(SEED)
    n_read = 0
    for _ in range(N_FILES):
        is_index = random_.random() < 0.5
        index = damaged(INDEX, random_) if is_index else INDEX
        write(prefix, index, DATA if is_index else damaged(DATA, random_))
        for name, array in read_all(prefix):
            expected = RIGHT[name]
            assert array.dtype == expected.dtype
            assert array.shape == expected.shape
            assert array.tobytes() == expected.tobytes() or (array == expected).all()
            n_read += 1
    assert n_read > N_FILES


def test_lying_entries_take_no_memory(prefix):
    """Entries are damaged, and the table around them is right, checksums and all."""
    random_ = random.Random(SEED)
    entries = dict(Table(io.BytesIO(INDEX)).items())
    tracemalloc.start()
    for _ in range(N_FILES):
        changed = {
            key: damaged(value, random_) if random_.random() < 0.3 else value
            for key, value in entries.items()
        }
        write(prefix, write_table(changed.items()), DATA)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        for _ in read_all(prefix):
            pass
        assert tracemalloc.get_traced_memory()[1] - before < ALLOWED_BYTES
    tracemalloc.stop()
