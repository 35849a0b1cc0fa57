"""Functions of the user on blocks of elements: one call for many, with the same bits.

That is so for arithmetic that rounds each result correctly (IEEE 754 demands it of +, - and *),
for comparisons and for conversions, if all tensors have the shape of the element, or are
constants without axes. What may raise an error, as the division of integers, is left out: it
would come too early.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.eager.tensor import EagerTensor
from berth.front.context import context
from berth.functions.inline import inline
from berth.functions.runtime import FunctionRuntime
from berth.graph.func_graph import FuncGraph
from berth.graph.recording import stop_recording
from berth.ops.opdef import Source

_EXACT = frozenset(
    [
        "Abs",
        "Add",
        "AddV2",
        "Cast",
        "Equal",
        "Greater",
        "GreaterEqual",
        "Identity",
        "Less",
        "LessEqual",
        "LogicalAnd",
        "LogicalNot",
        "LogicalOr",
        "Maximum",
        "Minimum",
        "Mul",
        "Neg",
        "NotEqual",
        "Square",
        "Sub",
    ]
)


class BlockFunction:
    """A function of elements, computed for a block of them."""

    def __init__(self, graph: FuncGraph, fetches: Sequence[Any]) -> None:
        self._dtypes = [symbol.dtype for symbol in graph.inputs]
        self._runtime = FunctionRuntime(graph, fetches, "Dataset_map")

    def __call__(self, block: Sequence[Any]) -> tuple[Any, ...]:
        host = context().opened()[0]
        given = [
            EagerTensor(leaf, host, dtype)
            for leaf, dtype in zip(block, self._dtypes, strict=True)
        ]
        return tuple([tensor.value for tensor in self._runtime.run(given)])


def block_function(graph: FuncGraph, fetches: Sequence[Any]) -> BlockFunction | None:
    """Make the block function of a traced function; None if it could give other bits."""
    if not graph.inputs or not fetches or graph.effects or graph.handles:
        return None
    dims = graph.inputs[0].dims
    if dims is None or None in dims or not all(_is_exact(op, dims) for op in graph.ops):
        return None
    if any(fetch.op.definition.source is Source.CONSTANT for fetch in fetches):
        return None
    blocks = FuncGraph(graph.name)
    symbols = [blocks.add_input(t.dtype, (None, *dims), "block") for t in graph.inputs]
    with stop_recording(), blocks.as_default(), blocks.device("/device:CPU:0"):
        outputs = inline(graph, symbols, fetches)
    wanted = (None, *dims)
    if any(tensor.dims != wanted for tensor in outputs):
        return None
    return BlockFunction(blocks, outputs)


def _is_exact(op: Any, dims: Any) -> bool:
    if op.definition.source is Source.CONSTANT:
        return bool(op.outputs[0].dims == ())
    if op.definition.source is None and op.type not in _EXACT:
        return False
    return all(tensor.dims == dims for tensor in op.outputs)
