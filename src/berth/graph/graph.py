"""A graph: operations in the order they were made, and the scopes for the next ones.

Invariants:
  1. Operations are only ever added. ``ops[k].number == k``, and what an operation takes,
     or waits for, has a smaller number: the order of creation is a topological order.
  2. Names are unique.
  3. An operation that could not be made leaves no trace but the numbers in later names.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from itertools import chain
from operator import delitem
from typing import Any, cast

from berth.blocks import FunctionBlock, Use
from berth.callsite import mark_caller
from berth.graph.device_scopes import DeviceRequest, DeviceStack
from berth.graph.expect import current_expectation
from berth.graph.keys import GraphKeys
from berth.graph.lookup import Lookup
from berth.graph.names import Names
from berth.graph.node_def import graph_def
from berth.graph.operation import Operation
from berth.graph.recording import active_tapes, record, watch_variable
from berth.graph.scopes import Scopes
from berth.graph.tensor import SymbolicTensor
from berth.ops import builder
from berth.ops.builder import CompositeInput
from berth.ops.compose import as_tensor, stands_for_tensor
from berth.ops.convert import dtype_of, frozen, to_array
from berth.ops.opdef import Access, Attrs, GraphOps, OpDef
from berth.ops.signature import check_types, shape_error, wanted_types
from berth.ops.type_spec import CompositeTensor
from berth.proto.framework import GraphDef
from berth.public import public

_exhaust = deque[Any](maxlen=0).extend
"""Do what an iterator does."""


@public("Graph")
class Graph(Lookup):
    """A program's operations, before they are run."""

    tensor_type = SymbolicTensor
    is_function = False
    """Whether it is the graph of a function, whose operations run in program order."""
    outer: Graph | None = None
    """The enclosing graph, if this is a subgraph of one of its operations."""

    def __init__(self) -> None:
        super().__init__()
        self.names = Names()
        self.scopes = Scopes()
        """The blocks that are open, which new operations are made in."""
        self.seed: int | None = None
        self.has_expectations = False
        """Whether `expect_device` demanded something of any operation."""
        self.placement: Any = None
        """Where the session that last placed this graph put its operations."""
        self._collections: dict[str, list[Any]] = {}
        self.kept: dict[type, Any] = {}
        """What others keep with a graph: one object of a class."""
        self._not_fed: set[SymbolicTensor] = set()
        self._not_fetched: set[Operation] = set()
        self._is_finalized = False

    # --- making operations --------------------------------------------------------------

    def apply(self, op: OpDef, inputs: Sequence[Any], attrs: Attrs, name: str | None) -> Any:
        """Add an operation; return its output, its outputs, or itself if it has none.

        It goes to the graph of its inputs, whichever is the default.
        """
        graph = getattr(inputs[0], "graph", self) if inputs else self
        if graph is not self and isinstance(graph, Graph):
            return graph.apply(op, inputs, attrs, name)
        with self._lock:
            node = self._add(op, inputs, attrs, name)
        if active_tapes():
            self._record(node)
        outputs = node.outputs
        if len(outputs) == 1:
            return outputs[0]
        return list(outputs) or node

    def _record(self, node: Operation) -> None:
        """Record an operation on the tapes of this thread."""
        if node.definition.access is Access.READ:
            for variable in self.get_collection(GraphKeys.TRAINABLE_VARIABLES):
                if variable.handle is node.inputs[0]:
                    watch_variable(variable)
        record(node.definition, node.inputs, node.outputs, node.attrs, node.device)

    def _add(
        self, op: OpDef, inputs: Sequence[Any], attrs: Attrs, name: str | None
    ) -> Operation:
        if self._is_finalized:
            self._check_not_finalized()
        full_name = self.names.unique(name or op.name)
        if full_name in self.by_name:
            raise ValueError(f"Duplicate node name in graph: '{full_name}'")
        n_before = len(self.ops)
        try:
            tensors = self._tensors(op, inputs, full_name)
            if op.simple_type is None or not _is_simple(op.simple_type, tensors):
                check_types(op, tensors)
            try:
                types = op.infer_static(tensors, attrs)
            except ValueError as error:
                raise shape_error(error, op, full_name, tensors) from None
            node = Operation(self, len(self.ops), op, full_name, attrs)
            node.inputs = tensors
            self._apply_scopes(node)
        except BaseException:
            self._forget_after(n_before)
            raise
        node.number = len(self.ops)
        node.where = mark_caller()
        tensor_type = self.tensor_type
        node.outputs = [
            tensor_type(node, k, dtype, dims) for k, (dtype, dims) in enumerate(types)
        ]
        # From here on to the end of the call there is no moment for an interrupt.
        self.by_name[full_name] = node
        self.ops.append(node)
        return node

    def _tensors(
        self, op: OpDef, inputs: Sequence[Any], name: str
    ) -> tuple[SymbolicTensor, ...]:
        """Return the inputs as tensors of this graph, constants made of what is none."""
        for value in inputs:
            if type(value) is not self.tensor_type or value.op.graph is not self:
                break
        else:
            return tuple(inputs)
        known = [self._as_own(value) for value in inputs]
        types = wanted_types(op, known)
        return tuple(
            value
            if isinstance(value, SymbolicTensor)
            else self._convert(value, dtype, f"{name}/{arg}/")
            for value, (arg, dtype) in zip(known, types, strict=True)
        )

    def _as_own(self, value: Any) -> Any:
        """Return the tensor that a value stands for, or the value if it is none."""
        value = as_tensor(value)
        if hasattr(value, "place"):
            raise RuntimeError(
                "Attempting to capture an EagerTensor without building a function."
            )
        if isinstance(value, SymbolicTensor) and value.graph is not self:
            raise self._foreign(value)
        return value

    def _foreign(self, tensor: SymbolicTensor) -> ValueError:
        return ValueError(
            f"Tensor {tensor} must be from the same graph as the operations being built "
            f"({self}, and not {tensor.graph})."
        )

    def _convert(self, value: Any, dtype: Any, name: str) -> SymbolicTensor:
        if isinstance(value, CompositeTensor):
            raise CompositeInput(value)
        if isinstance(value, list | tuple) and _holds_tensors(value):
            with self.as_default():
                return cast(SymbolicTensor, GraphOps.pack(value, name=name))
        array = frozen(to_array(value, dtype))
        attrs = {"dtype": dtype_of(array), "value": array}
        return self._add(GraphOps.constant, (), attrs, name).outputs[0]

    def convert(self, value: Any, dtype: Any = None, name: str | None = None) -> SymbolicTensor:
        """Return a value as a tensor of this graph; tensors as they are."""
        value = self._as_own(value)
        if not isinstance(value, SymbolicTensor):
            with self._lock:
                return self._convert(value, dtype, name or "Const")
        if dtype is not None and not dtype.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value

    def _apply_scopes(self, node: Operation) -> None:
        scopes = self.scopes
        colocated = scopes.colocated
        node.scopes = scopes.devices.apply(node)
        if colocated:
            groups = {name.decode()[5:] for op in colocated for name in op.colocation_groups()}
            node.colocated_with = tuple(sorted(groups))
            for op in colocated:
                node.device = op.device or node.device
        if scopes.waits:
            taken = {tensor.op for tensor in node.inputs}
            waits = dict.fromkeys(scopes.waits.innermost)
            node.control_inputs = tuple(op for op in waits if op not in taken)
        node.gradient_type = scopes.overrides.of(node.type)
        if not self.is_function:  # of which the calls are held to what is expected
            node.expected = current_expectation()
        if node.expected is not None:
            self.has_expectations = True

    def _forget_after(self, n_ops: int) -> None:
        gone = [op.name for op in self.ops[n_ops:]]
        # By one C call: an interrupt comes before or after all of it.
        whole = [slice(n_ops, None)]
        _exhaust(chain(map(self.by_name.pop, gone), map(delitem, [self.ops], whole)))

    # --- scopes ---------------------------------------------------------------------------

    def here(self) -> Graph:
        """Return the graph that is being built: a subgraph of this one, or itself."""
        entered = inner = builder.entered()
        while isinstance(inner, Graph):
            if inner is self:
                assert isinstance(entered, Graph)
                return entered
            inner = inner.outer
        return self

    @property
    def outermost(self) -> Graph:
        """The outermost enclosing graph; itself, if it is no subgraph."""
        return self if self.outer is None else self.outer.outermost

    def as_default(self) -> FunctionBlock[Graph]:
        """Make this the default graph inside the block."""
        return FunctionBlock(self._begin_default)

    def _begin_default(self, use: Use) -> Graph:
        builder.enter(use, self)
        return self

    def name_scope(self, name: str | None) -> FunctionBlock[str]:
        """Prefix the names of the block's operations with a scope."""
        return FunctionBlock(self.names.enter, name)

    @property
    def devices(self) -> DeviceStack:
        """The device scopes that apply: those inside of the innermost colocation."""
        return self.scopes.devices

    def device(self, device: DeviceRequest) -> FunctionBlock[None]:
        """Request a device for the block's operations."""
        return FunctionBlock(self._begin_device, device)

    def _begin_device(self, use: Use, device: DeviceRequest) -> None:
        self.devices.enter(use, device)

    def has_choice(self) -> bool:
        """Tell whether there may be several devices: not known before a session opens them."""
        return True

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> FunctionBlock[None]:
        """Colocate the block's operations with another; outer device scopes do not apply."""
        return FunctionBlock(self._begin_beside, op, ignore_existing)

    def _begin_beside(self, use: Use, op: Any, ignore_existing: bool) -> None:
        if op is None and not ignore_existing:
            raise ValueError(
                "Trying to reset colocation (op is None) but ignore_existing is not True"
            )
        before = () if ignore_existing else self.scopes.colocated
        target = () if op is None else (self._operation_of(op),)
        use.set(self.scopes.beside, ((*before, *target), DeviceStack()))

    def control_dependencies(self, control_inputs: Any) -> FunctionBlock[None]:
        """Add control dependencies to the block's operations; None removes the outer ones."""
        return FunctionBlock(self._begin_waiting, control_inputs)

    def _begin_waiting(self, use: Use, control_inputs: Any) -> None:
        open_waits = self.scopes.waits
        if control_inputs is None:
            use.set(open_waits, ())
        else:
            before = open_waits.innermost if open_waits else ()
            waits = [self._operation_of(item) for item in control_inputs]
            use.set(open_waits, (*before, *waits))

    def gradient_override_map(self, op_type_map: dict[str, str]) -> FunctionBlock[None]:
        """Give the block's operations, by type, the gradients registered for other types."""
        return FunctionBlock(self.scopes.overrides.enter, op_type_map)

    # --- the rest ---------------------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return a name that no operation has."""
        return self.names.unique(name) if mark_as_used else self.names.probe(name)

    def get_name_scope(self) -> str:
        """Return the names of the open scopes."""
        return self.names.scope

    def add_to_collection(self, name: str, value: Any) -> None:
        """Add a value to a collection."""
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Add a value to collections."""
        for name in dict.fromkeys([names] if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """Return the values of a collection; with a scope, those whose names match it."""
        values = self._collections.get(name, [])
        return [v for v in values if not scope or re.match(scope, _name_of(v))]

    def get_collection_ref(self, name: str) -> list[Any]:
        """Return the list of a collection itself, not a copy."""
        return self._collections.setdefault(name, [])

    def clear_collection(self, name: str) -> None:
        """Remove all values of a collection."""
        self._check_not_finalized()
        self._collections.pop(name, None)

    def get_all_collection_keys(self) -> list[str]:
        """Return the names of the collections that are not empty."""
        return [name for name, values in self._collections.items() if values]

    def prevent_feeding(self, tensor: Any) -> None:
        """Allow no run to be fed a value for a tensor."""
        self._not_fed.add(tensor)

    def is_feedable(self, tensor: Any) -> bool:
        """Tell whether a run may be fed a value for a tensor."""
        return tensor not in self._not_fed

    def prevent_fetching(self, op: Any) -> None:
        """Allow no run to fetch an operation, or what it computes."""
        self._not_fetched.add(op)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Tell whether a run may fetch a tensor or operation."""
        return getattr(tensor_or_op, "op", tensor_or_op) not in self._not_fetched

    def as_graph_def(self) -> GraphDef:
        """Return the graph as a GraphDef."""
        return graph_def(self.ops)

    @property
    def version(self) -> int:
        """How many operations there are: a number that grows with each."""
        return len(self.ops)

    @property
    def finalized(self) -> bool:
        return self._is_finalized

    def finalize(self) -> None:
        """Allow no further operations."""
        self._is_finalized = True

    def _unsafe_unfinalize(self) -> None:
        """Allow operations again: TensorFlow's own name, for when a training session ends."""
        self._is_finalized = False

    def _check_not_finalized(self) -> None:
        if self._is_finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")


def _is_simple(allowed: frozenset[Any], tensors: tuple[SymbolicTensor, ...]) -> bool:
    """Tell quickly whether all inputs are of one allowed type, as nearly always."""
    first = tensors[0].dtype
    for tensor in tensors:
        if tensor.dtype is not first:
            return False
    return first in allowed


def _holds_tensors(values: Any) -> bool:
    return any(
        isinstance(v, SymbolicTensor)
        or stands_for_tensor(v)
        or (isinstance(v, list | tuple) and _holds_tensors(v))
        for v in values
    )


def _name_of(value: Any) -> str:
    return str(getattr(value, "name", ""))
