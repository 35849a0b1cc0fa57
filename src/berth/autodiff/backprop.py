"""Backpropagation: the gradients of some tensors with respect to others.

Graphs and eager programs share one pass. It goes from the last operation to the first, sums
the gradients of each operation's outputs, and calls its gradient function for those of its
inputs. The operations are those on a path from a source to a target; `gradients` collects
them from a graph, and a tape from what it recorded.

Tensors are compared by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from berth.blocks import Block, FunctionBlock, Use
from berth.dtypes import bool_, resource, variant
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.array import IDENTITY, constant, identity
from berth.ops.arrays.filling import fill, zeros_like
from berth.ops.arrays.indexed_slices import IndexedSlices, as_dense, total
from berth.ops.arrays.metadata import shape
from berth.ops.gradient import RecordedOp, gradient_of
from berth.ops.opdef import Access
from berth.ops.type_spec import CompositeTensor
from berth.public import public
from berth.variables.variable import Variable

Within = Callable[[Any], AbstractContextManager[Any]]
AddUp = Callable[[Sequence[Any]], Any]

# --- backpropagation ----------------------------------------------------------------------


def backpropagate(
    done: Iterable[RecordedOp],
    seeds: Mapping[int, Any],
    wanted: Iterable[int],
    within: Within,
    add_up: AddUp = total,
) -> dict[int, Any]:
    """Backpropagate through operations, the last of them first.

    `seeds` are the gradients that the targets start with, by the identity of the tensors;
    what arrives at the `wanted` ones is returned. Each gradient is made `within` what the
    caller has to set up for its operation; those that meet at a tensor are added up.
    """
    ops = list(done)
    arrived = {key: [seed] for key, seed in seeds.items()}
    found = dict.fromkeys(wanted)
    useful = {id(tensor) for op in ops for tensor in op.outputs} | found.keys()
    for op in ops:
        parts = [arrived.pop(id(tensor), []) for tensor in op.outputs]
        if not any(parts):
            continue
        grads = [add_up(part) if part else None for part in parts]
        for tensor, grad in zip(op.outputs, grads, strict=True):
            if id(tensor) in found:
                found[id(tensor)] = grad
        function = gradient_of(op)
        if function is None:
            continue
        with within(op):
            for tensor, grad in zip(op.inputs, _call(function, op, grads), strict=True):
                if grad is None or id(tensor) not in useful:
                    continue
                made = grad() if callable(grad) else grad
                _share_shape(tensor, made)
                arrived.setdefault(id(tensor), []).append(made)
    for key, parts in arrived.items():
        if key in found:
            found[key] = add_up(parts)
    return found


def _call(function: Callable[..., Any], op: RecordedOp, grads: Sequence[Any]) -> Sequence[Any]:
    """Call the gradient function of an operation; gradients of unused outputs are zeros."""
    keeps_slices = op.definition is IDENTITY or op.definition.access is Access.READ
    takes_none = getattr(function, "takes_none", False)
    filled = []
    for tensor, grad in zip(op.outputs, grads, strict=True):
        if grad is None and is_differentiable(tensor) and not takes_none:
            filled.append(zeros_like(tensor))
        else:
            filled.append(grad if keeps_slices else as_dense(grad))
    inputs = function(op, *filled)
    return inputs if isinstance(inputs, tuple | list) else (inputs,)


def _share_shape(tensor: Any, grad: Any) -> None:
    """Set the static shape of a gradient to that of its tensor."""
    if (
        isinstance(grad, SymbolicTensor)
        and grad.dims != tensor.dims
        and is_differentiable(tensor)
    ):
        grad.set_shape(tensor.shape)


def is_differentiable(tensor: Any) -> bool:
    """Tell whether a tensor's type is differentiable: floating-point, complex, or a list."""
    dtype = tensor.dtype.base_dtype
    return bool(dtype.is_floating or dtype.is_complex or dtype is variant)


def component(value: Any) -> Any:
    """Return the tensor of a composite that gradients are of; other values as they are."""
    return value._gradient_component() if isinstance(value, CompositeTensor) else value


def with_gradient(value: Any, grad: Any) -> Any:
    """Return the gradient of a value, of that of its component."""
    is_whole = grad is None or not isinstance(value, CompositeTensor)
    return grad if is_whole else value._with_gradient(grad)


# --- graphs -------------------------------------------------------------------------------


@public("AggregationMethod")
class AggregationMethod:
    """How the gradients that meet at a tensor are added up; berth has one way, `add_n`."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


@public("gradients")
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
    """Gradients of the sum of `ys` with respect to each of `xs`.

    The operations that compute a gradient ask for the device that their forward operation
    asked for; with `colocate_gradients_with_ops` they share whatever device it gets. What
    stands in `stop_gradients` counts as constant. Where no y depends on an x, its gradient
    is None, or with `unconnected_gradients` "zero" a tensor of zeros.

    >>> with Graph().as_default():
    ...     x = constant(3.0)
    ...     gradients(x * x, x)
    [<tf.Tensor 'gradients/AddN:0' shape=() dtype=float32>]
    """
    unconnected = getattr(unconnected_gradients, "value", unconnected_gradients)
    if unconnected not in ("none", "zero"):
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected!r}")
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(
            f"Invalid `aggregation_method` specified {aggregation_method}. Accepted values are "
            "[0, 1, 2]."
        )
    graph = _graph_of([*_listed(ys), *_listed(xs)])
    with graph.as_default(), graph.name_scope(name):
        targets = [_target(graph, y, k) for k, y in enumerate(map(component, _listed(ys)))]
        sources = [_source(graph, x, k) for k, x in enumerate(map(component, _listed(xs)))]
        stops = [] if stop_gradients is None else _listed(stop_gradients)
        stopped = [_source(graph, stop, k) for k, stop in enumerate(stops)]
        place = _place(graph, colocate_gradients_with_ops)
        found = backpropagate(
            between(sources, targets, stopped),
            _seeds(targets, grad_ys, place),
            [id(source) for source in sources],
            _under_name(graph, place),
            _add_up_by_device,
        )
    grads = [found[id(source)] for source in sources]
    if unconnected == "zero":
        pairs = zip(grads, map(component, _listed(xs)), strict=True)
        grads = [zeros_like(x) if grad is None else grad for grad, x in pairs]
    return [with_gradient(x, grad) for x, grad in zip(_listed(xs), grads, strict=True)]


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _graph_of(values: Sequence[Any]) -> Graph:
    for value in values:
        graph = getattr(value, "graph", None)
        if isinstance(graph, Graph):
            return graph
    raise TypeError(
        "tf.gradients needs tensors or variables of a graph. In an eager program use "
        f"tf.GradientTape instead. Got {values!r}"
    )


def _target(graph: Graph, y: Any, position: int) -> SymbolicTensor:
    """Return the tensor to differentiate: of a variable, its value."""
    return graph.convert(y, None, f"y_{position}")


def _source(graph: Graph, x: Any, position: int) -> SymbolicTensor:
    """Return the tensor to differentiate by: of a variable, the variable itself."""
    if isinstance(x, Variable):
        return x.handle
    return graph.convert(x, None, f"x_{position}")


# --- initial gradients --------------------------------------------------------------------


def _seeds(targets: Sequence[SymbolicTensor], grad_ys: Any, place: Within) -> dict[int, Any]:
    """Return the initial gradients of the targets; those of a target given twice are summed."""
    given = _listed(grad_ys) if grad_ys is not None else [None] * len(targets)
    if len(given) != len(targets):
        raise ValueError(f"Length mismatch. Passed {len(given)} grad_ys for {len(targets)} ys")
    starts: dict[int, list[Any]] = {}
    for position, (target, seed) in enumerate(zip(targets, given, strict=True)):
        with place(target.op):
            starts.setdefault(id(target), []).append(_seed(target, seed, position))
    return {key: total(parts) for key, parts in starts.items()}


def _seed(target: SymbolicTensor, seed: Any, position: int) -> Any:
    """Return the initial gradient of a target: as given, or ones."""
    dtype = target.dtype.base_dtype
    if isinstance(seed, IndexedSlices):
        return seed
    if seed is not None:
        tensor = target.graph.convert(seed, None if _is_typed(seed) else dtype, "grad_y")
        _check_seed(target, tensor)
        return identity(tensor, name=f"grad_ys_{position}")
    if dtype.is_complex:
        raise TypeError(
            f"Gradients of complex tensors ({target}) must set grad_ys (y.dtype = {dtype.name})"
        )
    one = constant(True if dtype is bool_ else 1, dtype, name=f"grad_ys_{position}/Const")
    return fill(shape(target), one, name=f"grad_ys_{position}")


def _is_typed(seed: Any) -> bool:
    return hasattr(seed, "dtype")


def _check_seed(target: SymbolicTensor, seed: SymbolicTensor) -> None:
    """Raise TypeError if an initial gradient has not the type of its target."""
    if seed.dtype.is_complex != target.dtype.is_complex:
        kind, must = (
            ("complex-valued", "complex")
            if target.dtype.is_complex
            else ("real or integer-valued", "real or integer")
        )
        raise TypeError(
            f"Gradient type {seed.dtype.name} generated for {kind} tensor {target} with type "
            f"{target.dtype.name} must be {must}"
        )


# --- paths --------------------------------------------------------------------------------


def between(
    sources: Sequence[SymbolicTensor],
    targets: Sequence[SymbolicTensor],
    stopped: Sequence[SymbolicTensor],
) -> list[Operation]:
    """List the operations on a path from a source to a target, the last first.

    What makes a stopped tensor is on no way. What takes one is, if the tensor is a source.
    """
    reached = {id(tensor) for tensor in sources if _has_gradient(tensor)}
    shut = {id(tensor) for tensor in stopped}
    ways = []
    for op in sorted(_needed(targets), key=lambda op: op.number):
        if any(id(tensor) in shut for tensor in op.outputs):
            continue
        if any(id(tensor) in reached for tensor in op.inputs):
            ways.append(op)
            reached |= {id(tensor) for tensor in op.outputs if _has_gradient(tensor)}
    return ways[::-1]


def _has_gradient(tensor: SymbolicTensor) -> bool:
    """Tell whether a tensor is differentiable: numbers, or a variable that holds them."""
    return is_differentiable(tensor) or tensor.dtype is resource


def _needed(targets: Sequence[SymbolicTensor]) -> set[Operation]:
    needed: set[Operation] = set()
    stack = [tensor.op for tensor in targets]
    while stack:
        op = stack.pop()
        if op not in needed:
            needed.add(op)
            stack += [tensor.op for tensor in op.inputs]
    return needed


# --- devices and names --------------------------------------------------------------------


def _place(graph: Graph, colocated: bool) -> Callable[[Operation], Block[None]]:
    """Device scope for the gradient of an operation: beside it."""
    return graph.colocate_with if colocated else lambda op: graph.device(op.device)


def _under_name(graph: Graph, place: Callable[[Operation], Block[None]]) -> Within:
    def begin(use: Use, op: Operation) -> None:
        graph.names.enter(use, f"{op.name}_grad")
        use.enter(place(op))

    return lambda op: FunctionBlock(begin, op)


def _add_up_by_device(parts: Sequence[Any]) -> Any:
    """Sum gradients on each device first, so that one tensor per device is copied."""
    by_device: dict[str, list[Any]] = {}
    for part in parts:
        by_device.setdefault(part.device, []).append(part)
    if len(parts) == 1 or any(isinstance(part, IndexedSlices) for part in parts):
        return total(parts)
    sums = []
    for device in sorted(by_device):
        group = by_device[device]
        with group[0].graph.colocate_with(group[0].op, ignore_existing=True):
            sums.append(total(group))
    return total(sums)
