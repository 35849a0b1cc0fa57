"""The graph of a saver: operations that save variables, and operations that restore them.

Names, inputs and devices are TensorFlow's, so a graph with a saver can be exchanged with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from berth.dtypes import resource
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.array import IDENTITY, reshape
from berth.ops.arrays.joining import stack
from berth.ops.arrays.placeholders import placeholder_with_default
from berth.ops.arrays.strings import string_join
from berth.ops.flow.control import group
from berth.ops.state.variables import ASSIGN, ASSIGN_HANDLE
from berth.proto.saver import SaverDef
from berth.train.saving.save_ops import (
    MERGE,
    RESTORE,
    SAVE,
    SAVE_SLICES,
    SHARDED_FILENAME,
    SHARDED_FILESPEC,
)
from berth.variables.assignment import beside
from berth.variables.variable import Variable

_CPU = "/device:CPU:0"


def build_saver(
    graph: Graph,
    variables: Mapping[str, Sequence[Variable]],
    *,
    filename: str | None,
    name: str | None,
    is_sharded: bool,
    is_reshaped: bool,
    version: int = SaverDef.V2,
) -> SaverDef:
    """Add the operations that save variables, or their parts, and restore them."""
    ordered = [(key, part) for key in sorted(variables) for part in variables[key]]
    with graph.as_default(), graph.name_scope(name or "save"):
        given: Any = placeholder_with_default(filename or "model", (), "filename")
        path: Any = placeholder_with_default(given, (), "Const")
        if is_sharded:
            shards = _by_device(ordered)
            save_sharded = _save_sharded if version == SaverDef.V2 else _save_sharded_v1
            saved = save_sharded(graph, path, shards)
            restores = []
            for device, shard in shards:
                with graph.device(device or None):
                    restores.append(_restore(graph, path, shard, "restore_shard", is_reshaped))
            restore: Any = group(*restores, name="restore_all")
        else:
            saved = _saved_path(graph, path, _save(graph, path, ordered, version))
            restore = _restore(graph, path, ordered, "restore_all", is_reshaped)
    return SaverDef(
        filename_tensor_name=path.name,
        save_tensor_name=saved.name,
        restore_op_name=restore.name,
        sharded=is_sharded,
        version=version,
    )


Named = Sequence[tuple[str, Variable]]


def _by_device(ordered: Named) -> list[tuple[str, Named]]:
    """Group variables by the device that was requested for them."""
    groups: dict[str, list[tuple[str, Variable]]] = {}
    for name, variable in ordered:
        groups.setdefault(variable.device, []).append((name, variable))
    return sorted(groups.items())


# --- saving -----------------------------------------------------------------------------------


def _save(
    graph: Graph, path: SymbolicTensor, ordered: Named, version: int = SaverDef.V2
) -> Operation:
    tensors = [variable.as_graph_element() for _, variable in ordered]
    inputs = (path, _names(ordered), _parts(ordered), *tensors)
    is_new = version == SaverDef.V2
    name = "SaveV2" if is_new else "save"
    op: Operation = graph.apply(SAVE if is_new else SAVE_SLICES, inputs, {}, name)
    return op


def _saved_path(graph: Graph, path: SymbolicTensor, save: Operation) -> SymbolicTensor:
    """Return the path again, after the checkpoint was saved there."""
    with graph.control_dependencies([save]), graph.colocate_with(path.op):
        saved: SymbolicTensor = graph.apply(IDENTITY, (path,), {}, "control_dependency")
    return saved


def _save_sharded(
    graph: Graph, path: SymbolicTensor, shards: Sequence[tuple[str, Named]]
) -> SymbolicTensor:
    """Save the variables of each device in a file of their own, and merge these."""
    with graph.device("/device:CPU:*"):
        base: Any = string_join([path, f"_temp_{secrets.token_hex(16)}/part"])
    count = graph.convert(np.int32(len(shards)), name="num_shards")
    prefixes, saved = [], []
    for number, (_, shard) in enumerate(shards):
        with graph.device(_CPU):
            inputs = (base, np.int32(number), count)
            prefix = graph.apply(SHARDED_FILENAME, inputs, {}, "ShardedFilename")
            prefixes.append(prefix)
            saved.append(_saved_path(graph, prefix, _save(graph, prefix, shard)))
    with graph.device(_CPU):
        with graph.control_dependencies(saved):
            packed = stack(prefixes, name="MergeV2Checkpoints/checkpoint_prefixes")
        attrs = {"allow_missing_files": False, "delete_old_dirs": True}
        merged = graph.apply(MERGE, (packed, path), attrs, "MergeV2Checkpoints")
        with graph.control_dependencies([*saved, merged]):
            result: SymbolicTensor = graph.apply(IDENTITY, (path,), {}, None)
    return result


def _save_sharded_v1(
    graph: Graph, path: SymbolicTensor, shards: Sequence[tuple[str, Named]]
) -> SymbolicTensor:
    """Save the variables of each device in a file of their own; return the files' pattern."""
    count = graph.convert(np.int32(len(shards)), name="num_shards")
    saved = []
    for number, (device, shard) in enumerate(shards):
        with graph.device(device or None):
            inputs = (path, np.int32(number), count)
            file = graph.apply(SHARDED_FILENAME, inputs, {}, "ShardedFilename")
            saved.append(_saved_path(graph, file, _save(graph, file, shard, SaverDef.V1)))
    with graph.control_dependencies(saved):
        result: SymbolicTensor = graph.apply(
            SHARDED_FILESPEC, (path, count), {}, "ShardedFilespec"
        )
    return result


# --- restoring --------------------------------------------------------------------------------


def _restore(
    graph: Graph, path: SymbolicTensor, ordered: Named, name: str, is_reshaped: bool
) -> Any:
    dtypes = [variable.dtype.base_dtype for _, variable in ordered]
    inputs = (path, _names(ordered), _parts(ordered))
    with graph.device(_CPU):
        restored = graph.apply(RESTORE, inputs, {"dtypes": dtypes}, "RestoreV2")
    tensors = restored if isinstance(restored, list) else [restored]
    assigned = [
        _assign(graph, variable, tensor, is_reshaped)
        for (_, variable), tensor in zip(ordered, tensors, strict=True)
    ]
    return group(*assigned, name=name)


def _assign(graph: Graph, variable: Variable, tensor: Any, is_reshaped: bool) -> Any:
    if is_reshaped:
        tensor = reshape(tensor, variable.shape.as_list())
    if variable.handle.dtype is not resource:
        return beside(variable.handle, ASSIGN, (tensor,), {}, None)
    with graph.device(variable.device or None):
        value = graph.apply(IDENTITY, (tensor,), {}, None)
    return graph.apply(ASSIGN_HANDLE, (variable.handle, value), {}, None)


def _names(ordered: Named) -> Any:
    return np.array([*(name.encode() for name, _ in ordered), None], object)[:-1]


def _parts(ordered: Named) -> Any:
    infos = [variable._save_slice_info for _, variable in ordered]
    return np.array([b"" if info is None else info.spec.encode() for info in infos], object)
