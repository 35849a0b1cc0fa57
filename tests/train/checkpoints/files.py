"""Checkpoints that TensorFlow 2.21 wrote, and what is in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from berth.train.checkpoints.bundle_writer import SavedTensor
from berth.train.checkpoints.tensor_slice import ShapeAndSlice

DATA = Path(__file__).parent / "data"
EVERY_TYPE = str(DATA / "every_type")
TWO_FILES = str(DATA / "two_files")

_NUMBERS = np.arange(6).reshape(2, 3) * 3
_TYPES = (
    *("float16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"),
)
VALUES = {
    **{f"types/{t}": (_NUMBERS - 4 * (t[0] != "u")).astype(t) for t in _TYPES},
    "scalar": np.array(2.5, np.float32),
    "empty": np.zeros((0, 3)),
    "text": np.array([[b"x", b"hello"], [b"", bytes(range(256))]], object),
    "no_text": np.array([], object),
    "long_text": np.array([b"a" * 300], object),
}
"""The tensors of `EVERY_TYPE` that were saved whole."""

PART = np.arange(10, dtype=np.float32).reshape(5, 2)
"""Its tensor ``part``, which was saved in two."""


def every_type() -> list[SavedTensor]:
    """The tensors of `EVERY_TYPE`, in the order of its data file."""
    first, second = ShapeAndSlice.parse("5 2 0,3:-"), ShapeAndSlice.parse("5 2 3,2:0,2")
    parts = [SavedTensor("part", PART[:3], first), SavedTensor("part", PART[3:], second)]
    whole = [SavedTensor(name, array) for name, array in VALUES.items()]
    return [*whole, *parts]


def contents(prefix: str) -> dict[str, bytes]:
    """The bytes of a checkpoint's files, by the end of their names."""
    path = Path(prefix)
    files = path.parent.glob(f"{path.name}.*")
    return {file.name.removeprefix(path.name): file.read_bytes() for file in files}
