"""Initial values that depend on other variables, which may be uninitialized.

``w = tf.Variable(v * 2.0)``: one run may initialise both, in any order. So what `w` starts
with is computed again from the *initialised value* of `v`: its value, or what that will be.
"""

from __future__ import annotations

from typing import Any

from berth.graph.keys import GraphKeys
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.opdef import Access
from berth.ops.state.variables import VARIABLE


def guarded(initial_value: SymbolicTensor, name: str) -> SymbolicTensor:
    """Initial value that needs no initialized variable; `name` is that of its own."""
    behind = _needed(initial_value.op)
    if not any(op.definition is VARIABLE for op in behind):
        return initial_value
    graph = initial_value.graph
    keys = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
    variables = {v.op: v for key in keys for v in graph.get_collection(key)}
    copies: dict[SymbolicTensor, SymbolicTensor] = {}
    with graph.device(None), graph.colocate_with(None, ignore_existing=True):
        for op in sorted(behind, key=lambda op: op.number):
            if op.definition is VARIABLE and op in variables:
                copies[op.outputs[0]] = variables[op].initialized_value()
            elif any(tensor in copies for tensor in op.inputs):
                outputs = _copy(op, [copies.get(t, t) for t in op.inputs], name)
                copies.update(zip(op.outputs, outputs, strict=True))
    return copies.get(initial_value, initial_value)


def _needed(last: Operation) -> set[Operation]:
    """List the operations that an operation needs; queries of a variable need no value."""
    needed: set[Operation] = set()
    stack = [last]
    while stack:
        op = stack.pop()
        if op not in needed and op.definition.access is not Access.QUERY:
            needed.add(op)
            stack += [tensor.op for tensor in op.inputs]
    return needed


def _copy(op: Operation, inputs: list[Any], name: str) -> list[SymbolicTensor]:
    """Copy an operation, with other inputs."""
    graph = op.graph
    with graph.device(op.device or None):
        graph.apply(op.definition, inputs, op.attrs, f"{op.name}_{name.replace('/', '_')}/")
    copied = graph.ops[-1]
    copied.colocated_with = op.colocated_with
    return copied.outputs
