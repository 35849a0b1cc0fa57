"""Optimizers, schedules and moving averages do what TensorFlow 2.21 does.

``tensorflow.json`` has what TensorFlow found with the same programs;
``python -m tests.parity.differential.training --write`` records it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.train.programs import (
    AVERAGES,
    OPTIMIZERS,
    SCHEDULES,
    averages,
    cases,
    key_of,
    kinds,
    schedule,
    structure,
    train,
)

RECORDED = json.loads((Path(__file__).parent / "tensorflow.json").read_text())
EXACT = {"rtol": 1e-5, "atol": 1e-5}


@pytest.mark.parametrize("kind", ["reference", "resource"])
@pytest.mark.parametrize(("name", "dtype", "is_sparse"), [*cases()])
def test_ten_steps_give_tensorflows_numbers(name, dtype, is_sparse, kind):
    found = train(tf, name, dtype, is_sparse, kind == "resource")
    expected = RECORDED["trained"][key_of(name, dtype, is_sparse)]
    assert found.keys() == expected.keys()
    for variable, values in expected.items():
        np.testing.assert_allclose(found[variable], values, **EXACT, err_msg=variable)


@pytest.mark.parametrize(
    ("name", "kind", "dtype"),
    [(name, kind, dtype) for name in OPTIMIZERS for kind, dtype in kinds(name)],
)
def test_nodes_and_variables_are_tensorflows(name, kind, dtype):
    found = structure(tf, name, dtype, kind == "resource")
    assert found == RECORDED["structure"][f"{name} {kind}"]


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_give_tensorflows_rates(name):
    np.testing.assert_allclose(schedule(tf, name), RECORDED["schedules"][name], rtol=1e-5)


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_are_tensorflows(name):
    found, expected = averages(tf, **AVERAGES[name]), RECORDED["averages"][name]
    np.testing.assert_allclose(found.pop("values"), expected["values"], **EXACT)
    assert found == {key: value for key, value in expected.items() if key != "values"}
