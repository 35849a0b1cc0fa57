"""The operations of savers: SaveV2, RestoreV2, MergeV2Checkpoints, ShardedFilename.

They run on the CPU. Tensors of other devices are copied there before they are saved, and from
there when they are assigned.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from berth.dtypes import bool_, string
from berth.errors import InvalidArgumentError, OpError, explain
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    host_only,
)
from berth.train.checkpoints.bundle_writer import merge_bundles, write_bundle
from berth.train.checkpoints.open_checkpoint import StoredTensors, open_checkpoint
from berth.train.checkpoints.saved_tensor import SavedTensor
from berth.train.checkpoints.slice_files import write_slice_file
from berth.train.checkpoints.tensor_slice import ShapeAndSlice
from berth.train.checkpoints.unfinished import folder_of

# --- saving -----------------------------------------------------------------------------------


def _nothing(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ()


def _bind_save(launch: Launch) -> Call:
    return _save, (write_bundle, *launch.inputs)


def _save(
    write: Callable[[str, Sequence[SavedTensor]], None],
    prefix: Any,
    names: Any,
    parts: Any,
    *arrays: Any,
) -> None:
    path = _text(prefix)
    with suppress(FileExistsError, FileNotFoundError):
        os.mkdir(folder_of(path))
    described = zip(names.tolist(), parts.tolist(), arrays, strict=True)
    write(
        path,
        [
            SavedTensor(name.decode(), np.asarray(array), ShapeAndSlice.parse(part.decode()))
            for name, part, array in described
        ],
    )


def _bind_save_slices(launch: Launch) -> Call:
    return _save, (write_slice_file, *launch.inputs)


SAVE = OpDef(
    "SaveV2",
    "prefix:string tensor_names:string shape_and_slices:string tensors:Any*",
    _nothing,
    kernels=host_only(_bind_save),
    is_stateful=True,
    gradient=NOT_DIFFERENTIABLE,
)


SAVE_SLICES = OpDef(
    "SaveSlices",
    "filename:string tensor_names:string shapes_and_slices:string data:Any*",
    _nothing,
    kernels=host_only(_bind_save_slices),
    is_stateful=True,
    gradient=NOT_DIFFERENTIABLE,
)
"""Saves a checkpoint of the first version, or a shard of it, as a file."""


def _filename_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((string, ()),)


def _bind_filename(launch: Launch) -> Call:
    return _write_filename, (*launch.inputs, launch.outputs[0])


def _write_filename(basename: Any, shard: Any, num_shards: Any, out: Any) -> None:
    out[...] = b"%b-%05d-of-%05d" % (basename[()], int(shard), int(num_shards))


SHARDED_FILENAME = OpDef(
    "ShardedFilename",
    "basename:string shard:int32 num_shards:int32",
    _filename_type,
    kernels=host_only(_bind_filename),
    gradient=NOT_DIFFERENTIABLE,
)


def _bind_filespec(launch: Launch) -> Call:
    return _write_filespec, (*launch.inputs, launch.outputs[0])


def _write_filespec(basename: Any, num_shards: Any, out: Any) -> None:
    out[...] = b"%b-?????-of-%05d" % (basename[()], int(num_shards))


SHARDED_FILESPEC = OpDef(
    "ShardedFilespec",
    "basename:string num_shards:int32",
    _filename_type,
    kernels=host_only(_bind_filespec),
    gradient=NOT_DIFFERENTIABLE,
)
"""The pattern of the files of a sharded checkpoint of the first version."""


def _match_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((bool_, inputs[0].dims),)


def _bind_match(launch: Launch) -> Call:
    pattern = re.compile(launch.attrs["pattern"].encode())
    return _write_matches, (pattern, launch.inputs[0], launch.outputs[0])


def _write_matches(pattern: re.Pattern[bytes], texts: Any, out: Any) -> None:
    flat = out.reshape(-1)
    for position, text in enumerate(texts.reshape(-1).tolist()):
        flat[position] = pattern.fullmatch(text) is not None


FULL_MATCH = OpDef(
    "StaticRegexFullMatch",
    "input:string",
    _match_type,
    kernels=host_only(_bind_match),
    gradient=NOT_DIFFERENTIABLE,
)
"""How TensorFlow's sharded savers tell storage in a cloud, which has no folders."""


def _bind_merge(launch: Launch) -> Call:
    return _merge, (*launch.inputs, launch.attrs["delete_old_dirs"])


def _merge(prefixes: Any, destination: Any, delete_old_dirs: bool) -> None:
    parts = [prefix.decode() for prefix in prefixes.reshape(-1).tolist()]
    merge_bundles(parts, _text(destination))
    if delete_old_dirs:
        for folder in {folder_of(part) for part in parts} - {folder_of(_text(destination))}:
            with suppress(OSError):  # something else is in it
                os.rmdir(folder)


MERGE = OpDef(
    "MergeV2Checkpoints",
    "checkpoint_prefixes:string destination_prefix:string",
    _nothing,
    kernels=host_only(_bind_merge),
    is_stateful=True,
    gradient=NOT_DIFFERENTIABLE,
)

# --- restoring --------------------------------------------------------------------------------


def _restored_types(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return tuple((dtype, None) for dtype in attrs["dtypes"])


def _restore(inputs: Sequence[Any], attrs: Attrs) -> list[Any]:
    prefix, names, parts = inputs
    path, tensors = _text(prefix), [name.decode() for name in names.tolist()]
    with open_checkpoint(path) as reader:
        problems = problems_of(reader, tensors, attrs["dtypes"])
        if problems:
            raise one_of_all(problems)
        wanted = [
            (name, ShapeAndSlice.parse(part.decode()))
            for name, part in zip(tensors, parts.tolist(), strict=True)
        ]
        return list(reader.read_all(wanted))


def problems_of(
    index: StoredTensors, names: Sequence[str], dtypes: Sequence[Any]
) -> list[OpError]:
    """Return an error for each tensor that is missing in a checkpoint, or of another type."""
    problems: list[OpError] = []
    for name, dtype in zip(names, dtypes, strict=True):
        if name not in index:
            problems.append(index.missing(name))
        elif index.dtype(name) is not dtype.base_dtype:
            problems.append(
                InvalidArgumentError(
                    None,
                    None,
                    f"tensor_name = {name}; expected dtype {dtype.base_dtype.type_string} does "
                    f"not equal original dtype {index.dtype(name).type_string}",
                )
            )
    return problems


def one_of_all(problems: Sequence[OpError]) -> OpError:
    """Return the first of several errors, with the others below."""
    first, *others = problems
    return type(first)(None, None, explain(first.message, *(each.message for each in others)))


def _copy_restored(launch: Launch) -> Call:
    return _write_restored, (tuple(launch.inputs), launch.attrs, tuple(launch.outputs))


def _write_restored(inputs: Sequence[Any], attrs: Attrs, outputs: Sequence[Any]) -> None:
    for array, out in zip(_restore(inputs, attrs), outputs, strict=True):
        out[...] = array


RESTORE = OpDef(
    "RestoreV2",
    "prefix:string tensor_names:string shape_and_slices:string",
    _restored_types,
    is_stateful=True,
    perform=_restore,
    kernels=host_only(_copy_restored),
    gradient=NOT_DIFFERENTIABLE,
)


def _text(value: Any) -> str:
    return os.fsdecode(value[()])
