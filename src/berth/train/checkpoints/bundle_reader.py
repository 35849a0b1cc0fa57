"""Reading a checkpoint: TensorFlow's tensor bundle, an ``.index`` file and its data files.

The files are not trusted. Sizes are checked against the files before memory is allocated,
and bytes against their checksums before they are returned; the error names the file.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from berth.crc32c import crc32c, unmask
from berth.dtypes import string
from berth.errors import DataLossError, InvalidArgumentError, explain
from berth.file_errors import naming
from berth.finalizers import Finalizer
from berth.train.checkpoints.bundle_index import BundleIndex
from berth.train.checkpoints.protos import BundleEntryProto, Endianness
from berth.train.checkpoints.tensor_bytes import ChecksumError, decode_strings
from berth.train.checkpoints.tensor_slice import (
    Assembly,
    ShapeAndSlice,
    TensorSlice,
    slice_key,
)

_BLOCK_SIZE = 1 << 20
_N_THREADS = 2
_WORTH_THREADS = 4 << 20

Array = npt.NDArray[Any]


class BundleReader(BundleIndex):
    """The tensors of one checkpoint, by name. Several threads may read."""

    def __init__(self, prefix: str | os.PathLike[str]) -> None:
        self._files: dict[int, tuple[int, int]] = {}
        Finalizer(self, _close, self._files)
        self._lock = threading.Lock()
        super().__init__(prefix)

    # --- tensors --------------------------------------------------------------------------

    def read(self, name: str) -> Array:
        """Return a tensor."""
        entry = self.entry(name)
        if not entry.slices:
            return self._read_entry(name, entry)
        shape = self.shape(name)
        whole = TensorSlice(tuple((0, size) for size in shape))
        return self._read_from_slices(name, ShapeAndSlice(shape, whole))

    def read_slice(self, name: str, part: ShapeAndSlice) -> Array:
        """Return a part of a tensor."""
        entry, shape = self.entry(name), self.shape(name)
        bounds = part.slice.bounds(shape)
        if part.shape != shape or bounds is None:
            raise InvalidArgumentError(
                None,
                None,
                f"Shape in shape_and_slice spec {list(part.shape)} does not match the shape in "
                f"the save file {list(shape)} for {name!r} of {self.prefix}",
            )
        if entry.slices:
            return self._read_from_slices(name, part)
        array: Array = self._read_entry(name, entry)
        selected: Array = array[tuple(slice(*each) for each in bounds)].copy()
        return selected

    def read_all(self, wanted: Sequence[tuple[str, ShapeAndSlice | None]]) -> list[Array]:
        """Return several tensors, or parts; large ones are read by several threads."""

        def read(item: tuple[str, ShapeAndSlice | None]) -> Array:
            name, part = item
            return self.read(name) if part is None else self.read_slice(name, part)

        n_bytes = sum(max(self.entry(name).size, 0) for name, _ in wanted)
        if n_bytes < _WORTH_THREADS:
            return [read(item) for item in wanted]
        with ThreadPoolExecutor(_N_THREADS) as pool:
            return list(pool.map(read, wanted))

    def _read_from_slices(self, name: str, part: ShapeAndSlice) -> Array:
        """Put a part of a tensor together from the slices that were saved."""
        dtype = self.dtype(name)
        wanted = part.slice.bounds(part.shape)
        assert wanted is not None
        sizes = [end - start for start, end in wanted]
        stored = sum(
            os.path.getsize(file) for file in self.data_files() if os.path.exists(file)
        )
        if prod(sizes) * dtype.size > stored:
            raise self._uncovered(name, part)
        assembly = Assembly(wanted, dtype)
        for proto in self.entry(name).slices:
            saved = TensorSlice.from_proto(proto)
            bounds = saved.bounds(part.shape)
            if bounds is None:
                raise self.damaged(name.encode(errors="surrogateescape"), f"slice {saved}")
            if not assembly.lacks(bounds):
                continue
            key = slice_key(name.encode(errors="surrogateescape"), saved)
            array = self._read_entry(key, self.entry(key))
            if array.shape != tuple(b - a for a, b in bounds) or array.dtype != dtype.np_dtype:
                raise self.damaged(key, f"it does not fit slice {saved} of {name}")
            assembly.add(bounds, array)
        out: Array | None = assembly.finish()
        if out is None:
            raise self._uncovered(name, part)
        return out

    def _uncovered(self, name: str, part: ShapeAndSlice) -> DataLossError:
        first = f"The slices of {name!r} in the checkpoint do not cover {part.slice}"
        return DataLossError(None, None, explain(first, f"The file: {self.index_name}"))

    def _read_entry(self, name: str | bytes, entry: BundleEntryProto) -> Array:
        """Return the tensor of one entry, whose bytes have the checksum of the entry."""
        dtype, shape = self.dtype(name), [dim.size for dim in entry.shape.dim]
        n_elements = prod(shape)
        expected = n_elements * dtype.itemsize
        is_right = entry.size >= n_elements + 4 if dtype is string else entry.size == expected
        if not is_right or entry.size < 0:
            text = name if isinstance(name, str) else name.decode(errors="replace")
            raise self._in_data(
                entry,
                f"Invalid size in bundle entry: key {text}; stored size {entry.size}; expected "
                f"size {expected}",
            )
        if dtype is string:
            data = np.empty(self._checked_size(entry), np.uint8)
            self._fill(data, entry)
            try:
                strings, checksum = decode_strings(data.data, n_elements)
            except ChecksumError as error:
                raise self._in_data(entry, str(error)) from None
            self._check(entry, checksum)
            array: Array = np.array([*strings, None], object)[:-1].reshape(shape)
            return array
        self._checked_size(entry)
        array = np.empty(shape, dtype.np_dtype)
        self._check(entry, self._fill(array.reshape(-1).view(np.uint8), entry))
        is_big = self.header.endianness == Endianness.BIG
        return array.byteswap(inplace=True) if is_big else array

    def _checked_size(self, entry: BundleEntryProto) -> int:
        """Return the size of an entry, which its data file has."""
        if not 0 <= entry.shard_id < self.header.num_shards:
            raise self._in_data(entry, f"there are {self.header.num_shards} data files")
        _, file_size = self._file(entry.shard_id)
        if entry.offset < 0 or entry.offset + entry.size > file_size:
            raise self._in_data(
                entry,
                f"Read less bytes than requested: {entry.size} at {entry.offset}, and the file "
                f"has {file_size}",
            )
        size: int = entry.size
        return size

    def _fill(self, data: npt.NDArray[np.uint8], entry: BundleEntryProto) -> int:
        """Read the bytes of an entry; return their checksum, made while they are in cache."""
        descriptor, _ = self._file(entry.shard_id)
        checksum, position = 0, 0
        view = data.data
        while position < len(view):
            block = view[position : position + _BLOCK_SIZE]
            with naming(self.data_name(entry.shard_id)):
                n_read = os.preadv(descriptor, [block], entry.offset + position)
            if not n_read:
                raise self._in_data(entry, "Read less bytes than requested")
            checksum = crc32c(block[:n_read], checksum)
            position += n_read
        return checksum

    def _check(self, entry: BundleEntryProto, checksum: int) -> None:
        stored = unmask(entry.crc32c)
        if checksum != stored:
            raise self._in_data(
                entry,
                f"Checksum does not match: stored {stored} vs. calculated on the restored "
                f"bytes {checksum}",
            )

    def _in_data(self, entry: BundleEntryProto, reason: str) -> DataLossError:
        first = f"TensorBundle at {self.prefix} shard {entry.shard_id} ({entry.size} bytes): "
        file = f"The file: {self.data_name(entry.shard_id)}"
        return DataLossError(None, None, explain(first + reason, file))

    # --- files --------------------------------------------------------------------------------

    def _file(self, shard: int) -> tuple[int, int]:
        """Return a data file, opened for reading, and its size."""
        with self._lock:
            if shard not in self._files:
                name = self.data_name(shard)
                with naming(name):
                    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
                    self._files[shard] = descriptor, os.fstat(descriptor).st_size
            return self._files[shard]

    def close(self) -> None:
        """Close the data files."""
        _close(self._files)

    def __enter__(self) -> BundleReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _close(files: dict[Any, Any]) -> None:
    while files:
        os.close(files.popitem()[1][0])
