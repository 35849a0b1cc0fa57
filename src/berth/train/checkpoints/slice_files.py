"""Checkpoints of the first version (``SaverDef.V1``): tables of slices of tensors.

A file is a table (see `table`). Under the empty key it has what there is: names, shapes, types,
and the slices of each tensor; then every slice under a key of its name and extents. A sharded
checkpoint is several files, ``m-00000-of-00002`` and so on, and is named by a pattern.
"""

from __future__ import annotations

import glob
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from math import prod
from typing import Any, NamedTuple

import numpy.typing as npt

from berth.dtypes import DType, as_dtype
from berth.errors import DataLossError, InvalidArgumentError, NotFoundError, explain
from berth.file_errors import naming
from berth.proto.framework import DataType
from berth.proto.wire import DecodeError
from berth.train.checkpoints.protos import SavedSlice, SavedSliceMeta, SavedTensorSlices
from berth.train.checkpoints.saved_tensor import SavedTensor, bounds_of, shape_proto
from berth.train.checkpoints.slice_numbers import can_be_stored, decode, encode
from berth.train.checkpoints.snappy import MAX_EXPANSION
from berth.train.checkpoints.table import Table, TableError, write_table
from berth.train.checkpoints.tensor_slice import (
    Assembly,
    ShapeAndSlice,
    TensorSlice,
    slice_key,
)
from berth.train.checkpoints.unfinished import replace_file

_VERSION = 1
_MAX_RANK = 32
Array = npt.NDArray[Any]


class _Found(NamedTuple):
    """A tensor of a checkpoint, and in which files its slices are."""

    shape: tuple[int, ...]
    dtype: DType
    slices: dict[TensorSlice, int]


class SliceFiles:
    """The tensors of a checkpoint of the first version, by name. Several threads may read."""

    def __init__(self, pattern: str) -> None:
        self.prefix = pattern
        self._lock = threading.Lock()
        self._open = ExitStack()
        self._files: list[tuple[str, Table]] = []
        self._tensors: dict[str, _Found] = {}
        self._n_bytes = 0
        with ExitStack() as closed_after_an_error:
            closed_after_an_error.push(self._open)
            for path in sorted(glob.glob(pattern)):
                self._add_file(path)
            closed_after_an_error.pop_all()

    # --- what there is ------------------------------------------------------------------------

    def _add_file(self, path: str) -> None:
        with naming(path):
            file = self._open.enter_context(open(path, "rb"))  # noqa: SIM115
        with naming(path):
            try:
                table = Table(file)
            except TableError as error:
                raise DataLossError(
                    None,
                    None,
                    f"Unable to open table file {path}: DATA_LOSS: {error}: perhaps your file "
                    "is in a different file format and you need to use a different restore "
                    "operator?",
                ) from None
        self._files.append((path, table))
        self._n_bytes += table.n_bytes
        for meta in self._message(len(self._files) - 1, b"").meta.tensor:
            self._add_tensor(path, meta)

    def _add_tensor(self, path: str, meta: SavedSliceMeta) -> None:
        shape = tuple(dim.size for dim in meta.shape.dim)
        is_small = len(shape) <= _MAX_RANK and prod(max(size, 1) for size in shape) < 1 << 63
        if min(shape, default=0) < 0 or not is_small:
            raise self._damaged(path, meta.name, f"bad shape {list(shape)}")
        try:
            dtype = as_dtype(meta.type)
        except TypeError:
            dtype = None
        if dtype is None or not can_be_stored(dtype):
            raise self._damaged(path, meta.name, f"type {meta.type}")
        found = self._tensors.setdefault(meta.name, _Found(shape, dtype, {}))
        if found[:2] != (shape, dtype):
            raise self._damaged(path, meta.name, "the files differ in its shape or type")
        for proto in meta.slice:
            slice_ = TensorSlice.from_proto(proto)
            if slice_.bounds(shape) is None:
                raise self._damaged(path, meta.name, f"slice {slice_}")
            found.slices[slice_] = len(self._files) - 1

    def _message(self, file: int, key: bytes) -> SavedTensorSlices:
        path, table = self._files[file]
        try:
            with self._lock, naming(path):
                value = table.get(key)
            if value is not None:
                return SavedTensorSlices.FromString(value)
        except (TableError, DecodeError) as error:
            reason = str(error)
        else:
            reason = "it has no such entry"
        if not key:
            first = "Failed to find the saved tensor slices at the beginning of the checkpoint"
            raise DataLossError(None, None, explain(f"{first} file: {path}", reason))
        raise self._damaged(path, key.decode(errors="replace"), reason)

    def _damaged(self, path: str, name: str, reason: str) -> DataLossError:
        first = f"Entry for {name!r} is not valid: {reason}"
        return DataLossError(None, None, explain(first, f"The file: {path}"))

    def names(self) -> list[str]:
        """Return the names of the tensors, sorted."""
        return sorted(self._tensors)

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def _found(self, name: str) -> _Found:
        if name not in self._tensors:
            raise self.missing(name)
        return self._tensors[name]

    def missing(self, name: str) -> NotFoundError:
        """Return the error about a tensor that is not there."""
        message = f'Tensor name "{name}" not found in checkpoint files {self.prefix}'
        return NotFoundError(None, None, message)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor."""
        return self._found(name).shape

    def dtype(self, name: str) -> DType:
        """Return the type of a tensor's elements."""
        return self._found(name).dtype

    def lines(self) -> list[bytes]:
        """Return a line for each tensor: name, type, shape."""
        lines = []
        for name, (shape, dtype, slices) in self._tensors.items():
            text = f"{name} ({DataType.Name(dtype.as_datatype_enum)}) "
            text += f"[{','.join(map(str, shape))}]"
            text += f", {len(slices)} slices" if len(slices) > 1 else ""
            lines.append(text.encode(errors="surrogateescape"))
        return lines

    # --- reading ------------------------------------------------------------------------------

    def read(self, name: str) -> Array:
        """Return a tensor."""
        shape = self.shape(name)
        whole = TensorSlice(tuple((0, size) for size in shape))
        return self.read_slice(name, ShapeAndSlice(shape, whole))

    def read_slice(self, name: str, part: ShapeAndSlice) -> Array:
        """Return a part of a tensor."""
        found = self._found(name)
        wanted = part.slice.bounds(found.shape)
        if part.shape != found.shape or wanted is None:
            raise InvalidArgumentError(
                None,
                None,
                f"Shape in shape_and_slice spec {list(part.shape)} does not match the shape in "
                f"the save file {list(found.shape)} for {name!r} of {self.prefix}",
            )
        if prod(end - start for start, end in wanted) > MAX_EXPANSION * self._n_bytes:
            raise self._uncovered(name, part)  # an element has a byte at least
        assembly = Assembly(wanted, found.dtype)
        for slice_, file in found.slices.items():
            bounds = slice_.bounds(found.shape)
            assert bounds is not None
            if assembly.lacks(bounds):
                assembly.add(bounds, self._read_one(name, slice_, file, bounds))
        array: Array | None = assembly.finish()
        if array is None:
            raise self._uncovered(name, part)
        return array

    def _uncovered(self, name: str, part: ShapeAndSlice) -> DataLossError:
        first = f"The slices of {name!r} in the checkpoint do not cover {part.slice}"
        return DataLossError(None, None, explain(first, f"The file: {self.prefix}"))

    def read_all(self, wanted: Sequence[tuple[str, ShapeAndSlice | None]]) -> list[Array]:
        """Return several tensors, or parts."""
        return [
            self.read(name) if part is None else self.read_slice(name, part)
            for name, part in wanted
        ]

    def _read_one(self, name: str, slice_: TensorSlice, file: int, bounds: Any) -> Array:
        key = slice_key(name.encode(errors="surrogateescape"), slice_)
        saved = self._message(file, key).data
        sizes = [end - start for start, end in bounds]
        try:
            flat = decode(memoryview(saved.data), self.dtype(name), prod(sizes))
        except DecodeError as error:
            raise self._damaged(self._files[file][0], name, str(error)) from None
        return flat.reshape(sizes)

    # --- files --------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the files."""
        self._open.close()

    def __enter__(self) -> SliceFiles:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if "_open" in self.__dict__:
            self.close()


# --- writing ----------------------------------------------------------------------------------


def write_slice_file(path: str, tensors: Sequence[SavedTensor]) -> None:
    """Save tensors, or parts of them, as one file of the first version."""
    items: dict[bytes, Any] = {}
    listed: dict[str, SavedSliceMeta] = {}
    header = SavedTensorSlices(meta={"versions": {"producer": _VERSION}})
    for tensor in sorted(tensors, key=lambda tensor: tensor.name):
        dtype = as_dtype(tensor.array.dtype)
        if not can_be_stored(dtype):
            raise InvalidArgumentError(
                None,
                None,
                "Tensor slice serialization not implemented for dtype "
                f"{dtype.as_datatype_enum}",
            )
        shape = tensor.array.shape if tensor.part is None else tensor.part.shape
        slice_ = TensorSlice(((0, -1),) * len(shape))
        if tensor.part is not None:
            bounds_of(tensor)
            slice_ = tensor.part.slice
        if tensor.name not in listed:
            listed[tensor.name] = header.meta.tensor.add(
                name=tensor.name, shape=shape_proto(shape), type=dtype.as_datatype_enum
            )
        listed[tensor.name].slice.append(slice_.as_proto())
        key = slice_key(tensor.name.encode(errors="surrogateescape"), slice_)
        if key in items:
            raise InvalidArgumentError(None, None, f"Adding duplicate key: {tensor.name}")
        entry = SavedSlice(name=tensor.name, slice=slice_.as_proto())
        entry.data = encode(tensor.array, dtype)
        items[key] = SavedTensorSlices(data=entry).SerializeToString()
    items[b""] = header.SerializeToString()
    replace_file(path, write_table((key, items[key]) for key in sorted(items)))
