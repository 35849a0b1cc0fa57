"""Going backwards: the gradients of some tensors with respect to others.

One walk serves graphs and eager programs. It goes from the last operation to the first,
collects for each what arrives at its outputs, and passes on to its inputs what its gradient
says. What it is given are the operations on a way from a source to a target; who gathers
them (`gradients` here, a tape elsewhere) decides which those are.

Tensors are known by their identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.graph.tensor import Tensor
from berth.graph.variable import Variable
from berth.ops.array import IDENTITY
from berth.ops.filling import ones_like, zeros_like
from berth.ops.gradient import Done, gradient_of
from berth.ops.indexed_slices import IndexedSlices, as_dense, total
from berth.ops.opdef import Access

Within = Callable[[Any], AbstractContextManager[Any]]


def backpropagate(
    done: Iterable[Done], seeds: Mapping[int, Any], wanted: Iterable[int], within: Within
) -> dict[int, Any]:
    """Walk backwards through operations, the last of them first.

    `seeds` are the gradients that the targets start with, by the identity of the tensors;
    what arrives at the `wanted` ones is returned. Each gradient is made `within` what the
    caller has to set up for its operation.
    """
    arrived = {key: [seed] for key, seed in seeds.items()}
    found = dict.fromkeys(wanted)
    for op in done:
        parts = [arrived.pop(id(tensor), []) for tensor in op.outputs]
        if not any(parts):
            continue
        function = gradient_of(op.definition)
        with within(op):
            grads = [total(part) for part in parts]
            for tensor, grad in zip(op.outputs, grads, strict=True):
                if id(tensor) in found:
                    found[id(tensor)] = grad
            if function is None:
                continue
            for tensor, grad in zip(op.inputs, _call(function, op, grads), strict=True):
                if grad is not None:
                    arrived.setdefault(id(tensor), []).append(grad)
    for key, parts in arrived.items():
        if key in found and found[key] is None:
            found[key] = total(parts)
    return found


def _call(function: Callable[..., Any], op: Done, grads: Sequence[Any]) -> Sequence[Any]:
    """Ask for the gradients of an operation's inputs; outputs that nobody uses count as 0."""
    keeps_slices = op.definition is IDENTITY or op.definition.access is Access.READ
    filled = []
    for tensor, grad in zip(op.outputs, grads, strict=True):
        if grad is None and is_differentiable(tensor):
            filled.append(zeros_like(tensor))
        else:
            filled.append(grad if keeps_slices else as_dense(grad))
    inputs = function(op, *filled)
    return inputs if isinstance(inputs, tuple | list) else (inputs,)


def is_differentiable(tensor: Any) -> bool:
    """Tell whether a tensor's elements have gradients: floats and complex numbers have."""
    dtype = tensor.dtype.base_dtype
    return bool(dtype.is_floating or dtype.is_complex)


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = "none",
) -> list[Any]:
    """Return the gradients of the sum of `ys` with respect to each of `xs`.

    The operations that compute a gradient ask for the device that their forward operation
    asked for. None where no y depends on an x; `unconnected_gradients` "zero": zeros.
    """
    targets = [_tensor(y) for y in _listed(ys)]
    sources = [_tensor(x) for x in _listed(xs)]
    seeds = _listed(grad_ys) if grad_ys is not None else [None] * len(targets)
    if len(seeds) != len(targets):
        raise ValueError(f"Passed {len(seeds)} grad_ys for {len(targets)} ys")
    graph = targets[0].graph
    stopped = [_tensor(tensor) for tensor in _listed(stop_gradients or [])]
    with graph.as_default(), graph.name_scope(name):
        starts: dict[int, list[Any]] = {}
        for target, seed in zip(targets, seeds, strict=True):
            starts.setdefault(id(target), []).append(_seed(target, seed))
        found = backpropagate(
            _between(sources, targets, stopped),
            {key: total(parts) for key, parts in starts.items()},
            [id(source) for source in sources],
            _beside(graph, colocate_gradients_with_ops),
        )
        wants_zeros = getattr(unconnected_gradients, "value", unconnected_gradients) == "zero"
        return [
            zeros_like(source) if found[id(source)] is None and wants_zeros else found[id(source)]
            for source in sources
        ]


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _tensor(value: Any) -> Tensor:
    """Return the tensor whose gradient is meant: of a variable, the variable itself."""
    tensor = value.handle if isinstance(value, Variable) else value
    if isinstance(tensor, IndexedSlices):
        tensor = tensor.values
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Gradients are taken of tensors and variables, and not of {value!r}.")
    return tensor


def _seed(target: Tensor, seed: Any) -> Any:
    """Return the gradient that a target starts with."""
    if not is_differentiable(target):
        raise TypeError(
            f"Gradients of {target.name} are not defined: its type is {target.dtype.name}, and "
            "only floating-point and complex tensors have gradients."
        )
    if seed is None:
        return ones_like(target)
    return target.graph.convert(seed, target.dtype.base_dtype, "grad_ys")


def _between(
    sources: Sequence[Tensor], targets: Sequence[Tensor], stopped: Sequence[Tensor]
) -> list[Operation]:
    """List the operations on a way from a source to a target, the last first."""
    needed = _needed(targets)
    reached = {id(tensor) for tensor in sources}
    shut = {id(tensor) for tensor in stopped}
    between = []
    for op in sorted(needed, key=lambda op: op.number):
        if any(id(tensor) in reached and id(tensor) not in shut for tensor in op.inputs):
            between.append(op)
            reached |= {id(t) for t in op.outputs if is_differentiable(t)}
    # A source's own operation goes along, so that what arrives at the source is noticed.
    return between[::-1]


def _needed(targets: Sequence[Tensor]) -> set[Operation]:
    needed: set[Operation] = set()
    stack = [tensor.op for tensor in targets]
    while stack:
        op = stack.pop()
        if op not in needed:
            needed.add(op)
            stack += [tensor.op for tensor in op.inputs]
    return needed


def _beside(graph: Graph, colocated: bool) -> Within:
    """Make the scope in which an operation's gradient is made."""

    @contextmanager
    def within(op: Operation) -> Iterator[None]:
        place = graph.colocate_with(op) if colocated else graph.device(op.device)
        with graph.name_scope(f"{op.name}_grad"), place:
            yield

    return within
