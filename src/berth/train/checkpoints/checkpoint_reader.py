"""`tf.train.NewCheckpointReader` and `list_variables`: reading checkpoints without a graph."""

from __future__ import annotations

import os
from typing import Any

from berth.dtypes import DType
from berth.public import public, public_v1
from berth.train.checkpoints.checkpoint_state import latest_checkpoint
from berth.train.checkpoints.open_checkpoint import open_checkpoint


class CheckpointReader:
    """Reads the tensors of a checkpoint by name."""

    def __init__(self, filename: str) -> None:
        self._reader = open_checkpoint(filename)

    def has_tensor(self, tensor_str: str) -> bool:
        """Tell whether there is a tensor of that name."""
        return tensor_str in self._reader

    def get_tensor(self, tensor_str: str) -> Any:
        """Return a tensor as a NumPy array; NotFoundError if there is none of that name."""
        array = self._reader.read(tensor_str)
        return array[()] if array.ndim == 0 else array

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return the shapes by name."""
        return {name: list(self._reader.shape(name)) for name in self._reader.names()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Return the types of elements by name."""
        return {name: self._reader.dtype(name) for name in self._reader.names()}

    def debug_string(self) -> bytes:
        """Return a line for each entry: name, type and shape."""
        return b"".join(line + b"\n" for line in self._reader.lines())


@public_v1("train.NewCheckpointReader")
def NewCheckpointReader(filepattern: str | os.PathLike[str]) -> CheckpointReader:
    """Open a checkpoint: its path without ``.index`` or ``.data-…``."""
    if not isinstance(filepattern, str | bytes | os.PathLike):
        raise TypeError(f"Expected binary or unicode string, got {filepattern!r}")
    return CheckpointReader(os.fsdecode(filepattern))


@public("train.load_checkpoint")
def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """Open a checkpoint, or the latest one in a folder."""
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        latest = latest_checkpoint(path)
        if latest is None:
            raise ValueError(
                f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
            )
        path = latest
    return NewCheckpointReader(path)


@public("train.load_variable")
def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Any:
    """Read a tensor of a checkpoint."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


@public("train.list_variables")
def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """List names and shapes of a checkpoint's tensors, sorted by name."""
    shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map()
    return sorted(shapes.items())
