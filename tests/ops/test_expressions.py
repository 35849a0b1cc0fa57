"""Expressions have TensorFlow's values, eagerly and in functions: tests/ops/expressions."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import berth as tf
from tests.ops.expressions import (
    FOLDER,
    evaluate,
    expressions,
    leaves,
    names_for,
    of_error,
    subjects,
)

pytestmark = pytest.mark.usefixtures("eager")
CASES = [(subject, each) for subject in subjects() for each in expressions(subject)]
RECORDED = {
    subject: json.loads((FOLDER / f"{subject}.json").read_text()) for subject in subjects()
}


def check(value: Any, expected: list[Any]) -> None:
    found = list(leaves(value))
    assert len(found) == len(expected)
    for part, wanted in zip(found, expected, strict=True):
        if not isinstance(wanted, dict):
            assert part == wanted
            continue
        check_array(np.asarray(part.numpy() if hasattr(part, "numpy") else part), wanted)


def check_array(array: Any, wanted: dict[str, Any]) -> None:
    if wanted["dtype"] == "string":
        assert [each.decode("latin-1") for each in array.reshape(-1)] == wanted["values"]
        assert list(array.shape) == wanted["shape"]
        return
    dtype = np.dtype(wanted["dtype"])
    assert (array.dtype, list(array.shape)) == (dtype, wanted["shape"])
    if dtype.kind not in "fc":
        assert array.reshape(-1).tolist() == wanted["values"]
        return
    numbers = np.array([float(each) for each in wanted["values"]])
    exact = numbers.view(np.complex128) if dtype.kind == "c" else numbers
    size = np.abs(exact[np.isfinite(exact)]).max(initial=1e-30)
    near = {2: 2e-3, 4: 2e-5, 8: 1e-8, 16: 1e-8}[dtype.itemsize // (1 + (dtype.kind == "c"))]
    np.testing.assert_allclose(array.reshape(-1), exact, rtol=near, atol=near * size)


@pytest.mark.parametrize(("subject", "expression"), CASES)
def test_values_are_tensorflow_s(subject, expression):
    outcome = RECORDED[subject][expression]
    if "error" in outcome:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - its class is compared below
            evaluate(tf, expression)
        assert of_error(caught.value) == outcome
        return
    check(evaluate(tf, expression), outcome["parts"])
    if "numpy(" not in expression:
        check(in_function(expression), outcome["parts"])


def in_function(expression: str) -> Any:
    """Evaluate an expression in a function, whose arguments are its inputs."""
    arrays: list[Any] = []
    eval(expression, names_for(tf, lambda _, array: arrays.append(array) or tf.constant(array)))

    @tf.function(autograph=False)
    def traced(*inputs: Any) -> Any:
        return eval(expression, names_for(tf, lambda number, _: inputs[number]))

    return traced(*map(tf.constant, arrays))
