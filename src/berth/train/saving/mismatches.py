"""Variables that a checkpoint cannot restore: all are listed, before any is restored."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from berth.errors import InvalidArgumentError, NotFoundError, OpError, explain
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.ops.opdef import Access, Source
from berth.ops.shape import TensorShape, bracketed, is_known
from berth.ops.state.variables import dims_behind
from berth.train.checkpoints.open_checkpoint import StoredTensors, open_checkpoint
from berth.train.saving.save_ops import RESTORE, problems_of

_FAILED = (
    "Restoring from checkpoint failed. This is most likely due to a {}. Please ensure that you "
    "have not altered the graph expected based on the checkpoint. Original error:\n\n{}"
)
_MISSING = "Variable name or other graph key that is missing from the checkpoint"
_MISMATCH = "mismatch between the current graph and the graph from the checkpoint"


def check_restorable(graph: Graph, restore_op: str, path: str) -> None:
    """Raise an error that lists the variables that a checkpoint lacks, or has otherwise."""
    with open_checkpoint(path) as tensors:
        problems = [
            problem
            for op in _restores(graph.get_operation_by_name(restore_op))
            for problem in _problems(tensors, op)
        ]
    if not problems:
        return
    first = next((each for each in problems if isinstance(each, NotFoundError)), problems[0])
    others = [each.message for each in problems if each is not first]
    text = explain(first.message, *others)
    if isinstance(first, NotFoundError):
        raise NotFoundError(None, None, _FAILED.format(_MISSING, text))
    raise InvalidArgumentError(None, None, _FAILED.format(_MISMATCH, text))


def _restores(root: Operation) -> Iterator[Operation]:
    """Yield the RestoreV2 operations that an operation waits for."""
    seen, waiting = {root}, [root]
    found = []
    while waiting:
        op = waiting.pop()
        if op.definition is RESTORE:
            found.append(op)
        before = {*op.control_inputs, *(tensor.op for tensor in op.inputs)} - seen
        seen |= before
        waiting += before
    yield from sorted(found, key=lambda op: op.number)


def _problems(index: StoredTensors, op: Operation) -> list[OpError]:
    """Compare what one operation restores with what there is."""
    constants = [tensor.op for tensor in op.inputs[1:]]
    if any(constant.definition.source is not Source.CONSTANT for constant in constants):
        return []
    names, parts = (constant.attrs["value"].tolist() for constant in constants)
    names = [name.decode() for name in names]
    problems = problems_of(index, names, op.attrs["dtypes"])
    for name, part, tensor in zip(names, parts, op.outputs, strict=True):
        if name in index and not part:
            problems += _shape_problems(name, index.shape(name), tensor)
    return problems


def _shape_problems(name: str, stored: tuple[int, ...], tensor: Any) -> list[OpError]:
    problems: list[OpError] = []
    for op in tensor.consumers():
        dims: Any = None
        if op.definition.is_identity:
            problems += _shape_problems(name, stored, op.outputs[0])
        elif op.definition.access is Access.ASSIGN:
            dims = dims_behind(op.inputs[0])
            is_wrong = not TensorShape(dims).is_compatible_with(TensorShape(stored))
        elif op.type == "Reshape":
            dims = op.outputs[0].dims
            is_wrong = is_known(dims) and prod(dims) != prod(stored)
        if dims is not None and is_wrong:
            message = (
                "Assign requires shapes of both tensors to match. lhs shape= "
                f"{bracketed(dims)} rhs shape= {bracketed(stored)} ({name})"
            )
            problems.append(InvalidArgumentError(None, None, message))
    return problems
