"""Inlining: the operations of a function's graph, copied with other inputs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from berth.control_flow.subgraph import Subgraph
from berth.graph.func_graph import FuncGraph
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.filling import zeros
from berth.ops.arrays.joining import stack
from berth.ops.arrays.placeholders import PLACEHOLDER
from berth.ops.builder import current
from berth.ops.state.variables import HANDLE


def inline(
    graph: FuncGraph, given: Sequence[Any], wanted: Sequence[SymbolicTensor]
) -> list[Any]:
    """Copy a graph's operations with the current builder; return the wanted tensors."""
    here: Any = current()
    symbols = [*graph.inputs, *(inner for _, inner in graph.captures)]
    values = {id(symbol): value for symbol, value in zip(symbols, given, strict=True)}
    made: dict[Operation, Any] = {}
    for op in graph.ops:
        if op.definition is PLACEHOLDER:
            continue
        if op.definition is HANDLE:
            values[id(op.outputs[0])] = graph.handles[op]
            continue
        with ExitStack() as scopes:
            if op.device:
                scopes.enter_context(here.device(op.device))
            waits = [made[control] for control in op.control_inputs if control in made]
            if waits:
                scopes.enter_context(here.control_dependencies(waits))
            inputs = [values[id(tensor)] for tensor in op.inputs]
            if op.definition.is_call and not isinstance(here, Graph):
                result = _run_eagerly(op, inputs)
            else:
                name = op.name.rpartition("/")[2]
                result = here.apply(op.definition, inputs, op.attrs, name)
        outputs = result if isinstance(result, list) else [result]
        if result is not None:
            made[op] = outputs[0]
        for tensor, value in zip(op.outputs, outputs, strict=False):
            values[id(tensor)] = value
    return [values[id(tensor)] for tensor in wanted]


def _run_eagerly(op: Operation, inputs: Sequence[Any]) -> list[Any]:
    """Run a functional op eagerly: inline the subgraphs that it selects."""
    subgraphs: Sequence[Subgraph] = op.attrs["subgraphs"]

    def run(position: int, current: Sequence[Any]) -> list[Any]:
        subgraph = subgraphs[position]
        given = [current[taken] for taken in subgraph.takes]
        wanted = [tensor for tensor in subgraph.outputs if tensor is not None]
        outputs = iter(inline(subgraph.graph, given, wanted))
        return [None if tensor is None else next(outputs) for tensor in subgraph.outputs]

    def stacked(number: int, column: Sequence[Any]) -> Any:
        if number >= op.attrs["n_rows"]:  # for gradients, which tapes see to here
            return None
        output = subgraphs[-1].outputs[op.attrs["n_variables"] + number]
        assert output is not None
        return stack(column) if column else zeros([0, *(output.dims or ())], output.dtype)

    follow = op.definition.follow
    assert follow is not None, f"{op.name} has no subgraphs"
    return follow(op.attrs, inputs, run, stacked)
