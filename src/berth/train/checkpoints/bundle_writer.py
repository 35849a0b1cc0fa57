"""Writing a checkpoint: TensorFlow's tensor bundle, so that a kill at any moment leaves one.

A checkpoint is an ``.index`` file and its data files, whose names have their number:
``m.data-00000-of-00001``. The index says the number, so replacing it is the one step that makes
the new checkpoint valid. Where a checkpoint with as many data files is there already, a kill
between the replacement of its data and that of its index would leave neither. So the new data
files are placed under the names of one file more (``m.data-00000-of-00002``), the index is
replaced by one that says so, and only then are the old data files replaced by links to the new
ones, and the index by one with the right number.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from berth.crc32c import crc32c, mask
from berth.dtypes import as_dtype, string
from berth.errors import InvalidArgumentError, OpError
from berth.file_errors import naming
from berth.train.checkpoints.bundle_index import VERSION, BundleIndex, data_name, index_name
from berth.train.checkpoints.protos import BundleEntryProto, BundleHeaderProto
from berth.train.checkpoints.saved_tensor import SavedTensor, bounds_of, shape_proto
from berth.train.checkpoints.table import write_table
from berth.train.checkpoints.tensor_bytes import bytes_of, encode_strings
from berth.train.checkpoints.tensor_slice import slice_key
from berth.train.checkpoints.unfinished import (
    UnfinishedFile,
    folder_locked,
    folder_of,
    remove_abandoned,
    sync_folder,
    unfinished_name,
)

_WORTH_THREADS = 1 << 20

Entries = dict[bytes, BundleEntryProto]


def write_bundle(prefix: str, tensors: Sequence[SavedTensor]) -> None:
    """Save tensors as a checkpoint with one data file."""
    remove_abandoned(folder_of(prefix))
    with UnfinishedFile(data_name(prefix, 0, 1)) as data:
        entries = _write_data(data, tensors)
        data.finish()
        _replace(prefix, [data.place], entries)


def merge_bundles(prefixes: Sequence[str], prefix: str) -> None:
    """Make one checkpoint of several, whose data files become its own."""
    entries: Entries = {}
    places: list[Callable[[str], None]] = []
    for part in prefixes:
        index = BundleIndex(part)
        shards: dict[int, int] = {}
        for key in index.keys:
            entry = BundleEntryProto()
            entry.CopyFrom(index.entry(key))
            if entry.slices and key in entries:
                entries[key].slices.extend(entry.slices)
                continue
            if not entry.slices:
                shard = shards.setdefault(entry.shard_id, len(places) + len(shards))
                entry.shard_id = shard
            _add(entries, key, entry)
        places += [_placer(index.data_name(shard)) for shard in shards]
    _replace(prefix, places, entries)
    for part in prefixes:
        with suppress(OSError):
            os.unlink(index_name(part))


def data_files(prefix: str) -> list[str]:
    """Return the data files of that name, whatever their number."""
    return glob.glob(f"{glob.escape(prefix)}.data-?????-of-?????")


def _placer(source: str) -> Callable[[str], None]:
    def place(target: str) -> None:
        with naming(source):
            os.replace(source, target)

    return place


def _add(entries: Entries, key: bytes, entry: BundleEntryProto) -> None:
    if key in entries:
        text = key.decode(errors="replace")
        raise InvalidArgumentError(None, None, f"Adding duplicate key: {text}")
    entries[key] = entry


# --- data -----------------------------------------------------------------------------------


def _write_data(file: UnfinishedFile, tensors: Sequence[SavedTensor]) -> Entries:
    """Write the bytes of tensors; another thread computes their checksums meanwhile."""
    entries: Entries = {}
    checksums: list[tuple[BundleEntryProto, Future[int]]] = []
    offset = 0
    with ThreadPoolExecutor(1) as pool:
        for tensor in tensors:
            entry = _add_entry(entries, tensor)
            if as_dtype(tensor.array.dtype) is string:
                data: Any
                data, checksum = encode_strings(tensor.array)
                entry.crc32c = mask(checksum)
            else:
                data = bytes_of(tensor.array).data
                if len(data) > _WORTH_THREADS:
                    checksums.append((entry, pool.submit(crc32c, data)))
                else:
                    entry.crc32c = mask(crc32c(data))
            entry.offset, entry.size = offset, len(data)
            file.write(data)
            offset += len(data)
        for entry, future in checksums:
            entry.crc32c = mask(future.result())
    return entries


def _add_entry(entries: Entries, tensor: SavedTensor) -> BundleEntryProto:
    """Add the entry of a tensor; for a part, that of the whole tensor too."""
    name = tensor.name.encode(errors="surrogateescape")
    entry = _entry(tensor.array, tensor.array.shape)
    if tensor.part is None:
        _add(entries, name, entry)
        return entry
    bounds_of(tensor)
    shape, slice_ = tensor.part
    if name not in entries:
        _add(entries, name, _entry(tensor.array, shape))
    entries[name].slices.append(slice_.as_proto())
    _add(entries, slice_key(name, slice_), entry)
    return entry


def _entry(array: Any, shape: Sequence[int]) -> BundleEntryProto:
    entry = BundleEntryProto(dtype=as_dtype(array.dtype).as_datatype_enum)
    entry.shape.CopyFrom(shape_proto(shape))
    return entry


# --- replacing ------------------------------------------------------------------------------


def _replace(prefix: str, places: Sequence[Callable[[str], None]], entries: Entries) -> None:
    """Make data files and entries the checkpoint of that name; see above for the order."""
    n_shards = len(places)
    with folder_locked(folder_of(prefix)):
        is_double = _current_shards(prefix) == n_shards
        first = n_shards + 1 if is_double else n_shards
        with _index_file(prefix, first, entries) as index:
            for shard, place in enumerate(places):
                place(data_name(prefix, shard, first))
            index.place()
        if is_double:
            n_shards = _rename_by_links(prefix, n_shards, entries)
        kept = {data_name(prefix, shard, n_shards) for shard in range(n_shards)}
        for file in set(data_files(prefix)) - kept:
            with suppress(OSError):
                os.unlink(file)
        sync_folder(folder_of(prefix))


def _rename_by_links(prefix: str, n_shards: int, entries: Entries) -> int:
    """Give the data files their usual names; return the number in the names that they have."""
    try:
        with _index_file(prefix, n_shards, entries) as index:
            for shard in range(n_shards):
                target = data_name(prefix, shard, n_shards)
                link = unfinished_name(target)
                os.link(data_name(prefix, shard, n_shards + 1), link)
                os.replace(link, target)
            index.place()
    except OSError:  # a file system without links: all is well, under other names
        return n_shards + 1
    return n_shards


def _index_file(prefix: str, n_shards: int, entries: Entries) -> UnfinishedFile:
    """Return an index on the disk that has no name yet."""
    header = BundleHeaderProto(num_shards=n_shards, version={"producer": VERSION})
    table = {b"": header, **entries}
    items = ((key, table[key].SerializeToString()) for key in sorted(table))
    index = UnfinishedFile(index_name(prefix), is_locked=True)
    try:
        index.write(write_table(items))
        index.finish()
    except BaseException:
        index.__exit__()
        raise
    return index


def _current_shards(prefix: str) -> int | None:
    """Return the number of data files of the checkpoint that is replaced, if there is one."""
    try:
        n_shards: int = BundleIndex(prefix).header.num_shards
    except OpError:
        return None
    return n_shards
