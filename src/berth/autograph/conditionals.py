"""Conditionals of converted code: `if`, ``x if c else y``, `and`, `or`, `not`, comparisons.

Where the condition is a value of Python, all is as Python does it. Where it is a tensor in a
graph, both branches are traced, by `tf.cond`, and the variables that matter later are its
outputs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from berth.autograph.jumps import RETURNED
from berth.autograph.state import NOTHING_RETURNED, UNDEFINED, State, Variable
from berth.autograph.values import (
    as_tensors,
    check_condition,
    is_staged,
    same_structure,
    scratch_graph,
    zeros_like_spec,
)
from berth.control_flow.cond import cond
from berth.graph.nest import flatten, is_composite
from berth.ops.elementwise.compare import logical_not

MAIN, ELSE = "main", "else"


def if_stmt(
    test: Any,
    body: FunctionType,
    orelse: FunctionType,
    names: Sequence[str],
    live: Sequence[str],
    composites: Sequence[Variable] = (),
) -> None:
    """Run one of two blocks; if the test is a tensor, trace both."""
    if not is_staged(test):
        if test:
            body()
        else:
            orelse()
        return
    check_condition(test, "if statement")
    state = State(names, (body, orelse), composites)
    _StagedIf(state, state.matter(live), {MAIN: body, ELSE: orelse}).run(test)


class _StagedIf:
    """A conditional on a tensor."""

    def __init__(
        self, state: State, kept: list[int], branches: dict[str, Callable[[], Any]]
    ) -> None:
        self._state = state
        self._kept = kept
        self._branches = branches
        self._initial = state.get()
        self._flag = next((k for k in kept if state.names[k].startswith("do_return")), None)
        self._values: dict[str, list[Any]] = {}
        """What the branches gave that were traced."""

    def run(self, test: Any) -> None:
        """Add the conditional; set the variables to its outputs."""
        try:
            results = cond(test, lambda: self._traced(MAIN), lambda: self._traced(ELSE))
        finally:
            self._state.set(self._initial)
        for position, value in zip(self._kept, results, strict=True):
            self._state.variables[position].set(value)

    def _traced(self, label: str) -> list[Any]:
        values = self._filled(label, self._outcome(label))
        self._check_values(label, values)
        names = [self._state.names[position] for position in self._kept]
        where = f"at the end of the {label} branch"
        tensors = [as_tensors(v, n, where) for v, n in zip(values, names, strict=True)]
        self._values[label] = tensors
        if label == ELSE:
            for name, first, second in zip(names, self._values[MAIN], tensors, strict=True):
                check_alike(name, first, second)
        return tensors

    def _outcome(self, label: str) -> list[Any]:
        """Run a branch; return the values of the variables that matter."""
        self._state.set(self._initial)
        self._branches[label]()
        values = self._state.get()
        return [values[position] for position in self._kept]

    def _filled(self, label: str, values: list[Any]) -> list[Any]:
        """Let zeros stand for a result that only the other branch returns.

        Nothing reads them: what follows is guarded by the flag that says who returned.
        """
        for number, position in enumerate(self._kept):
            is_result = self._state.names[position].startswith(RETURNED.rstrip("_"))
            if self._flag is None or not is_result or values[number] is not UNDEFINED:
                continue
            other = self._values.get(MAIN) if label == ELSE else self._tried(ELSE)
            if other is not None and other[number] is not UNDEFINED:
                values[number] = zeros_like_spec(other[number])
        return values

    def _tried(self, label: str) -> list[Any]:
        """Trace a branch in a graph that is dropped, for the types that it gives."""
        values = scratch_graph().trace(self._outcome_as_tensors, label)
        self._state.set(self._initial)
        return list(values)

    def _outcome_as_tensors(self, label: str) -> list[Any]:
        return [
            value if value is UNDEFINED or value is None else as_tensors(value, RETURNED, "")
            for value in self._outcome(label)
        ]

    def _check_values(self, label: str, values: list[Any]) -> None:
        for position, value in zip(self._kept, values, strict=True):
            name = self._state.names[position]
            if value is UNDEFINED:
                if name.startswith(RETURNED.rstrip("_")):
                    raise ValueError(f"the {label} branch must also have a return statement.")
                raise ValueError(f"'{name}' must also be initialized in the {label} branch")
            if value is None:
                raise ValueError(f"'{name}' is None at the end of the {label} branch.")


def check_alike(name: str, first: Any, second: Any) -> None:
    """Raise TypeError unless both branches gave a variable the same types."""
    difference = same_structure(first, second)
    if difference:
        raise TypeError(
            f"'{name}' must have the same nested structure in the main and else branches:\n\n"
            f"{difference}"
        )
    for a, b in zip(flatten(first), flatten(second), strict=True):
        if is_composite(a) or is_composite(b):
            continue
        if a.dtype.base_dtype is not b.dtype.base_dtype:
            raise TypeError(
                f"'{name}' has dtype {a.dtype.name} in the main branch, but dtype "
                f"{b.dtype.name} in the else branch"
            )


def if_exp(test: Any, body: Callable[[], Any], orelse: Callable[[], Any], text: str) -> Any:
    """Return the value of one of two expressions; if the test is a tensor, by tf.cond."""
    if not is_staged(test):
        return body() if test else orelse()
    values: dict[str, Any] = {}

    def traced(label: str, branch: Callable[[], Any]) -> Any:
        value = branch()
        if value is None:
            raise ValueError(f"'{text}' is None at the end of the {label} branch.")
        if not hasattr(value, "control_inputs"):  # an operation without a value, to be run
            value = as_tensors(value, text, f"at the end of the {label} branch")
        values[label] = value
        if label == ELSE and not hasattr(value, "control_inputs"):
            check_alike(text, values[MAIN], value)
        return value

    return cond(test, lambda: traced(MAIN, body), lambda: traced(ELSE, orelse))


# --- logic ----------------------------------------------------------------------------------


def and_(first: Any, *others: Callable[[], Any]) -> Any:
    """Evaluate `and`: an operand only if all before it are true."""
    if not others:
        return first
    if is_staged(first):
        return cond(first, lambda: and_(others[0](), *others[1:]), lambda: first)
    return and_(others[0](), *others[1:]) if first else first


def or_(first: Any, *others: Callable[[], Any]) -> Any:
    """Evaluate `or`: an operand only if none before it is true."""
    if not others:
        return first
    if is_staged(first):
        return cond(first, lambda: first, lambda: or_(others[0](), *others[1:]))
    return first if first else or_(others[0](), *others[1:])


def not_(value: Any) -> Any:
    """Evaluate `not`."""
    return logical_not(value) if is_staged(value) else not value


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}


def compare(left: Any, *pairs: Any) -> Any:
    """Evaluate a chain of comparisons, ``a < b < c``: each operand once, and if needed."""
    symbol, right, *rest = pairs
    result = _COMPARISONS[symbol](left, right)
    if not rest:
        return result
    return and_(result, lambda: compare(right, rest[0], rest[1](), *rest[2:]))


def returned(value: Any, flag: Any = True) -> Any:
    """Return the result of a function; None if it came to its end without one."""
    if is_staged(flag):
        raise ValueError("the else branch must also have a return statement.")
    return None if value is NOTHING_RETURNED else value
