"""Pipelines give TensorFlow's elements, in its order, with its specs and cardinalities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import berth as tf
from tests.data.data_programs import PROGRAMS, SEED, result

pytestmark = pytest.mark.usefixtures("eager")

EXPECTED = json.loads((Path(__file__).parent / "tensorflow_orders.json").read_text())


def test_every_program_was_recorded():
    assert set(EXPECTED) == set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_elements_are_tensorflows(name):
    tf.random.set_seed(SEED)

    assert result(tf, PROGRAMS[name]) == EXPECTED[name]
