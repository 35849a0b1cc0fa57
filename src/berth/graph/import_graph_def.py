"""`tf.import_graph_def`: adds the nodes of a GraphDef to the default graph."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from berth.dtypes import DType, as_dtype
from berth.errors import NotFoundError, UnimplementedError, did_you_mean
from berth.graph.attr_defaults import DEFAULTS
from berth.graph.attr_names import own_attrs
from berth.graph.default_graph import get_default_graph
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.graph.tensor_proto import make_ndarray
from berth.ops.convert import frozen
from berth.ops.everything import load_all_ops
from berth.ops.imported import IMPORTED
from berth.ops.opdef import CATALOGUE, OpDef
from berth.ops.shape import TensorShape
from berth.proto.framework import AttrValue, GraphDef, NodeDef, TensorShapeProto
from berth.public import public_v1

_COLOCATED = "loc:@"


@public_v1("import_graph_def")
def import_graph_def(
    graph_def: GraphDef,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Add the nodes of a GraphDef to the default graph, under a name scope.

    `input_map` gives tensors in place of some of its own, by name; `return_elements` names
    operations and tensors to return.
    """
    if not isinstance(graph_def, GraphDef):
        raise TypeError("Argument `graph_def` must be a GraphDef proto.")
    if input_map is not None and not isinstance(input_map, Mapping):
        raise TypeError(
            f"Argument `input_map` must be a dictionary. Obtained {type(input_map).__name__}"
        )
    graph = get_default_graph()
    with graph.name_scope("import" if name is None else name) as scope:
        importer = _Importer(graph, scope, input_map or {})
        importer.add(graph_def)
    importer.check_mapped()
    if return_elements is None:
        return None
    return [importer.element(element) for element in return_elements]


class _Importer:
    """The nodes of one GraphDef on their way into a graph."""

    def __init__(self, graph: Graph, scope: str, input_map: Mapping[str, Any]) -> None:
        self._graph = graph
        self._scope = scope
        self._ops: dict[str, Operation] = {}
        self._map = {self._key(key): value for key, value in input_map.items()}
        self._used: set[str] = set()

    @staticmethod
    def _key(name: str) -> str:
        return name if ":" in name or name.startswith("^") else f"{name}:0"

    def add(self, graph_def: GraphDef) -> None:
        """Add all nodes, or none if one cannot be added."""
        n_before = len(self._graph.ops)
        try:
            for node in _in_order(graph_def):
                self._ops[node.name] = self._add(node)
        except BaseException:
            self._graph._forget_after(n_before)
            raise

    def check_mapped(self) -> None:
        """Raise ValueError for mapped inputs that no node has."""
        known = {f"{op}:{k}" for op in self._ops for k in range(len(self._ops[op].outputs))}
        known |= {f"^{op}" for op in self._ops}
        unknown = [key for key in self._map if key not in self._used and key not in known]
        if unknown:
            listed = ", ".join(unknown)
            raise ValueError(
                f"Attempted to map inputs that were not found in graph_def: [{listed}]"
            )

    def element(self, name: str) -> Any:
        """Return the operation or tensor that was imported under a name."""
        op_name, _, position = name.partition(":")
        if op_name not in self._ops:
            raise ValueError(f"Requested return node '{op_name}' not found in graph def")
        op = self._ops[op_name]
        if not position:
            return op
        if not position.isdigit() or int(position) >= len(op.outputs):
            raise ValueError(
                f"Invalid return output {position} of node '{op_name}', which has "
                f"{len(op.outputs)} output(s)"
            )
        return op.outputs[int(position)]

    def _add(self, node: NodeDef) -> Operation:
        data = [name for name in node.input if not name.startswith("^")]
        inputs = [self._input(node, name) for name in data]
        full_name = f"{self._scope}{node.name}"
        if full_name in self._graph.by_name:
            full_name = self._graph.unique_name(node.name)
        if node.op not in CATALOGUE and node.op not in IMPORTED:
            load_all_ops()
        if node.op in IMPORTED:
            op = self._compose(node, inputs, full_name)
        else:
            op = self._apply(node, inputs, full_name)
        self._finish(op, node)
        return op

    def _compose(self, node: NodeDef, inputs: list[Any], full_name: str) -> Operation:
        """Add the operations that stand for a node."""
        attrs = {name: attr_of(value) for name, value in node.attr.items()}
        IMPORTED[node.op](inputs, attrs, full_name)
        return self._graph.by_name[full_name]

    def _apply(self, node: NodeDef, inputs: list[Any], full_name: str) -> Operation:
        definition = _definition(node)
        attrs = _attrs(node, definition)
        self._check_types(node, definition, inputs)
        n_before = len(self._graph.ops)
        try:
            self._graph.apply(definition, inputs, attrs, f"{full_name}/")
        except KeyError as error:  # of an attribute
            raise ValueError(
                f"NodeDef missing attr {error} from Op<name={node.op}>; NodeDef: "
                f"{{{{node {full_name}}}}}"
            ) from None
        return self._graph.ops[n_before]

    def _finish(self, op: Operation, node: NodeDef) -> None:
        """Give a node its device, its colocation, its gradient, and what it waits for."""
        if node.device:
            op.device = node.device
        if "_gradient_op_type" in node.attr:
            op.gradient_type = node.attr["_gradient_op_type"].s.decode(errors="replace")
        if "_class" in node.attr:
            groups = [
                name.decode(errors="replace").removeprefix(_COLOCATED)
                for name in node.attr["_class"].list.s
            ]
            own = [f"{self._scope}{name}" for name in groups if name != node.name]
            op.colocated_with = (*op.colocated_with, *own)
        waits = [self._control(name[1:]) for name in node.input if name.startswith("^")]
        op.control_inputs = tuple(dict.fromkeys((*op.control_inputs, *waits)))

    def _control(self, name: str) -> Operation:
        mapped = self._map.get(f"^{name}")
        if mapped is None:
            return self._ops[name]
        self._used.add(f"^{name}")
        op: Operation = getattr(mapped, "op", mapped)
        return op

    def _input(self, node: NodeDef, name: str) -> Any:
        key = self._key(name)
        if key in self._map:
            self._used.add(key)
            value = self._map[key]
            if not isinstance(value, SymbolicTensor):
                value = self._map[key] = self._graph.convert(value)
            return value
        op_name, _, position = key.partition(":")
        outputs = self._ops[op_name].outputs
        if not position.isdigit() or int(position) >= len(outputs):
            raise ValueError(
                f"Node '{node.name}': Connecting to invalid output {position} of source node "
                f"{op_name} which has {len(outputs)} outputs."
            )
        return outputs[int(position)]

    def _check_types(self, node: NodeDef, definition: OpDef, inputs: Sequence[Any]) -> None:
        """Raise ValueError for inputs, mapped ones mostly, of another type than the node's."""
        given = own_attrs(node.op, dict(node.attr.items()))
        if any(argument.is_list for argument in definition.arguments):
            return
        if len(inputs) != len(definition.arguments):
            raise ValueError(
                f"NodeDef expected inputs '{len(definition.arguments)}' do not match "
                f"{len(inputs)} inputs specified; Op<name={node.op}>; NodeDef: "
                f"{{{{node {node.name}}}}}"
            )
        for position, argument in enumerate(definition.arguments):
            attr = given.get(argument.type) if isinstance(argument.type, str) else None
            wanted = argument.type if attr is None else _dtype(attr.type)
            held = inputs[position].dtype.base_dtype
            if isinstance(wanted, DType) and held is not wanted.base_dtype:
                raise ValueError(
                    f"Input {position} of node {self._scope}{node.name} was passed "
                    f"{held.type_string} from {inputs[position].name} incompatible with "
                    f"expected {wanted.type_string}."
                )


def _definition(node: NodeDef) -> OpDef:
    found = CATALOGUE.get(node.op)
    if found is None:
        near = did_you_mean(node.op, CATALOGUE)
        raise NotFoundError(
            None,
            None,
            f"Op type not registered '{node.op}' in binary running on {platform.node()}. Make "
            "sure the Op and Kernel are registered in the binary running in this process.\n"
            f"  berth has no such operation, for the node '{node.name}'. {near}".rstrip(),
        )
    return found


def _in_order(graph_def: GraphDef) -> Iterator[NodeDef]:
    """Yield the nodes so that each comes after those it takes something from, or waits for."""
    nodes = {node.name: node for node in graph_def.node}
    if len(nodes) < len(graph_def.node):
        raise ValueError("Duplicate names in graph_def")
    done: set[str] = set()
    for start, first in nodes.items():
        path, open_ = [(start, iter(_sources(first)))], {start}
        while path and start not in done:
            name, sources = path[-1]
            source = next((s for s in sources if s not in done), None)
            if source is None:
                path.pop()
                open_.discard(name)
                done.add(name)
                yield nodes[name]
                continue
            if source not in nodes:
                raise ValueError(f"Node '{name}': Unknown input node '{source}'")
            if source in open_:
                raise ValueError(f"{len(open_)} nodes in a cycle")
            open_.add(source)
            path.append((source, iter(_sources(nodes[source]))))


def _sources(node: NodeDef) -> list[str]:
    return [name.removeprefix("^").partition(":")[0] for name in node.input]


# --- attributes -------------------------------------------------------------------------------


def _attrs(node: NodeDef, definition: OpDef) -> dict[str, Any]:
    """Return the attributes of a node, without those that its inputs imply."""
    for name, value in node.attr.items():
        if value.WhichOneof("value") in ("placeholder", "func"):
            raise UnimplementedError(
                None,
                None,
                f"Node '{node.name}': the attribute '{name}' of {node.op} cannot be imported: "
                "graphs within operations (tf.cond, tf.while_loop, functions) and Python's "
                "functions stay in the process that made them.",
            )
    values = {
        name: attr_of(value)
        for name, value in node.attr.items()
        if not name.startswith("_") and value.WhichOneof("value") is not None
    }
    implied = {argument.type for argument in definition.arguments}
    if any(argument.is_list for argument in definition.arguments):
        implied.add("N")
    known = {**DEFAULTS.get(node.op, {}), **own_attrs(node.op, values)}
    return {name: value for name, value in known.items() if name not in implied}


def attr_of(value: AttrValue) -> Any:
    """Return the value of an attribute: the opposite of `node_def.attr_value`."""
    kind = value.WhichOneof("value")
    if kind == "list":
        fields = value.list.ListFields()
        return [_READERS[field.name](item) for field, items in fields for item in items]
    return None if kind is None else _READERS[kind](getattr(value, kind))


def _shape(proto: TensorShapeProto) -> TensorShape:
    if proto.unknown_rank:
        return TensorShape(None)
    return TensorShape([None if dim.size < 0 else dim.size for dim in proto.dim])


def _dtype(number: int) -> DType:
    try:
        return as_dtype(number)
    except TypeError:
        raise ValueError(f"{number} is not the number of a type") from None


def _text(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


_READERS: dict[str, Any] = {
    "s": _text,
    "i": int,
    "f": float,
    "b": bool,
    "type": _dtype,
    "shape": _shape,
    "tensor": lambda proto: frozen(make_ndarray(proto)),
}
