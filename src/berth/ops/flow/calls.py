"""Functional ops: `If`, `Case`, `While` and `ForEach`, which run subgraphs.

Their attribute ``subgraphs`` holds what they may run: each has a graph, its ``outputs``, and
says which inputs of the call it ``takes``. A call has no kernel that does anything: a run
computes what it takes, runs the subgraphs on the host's account, and goes on with the results.

    If, Case    takes the choice, then what the subgraphs take; gives what the chosen one gives
    While       takes the loop variables, then what condition and body take; gives the
                variables at the end, the number of iterations, and *rows*: what the body
                gives beside the next variables, of all iterations, one below the other
    ForEach     takes the number of iterations, loop variables, *sequences*, of which the
                body sees one element at a time, and what the body takes; gives as `While`

Where one has an effect (it writes, prints, may fail on purpose), or reads a variable, the
call is the one of its kind that is stateful.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import int32
from berth.errors import InvalidArgumentError
from berth.ops.iteration import elements_of
from berth.ops.opdef import (
    Attrs,
    Follow,
    Infer,
    OpDef,
    OutputType,
    RunSubgraph,
    Stack,
    all_devices,
)
from berth.ops.rules import bind_nothing, check_rank
from berth.ops.shape import Dims, bracketed, generalize

# --- running their subgraphs ----------------------------------------------------------------


def _follow_if(
    attrs: Attrs, values: Sequence[Any], run: RunSubgraph, stack: Stack
) -> list[Any]:
    _check_choice(values[0])
    return list(run(0 if values[0] else 1, values))


def _follow_case(
    attrs: Attrs, values: Sequence[Any], run: RunSubgraph, stack: Stack
) -> list[Any]:
    _check_choice(values[0])
    position, n_subgraphs = int(np.asarray(values[0]).item()), len(attrs["subgraphs"])
    return list(run(position if 0 <= position < n_subgraphs else n_subgraphs - 1, values))


def _follow_while(
    attrs: Attrs, values: Sequence[Any], run: RunSubgraph, stack: Stack
) -> list[Any]:
    current = list(values)
    return _loop(attrs, current, 0, _while_true(run, current), run, stack)


def _follow_each(
    attrs: Attrs, values: Sequence[Any], run: RunSubgraph, stack: Stack
) -> list[Any]:
    first = 1 + attrs["n_variables"]
    sequences = values[first : first + attrs["n_sequences"]]
    elements = elements_of(int(values[0]), sequences, is_reversed=attrs["reverse"])
    return _loop(attrs, list(values), 1, elements, run, stack)


def _loop(
    attrs: Attrs,
    current: list[Any],
    first: int,
    iterations: Iterator[Sequence[Any]],
    run: RunSubgraph,
    stack: Stack,
) -> list[Any]:
    """Run the body once for each iteration; the loop variables begin at `first`."""
    n_variables, body = attrs["n_variables"], attrs["subgraphs"][-1]
    columns: list[list[Any]] = [[] for _ in body.outputs[n_variables:]]
    count = 0
    for elements in iterations:
        current[first + n_variables : first + n_variables + len(elements)] = elements
        outputs = run(len(attrs["subgraphs"]) - 1, current)
        current[first : first + n_variables] = outputs[:n_variables]
        for column, value in zip(columns, outputs[n_variables:], strict=True):
            column.append(value)
        count += 1
    rows = [
        stack(number, column[::-1] if attrs["reverse"] else column)
        for number, column in enumerate(columns)
    ]
    return [*current[first : first + n_variables], count, *rows]


def _check_choice(choice: Any) -> None:
    if prod(tuple(choice.shape)) != 1:
        raise InvalidArgumentError(
            None, None, f"The second input must be a scalar, but it has shape {_text(choice)}"
        )


def _text(value: Any) -> str:
    return bracketed(tuple(value.shape))


def _while_true(run: RunSubgraph, current: Sequence[Any]) -> Iterator[Sequence[Any]]:
    while True:
        [holds] = run(0, current)
        if len(holds.shape):
            raise InvalidArgumentError(
                None, None, f"The condition of a loop must be a scalar, and not {_text(holds)}"
            )
        if not holds:
            return
        yield ()


# --- definitions ----------------------------------------------------------------------------


class Kind(NamedTuple):
    """A call with effects, and the same without any."""

    stateful: OpDef
    stateless: OpDef


def _kind(
    name: str, arguments: str, infer: Infer, sample: str, follow: Follow, is_loop: bool = False
) -> Kind:
    def define(prefix: str, is_stateful: bool) -> OpDef:
        return OpDef(
            f"{prefix}{name}",
            arguments,
            infer,
            kernels=all_devices(bind_nothing),
            follow=follow,
            is_loop=is_loop,
            is_stateful=is_stateful,
            samples=(sample,),
        )

    return Kind(define("", True), define("Stateless", False))


# --- conditionals ---------------------------------------------------------------------------


def common_dims(shapes: Sequence[Dims]) -> Dims:
    """Return the most specific shape that covers several.

    >>> common_dims([(2, 3), (2, 5)]), common_dims([(2,), (2, 3)])
    ((2, None), None)
    """
    first, *others = shapes
    for dims in others:
        first = generalize(first, dims)
    return first


def _chosen_types(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    dims: Dims = inputs[0].dims
    if dims is None or set(dims) - {1, None}:  # one element, in whatever shape, is one value
        check_rank(dims, 0)
    types = []
    for column in zip(*(subgraph.outputs for subgraph in attrs["subgraphs"]), strict=True):
        given = [tensor for tensor in column if tensor is not None]
        types.append((given[0].dtype.base_dtype, common_dims([t.dims for t in given])))
    return types


_TWO_BRANCHES = "f(2, 3), subgraphs=[subgraph((2, 3), ()), subgraph((2, 3), ())]"
IF = _kind(
    "If", "cond:bool input:Any*", _chosen_types, f"np.array(True), {_TWO_BRANCHES}", _follow_if
)
CASE = _kind(
    "Case",
    "branch_index:int32 input:Any*",
    _chosen_types,
    f"at(1), {_TWO_BRANCHES}",
    _follow_case,
)

# --- loops ----------------------------------------------------------------------------------


def _loop_types(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    return _types_after(None, attrs)


def _each_types(inputs: Sequence[Any], attrs: Attrs) -> Sequence[OutputType]:
    count = inputs[0].value
    check_rank(inputs[0].dims, 0)
    return _types_after(None if count is None else int(count), attrs)


def _types_after(count: int | None, attrs: Attrs) -> Sequence[OutputType]:
    body, n_variables = attrs["subgraphs"][-1], attrs["n_variables"]
    variables = [
        (tensor.dtype.base_dtype, dims)
        for tensor, dims in zip(body.outputs[:n_variables], attrs["invariants"], strict=True)
    ]
    rows = [row_type(tensor, count) for tensor in body.outputs[n_variables:]]
    return [*variables, (int32, ()), *rows]


def row_type(tensor: Any, count: int | None = None) -> OutputType:
    """Return the type of all the values of a tensor in a loop, stacked."""
    dims = tensor.dims
    return tensor.dtype.base_dtype, None if dims is None else (count, *dims)


_ONE_VARIABLE = "n_variables=1, invariants=[(2,)], reverse=False"
WHILE = _kind(
    "While",
    "input:Any*",
    _loop_types,
    f"f(2), subgraphs=[subgraph(()), subgraph((2,))], {_ONE_VARIABLE}",
    _follow_while,
    is_loop=True,
)
FOR_EACH = _kind(
    "ForEach",
    "count:int32 input:Any*",
    _each_types,
    f"at(4), f(2), f(4, 3), subgraphs=[subgraph((2,), (3,))], n_sequences=1, {_ONE_VARIABLE}",
    _follow_each,
    is_loop=True,
)
CHOICES = (*IF, *CASE)
LOOPS = (*WHILE, *FOR_EACH)
