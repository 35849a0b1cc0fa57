"""AutoGraph: programs whose results and errors were recorded from TensorFlow."""

from __future__ import annotations

import json

import pytest

import berth as tf
from tests.autograph.generated import text_of_programs
from tests.autograph.running import EXPECTED, PROGRAMS, load, outcome

pytestmark = pytest.mark.usefixtures("eager")
_expected = json.loads(EXPECTED.read_text())
WORDS_DIFFER = (
    "assert_is_no_operation",
    "and_of_other_types",
    "condition_of_loop_is_no_bool",
    "defined_in_a_loop_that_does_not_run",
    "generator",
    "list_grows_in_loop",
    "object_in_loop",
    "structure_changes_in_loop",
)
"""Errors of the same class whose text has names of tensors, or TensorFlow's own functions."""


def calls(prefix: str) -> list[str]:
    return [call for call in _expected if call.startswith("generated") == (prefix == "g")]


@pytest.fixture(scope="module")
def written():
    return load(PROGRAMS, tf)


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    path = tmp_path_factory.mktemp("programs") / "generated_programs.py"
    numbers = [int(call.partition("(")[0].rpartition("_")[2]) for call in calls("g")]
    path.write_text(text_of_programs(max(numbers) + 1, 1))
    return load(path, tf)


def run(programs, call):
    name, _, rest = call.partition("(")
    return outcome(tf, programs[name], int(rest.rstrip(")")))


@pytest.mark.parametrize("call", calls("w"))
def test_programs_do_what_tensorflow_does(written, call):
    got, expected = run(written, call), _expected[call]
    name = call.partition("(")[0]
    if isinstance(expected, list) and isinstance(expected[0], str) and name in WORDS_DIFFER:
        assert got[0] == expected[0]
    elif isinstance(expected, float):
        assert got == pytest.approx(expected, 1e-5)
    else:
        assert got == expected


def test_generated_programs_give_what_tensorflow_gives(generated):
    different = [call for call in calls("g") if run(generated, call) != _expected[call]]
    assert different == []
