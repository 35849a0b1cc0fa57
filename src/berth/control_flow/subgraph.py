"""Subgraphs: the branches of conditionals and the bodies of loops, run by functional ops.

A subgraph captures outer tensors as a function does; its functional op has them among its
inputs, and the variables that it uses too. So the planner, gradients and copies of functions
find all that the op depends on among its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from berth.autodiff.backprop import is_differentiable
from berth.blocks import Use
from berth.graph.func_graph import FuncGraph, is_variable, variable_behind
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.graph.recording import active_tapes, stop_recording
from berth.graph.scopes import Scopes
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.array import identity
from berth.ops.flow.calls import LOOPS, Kind, row_type
from berth.ops.opdef import Attrs


class Subgraph(NamedTuple):
    """Graph that a functional op may run."""

    graph: FuncGraph
    outputs: tuple[SymbolicTensor | None, ...]
    """What it gives; None for what only another subgraph of the call gives."""
    takes: tuple[int, ...]
    """For each of its placeholders, which input of the call it is."""

    @property
    def symbols(self) -> list[SymbolicTensor]:
        """The placeholders: of the arguments, and of the captured tensors."""
        return [*self.graph.inputs, *(inner for _, inner in self.graph.captures)]

    def __str__(self) -> str:
        return self.graph.name


class SubgraphFuncGraph(FuncGraph):
    """The graph of a subgraph: built like the one that it stands inside of.

    In a function, effects run in the order written, whether or not something comes of them.
    In a graph for sessions only what the outputs need is run, as everywhere there.
    """

    def __init__(self, name: str, outer: Graph) -> None:
        super().__init__(name)
        self.outer = outer
        self.is_function = outer.is_function
        self.tensor_type = outer.tensor_type  # type: ignore[assignment]
        self.seed = outer.seed
        self.scopes = Scopes(outer.devices.copy())
        self.names.begin_inside(outer.names.scope)
        self.kept, self._collections = outer.kept, outer._collections
        self.waits: list[Operation] = []
        """The operations outside that must have run before it."""

    def trace(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that builds in this graph; outer tapes record nothing."""
        with stop_recording(), self.as_default():
            return function(*arguments)

    @property
    def is_stateful(self) -> bool:
        """Whether it has effects besides its outputs."""
        return any(op.definition.is_stateful and not op.definition.is_source for op in self.ops)

    def _captured(self, outer: Any) -> SymbolicTensor:
        if outer.dtype.is_ref and outer.op.inputs:  # the variable, after a write
            self.waits.append(outer.op)
        return super()._captured(outer)

    def _is_copied(self, op: Operation) -> bool:
        # Gradients with respect to a constant go through the inputs of the call.
        return super()._is_copied(op) and not is_differentiable(op.outputs[0])

    def _apply_scopes(self, node: Operation) -> None:
        if self.is_function:
            super()._apply_scopes(node)
        else:
            Graph._apply_scopes(self, node)

    def _begin_waiting(self, use: Use, control_inputs: Any) -> None:
        """Add control dependencies to the block's operations; outer ones to the call."""
        own = control_inputs
        if control_inputs is not None:
            own = []
            for item in control_inputs:
                op = getattr(item, "op", item)
                is_outside = isinstance(op, Operation) and op.graph is not self
                (self.waits if is_outside else own).append(op if is_outside else item)
        super()._begin_waiting(use, own)

    def _begin_beside(self, use: Use, op: Any, ignore_existing: bool) -> None:
        """Keep the block's operations on the device of another of this graph."""
        target = getattr(op, "op", op)
        if not isinstance(target, Operation) or target.graph is self:
            super()._begin_beside(use, op, ignore_existing)


class Part(NamedTuple):
    """Traced subgraph, for `add_call`."""

    graph: SubgraphFuncGraph
    outputs: Sequence[SymbolicTensor]
    takes: Sequence[int]
    """For each of the graph's inputs, which input of the call it is."""


def add_call(
    here: Graph,
    kind: Kind,
    given: Sequence[Any],
    parts: Sequence[Part],
    attrs: Attrs,
    name: str,
) -> Operation:
    """Add a functional op, with all that its subgraphs capture."""
    inputs = list(given)
    positions: dict[int, int] = {}

    def position_of(outer: Any) -> int:
        position = positions.setdefault(id(outer), len(inputs))
        if position == len(inputs):
            inputs.append(outer)
        return position

    subgraphs = []
    for graph, outputs, takes in parts:
        captured = [position_of(outer) for outer, _ in graph.captures]
        subgraphs.append(Subgraph(graph, tuple(outputs), (*takes, *captured)))
    for part in parts:
        for variable in part.graph.handles.values():
            position_of(variable)
    is_stateful = any(part.graph.is_stateful for part in parts)
    definition = kind.stateful if is_stateful else kind.stateless
    waits = dict.fromkeys(op for part in parts for op in part.graph.waits)
    # What gradients make it give out later is no part of what it is for.
    n_outputs = len(parts[-1].outputs) + (definition in LOOPS)  # of a loop, the count too
    attrs = {**attrs, "subgraphs": tuple(subgraphs), "n_outputs": n_outputs}
    with here.control_dependencies(list(waits)):
        made = here.apply(definition, inputs, attrs, name)
    if isinstance(made, Operation):
        return made
    call: Operation = (made[0] if isinstance(made, list) else made).op
    return call


def value_of(tensor: SymbolicTensor) -> SymbolicTensor:
    """Return the value of a reference; other tensors as they are."""
    if tensor.dtype.is_ref:
        return cast(SymbolicTensor, identity(tensor))
    return tensor


def positions_of_variables(call: Operation) -> dict[int, int]:
    """Return the input position of each variable that a functional op uses, by identity."""
    return {
        id(variable_behind(tensor)): position
        for position, tensor in enumerate(call.inputs)
        if is_variable(tensor)
    }


def expose_output(call: Operation, position: int, inner: SymbolicTensor) -> SymbolicTensor:
    """Add a tensor of a subgraph to the outputs of its functional op; return that output.

    Of a loop, these are the values of all iterations, one below the other.
    """
    subgraphs: list[Subgraph] = list(call.attrs["subgraphs"])
    is_loop = call.definition in LOOPS
    first = call.attrs["n_variables"] if is_loop else 0
    for number, output in enumerate(subgraphs[position].outputs):
        if output is inner and number >= first:
            return call.outputs[number + is_loop]
    with call.graph._lock:
        for number, subgraph in enumerate(subgraphs):
            is_loop_condition = is_loop and number != position
            if not is_loop_condition:
                added = inner if number == position else None
                subgraphs[number] = subgraph._replace(outputs=(*subgraph.outputs, added))
        dtype, dims = row_type(inner) if is_loop else (inner.dtype.base_dtype, inner.dims)
        output = call.graph.tensor_type(call, len(call.outputs), dtype, dims)
        call.attrs = {**call.attrs, "subgraphs": tuple(subgraphs)}
        call.outputs.append(output)
    for tape in active_tapes():
        tape.watch_output(output, call.outputs)
    return output
