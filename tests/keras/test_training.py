"""Models of Keras on berth: losses and predictions equal TensorFlow's with the same seeds."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.keras.keras_programs import MODELS, VALUES

pytest.importorskip("keras")
PROGRAM = """
import json
import berth
import keras
from tests.keras.keras_programs import MODELS, run
print(json.dumps({name: run(keras, name) for name in MODELS}))
"""


@pytest.fixture(scope="module")
def trained():
    """Run the programs in a process of their own, which is theirs for good."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", MODELS)
def test_training_equals_tensorflow(trained, name):
    expected = json.loads(VALUES.read_text())[name]
    found = trained[name]
    assert found["history"].keys() == expected["history"].keys()
    for key, values in expected["history"].items():
        assert found["history"][key] == pytest.approx(values, rel=2e-6), key
    assert found["evaluate"] == pytest.approx(expected["evaluate"], rel=2e-6)
    assert found["predict"] == pytest.approx(expected["predict"], rel=2e-5)
