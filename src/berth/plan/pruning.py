"""Pruning: the operations that a request needs, and those that it can do without."""

from __future__ import annotations

from collections.abc import Sequence

from berth.graph.operation import Operation
from berth.ops.opdef import Source
from berth.plan.plan import Request


def needed_ops(request: Request, done: frozenset[Operation] = frozenset()) -> list[Operation]:
    """List the operations that a request needs, in the order they were made."""
    fed = {feed.tensor for feed in request.feeds}
    seen: set[Operation] = set()
    stack = [tensor.op for tensor in request.fetches if tensor not in fed]
    stack += request.targets
    while stack:
        op = stack.pop()
        if op in seen or op in done:
            continue
        seen.add(op)
        for tensor in op.inputs:
            if tensor.op not in seen and tensor not in fed:
                stack.append(tensor.op)
        stack += waits_of(op)
    return sorted(seen, key=_number)


def waits_of(op: Operation) -> Sequence[Operation]:
    """Return the control inputs of an operation; a placeholder is fed, and waits for none."""
    return () if op.definition.source is Source.PLACEHOLDER else op.control_inputs


def _number(op: Operation) -> int:
    return op.number
