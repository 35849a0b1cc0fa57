"""Execution of functional ops (loops, conditionals): each subgraph has an engine of its own.

Inputs and outputs of a subgraph are on the host: a loop passes its variables from iteration to
iteration that way. Plans are cached by the shapes of the inputs, so an iteration costs a run
and no more; of loops that can be prepared (`prepared`), the calls of its operations.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from operator import methodcaller
from typing import Any, Protocol

import numpy as np

from berth.control_flow.subgraph import Subgraph
from berth.devices.device import Device
from berth.dtypes import DType
from berth.errors import InvalidArgumentError
from berth.graph.func_graph import FuncGraph
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.lru import LRUCache
from berth.ops.opdef import Attrs, OpDef, Stack
from berth.ops.shape import Dims, bracketed, is_known
from berth.plan.plan import Feed, Request
from berth.run.prepared import LoopRunner, NotPreparable, Program
from berth.run.runner import RequestRunner
from berth.run.stage import fail
from berth.run.state import SessionState

Array = np.ndarray[Any, Any]
MAX_SUBGRAPHS = 256
MAX_RUNNERS = 16
MAX_LOOPS = 64


class SubgraphState(SessionState):
    """State of a subgraph between runs. Its variables are those of the enclosing graph."""

    moves = True

    def __init__(
        self, graph: FuncGraph, around: SessionState, devices: Sequence[Device]
    ) -> None:
        super().__init__(devices)
        self._handles = graph.handles
        self._root: SessionState = getattr(around, "_root", around)
        self.objects = self._root.objects

    def variable(self, op: Operation, device: int, dims: Any, dtype: DType) -> Any:
        """Return a variable of the outermost graph, or of the program."""
        behind = self._handles[op]
        if isinstance(behind, SymbolicTensor):
            return self._root.variable(behind.op, device, dims, dtype)
        return behind


class GraphEngine(Protocol):
    """What runs the requests of a subgraph."""

    def place(self, request: Request) -> Any:
        """Place the subgraph's operations."""
        ...

    def runner(self, request: Request) -> RequestRunner:
        """Return what runs a request."""
        ...

    def drop_idle(self) -> None:
        """Free the memory that no run is using."""
        ...

    def close(self) -> None:
        """Free all memory."""
        ...


class OuterEngine(Protocol):
    """The engine of the graph whose operations run subgraphs."""

    def engine_of_subgraph(self, graph: FuncGraph) -> GraphEngine:
        """Make what runs a subgraph: on the same devices, with the same variables."""
        ...


class FunctionalOps:
    """Runs the operations of one graph that run subgraphs, or that only the host can do."""

    def __init__(self, outer: OuterEngine) -> None:
        self._outer = outer
        self._lock = threading.RLock()
        # Not a cache: the state of a subgraph's random numbers is in its engine.
        self._engines: dict[FuncGraph, GraphEngine] = {}
        self._cached: LRUCache[Any, list[_CachedSubgraph]] = LRUCache(
            "subgraphs", MAX_SUBGRAPHS
        )
        self._loops: LRUCache[Any, LoopRunner] = LRUCache(
            "prepared loops", MAX_LOOPS, methodcaller("release")
        )

    def run(
        self,
        op: Operation,
        inputs: Sequence[Any],
        wanted: frozenset[int],
        run_stage: Any = None,
        is_traced: bool = False,
    ) -> Sequence[Any]:
        """Run an operation; return its outputs, those that are not wanted as None."""
        try:
            perform = op.definition.perform
            if perform is not None:
                return perform(inputs, op.attrs)
            return self._run_subgraphs(op, inputs, wanted, run_stage, is_traced)
        except Exception as error:
            fail(error, op)

    def _run_subgraphs(
        self,
        op: Operation,
        inputs: Sequence[Any],
        wanted: frozenset[int],
        run_stage: Any,
        is_traced: bool,
    ) -> list[Any]:
        attrs = op.attrs  # gradients may replace them, and never change them
        subgraphs = self._subgraphs(op, attrs, wanted, is_traced)

        def stack(number: int, column: Sequence[Any]) -> Any:
            output = attrs["subgraphs"][-1].outputs[attrs["n_variables"] + number]
            return _stacked(output, column, is_asked_for=number < attrs["n_rows"])

        if op.definition.is_loop and run_stage is None and not is_traced:
            outputs = self._run_prepared(op, attrs, subgraphs, inputs, wanted, stack)
            if outputs is not None:
                return outputs

        def run_subgraph(position: int, current: Sequence[Any]) -> Sequence[Any]:
            return subgraphs[position].run(current, run_stage)

        follow = op.definition.follow
        assert follow is not None, f"{op.name} has no subgraphs"
        return follow(attrs, inputs, run_subgraph, stack)

    def _run_prepared(
        self,
        op: Operation,
        attrs: Attrs,
        subgraphs: Sequence[_CachedSubgraph],
        inputs: Sequence[Any],
        wanted: frozenset[int],
        stack: Stack,
    ) -> list[Any] | None:
        """Run a loop that is prepared for the types of its inputs; None if it cannot be."""
        types = tuple([None if v is None else (v.shape, v.dtype) for v in inputs])
        key = (op, len(attrs["subgraphs"][-1].outputs), wanted, types)
        runner = self._loops.get(key)
        if runner is None or runner.is_released:
            runner = self._loops[key] = LoopRunner(op, attrs, subgraphs, inputs)
        outputs = runner.try_run(inputs)
        if outputs is None:
            return None
        n_before = attrs["n_variables"] + 1
        count = outputs[n_before - 1]
        columns = [[None] * count if c is None else c for c in outputs[n_before:]]
        rows = [
            stack(number, column[::-1] if attrs["reverse"] else column)
            for number, column in enumerate(columns)
        ]
        return [*outputs[:n_before], *rows]

    def prepare(
        self, program: Program, op: Operation, inputs: Sequence[Any], wanted: frozenset[int]
    ) -> list[Any]:
        """Add an operation to a program; return the arrays of its outputs."""
        if op.definition.follow is None:
            raise NotPreparable
        attrs = op.attrs
        subgraphs = self._subgraphs(op, attrs, wanted, is_traced=False)
        add = program.add_loop if op.definition.is_loop else program.add_choice
        return add(op, attrs, subgraphs, inputs)

    def _subgraphs(
        self, op: Operation, attrs: Attrs, wanted: frozenset[int], is_traced: bool
    ) -> list[_CachedSubgraph]:
        key = (op, len(attrs["subgraphs"][-1].outputs), wanted, is_traced)
        cached = self._cached.get(key)
        if cached is None:
            with self._lock:
                cached = self._cached[key] = [
                    _CachedSubgraph(subgraph, self._engine(subgraph.graph), outputs, is_traced)
                    for subgraph, outputs in _wanted_outputs(op.definition, attrs, wanted)
                ]
        return cached

    def _engine(self, graph: FuncGraph) -> GraphEngine:
        engine = self._engines.get(graph)
        if engine is None:
            engine = self._engines[graph] = self._outer.engine_of_subgraph(graph)
            # A subgraph that is never run is placed too.
            engine.place(Request((), (), ()))
        return engine

    def drop_idle(self) -> None:
        """Free the memory that no run is using."""
        for loop in self._loops.values():
            loop.drop_idle()
        for engine in list(self._engines.values()):
            engine.drop_idle()

    def close(self) -> None:
        """Free all memory."""
        with self._lock:
            for engine in self._engines.values():
                engine.close()
            self._engines.clear()
            self._cached.clear()
            self._loops.clear()


def _wanted_outputs(
    definition: OpDef, attrs: Attrs, wanted: frozenset[int]
) -> list[tuple[Subgraph, list[SymbolicTensor | None]]]:
    """Return each subgraph with those of its outputs that the operation needs."""
    subgraphs: Sequence[Subgraph] = attrs["subgraphs"]
    if not definition.is_loop:
        return [(subgraph, _only(subgraph.outputs, wanted)) for subgraph in subgraphs]
    n_variables = attrs["n_variables"]
    # All variables are, to go on with; the count stands between them and the rows.
    kept = {*range(n_variables), *(number - 1 for number in wanted if number > n_variables)}
    *conditions, subgraph = subgraphs
    return [(c, list(c.outputs)) for c in conditions] + [
        (subgraph, _only(subgraph.outputs, kept))
    ]


def _only(
    outputs: Sequence[SymbolicTensor | None], wanted: frozenset[int] | set[int]
) -> list[SymbolicTensor | None]:
    return [output if k in wanted else None for k, output in enumerate(outputs)]


class _CachedSubgraph:
    """A subgraph with its runners, for some of its outputs."""

    def __init__(
        self,
        subgraph: Subgraph,
        engine: GraphEngine,
        outputs: Sequence[SymbolicTensor | None],
        is_traced: bool,
    ) -> None:
        self._engine = engine
        self._symbols = subgraph.symbols
        self._takes = subgraph.takes
        self._targets = tuple(subgraph.graph.effects)
        self._is_traced = is_traced
        passed = {id(s): p for s, p in zip(subgraph.symbols, subgraph.takes, strict=True)}
        fetches: dict[SymbolicTensor, int] = {}
        self._sources: list[tuple[str, Any]] = []
        """For each output where it comes from: a fetch, what is passed on, or nowhere."""
        for given, output in zip(subgraph.outputs, outputs, strict=True):
            if output is None:
                self._sources.append(("none", given))
            elif id(output) in passed:
                self._sources.append(("passed", passed[id(output)]))
            else:
                position = fetches.setdefault(output, len(fetches))
                self._sources.append(("fetched", position))
        self._fetches = tuple(fetches)
        self._runners: LRUCache[Any, RequestRunner] = LRUCache("subgraph runners", MAX_RUNNERS)

    def run(self, current: Sequence[Any], run_stage: Any) -> list[Any]:
        """Run the subgraph once; return its outputs."""
        results: Sequence[Any] = ()
        if self._fetches or self._targets:
            arrays = [as_array(current[position]) for position in self._takes]
            key = tuple([array.shape for array in arrays])
            runner = self._runners.get(key)
            if runner is None or runner.is_released:
                runner = self._runners[key] = self._runner(arrays)
            results = runner.run(arrays, run_stage)
        return self._outputs(current, results)

    def prepare(self, program: Program, current: Sequence[Any]) -> list[Any]:
        """Add the subgraph to a program; return the arrays of its outputs."""
        results: Sequence[Any] = ()
        if self._fetches or self._targets:
            arrays = [as_array(current[position]) for position in self._takes]
            results = self._runner(arrays).prepare(program, arrays)
        return self._outputs(current, results)

    def _outputs(self, current: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        values: list[Any] = []
        for kind, where in self._sources:
            if kind == "fetched":
                values.append(as_array(results[where]))
            elif kind == "passed":
                values.append(current[where])
            else:
                values.append(None)
        return values

    def _runner(self, arrays: Sequence[Array]) -> RequestRunner:
        feeds = tuple(
            Feed(symbol, array.shape)
            for symbol, array in zip(self._symbols, arrays, strict=True)
        )
        return self._engine.runner(
            Request(self._fetches, self._targets, feeds, self._is_traced)
        )


def as_array(value: Any) -> Array:
    """Return a fetched value as an array again; a text is no array of letters."""
    if isinstance(value, np.ndarray):
        return value
    return np.array(value, object) if isinstance(value, bytes) else np.asarray(value)


def _stacked(output: SymbolicTensor, column: Sequence[Any], *, is_asked_for: bool) -> Any:
    """Put arrays below each other.

    If they differ in shape they stay apart, in an array of arrays: good enough for the
    loop of the backward pass, which takes one at a time.
    """
    if not column:
        return _no_rows(output, is_asked_for)
    if column[0] is None:
        return None
    column = [as_array(value) for value in column]
    first = column[0]
    if all(a.shape == first.shape and a.dtype == first.dtype for a in column):
        return np.stack(column)
    if is_asked_for:
        other = next(a for a in column if a.shape != first.shape)
        raise InvalidArgumentError(
            None,
            None,
            "What a loop gives must have one shape in all iterations, and not "
            f"{bracketed(first.shape)} in one and {bracketed(other.shape)} in another",
        )
    rows = np.empty(len(column), object)
    rows[:] = column
    return rows


def _no_rows(output: SymbolicTensor, is_asked_for: bool) -> Array:
    dims: Dims = output.dims
    if is_asked_for and not is_known(dims):
        raise InvalidArgumentError(
            None,
            None,
            f"TensorArray has size zero, but element shape {output.shape} is not fully "
            "defined. Currently only static shapes are supported when packing zero-size "
            "TensorArrays.",
        )
    return np.zeros([0, *(size or 0 for size in dims or ())], output.dtype.np_dtype)
