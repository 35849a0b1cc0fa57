"""An operation of a graph: what to compute, from what, and where it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from berth.callsite import Mark
from berth.dtypes import DType
from berth.graph.attr_names import exchanged_attrs
from berth.graph.default_session import session_for
from berth.graph.device_scopes import DeviceScope
from berth.graph.node_def import node_def
from berth.graph.tensor import SymbolicTensor
from berth.ops.opdef import Attrs, OpDef
from berth.ops.signature import ANYTHING
from berth.proto.framework import NodeDef
from berth.public import public

if TYPE_CHECKING:
    from berth.graph.graph import Graph


@public("Operation")
class Operation:
    """One node of a graph."""

    __slots__ = (
        "__weakref__",
        "attrs",
        "colocated_with",
        "control_inputs",
        "definition",
        "device",
        "expected",
        "gradient_type",
        "graph",
        "inputs",
        "name",
        "number",
        "outputs",
        "scopes",
        "where",
    )

    def __init__(
        self, graph: Graph, number: int, definition: OpDef, name: str, attrs: Attrs
    ) -> None:
        self.graph = graph
        self.number = number
        """Its position in the graph. Inputs come before the operations that take them."""
        self.definition = definition
        self.name = name
        self.attrs = attrs
        self.inputs: tuple[SymbolicTensor, ...] = ()
        self.control_inputs: tuple[Operation, ...] = ()
        """What must have run before it, though it takes nothing from it."""
        self.outputs: list[SymbolicTensor] = []
        self.device = ""
        """The requested device; empty if there is none."""
        self.scopes: tuple[DeviceScope, ...] = ()
        """The device scopes that had a say in that, innermost first."""
        self.colocated_with: tuple[str, ...] = ()
        """The names of the operations whose device it must share."""
        self.expected: Any = None
        """What `expect_device` demanded where it was made."""
        self.gradient_type: str | None = None
        """Whose gradient it has, where `Graph.gradient_override_map` gave it another."""
        self.where: Mark

    @property
    def type(self) -> str:
        """The name of the operation: ``MatMul``."""
        return self.definition.name

    @property
    def node_def(self) -> NodeDef:
        """The operation as a message: name, op, inputs, device and attributes."""
        return node_def(self)

    @property
    def main_type(self) -> DType | None:
        """The type of elements that decides which kernels fit."""
        dtype: DType | None = self.attrs.get("dtype")
        position = self.definition.type_position
        if dtype is None and position is not None and self.inputs:
            dtype = self.inputs[position].dtype.base_dtype
        return dtype

    def arguments(self) -> list[tuple[Any, tuple[SymbolicTensor, ...]]]:
        """Pair each argument of the definition with the tensors given for it."""
        declared = self.definition.arguments
        n_listed = len(self.inputs) - sum(not a.is_list for a in declared)
        pairs, position = [], 0
        for argument in declared:
            end = position + (n_listed if argument.is_list else 1)
            pairs.append((argument, self.inputs[position:end]))
            position = end
        return pairs

    def get_attr(self, name: str) -> Any:
        """Return an attribute; ValueError if there is none of that name."""
        attrs = self.all_attrs()
        if name not in attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        return attrs[name]

    def all_attrs(self) -> dict[str, Any]:
        """Return the attributes by TensorFlow's names, with the types that the inputs imply."""
        attrs = dict(self.attrs)
        types_of_any: list[DType] = []
        for argument, tensors in self.arguments():
            if argument.type == ANYTHING:
                types_of_any = [tensor.dtype.base_dtype for tensor in tensors]
                continue
            if isinstance(argument.type, str) and tensors:
                attrs[argument.type] = tensors[0].dtype.base_dtype
            if argument.is_list:
                attrs["N"] = len(tensors)
        if self.colocated_with:
            attrs["_class"] = [f"loc:@{name}".encode() for name in self.colocated_with]
        if self.gradient_type is not None:
            attrs["_gradient_op_type"] = self.gradient_type.encode()
        attrs = exchanged_attrs(self, attrs, types_of_any)
        return dict(sorted(attrs.items()))

    def colocation_groups(self) -> list[bytes]:
        """Name the groups whose device it shares; its own if there is no other."""
        names = self.colocated_with or (self.name,)
        return [f"loc:@{name}".encode() for name in names]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run this operation in a session, by default the default one."""
        session_for(self, session).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"
