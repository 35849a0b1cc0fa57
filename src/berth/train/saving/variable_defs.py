"""Variables as messages, and back: how the collections of a MetaGraphDef hold them."""

from __future__ import annotations

from berth.dtypes import resource
from berth.graph.graph import Graph
from berth.ops.opdef import variable_of
from berth.proto.meta_graph import SaveSliceInfoDef, VariableDef
from berth.variables.slice_info import SaveSliceInfo
from berth.variables.variable import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
)


def variable_def(variable: Variable) -> VariableDef:
    """Return the message that describes a variable of a graph."""
    part = variable._save_slice_info
    return VariableDef(
        variable_name=variable.handle.name,
        initial_value_name=variable.initial_value.name,
        initializer_name=variable.initializer.name,
        snapshot_name=variable._snapshot.name,
        is_resource=variable.handle.dtype is resource,
        trainable=variable.trainable,
        synchronization=variable.synchronization.value,
        aggregation=variable.aggregation.value,
        save_slice_info_def=None if part is None else SaveSliceInfoDef(**part._asdict()),
    )


def variable_from_def(graph: Graph, definition: VariableDef, scope: str = "") -> Variable:
    """Return the variable whose operations are in a graph, under the names of a message."""

    def tensor(name: str) -> object:
        return graph.get_tensor_by_name(f"{scope}{name}")

    variable = Variable.__new__(Variable)
    handle = graph.get_tensor_by_name(f"{scope}{definition.variable_name}")
    initializer = graph.get_operation_by_name(f"{scope}{definition.initializer_name}")
    initial = (
        tensor(definition.initial_value_name)
        if definition.initial_value_name
        else initializer.inputs[1]
    )
    variable.__dict__.update(
        graph=graph,
        synchronization=VariableSynchronization(definition.synchronization),
        aggregation=VariableAggregation(definition.aggregation),
        constraint=None,
        trainable=definition.trainable,
        initial_value=initial,
        initializer=initializer,
        _variable=handle,
        _snapshot=tensor(definition.snapshot_name),
        _is_resource=definition.is_resource,
        _caching_device=None,
        _shape=variable_of(handle).attrs["shape"],
        _save_slice_info=_slice_info(definition),
    )
    return variable


def _slice_info(definition: VariableDef) -> SaveSliceInfo | None:
    if not definition.HasField("save_slice_info_def"):
        return None
    part = definition.save_slice_info_def
    return SaveSliceInfo(
        part.full_name, list(part.full_shape), list(part.var_offset), list(part.var_shape)
    )
