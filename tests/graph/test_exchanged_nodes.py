"""Operations of berth alone are written as TensorFlow's, and compute the same when read again."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.arrays.broadcast_shapes import BROADCAST_GRADIENT_ARGS
from berth.ops.builder import apply

# TensorFlow 2.21's answers.
AXES = [
    ([2, 1], [3], [1], [0]),
    ([2, 3], [2, 3], [], []),
    ([], [4], [0], []),
    ([1, 1], [1], [0, 1], [0, 1]),
    ([1, 3], [2, 1, 1], [0, 1], [1, 2]),
    ([4], [], [], [0]),
    ([1], [1], [], []),
    ([5, 1, 3], [1, 3], [1], [0, 1]),
]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize(("x", "y", "for_x", "for_y"), AXES)
def test_axes_of_gradients_are_tensorflow_s(x, y, for_x, for_y):
    fed = [tf.placeholder(tf.int32, [None]) for _ in range(2)]
    axes = apply(BROADCAST_GRADIENT_ARGS, tuple(fed), {}, None)
    with tf.Session() as session:
        found = session.run(list(axes), dict(zip(fed, (x, y), strict=True)))
    assert [each.tolist() for each in found] == [for_x, for_y]


def test_shapes_that_do_not_fit_are_errors():
    axes = apply(
        BROADCAST_GRADIENT_ARGS, (tf.constant([2]), tf.placeholder(tf.int32, [1])), {}, None
    )
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as raised:
        session.run(list(axes), {axes[0].op.inputs[1]: [3]})
    assert str(raised.value).splitlines()[0] == "Incompatible shapes: [2] vs. [3]"


def test_gradients_are_written_in_tensorflow_s_operations():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        labels = tf.placeholder(tf.float32, [None, 3], name="labels")
        bias = tf.Variable([1.0, 2.0, 3.0], name="bias")
        loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=x + bias)
        (gradient,) = tf.gradients(loss, [bias])
        fetched = [tf.identity(loss, "loss"), tf.identity(gradient, "gradient")]
        initialize = tf.global_variables_initializer()
    types = {op.type for op in graph.get_operations()}
    assert {"SumTo", "SigmoidCrossEntropyWithLogits"} <= types
    definition = graph.as_graph_def()
    written = {node.op for node in definition.node}
    assert not {"SumTo", "SigmoidCrossEntropyWithLogits"} & written
    assert {"BroadcastGradientArgs", "Log1p"} <= written

    values = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
    feed = {"x:0": values, "labels:0": (values > 0).astype(np.float32)}
    with tf.Session(graph=graph) as session:
        session.run(initialize)
        wanted = session.run(fetched, feed)
    with tf.Graph().as_default() as again:
        tf.import_graph_def(definition, name="")
        with tf.Session(graph=again) as session:
            session.run("init")
            found = session.run(["loss:0", "gradient:0"], feed)
    for value, other in zip(wanted, found, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-6)
