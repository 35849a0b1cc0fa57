"""FuncGraph: the graph of a traced function or subgraph, which may capture outer tensors.

A tensor from outside is *captured*: inside it is a placeholder, which every call feeds. A
variable from outside is a handle inside. Operations with effects run in the order in which
they were written, and all of them run, whether or not something comes of them.

Invariants, beside a graph's:
  1. ``inputs`` are placeholders: of the arguments first, of the captures behind.
  2. A variable is written after all earlier operations that read or write it, and
     read after the last such write. Other effects follow each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from berth.dtypes import resource
from berth.errors import OperatorNotAllowedInGraphError
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.graph.recording import active_tapes, record, watch_variable
from berth.graph.tensor import SymbolicTensor
from berth.ops.compose import as_tensor, is_tensor
from berth.ops.opdef import Access, Attrs, GraphOps, OpDef, Source, variable_of
from berth.ops.operators import ValueOperators
from berth.ops.shape import TensorShape

_WRITES = (Access.ASSIGN, Access.UPDATE)


class FuncTensor(SymbolicTensor):
    """A tensor of a traced function: compared element by element."""

    __slots__ = ("assign",)  # of a slice of a variable, and there only
    __eq__ = ValueOperators.__eq__
    __ne__ = ValueOperators.__ne__
    __hash__ = SymbolicTensor.__hash__

    def __bool__(self) -> NoReturn:
        raise _no_value_yet(self, "bool", "tf.cond, tf.while_loop or tf.where")

    def __len__(self) -> int:
        if self.dims and self.dims[0] is not None:
            return self.dims[0]
        raise _no_value_yet(self, "length", "tf.shape")

    def __iter__(self) -> Iterator[Any]:
        if self.dims and self.dims[0] is not None:
            return (self[position] for position in range(self.dims[0]))
        raise _no_value_yet(self, "sequence", "tf.while_loop or tf.map_fn")

    @property
    def numpy(self) -> NoReturn:
        """Fail: there is no value while a function is traced."""
        raise AttributeError(
            "numpy() is only available when eager execution is enabled: inside of a "
            f"tf.function, {self.name} has no value yet. Return it, or use tf.print or "
            "tf.numpy_function."
        )

    def __array__(self, *options: Any, **more: Any) -> NoReturn:
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. This error "
            "may indicate that you're trying to pass a Tensor to a NumPy call, which is not "
            "supported."
        )


def _no_value_yet(tensor: SymbolicTensor, wanted: str, instead: str) -> Exception:
    return OperatorNotAllowedInGraphError(
        f"Using a symbolic `tf.Tensor` as a Python `{wanted}` is not allowed: {tensor.name} "
        f"has no value while a tf.function is traced, at {tensor.op.where.place}. Use "
        f"{instead} for what depends on it, or call the code outside of tf.function."
    )


def is_variable(tensor: Any) -> bool:
    """Tell whether a tensor stands for a variable, and not for a value.

    The handle of a queue or another object of a session is a value.
    """
    if tensor.dtype is not resource:
        return bool(tensor.dtype.is_ref)
    op = tensor.op if isinstance(tensor, SymbolicTensor) else None
    while op is not None and op.inputs and not op.definition.is_source:
        if op.definition.host_call is not None:  # an object of the session, made of values
            return False
        op = op.inputs[0].op
    return op is None or op.definition.source is Source.VARIABLE


def _is_handle(tensor: Any) -> bool:
    return tensor.dtype is resource and is_variable(tensor)


def variable_behind(outer: Any) -> Any:
    """Return the variable that a handle stands for, through the functions in between.

    One of a graph that sessions run is known by the tensor that its operation gives.
    """
    while isinstance(outer, SymbolicTensor):
        made = variable_of(outer)
        if not isinstance(made.graph, FuncGraph):
            variable: SymbolicTensor = made.outputs[0]
            return variable
        outer = made.graph.handles[made]
    return outer


class FuncGraph(Graph):
    """A graph that may capture tensors and variables of outer graphs."""

    tensor_type = FuncTensor
    is_function = True

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.inputs: list[SymbolicTensor] = []
        """The placeholders of the arguments."""
        self.captures: list[tuple[Any, SymbolicTensor]] = []
        """What is taken from outside, each with its placeholder."""
        self.handles: dict[Operation, Any] = {}
        """The variables that are used, by the operation that stands for each here."""
        self.effects: list[Operation] = []
        """The operations that have to run whatever is asked for."""
        self._inner: dict[int, SymbolicTensor] = {}
        self._last_write: dict[Operation, Operation] = {}
        self._reads: dict[Operation, list[Operation]] = {}

    def add_input(self, dtype: Any, dims: Any, name: str) -> SymbolicTensor:
        """Add an argument; return the tensor that it is inside."""
        placeholder = self._placeholder(dtype, dims, name)
        self.inputs.append(placeholder)
        return placeholder

    def _placeholder(self, dtype: Any, dims: Any, name: str) -> SymbolicTensor:
        attrs = {"dtype": dtype, "shape": TensorShape(dims)}
        return self._add_apart(GraphOps.placeholder, attrs, name)

    def _add_apart(self, op: OpDef, attrs: Attrs, name: str) -> SymbolicTensor:
        """Add an operation that none of the open scopes is about."""
        with self.control_dependencies(None), self.device(None), self.name_scope(None):
            return self._add(op, (), attrs, name).outputs[0]

    # --- what comes from outside ----------------------------------------------------------

    def _as_own(self, value: Any) -> Any:
        value = as_tensor(value)
        if is_tensor(value) and getattr(value, "graph", None) is not self:
            return self.capture(value)
        return value

    def capture(self, outer: Any) -> SymbolicTensor:
        """Return the tensor that stands here for one from outside."""
        inner = self._inner.get(id(outer))
        if inner is None or inner.op.name not in self.by_name:
            inner = self._inner[id(outer)] = self._captured(outer)
        if active_tapes() and outer.dtype is not resource:
            # Gradients find their way out again.
            record(GraphOps.identity, [outer], [inner], {})
        return inner

    def _captured(self, outer: Any) -> SymbolicTensor:
        op = outer.op if isinstance(outer, SymbolicTensor) else None
        if is_variable(outer):
            return self._captured_handle(variable_behind(outer))
        if op is not None and self._is_copied(op):
            return self._add_apart(op.definition, op.attrs, op.name.rpartition("/")[2])
        inner = self._placeholder(outer.dtype.base_dtype, outer.dims, "captured")
        self.captures.append((outer, inner))
        return inner

    def _is_copied(self, op: Operation) -> bool:
        """Tell whether what an operation outside gives is here too, and need not be fed."""
        return op.definition.source is Source.CONSTANT

    def _captured_handle(self, handle: Any) -> SymbolicTensor:
        known = self._inner.get(id(handle))
        if known is not None:
            return known
        made = handle.op
        inner = self._add_apart(made.definition, made.attrs, made.name)
        inner.op.device = made.device
        self.handles[inner.op] = handle
        self._inner[id(handle)] = inner
        return inner

    # --- order ----------------------------------------------------------------------------

    def _operation_of(self, item: Any) -> Operation:
        """Return the operation that is meant by one, by a tensor, or by a variable.

        To wait for a variable from outside is to wait for what was last written to it.
        """
        if hasattr(item, "as_tensor"):
            is_symbolic = isinstance(item.handle, SymbolicTensor)
            if not is_symbolic or getattr(item.op, "graph", None) is not self:
                handle = self.capture(item.handle).op
                return self._last_write.get(handle, handle)
        elif is_tensor(item) and getattr(item, "graph", None) is not self:
            item = self.capture(item)
        return super()._operation_of(item)

    def apply(self, op: OpDef, inputs: Any, attrs: Attrs, name: str | None) -> Any:
        """Add an operation, and record it on the active tapes."""
        with self._lock:
            node = self._add(op, inputs, attrs, name)
        if active_tapes():
            self._write_down(node)
        outputs = node.outputs
        if len(outputs) == 1:
            return outputs[0]
        return list(outputs) or node

    def _write_down(self, node: Operation) -> None:
        # Tapes identify a variable by its handle outside.
        taken = [variable_behind(t) if _is_handle(t) else t for t in node.inputs]
        if node.definition.access is Access.READ or node.definition.is_call:
            for variable in taken:
                if variable.dtype is resource and not isinstance(variable, SymbolicTensor):
                    watch_variable(variable)
        record(node.definition, taken, node.outputs, node.attrs, node.device)

    def _apply_scopes(self, node: Operation) -> None:
        super()._apply_scopes(node)
        definition = node.definition
        if not definition.is_stateful or definition.is_source or "seed" in node.attrs:
            return
        waits = self._comes_after(node)
        if waits:
            taken = {tensor.op for tensor in node.inputs}
            both = dict.fromkeys((*node.control_inputs, *waits))
            node.control_inputs = tuple(op for op in both if op not in taken)

    def _comes_after(self, node: Operation) -> list[Operation]:
        """Say what an operation with effects comes after, and take note of it."""
        if node.definition.is_call:
            return self._call_comes_after(node)
        access = node.definition.access
        if access is None:
            before = self.effects[-1:]
            self.effects.append(node)
            return before
        is_write = access in _WRITES
        if is_write:
            self.effects.append(node)
        taken = node.inputs[: node.definition.n_variables]
        touched = dict.fromkeys(map(variable_of, taken))
        return [op for each in touched for op in self._touches(each, node, is_write)]

    def _touches(self, variable: Operation, node: Operation, is_write: bool) -> list[Operation]:
        """Say what a read or write of a variable comes after, and take note of it."""
        last = self._last_write.get(variable)
        before = [] if last is None else [last]
        if not is_write:
            self._reads.setdefault(variable, []).append(node)
            return before
        self._last_write[variable] = node
        return [*self._reads.pop(variable, []), *before]

    def _call_comes_after(self, node: Operation) -> list[Operation]:
        """Do the same for a functional op: it has the effects of all its subgraphs."""
        subgraphs = [subgraph.graph for subgraph in node.attrs["subgraphs"]]
        written = {id(variable) for subgraph in subgraphs for variable in subgraph.written()}
        waits = []
        for tensor in node.inputs:
            if is_variable(tensor):
                is_write = id(variable_behind(tensor)) in written
                waits += self._touches(variable_of(tensor), node, is_write)
        if any(subgraph.effects for subgraph in subgraphs):
            waits += self.effects[-1:]
            self.effects.append(node)
        return waits

    def written(self) -> list[Any]:
        """List the variables that it writes."""
        return [self.handles[op] for op in self._last_write]
