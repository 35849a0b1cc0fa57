"""GraphDef and NodeDef: a graph and its operations as messages, which TensorFlow reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from berth.dtypes import DType
from berth.graph.exchanged_nodes import nodes_of
from berth.graph.tensor_proto import make_tensor_proto
from berth.ops.shape import Dims, TensorShape
from berth.proto.framework import AttrValue, GraphDef, NodeDef, TensorShapeProto

if TYPE_CHECKING:
    from berth.graph.operation import Operation

_UNWRITABLE = "placeholder"
PRODUCER = 2474
"""The version of GraphDefs that TensorFlow 2.21 writes."""


def graph_def(ops: Iterable[Operation]) -> GraphDef:
    """Describe operations in the order given, in TensorFlow's own operations."""
    graph = GraphDef(versions={"producer": PRODUCER})
    for op in ops:
        nodes = nodes_of(op, input_names(op))
        if nodes is None:
            fill_node_def(graph.node.add(), op)
            continue
        for name, kind, inputs, attrs in nodes:
            node = graph.node.add(name=name, op=kind, input=inputs, device=op.device)
            for key, value in attrs.items():
                _fill(node.attr[key], value)
    return graph


def node_def(op: Operation) -> NodeDef:
    """Describe one operation."""
    return fill_node_def(NodeDef(), op)


def fill_node_def(node: NodeDef, op: Operation) -> NodeDef:
    node.name, node.op, node.device = op.name, op.type, op.device
    node.input.extend(input_names(op))
    for name, value in op.all_attrs().items():
        _fill(node.attr[name], value)
    return node


def input_names(op: Operation) -> list[str]:
    """Name the inputs of a node; ``^`` marks those that it only waits for."""
    data = [t.op.name if t.value_index == 0 else t.name for t in op.inputs]
    return data + [f"^{control.name}" for control in op.control_inputs]


def attr_value(value: Any) -> AttrValue:
    """Return the value of an attribute as a message.

    >>> attr_value(2.5)
    f: 2.5
    <BLANKLINE>
    """
    attr = AttrValue()
    _fill(attr, value)
    return attr


def shape_proto(dims: Dims | None) -> TensorShapeProto:
    """Return a shape as a message; unknown sizes are -1."""
    if dims is None:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[{"size": -1 if size is None else size} for size in dims])


def _fill(attr: AttrValue, value: Any) -> None:
    if isinstance(value, list | tuple):
        items = [_written(item) for item in value]
        if any(field == _UNWRITABLE for field, _ in items):
            attr.placeholder = str(value)
            return
        attr.list.SetInParent()
        for field, written in items:
            getattr(attr.list, field).append(written)
        return
    field, written = _written(value)
    attr._fill({field: written})


def _written(value: Any) -> tuple[str, Any]:
    """Return the field of an AttrValue for a value, and what it holds."""
    for kind, (field, write) in _FIELDS.items():
        if isinstance(value, kind):
            return field, write(value)
    # What has no form outside of this process: the error of importing it names this.
    return _UNWRITABLE, str(value)


_FIELDS: dict[type, tuple[str, Callable[[Any], Any]]] = {
    bool: ("b", bool),
    int: ("i", int),
    float: ("f", float),
    str: ("s", str.encode),
    bytes: ("s", bytes),
    DType: ("type", lambda value: value.as_datatype_enum),
    TensorShape: ("shape", lambda value: shape_proto(value.dims_or_none)),
    np.ndarray: ("tensor", make_tensor_proto),
}
