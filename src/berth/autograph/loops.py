"""Loops of converted code: `while`, and `for` over values of Python and over tensors.

Where the test, or what is iterated over, is a value of Python, Python loops. Where it is a
tensor in a graph, the body is traced once: the variables that are read later, or by the next
iteration, become loop variables. What else can be iterated over in a graph (a dataset) has a
method ``_autograph_for(loop, body, more)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from berth.autograph.staged_loop import StagedLoop
from berth.autograph.state import State, Variable
from berth.autograph.values import check_condition, is_staged, scratch_graph
from berth.control_flow.cond import building
from berth.ops.arrays.metadata import shape
from berth.ops.elementwise.arithmetic import minimum
from berth.ops.elementwise.compare import less

Options = dict[str, Any] | None
_LIMITS = (
    "https://github.com/tensorflow/tensorflow/blob/master/tensorflow/python/autograph/g3doc/"
    "reference/limitations.md#consistency-of-control-flow-types"
)


def while_stmt(
    test: FunctionType,
    body: FunctionType,
    binds: bool,
    names: Sequence[str],
    live: Sequence[str],
    composites: Sequence[Variable] = (),
    options: Options = None,
) -> None:
    """Repeat a block while a test holds; if that is a tensor, trace both."""
    # In a graph only to see what kind it is: if it is a tensor, the loop evaluates it again.
    holds = test() if building() is None or binds else scratch_graph().trace(test)
    if is_staged(holds):
        loop = StagedLoop(State(names, (body, test), composites), live, options)
        loop.run(lambda: _condition(test()), body)
        return
    while holds:
        body()
        holds = test()
        if is_staged(holds):
            raise NotImplementedError(
                "The condition of while loop started as non-Tensor, then changed to Tensor. "
                "This may happen either because variables changed type, or when a break or "
                "return statement inside the loop depends on a Tensor condition. In both "
                f"cases, changing to a TF loop should remove the error.\nSee {_LIMITS} for "
                "more info."
            )


def _condition(value: Any) -> Any:
    if is_staged(value):
        check_condition(value, "while loop")
    return value


def for_stmt(
    iterated: Any,
    body: FunctionType,
    more: FunctionType | None,
    names: Sequence[str],
    live: Sequence[str],
    composites: Sequence[Variable] = (),
    options: Options = None,
) -> None:
    """Repeat a block for each element; `more` says whether to go on, if it has a `break`."""
    in_graph = building() is not None and getattr(iterated, "_autograph_for", None)
    if in_graph or is_staged(iterated):
        blocks = (body,) if more is None else (body, more)
        loop = StagedLoop(State(names, blocks, composites), live, options)
        if in_graph:
            in_graph(loop, body, more)
        else:
            _for_tensor(iterated, loop, body, more)
        return
    if more is None:
        for item in iterated:
            body(item)
        return
    for item in iterated:
        body(item)
        goes_on = more()
        if is_staged(goes_on):
            raise NotImplementedError(
                "break and return statements which depend on a TF condition are not supported "
                "in Python for loops. Did you intend to make it a TF loop?\nSee "
                f"{_LIMITS} for more info."
            )
        if not goes_on:
            break


def _for_tensor(
    iterated: Any, loop: StagedLoop, body: FunctionType, more: Callable[[], Any] | None
) -> None:
    """Iterate over the first axis of a tensor."""
    tensor = iterated.as_tensor() if hasattr(iterated, "as_tensor") else iterated
    if tensor.dims is not None and not tensor.dims:
        raise TypeError("iteration over a 0-d tensor")
    most = loop.maximum_iterations
    if more is None and most is None:
        loop.run_for_each(tensor, body)
        return
    count = shape(tensor)[0] if not tensor.dims or tensor.dims[0] is None else tensor.dims[0]
    if most is not None:
        count = minimum(count, most)
        loop.maximum_iterations = None

    def step(index: Any) -> Any:
        body(tensor[index])
        return index + 1

    loop.run_with(lambda index: less(index, count), step, 0, more)
