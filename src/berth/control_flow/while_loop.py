"""While loops: `tf.while_loop`.

In eager mode Python loops. In a graph condition and body are traced once, and one functional
op runs them. Loop variables keep their types, and their shape invariants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from berth.control_flow.cond import building, unpacked
from berth.control_flow.subgraph import Part, SubgraphFuncGraph, add_call, value_of
from berth.dtypes import bool_, int32
from berth.graph.graph import Graph
from berth.graph.nest import (
    assert_same_structure,
    flatten,
    is_composite,
    map_structure,
    pack_sequence_as,
    spec_of_composite,
)
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.array import stop_gradient
from berth.ops.arrays.indexed_slices import as_dense
from berth.ops.builder import current
from berth.ops.compose import is_tensor
from berth.ops.elementwise.compare import less, logical_and
from berth.ops.flow.calls import WHILE
from berth.ops.shape import Dims, TensorShape, read_dims
from berth.ops.type_spec import TensorSpec, TypeSpec
from berth.public import public_v1, public_v2

Function = Callable[..., Any]


@public_v2("while_loop")
def while_loop(
    cond: Any,
    body: Any,
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
) -> Any:
    """While loop: repeat `body` on the loop variables while `cond` is true.

    >>> import berth as tf
    >>> i, total = while_loop(lambda i, t: i < 4, lambda i, t: (i + 1, t + i), (0, 0))
    >>> int(total)
    6
    """
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if not isinstance(loop_vars, list | tuple | Mapping) or not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    if not isinstance(parallel_iterations, int) or parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    here = building()
    if not back_prop:
        options = {"maximum_iterations": maximum_iterations, "name": name}
        result = while_loop(cond, body, loop_vars, shape_invariants, **options)
        return map_structure(stop_gradient, result, expand_composites=True)
    if here is None:
        return _loop_now(cond, body, loop_vars, maximum_iterations)
    with here.name_scope(name or "while") as inner:
        loop = _Loop(here, loop_vars, shape_invariants, maximum_iterations)
        return loop.packed(loop.build(cond, body, inner))


@public_v1("while_loop")
def while_loop_v1(
    cond: Any,
    body: Any,
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """While loop, with TensorFlow 1's argument names; a single loop variable is no list."""
    result = while_loop(
        cond,
        body,
        loop_vars,
        shape_invariants,
        parallel_iterations,
        back_prop,
        swap_memory,
        maximum_iterations,
        name,
    )
    return result if return_same_structure else unpacked(result)


def _loop_now(cond: Function, body: Function, loop_vars: Any, most: Any) -> Any:
    variables, count = loop_vars, 0
    while (most is None or count < int(most)) and cond(*variables):
        variables = _as_many(body(*variables), loop_vars)
        count += 1
    here: Any = current()
    return map_structure(
        lambda leaf: leaf if is_composite(leaf) else here.convert(leaf), variables
    )


def _as_many(result: Any, loop_vars: Any) -> Any:
    """Return the results of a body in the structure of the loop variables."""
    if len(loop_vars) == 1 and not isinstance(result, list | tuple):
        result = [result]
    assert_same_structure(result, list(loop_vars), check_types=False)
    return pack_sequence_as(loop_vars, flatten(result))


class _Loop:
    """A loop that is being built."""

    def __init__(self, here: Graph, loop_vars: Any, invariants: Any, most: Any) -> None:
        self._here = here
        self._loop_vars = loop_vars
        self._starts = [value_of(here.convert(leaf)) for leaf in flatten(loop_vars, True)]
        self._most = None if most is None else here.convert(most, int32, "maximum_iterations")
        given: list[Any] = [None] * len(flatten(loop_vars))
        if invariants is not None:
            assert_same_structure(loop_vars, _as_leaves(invariants), check_types=False)
            given = flatten(_as_leaves(invariants))
        pairs = zip(flatten(loop_vars), given, strict=True)
        self._specs = pack_sequence_as(loop_vars, [_spec(*pair) for pair in pairs])
        """The loop variables, with a type spec in the place of each composite."""
        asked = flatten(self._specs, True)
        self._dims = [self._invariant(*p) for p in zip(self._starts, asked, strict=True)]

    def packed(self, tensors: Sequence[SymbolicTensor]) -> Any:
        """Put tensors into the structure of the loop variables."""
        return pack_sequence_as(self._specs, tensors, expand_composites=True)

    def _invariant(self, start: SymbolicTensor, given: Any) -> Dims:
        """Read the shape invariant of a loop variable, which its first value must fit."""
        if given is None:
            return start.dims
        dims = given.dims if isinstance(given, TensorSpec) else read_dims(given.shape)
        if not is_within(start.dims, dims):
            raise ValueError(
                f"The shape invariant specified for {start.name} is not compatible with the "
                f"initial shape of the loop variable. It enters the loop with shape "
                f"{start.shape}, but the specified shape invariant is {TensorShape(dims)}."
            )
        return dims

    def build(self, cond: Function, body: Function, scope: str) -> list[SymbolicTensor]:
        """Add the loop; return the final loop variables."""
        starts, dims = list(self._starts), list(self._dims)
        if self._most is not None:  # a variable of our own counts
            starts.append(self._here.convert(0, int32, "loop_counter"))
            dims.append(())
        condition = self._loop_graph("cond", scope, starts, dims)
        holds = condition.trace(partial(self._holds, condition, cond))
        repeated = self._loop_graph("body", scope, starts, dims)
        following = repeated.trace(partial(self._following, repeated, body))
        takes = range(len(starts))
        parts = [Part(condition, [holds], takes), Part(repeated, following, takes)]
        attrs = {
            "n_variables": len(starts),
            "n_sequences": 0,
            "n_rows": 0,
            "invariants": dims,
            "reverse": False,
        }
        call = add_call(self._here, WHILE, starts, parts, attrs, scope)
        return call.outputs[: len(self._starts)]

    def _loop_graph(
        self, label: str, scope: str, starts: Sequence[SymbolicTensor], dims: Sequence[Dims]
    ) -> SubgraphFuncGraph:
        graph = SubgraphFuncGraph(f"{scope[:-1].replace('/', '_')}_{label}", self._here)
        for start, known in zip(starts, dims, strict=True):
            graph.add_input(start.dtype.base_dtype, known, start.op.name.rpartition("/")[2])
        return graph

    def _holds(self, graph: SubgraphFuncGraph, cond: Function) -> SymbolicTensor:
        variables = graph.inputs[: len(self._starts)]
        result = cond(*self.packed(variables))
        if isinstance(result, list | tuple):
            result = unpacked(result)
        holds = value_of(graph.convert(result))
        if self._most is not None:
            within = logical_and(less(graph.inputs[-1], self._most), holds)
            holds = cast(SymbolicTensor, within)
        if holds.dtype is not bool_:
            raise TypeError(
                f"Input 'input' of 'LoopCond' Op has type {holds.dtype.name} that does not "
                "match expected type of bool."
            )
        if holds.dims:
            raise ValueError(
                f"Shape must be rank 0 but is rank {len(holds.dims)}: the condition of a loop "
                f"is {holds}"
            )
        return holds

    def _following(self, graph: SubgraphFuncGraph, body: Function) -> list[SymbolicTensor]:
        """Return the loop variables after an iteration; they keep types and shapes."""
        symbols = graph.inputs[: len(self._starts)]
        result = body(*self.packed(symbols))
        following = []
        leaves = flatten(map_structure(as_dense, _as_many(result, self._loop_vars)), True)
        for start, dims, leaf in zip(self._starts, self._dims, leaves, strict=True):
            dtype = None if is_tensor(leaf) else start.dtype
            tensor = value_of(graph.convert(leaf, dtype))
            _check_kept(start, dims, tensor)
            following.append(tensor)
        if self._most is not None:
            count: Any = graph.inputs[-1] + 1
            following.append(count)
        return following


def _spec(variable: Any, invariant: Any) -> Any:
    """Return what says the shapes of a loop variable: None, its invariant, or a type spec."""
    given = None if invariant is None else invariant.shape
    if not is_composite(variable):
        return given if isinstance(given, TensorSpec) else invariant
    spec = spec_of_composite(variable)
    if given is None or isinstance(given, TypeSpec):
        return spec if given is None else given
    return spec._with_shape(TensorShape(given))


def _as_leaves(invariants: Any) -> Any:
    """Wrap shapes, which may be lists, so that they are not taken for structures."""
    if isinstance(invariants, list | tuple) and not all(
        size is None or isinstance(size, int) for size in invariants
    ):
        return type(invariants)(_as_leaves(part) for part in invariants)
    if isinstance(invariants, Mapping):
        return {key: _as_leaves(part) for key, part in invariants.items()}
    return _Shape(invariants)


class _Shape:
    def __init__(self, shape: Any) -> None:
        self.shape = shape


def _check_kept(start: SymbolicTensor, dims: Dims, after: SymbolicTensor) -> None:
    if after.dtype is not start.dtype.base_dtype:
        raise TypeError(
            f"Loop var {start.name} enters the loop with type {start.dtype!r} but has type "
            f"{after.dtype!r} after 1 iteration. {start.name} type should remain constant."
        )
    if not is_within(after.dims, dims):
        raise ValueError(
            f"Input tensor `{start.name}` enters the loop with shape {TensorShape(dims)}, but "
            f"has shape {after.shape} after one iteration. To allow the shape to vary across "
            "iterations, use the `shape_invariants` argument of tf.while_loop to specify a "
            "less-specific shape."
        )


def is_within(dims: Dims, invariant: Dims) -> bool:
    """Tell whether a shape is certain to be one that an invariant allows."""
    if invariant is None:
        return True
    if dims is None or len(dims) != len(invariant):
        return False
    return all(wanted in (None, size) for size, wanted in zip(dims, invariant, strict=True))
