"""Gradients of conditionals and loops, which are conditionals and loops themselves.

Each subgraph gets a backward subgraph, which backpropagates through its operations and takes
the forward values that it needs. Those from inside of a subgraph become outputs of the
forward op (`expose_output`); of a loop, these are the values of all iterations, which the
backward loop takes as sequences, the last first. So nothing is computed twice, and what
subgraphs read, draw or print they do once.

A loop sums the gradients of captured tensors over its iterations; the gradients of loop
variables are passed from iteration to iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from berth.autodiff.backprop import backpropagate, between, is_differentiable
from berth.control_flow.subgraph import (
    Part,
    Subgraph,
    SubgraphFuncGraph,
    add_call,
    expose_output,
    positions_of_variables,
)
from berth.graph.func_graph import is_variable
from berth.graph.graph import Graph
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.filling import zeros, zeros_like
from berth.ops.arrays.indexed_slices import as_dense
from berth.ops.builder import current
from berth.ops.elementwise.add_n import add_n
from berth.ops.flow.calls import CASE, CHOICES, FOR_EACH, IF, LOOPS
from berth.ops.gradient import RecordedOp, gradient, takes_none
from berth.ops.opdef import variable_of
from berth.ops.state.variables import READ


class _BackwardSubgraph:
    """The backward graph of one subgraph of a functional op."""

    def __init__(self, here: Graph, call: Operation, position: int, seeded: Sequence[int]):
        self.call = call
        self.position = position
        self.subgraph: Subgraph = call.attrs["subgraphs"][position]
        self.graph = SubgraphFuncGraph(f"{self.subgraph.graph.name}_grad", here)
        self.symbols: dict[int, SymbolicTensor] = {}
        """For each seeded output of the subgraph, what stands for its gradient."""
        self.grads: dict[int, SymbolicTensor] = {}
        """What it finds: gradients, by the positions of the inputs of the call."""
        self.graph.trace(self._build, seeded)

    def _build(self, seeded: Sequence[int]) -> None:
        graph, targets = self.graph, []
        starts: dict[int, Any] = {}
        for number in seeded:
            output = self.subgraph.outputs[number]
            if output is None or not is_differentiable(output):
                continue
            symbol = graph.add_input(output.dtype.base_dtype, output.dims, "grad")
            self.symbols[number] = symbol
            known = starts.get(id(output))
            starts[id(output)] = symbol if known is None else add_n([known, symbol])
            targets.append(output)
        sources = self._sources()
        tensors = [tensor for _, tensor in sources]
        found = backpropagate(
            between(tensors, targets, []), starts, [id(t) for t in tensors], self._beside
        )
        for position, tensor in sources:
            grad = found[id(tensor)]
            if grad is not None:
                grad = graph.convert(as_dense(grad))
                known = self.grads.get(position)
                total: Any = grad if known is None else add_n([known, grad])
                self.grads[position] = total

    def _sources(self) -> list[tuple[int, SymbolicTensor]]:
        """List what may have a gradient, each with the input of the call that it is."""
        pairs = zip(self.subgraph.takes, self.subgraph.symbols, strict=True)
        sources = [(position, t) for position, t in pairs if is_differentiable(t)]
        variables = positions_of_variables(self.call)
        for op, variable in self.subgraph.graph.handles.items():
            sources.append((variables[id(variable)], op.outputs[0]))
        return sources

    def _beside(self, op: Any) -> Any:
        return self.graph.device(op.device) if op.device else nullcontext()

    def grad_for(self, position: int) -> SymbolicTensor:
        """Return the gradient of an input of the call; zeros, if there is none."""
        if position not in self.grads:
            made = self.graph.trace(_zeros_for, self.call.inputs[position])
            self.grads[position] = made
        return self.grads[position]

    def input_behind(self, outer: Any) -> int | None:
        """Return the position of a tensor among the inputs of the call; None if it is none."""
        for position, symbol in zip(self.subgraph.takes, self.subgraph.symbols, strict=True):
            if symbol is outer:
                return position
        return None

    def is_inside(self, outer: Any) -> bool:
        """Tell whether a tensor is one of the forward subgraph's."""
        return isinstance(outer, SymbolicTensor) and outer.graph is self.subgraph.graph


def _zeros_for(tensor: SymbolicTensor) -> Any:
    if not is_variable(tensor):
        return zeros_like(tensor)
    variable = variable_of(tensor)
    shape = variable.attrs["shape"]
    if shape.is_fully_defined():
        return zeros(shape.as_list(), variable.attrs["dtype"])
    here: Any = current()
    return zeros_like(here.apply(READ, (tensor,), {}, None))


def _spread(n_inputs: int, found: Mapping[int, Any]) -> list[Any]:
    return [found.get(position) for position in range(n_inputs)]


# --- conditionals ---------------------------------------------------------------------------


@gradient(*CHOICES)
@takes_none
def _of_choice(op: RecordedOp, *grads: Any) -> Sequence[Any]:
    call: Operation = op.outputs[0].op
    here: Any = current()
    seeded = [number for number, grad in enumerate(grads) if grad is not None]
    n_subgraphs = len(call.attrs["subgraphs"])
    backwards = [
        _BackwardSubgraph(here, call, position, seeded) for position in range(n_subgraphs)
    ]
    positions = sorted({position for back in backwards for position in back.grads})
    if not positions:
        return [None] * len(call.inputs)
    parts = []
    for back in backwards:
        outputs = [back.grad_for(position) for position in positions]
        captures = back.graph.captures
        back.graph.captures = [(_outer_tensor(back, outer), inner) for outer, inner in captures]
        takes = [1 + seeded.index(number) for number in back.symbols]
        parts.append(Part(back.graph, outputs, takes))
    given = [call.inputs[0], *(grads[number] for number in seeded)]
    kind = IF if call.definition in IF else CASE
    made = add_call(here, kind, given, parts, {}, call.name.rpartition("/")[2])
    return _spread(len(call.inputs), dict(zip(positions, made.outputs, strict=True)))


def _outer_tensor(back: _BackwardSubgraph, outer: Any) -> Any:
    """Return the outer tensor for an input of a backward subgraph."""
    if not back.is_inside(outer):
        return outer
    position = back.input_behind(outer)
    if position is None:
        return expose_output(back.call, back.position, outer)
    return back.call.inputs[position]


# --- loops ----------------------------------------------------------------------------------


@gradient(*LOOPS)
@takes_none
def _of_loop(op: RecordedOp, *grads: Any) -> Sequence[Any]:
    call: Operation = op.outputs[0].op
    if all(grad is None for grad in grads):
        return [None] * len(call.inputs)
    return _BackwardLoop(call, grads).gradients()


class _BackwardLoop:
    """The backward loop of a while loop.

    Its variables are the gradients of that one's variables, and sums: the gradients of what
    that one takes in every iteration.
    """

    def __init__(self, call: Operation, grads: Sequence[Any]) -> None:
        self._call, self._grads = call, grads
        here: Any = current()
        self._here: Graph = here
        attrs = call.attrs
        is_each = call.definition in FOR_EACH
        n_variables = attrs["n_variables"]
        self._first = 1 if is_each else 0
        """The position of the first loop variable among the inputs."""
        self._sequences = range(
            self._first + n_variables, self._first + n_variables + attrs["n_sequences"]
        )
        self._count = call.inputs[0] if is_each else call.outputs[n_variables]
        self._variables = [k for k in range(n_variables) if is_differentiable(call.outputs[k])]
        # Among the outputs of the call, the number of iterations stands before the rows.
        rows = [k for k in range(n_variables + 1, len(grads)) if grads[k] is not None]
        self._rows = [k - 1 for k in rows if is_differentiable(call.outputs[k])]
        self._back = _BackwardSubgraph(
            here, call, len(attrs["subgraphs"]) - 1, [*self._variables, *self._rows]
        )
        self._taken: list[Any] = [grads[k + 1] for k in self._rows]
        """The sequences of the backward loop."""

    def gradients(self) -> Sequence[Any]:
        """Make the loop; return the gradients of the inputs."""
        back, call, first = self._back, self._call, self._first
        summed = sorted(p for p in back.grads if p >= self._sequences.stop)
        in_rows = [p for p in self._sequences if p in back.grads]
        graph = back.graph
        sums = {p: self._sum_symbol(p) for p in summed}
        outputs = graph.trace(self._outputs, sums, in_rows)
        histories = self._take_histories()
        starts = [self._start(k) for k in self._variables]
        starts += [_zeros_for(call.inputs[p]) for p in summed]
        given = [self._count, *starts, *self._taken]
        # In the order in which the graph's inputs were added.
        of_rows = range(1 + len(starts), 1 + len(starts) + len(self._rows))
        takes = [*range(1, 1 + len(self._variables)), *of_rows]
        takes += range(1 + len(self._variables), 1 + len(starts))
        takes += [1 + len(starts) + position for position in histories]
        attrs = {
            "n_variables": len(starts),
            "n_sequences": len(self._taken),
            "n_rows": 0,
            "invariants": [back.symbols[k].dims for k in self._variables]
            + [symbol.dims for symbol in sums.values()],
            "reverse": not call.attrs["reverse"],
        }
        part = Part(graph, outputs, takes)
        made = add_call(
            self._here, FOR_EACH, given, [part], attrs, call.name.rpartition("/")[2]
        )
        variables = [first + k for k in self._variables]
        ends = dict(zip([*variables, *summed], made.outputs, strict=False))
        rows = dict(zip(in_rows, made.outputs[len(starts) + 1 :], strict=True))
        return _spread(len(call.inputs), {**ends, **rows})

    def _sum_symbol(self, position: int) -> SymbolicTensor:
        grad = self._back.grads[position]
        return self._back.graph.add_input(grad.dtype, grad.dims, "sum")

    def _outputs(
        self, sums: Mapping[int, SymbolicTensor], in_rows: Sequence[int]
    ) -> list[SymbolicTensor]:
        """Return what an iteration gives: the next variables, and rows."""
        grads, symbols = self._back.grads, self._back.symbols
        following = []
        for k in self._variables:
            grad = grads.get(self._first + k)
            following.append(zeros_like(symbols[k]) if grad is None else grad)
        added: list[Any] = [
            add_n([symbol, grads[position]]) for position, symbol in sums.items()
        ]
        return [*following, *added, *(grads[position] for position in in_rows)]

    def _take_histories(self) -> list[int]:
        """Add the values that differ between iterations as sequences; return which ones."""
        back, kept, positions = self._back, [], []
        for outer, inner in back.graph.captures:
            sequence, outside = self._outer_tensor(outer)
            if not sequence:
                kept.append((outside, inner))
                continue
            back.graph.inputs.append(inner)
            positions.append(len(self._taken))
            self._taken.append(outside)
        back.graph.captures = kept
        return positions

    def _outer_tensor(self, outer: Any) -> tuple[bool, Any]:
        """Return the outer tensor for one of the forward subgraph, and if it is a sequence."""
        back = self._back
        if not back.is_inside(outer):
            return False, outer
        position = back.input_behind(outer)
        if position is None or self._first <= position < self._sequences.start:
            return True, expose_output(back.call, back.position, outer)
        return position in self._sequences, back.call.inputs[position]

    def _start(self, number: int) -> Any:
        grad = self._grads[number]
        return zeros_like(self._call.outputs[number]) if grad is None else grad
