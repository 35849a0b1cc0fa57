"""Depth-first topological order of the operations of a run: that of TensorFlow's placement log.

Depth first from what is fetched; the inputs of an operation from the last to the first, then
what it waits for; an operation after all of these. ``AddN(MatMul(Const, Const_1),
MatMul_1(Const_2, Const_3))`` gives Const_3, Const_2, MatMul_1, Const_1, Const, MatMul, AddN.

Invariants:
  1. Each operation comes once, and after everything that it needs.
  2. Time and memory grow with the operations and edges that are reached, never with the
     depth of Python's stack.
"""

from __future__ import annotations

from collections.abc import Iterable

from berth.graph.operation import Operation


def document_order(ops: Iterable[Operation]) -> list[Operation]:
    """List the given operations and all that they need, each once."""
    order: list[Operation] = []
    seen: set[Operation] = set()
    # An operation is met twice: to put what it needs above it, then to be listed.
    stack: list[tuple[Operation, bool]] = [(op, False) for op in reversed(list(ops))]
    while stack:
        op, is_ready = stack.pop()
        if is_ready:
            order.append(op)
        elif op not in seen:
            seen.add(op)
            stack.append((op, True))
            stack += [(needed, False) for needed in op.control_inputs if needed not in seen]
            # Popped from the top: the last input first.
            stack += [(tensor.op, False) for tensor in op.inputs if tensor.op not in seen]
    return order
