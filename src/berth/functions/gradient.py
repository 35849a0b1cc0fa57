"""Gradients of traced functions: the backward pass of a call is a traced function too."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from berth.autodiff.backprop import backpropagate, between, is_differentiable
from berth.functions.runtime import FunctionRuntime
from berth.graph.func_graph import FuncGraph
from berth.graph.nest import flatten, map_structure
from berth.graph.tensor import SymbolicTensor
from berth.ops.elementwise.add_n import add_n


def tensors_of(structure: Any) -> list[SymbolicTensor]:
    """List the tensors that results, or gradients, are made of."""
    leaves = flatten(structure, expand_composites=True)
    return [leaf for leaf in leaves if isinstance(leaf, SymbolicTensor)]


def refilled(structure: Any, values: Sequence[Any]) -> Any:
    """Return results, or gradients, with values for the tensors that they are made of."""
    left = iter(values)
    return map_structure(
        lambda leaf: next(left) if isinstance(leaf, SymbolicTensor) else leaf,
        structure,
        expand_composites=True,
    )


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
                    symbol if id(output) not in seeds else add_n([seeds[id(output)], symbol])
                )
            found = backpropagate(
                between(sources, [o for o in outputs if is_differentiable(o)], []),
                seeds,
                [id(source) for source in sources],
                self._beside,
            )
            # A gradient may be a tensor of the forward graph.
            own = self.graph.convert
            self._grads = [
                None if grad is None else map_structure(own, grad, expand_composites=True)
                for grad in (found[id(source)] for source in sources)
            ]
        self._kept = [outer for outer, _ in self.graph.captures]
        self._forward = FunctionRuntime(forward, [*outputs, *self._kept], name)
        backward = name.replace("__inference_", "__backward_", 1)
        self._runtime = FunctionRuntime(self.graph, tensors_of(self._grads), backward)

    def _beside(self, op: Any) -> Any:
        return self.graph.device(op.device) if op.device else nullcontext()

    def run_forward(self, given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the function; return its outputs, and what has to be kept."""
        results = self._forward.run(given)
        return results[: self._n_outputs], results[self._n_outputs :]

    def run(self, grads: Sequence[Any], kept: Sequence[Any]) -> list[Any]:
        """Return the gradients of inputs, captures and variables."""
        seeds = [grad for grad in grads if grad is not None]
        found: list[Any] = refilled(self._grads, self._runtime.run([*seeds, *kept]))
        return found
