"""Expressions, and what TensorFlow makes of them: values, types, shapes, or an error.

Each ``*.txt`` here has expressions, one a line, in the language of
``tests/parity/differential/cases``; ``*.json`` beside it has their outcomes, recorded with

    python -m tests.ops.expressions signal random     (in an environment that has TensorFlow)

Besides the inputs of the cases there is ``grad(function, *inputs)``: the gradients of the sum
of what a function returns; with ``twice=True`` those of the sum of the squares of the gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.parity.differential.inputs import Inputs, read_cases

FOLDER = Path(__file__).parent
Outcome = dict[str, Any]


def subjects() -> list[str]:
    """List the files of expressions."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def expressions(subject: str) -> list[str]:
    """List the expressions of a file."""
    return list(dict.fromkeys(read_cases(FOLDER / f"{subject}.txt")))


def names_for(tf: Any, make: Callable[[int, Any], Any]) -> dict[str, Any]:
    """Return what an expression may use, with a library as ``tf``."""

    def grad(function: Callable[..., Any], *inputs: Any, twice: bool = False) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(inputs)
            with tf.GradientTape() as inner:
                inner.watch(inputs)
                value = function(*inputs)
            found = inner.gradient(value, inputs)
            if not twice:
                return list(found)
            total = sum(tf.reduce_sum(each * each) for each in found if each is not None)
        return list(outer.gradient(total, inputs))

    return {"tf": tf, "np": np, "grad": grad, **Inputs(make).names()}


def evaluate(tf: Any, expression: str) -> Any:
    """Evaluate an expression with a library, eagerly."""
    return eval(expression, names_for(tf, lambda _, array: tf.constant(array)))


def describe(value: Any) -> Outcome:
    """Describe a value: its parts, one after the other."""
    return {"parts": [_part(each) for each in leaves(value)]}


def leaves(value: Any) -> Iterator[Any]:
    """Yield the arrays that a result is made of."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from leaves(value[key])
    elif isinstance(value, list | tuple) and not hasattr(value, "dtype"):
        for each in value:
            yield from leaves(each)
    elif hasattr(value, "flat_values") and hasattr(value, "nested_row_splits"):
        yield value.flat_values
        yield from value.nested_row_splits
    elif hasattr(value, "indices") and hasattr(value, "dense_shape"):
        yield from (value.indices, value.values, value.dense_shape)
    else:
        yield value


def _part(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    kind = "string" if array.dtype.kind in "OS" else str(array.dtype)
    flat = array.reshape(-1)
    if array.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    if kind == "string":
        values = [each.decode("latin-1") for each in flat.tolist()]
    elif array.dtype.kind in "fc":
        values = [_rounded(each) for each in flat.tolist()]
    else:
        values = flat.tolist()
    return {"dtype": kind, "shape": list(array.shape), "values": values}


def _rounded(number: float) -> Any:
    return float(f"{number:.9g}") if np.isfinite(number) else str(number)


def of_error(error: Exception) -> Outcome:
    """Describe an error: its class, and the first line of its message."""
    message = str(error).partition("\n")[0]
    if message.startswith("{{function_node"):
        message = message.partition("}} ")[2]
    return {"error": type(error).__name__, "message": message.partition(" [Op:")[0]}
