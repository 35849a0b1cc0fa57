"""Gradients of traced functions: the backward pass of a call is a traced function too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from berth.autodiff.backprop import backpropagate, between, is_differentiable
from berth.functions.runtime import FunctionRuntime
from berth.graph.func_graph import FuncGraph
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.indexed_slices import IndexedSlices


def tensors_of(leaf: Any) -> list[SymbolicTensor]:
    """List the tensors that a result, or a gradient, is made of."""
    if isinstance(leaf, IndexedSlices):
        return [part for part in leaf.parts if part is not None]
    return [leaf] if isinstance(leaf, SymbolicTensor) else []


def refilled(leaf: Any, values: Iterator[Any]) -> Any:
    """Return a result, or a gradient, with values for the tensors that it is made of."""
    if isinstance(leaf, IndexedSlices):
        return leaf.mapped(lambda _: next(values))
    return next(values) if isinstance(leaf, SymbolicTensor) else leaf


class CallDefinition:
    """A call of a traced function, as an operation on a tape."""

    access = None

    def __init__(self, name: str, backward: Backward, kept: Sequence[Any]) -> None:
        self.name = name
        self._backward = backward
        self._kept = kept

    def gradient(self, op: Any, *grads: Any) -> Sequence[Any]:
        """Run the backward function."""
        return self._backward.run(grads, self._kept)


class Backward:
    """The gradient of a function: another function, and what the first must keep for it."""

    def __init__(
        self, forward: FuncGraph, outputs: Sequence[SymbolicTensor], name: str
    ) -> None:
        self._n_outputs = len(outputs)
        self.graph = FuncGraph(f"{forward.name}_grad")
        handles = [op.outputs[0] for op in forward.handles]
        sources = [*forward.inputs, *(inner for _, inner in forward.captures), *handles]
        with self.graph.as_default():
            seeds: dict[int, Any] = {}
            for output in outputs:
                if not is_differentiable(output):
                    continue
                symbol = self.graph.add_input(output.dtype, output.dims, "grad")
                seeds[id(output)] = (
                    symbol if id(output) not in seeds else seeds[id(output)] + symbol
                )
            found = backpropagate(
                between(sources, [o for o in outputs if is_differentiable(o)], []),
                seeds,
                [id(source) for source in sources],
                self._beside,
            )
            self._grads = [self._own(found[id(source)]) for source in sources]
        self._kept = [outer for outer, _ in self.graph.captures]
        self._forward = FunctionRuntime(forward, [*outputs, *self._kept], name)
        parts = [tensor for grad in self._grads for tensor in tensors_of(grad)]
        backward = name.replace("__inference_", "__backward_", 1)
        self._runtime = FunctionRuntime(self.graph, parts, backward)

    def _own(self, grad: Any) -> Any:
        """Return a gradient as one of the backward graph: it may be the forward's."""
        if isinstance(grad, IndexedSlices):
            return grad.mapped(self.graph.convert)
        return None if grad is None else self.graph.convert(grad)

    def _beside(self, op: Any) -> Any:
        return self.graph.device(op.device) if op.device else nullcontext()

    def run_forward(self, given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the function; return its outputs, and what has to be kept."""
        results = self._forward.run(given)
        return results[: self._n_outputs], results[self._n_outputs :]

    def run(self, grads: Sequence[Any], kept: Sequence[Any]) -> list[Any]:
        """Return the gradients of inputs, captures and variables."""
        seeds = [grad for grad in grads if grad is not None]
        found = iter(self._runtime.run([*seeds, *kept]))
        return [refilled(grad, found) for grad in self._grads]
