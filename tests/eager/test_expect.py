"""`expect_device` holds for what eager programs compute, and for the bodies of functions."""

from __future__ import annotations

import pytest

import berth
import berth as tf
from berth.errors import InvalidArgumentError


@pytest.fixture(autouse=True)
def machine(sim, eager):
    sim("2xT4")


def place_of(text: str) -> str:
    """Take the line numbers out of a message."""
    return "\n".join(line.partition("test_expect.py:")[0].rstrip() for line in text.split("\n"))


@pytest.mark.parametrize(
    ("expected", "asked"),
    [("GPU", None), ("GPU:0", None), ("GPU:1", "GPU:1"), ("CPU", "CPU:0"), ("GPU", "CPU:0")],
)
def test_expected_or_asked_for_is_fine(expected, asked):
    with berth.expect_device(expected), tf.device(asked):
        assert float(tf.constant(1.0) + 1.0) == 2.0


def test_stray_operation_is_named():
    x = tf.constant(1.0)
    with berth.expect_device("GPU:1"), pytest.raises(InvalidArgumentError) as error:
        x + 1.0
    assert place_of(error.value.message) == (
        "An operation is not on the expected device\n"
        "  AddV2 at\n"
        "    asked for: nothing\n"
        "    because: that is the first of the devices that can run it\n"
        "    but expected on: GPU:1, by expect_device('GPU:1') at"
    )
    assert "at test_expect.py:" in error.value.message


def test_operation_with_recipe_is_held_too():
    x = tf.constant(1.0)
    assert float(x * 3.0) == 3.0
    with berth.expect_device("GPU:1"), pytest.raises(InvalidArgumentError, match="Mul at"):
        x * 3.0
    assert float(x * 3.0) == 3.0


def test_constant_is_held_too():
    with berth.expect_device("CPU"), pytest.raises(InvalidArgumentError, match="Const at"):
        tf.constant(1.0)


def test_variable_of_another_tower_is_seen():
    with tf.device("GPU:0"):
        w = tf.Variable([[1.0]])
    with tf.device("GPU:1"), berth.expect_device("GPU:1"):
        x = tf.constant([[2.0]])
        with pytest.raises(InvalidArgumentError) as error:
            tf.matmul(x, w)
    assert "ReadVariableOp" in error.value.message
    assert "because: its variable is there" in error.value.message


def test_body_of_function_is_held():
    @tf.function
    def double(x):
        with tf.device("GPU:0"):
            return x * 2.0

    @tf.function
    def triple(x):
        return x * 3.0

    with tf.device("GPU:1"):
        x = tf.constant(1.0)
    with berth.expect_device("GPU:0"):
        assert float(double(x)) == 2.0
    with berth.expect_device("GPU:1"), pytest.raises(InvalidArgumentError) as error:
        triple(x)
    assert "(Mul) at test_expect.py" in error.value.message
    assert float(triple(x)) == 3.0, (
        "traced where something was expected, it holds no call to it"
    )
