"""A traced function: a graph with inputs, run by the same plans as sessions.

A call feeds the arguments and what the body takes from outside, on the devices where they
are, and gets results on the devices that computed them. Within another graph, the body is
copied into it. Where a tape looks on, the forward run also gives what the backward one will
need; that one is traced when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from berth.front.function_runtime import FunctionRuntime
from berth.graph.autodiff import backpropagate, between, is_differentiable
from berth.graph.func_graph import FuncGraph
from berth.graph.graph import Graph
from berth.graph.inline import inline
from berth.graph.nest import flatten, pack_sequence_as
from berth.graph.tape import active_tapes, record, watch_variable
from berth.graph.tensor import Tensor
from berth.ops import builder
from berth.ops.indexed_slices import as_dense


class ConcreteFunction:
    """A function for tensors of certain types and shapes."""

    def __init__(self, graph: FuncGraph, result: Any) -> None:
        self.graph = graph
        self.name = graph.name
        self._result = result
        self._outputs = [leaf for leaf in flatten(result) if isinstance(leaf, Tensor)]
        self._runtime = FunctionRuntime(graph, self._outputs)
        self._backward: _Backward | None = None

    # --- what it is -----------------------------------------------------------------------

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors that stand for arguments and captures."""
        return [*self.graph.inputs, *(inner for _, inner in self.graph.captures)]

    @property
    def outputs(self) -> list[Tensor]:
        return list(self._outputs)

    @property
    def captured_inputs(self) -> list[Any]:
        """What the body takes from outside."""
        return [*(outer for outer, _ in self.graph.captures), *self.graph.handles.values()]

    @property
    def variables(self) -> tuple[Any, ...]:
        return tuple(self.graph.handles.values())

    @property
    def structured_outputs(self) -> Any:
        """The result, with symbols in the places of tensors."""
        return self._result

    # --- calling it -----------------------------------------------------------------------

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call it with tensors, in the order of its inputs."""
        given = [*flatten(arguments), *flatten(options)] if options else flatten(arguments)
        current: Any = builder.current()
        tensors = [current.convert(value) for value in given if value is not None]
        if len(tensors) != len(self.graph.inputs):
            raise TypeError(
                f"{self.name} takes {len(self.graph.inputs)} tensors, and was given "
                f"{len(tensors)}."
            )
        return self.call_flat(tensors)

    def call_flat(self, arguments: Sequence[Any]) -> Any:
        """Call it with the tensors of its arguments; return the result."""
        given = [*arguments, *(outer for outer, _ in self.graph.captures)]
        tapes = active_tapes()
        if isinstance(builder.current(), Graph):
            outputs = inline(self.graph, given, self._outputs)
        elif not tapes:
            outputs = self._runtime.run(given)
        elif len(tapes) > 1 or tapes[0].is_persistent:
            # Gradients may be wanted of gradients: let the tapes see every operation.
            outputs = inline(self.graph, given, self._outputs)
        else:
            outputs = self._call_on_tape(given)
        return self._structured(outputs)

    def _structured(self, outputs: Sequence[Any]) -> Any:
        if isinstance(self._result, Tensor):
            return outputs[0]
        values = iter(outputs)
        leaves = flatten(self._result)
        filled = [next(values) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        return pack_sequence_as(self._result, filled)

    def _call_on_tape(self, given: Sequence[Any]) -> list[Any]:
        handles = list(self.graph.handles.values())
        for handle in handles:
            watch_variable(handle)
        if self._backward is None:
            self._backward = _Backward(self.graph, self._outputs)
        backward = self._backward
        outputs, kept = backward.run_forward(given)
        call = _CallDefinition(self.name, backward, kept)
        record(call, [*given, *handles], outputs, {})
        return outputs


class _CallDefinition:
    """A call, as an operation on a tape."""

    access = None

    def __init__(self, name: str, backward: _Backward, kept: Sequence[Any]) -> None:
        self.name = name
        self._backward = backward
        self._kept = kept

    def gradient(self, op: Any, *grads: Any) -> Sequence[Any]:
        """Run the backward function."""
        return self._backward.run(grads, self._kept)


class _Backward:
    """The gradient of a function: another function, and what the first must keep for it."""

    def __init__(self, forward: FuncGraph, outputs: Sequence[Tensor]) -> None:
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
            grads = [found[id(source)] for source in sources]
            self._has_grad = [grad is not None for grad in grads]
            self._grads = [self._own(as_dense(grad)) for grad in grads if grad is not None]
        self._kept = [outer for outer, _ in self.graph.captures]
        self._forward = FunctionRuntime(forward, [*outputs, *self._kept])
        self._runtime = FunctionRuntime(self.graph, self._grads)

    def _own(self, tensor: Any) -> Any:
        """Return a gradient as a tensor of the backward graph: it may be the forward's."""
        return self.graph.convert(tensor)

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
        return [next(found) if has_grad else None for has_grad in self._has_grad]
