"""Operations of lookup tables: a handle for each kind, and what is done with one.

A table of a graph that sessions run is an object of the session (`berth.run.host_calls`). One
of an eager program belongs to the program, and functions get it by `ANONYMOUS_TABLE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.data.iterator_ops import Token
from berth.data.lookup_objects import (
    DenseTable,
    MutableTable,
    StaticTable,
    Table,
    read_entries,
)
from berth.data.optionals import on_host
from berth.data.queue_ops import handle_op, host_call_op, nothing
from berth.dtypes import ALL, int64
from berth.eager.scope import name_scope
from berth.eager.tensor import EagerTensor
from berth.front.context import context
from berth.graph.tensor import scalar_object
from berth.ops.builder import apply
from berth.ops.compose import convert, is_eager
from berth.ops.opdef import Attrs, OpDef, OutputType, Typed
from berth.run.host_calls import HostObjects

Inputs = Sequence[Any]


# --- handles --------------------------------------------------------------------------------


def _make_static(attrs: Attrs, name: str) -> Table:
    return StaticTable(attrs["key_dtype"], attrs["value_dtype"])


def _make_mutable(attrs: Attrs, name: str) -> Table:
    shape = tuple(attrs["value_shape"].dims)
    return MutableTable(attrs["key_dtype"], attrs["value_dtype"], shape)


def _make_dense(attrs: Attrs, name: str) -> Table:
    shape = tuple(attrs["value_shape"].dims)
    reserved = attrs["reserved"].thing
    return DenseTable(attrs["key_dtype"], attrs["value_dtype"], shape, reserved)


def _of_program(attrs: Attrs, name: str) -> Any:
    return attrs["table"].thing


HASH_TABLE = handle_op("HashTableV2", _make_static)
MUTABLE_HASH_TABLE = handle_op("MutableHashTableV2", _make_mutable)
MUTABLE_HASH_TABLE_OF_TENSORS = handle_op("MutableHashTableOfTensorsV2", _make_mutable)
MUTABLE_DENSE_HASH_TABLE = handle_op("MutableDenseHashTableV2", _make_dense)
ANONYMOUS_TABLE = handle_op("AnonymousHashTable", _of_program)


# --- what is done with them -----------------------------------------------------------------


def _find(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    table: Table = objects.of(inputs[0])
    return [table.find(inputs[1], inputs[2])]


def _size(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    return [np.array(objects.of(inputs[0]).size(), np.int64)]


def _export(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    exported: Sequence[Any] = objects.of(inputs[0]).export()
    return exported


def _import(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    table = objects.of(inputs[0])
    (table.fill if isinstance(table, StaticTable) else table.replace)(*inputs[1:])
    return ()


def _import_file(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    table, path = objects.of(inputs[0]), inputs[1][()].decode()
    table.fill_from_pairs(read_entries(table, path, attrs))
    return ()


def _insert(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    objects.of(inputs[0]).insert(*inputs[1:])
    return ()


def _remove(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    objects.of(inputs[0]).remove(inputs[1])
    return ()


def _found_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    keys, default = inputs[1], inputs[2]
    dims = None if keys.dims is None else (*keys.dims, *attrs["value_shape"].dims)
    return ((default.dtype.base_dtype, dims),)


def _size_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((int64, ()),)


def _exported_type(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    values = (None, *attrs["value_shape"].dims)
    return ((attrs["Tkeys"], (None,)), (attrs["Tvalues"], values))


_HANDLE, _TYPES = "table_handle:resource", {"Tin": ALL, "Tout": ALL}
FIND = host_call_op(
    "LookupTableFindV2",
    f"{_HANDLE} keys:Tin default_value:Tout",
    _find,
    _found_type,
    types=_TYPES,
)
SIZE = host_call_op("LookupTableSizeV2", _HANDLE, _size, _size_type)
EXPORT = host_call_op("LookupTableExportV2", _HANDLE, _export, _exported_type)
IMPORT = host_call_op(
    "LookupTableImportV2", f"{_HANDLE} keys:Tin values:Tout", _import, nothing, types=_TYPES
)
IMPORT_FILE = host_call_op(
    "InitializeTableFromTextFileV2", f"{_HANDLE} filename:string", _import_file, nothing
)
INSERT = host_call_op(
    "LookupTableInsertV2", f"{_HANDLE} keys:Tin values:Tout", _insert, nothing, types=_TYPES
)
REMOVE = host_call_op(
    "LookupTableRemoveV2", f"{_HANDLE} keys:Tin", _remove, nothing, types={"Tin": ALL}
)


# --- from eager programs and graphs ---------------------------------------------------------


_NO_SESSION = HostObjects()
"""For tables of the program, which their handles have themselves."""


class Handle:
    """A table as operations take it: of a graph, or of the program."""

    def __init__(self, op: OpDef, attrs: dict[str, Any], name: str | None) -> None:
        if is_eager():
            assert op.host_call is not None
            self.table: Table | None = op.host_call(attrs, name or op.name)
            self.tensor: Any = None
        else:
            self.table, self.tensor = None, apply(op, (), attrs, name)

    def value(self) -> Any:
        """Return the tensor that stands for the table in the current graph."""
        if self.table is None:
            return self.tensor
        if is_eager():
            return on_host(self.table)
        return apply(ANONYMOUS_TABLE, (), {"table": Token.of(self.table, "AnonymousHashTable")})

    def apply(
        self, op: OpDef, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None
    ) -> Any:
        """Apply an operation to the table: at once, in an eager program."""
        if self.table is None or not is_eager():
            with name_scope(name or op.name):
                return apply(op, (self.value(), *inputs), attrs, op.name)
        tensors = [convert(each) for each in inputs]
        arrays = [np.asarray(tensor.numpy()) for tensor in tensors]
        arrays = [a.astype(object) if a.dtype.kind in "SU" else a for a in arrays]
        assert op.host_call is not None
        outputs = op.host_call((scalar_object(self.table), *arrays), attrs, _NO_SESSION)
        kinds = op.infer((None, *tensors), attrs)
        host = context().opened()[0]
        made = [EagerTensor(a, host, kind[0]) for a, kind in zip(outputs, kinds, strict=True)]
        return made[0] if len(made) == 1 else made or None
