"""Gradients that programs register, and those that a graph gives to other types.

The values and messages are TensorFlow's.
"""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Forget what a test registers."""
    monkeypatch.setattr("berth.ops.gradient._REGISTERED", {})


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def ten_times(op, grad):
    return 10.0 * grad


def gradient(y, x):
    with tf.Session() as session:
        return session.run(tf.gradients(y, x)[0]).tolist()


def test_block_gives_operations_another_gradient(graph):
    assert tf.RegisterGradient("TenTimes")(ten_times) is ten_times
    x = tf.constant([1.0, -2.0])
    with graph.gradient_override_map({"Relu": "TenTimes"}):
        inside = tf.nn.relu(x)
    assert gradient(inside, x) == [10.0, 10.0]
    assert gradient(tf.nn.relu(x), x) == [1.0, 0.0]
    assert inside.op.get_attr("_gradient_op_type") == b"TenTimes"


def test_gradient_may_be_that_of_another_operation(graph):
    x = tf.constant([0.3, -2.0])
    with graph.gradient_override_map({"Sign": "Identity"}):
        y = tf.sign(x)
    assert gradient(y, x) == [1.0, 1.0]


def test_function_sees_inputs_and_outputs(graph):
    @tf.RegisterGradient("Clipped")
    def clipped(op, grad):
        return grad * op.inputs[0] * tf.cast(op.outputs[0] > 0.0, tf.float32)

    x = tf.constant([3.0, -2.0])
    with graph.gradient_override_map({"Relu": "Clipped"}):
        assert gradient(tf.nn.relu(x), x) == [3.0, 0.0]


def test_python_functions_get_a_gradient(graph):
    tf.RegisterGradient("TenTimes")(ten_times)
    x = tf.constant([1.0, -2.0])
    with graph.gradient_override_map({"PyFunc": "TenTimes"}):
        y = tf.py_func(np.square, [x], tf.float32)
    assert gradient(y, x) == [10.0, 10.0]


def test_blocks_nest(graph):
    tf.NoGradient("Opaque")
    tf.RegisterGradient("TenTimes")(ten_times)
    x = tf.constant([1.0])
    with (
        graph.gradient_override_map({"Relu": "Opaque", "Sign": "Opaque"}),
        graph.gradient_override_map({"Sign": "TenTimes"}),
    ):
        relu, sign = tf.nn.relu(x), tf.sign(x)
    assert tf.gradients(relu, x) == [None]
    assert gradient(sign, x) == [10.0]


def test_imported_graphs_keep_it(graph):
    x = tf.constant([0.3], name="x")
    with graph.gradient_override_map({"Sign": "Identity"}):
        tf.sign(x, name="y")
    with tf.Graph().as_default() as other:
        tf.import_graph_def(graph.as_graph_def(), name="")
        y, x = (other.get_tensor_by_name(name) for name in ("y:0", "x:0"))
        assert gradient(y, x) == [1.0]


def test_type_that_nobody_registered(graph):
    x = tf.constant([1.0])
    with graph.gradient_override_map({"Sign": "Nowhere"}):
        y = tf.sign(x)
    with pytest.raises(
        LookupError, match=r"^No gradient defined for operation'Sign' \(op type"
    ):
        tf.gradients(y, x)


@pytest.mark.parametrize("op_type", ["Relu", "Own"])
def test_type_has_one_gradient(op_type):
    tf.RegisterGradient("Own")(ten_times)
    message = f"Registering two gradient with name '{op_type}'!"
    with pytest.raises(KeyError, match=message):
        tf.RegisterGradient(op_type)(ten_times)
    with pytest.raises(KeyError, match=message):
        tf.NotDifferentiable(op_type)


@pytest.mark.parametrize("declare", [tf.RegisterGradient, tf.no_gradient])
def test_types_are_names(declare):
    with pytest.raises(TypeError, match=r"^op_type must be a string$"):
        declare(3)


@pytest.mark.parametrize("wrong", [["Relu"], {"Relu": 1}, {1: "Relu"}])
def test_maps_are_of_names(graph, wrong):
    message = "^op_type_map must be a dictionary mapping strings to strings$"
    with pytest.raises(TypeError, match=message), graph.gradient_override_map(wrong):
        pass
