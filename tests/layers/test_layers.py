"""tf.layers: values, names, variables and errors are those of TensorFlow's legacy layers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.layers.programs import CASES, evaluate

TENSORFLOW = json.loads(Path(__file__).with_name("tensorflow.json").read_text())
# Operations of three dimensions are made of others, and batch normalization's last one is another.
OTHER_NAMES = ("conv3d", "pooling3d", "separable", "batch_norm")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("name", CASES)
def test_layer_is_tensorflow_s(name):
    wanted, found = TENSORFLOW[name], evaluate(tf, name)
    for key in ("static_shape", "shape", "trainable"):
        assert found[key] == wanted[key], key
    if not any(part in name for part in OTHER_NAMES):
        assert found["output"] == wanted["output"]
    np.testing.assert_allclose(found["values"], wanted["values"], atol=2e-5)
    assert list(found["variables"]) == list(wanted["variables"])
    for variable, values in wanted["variables"].items():
        np.testing.assert_allclose(found["variables"][variable], values, atol=2e-5)


def placeholder(*shape):
    return tf.placeholder(tf.float32, shape)


def test_names_count_up_and_reuse_shares():
    x = placeholder(None, 3)
    outputs = [tf.layers.dense(x, 5), tf.layers.dense(x, 5)]
    with tf.variable_scope("s"):
        outputs += [
            tf.layers.dense(x, 2, name="out"),
            tf.layers.dense(x, 2, name="out", reuse=True),
        ]
    assert [output.name for output in outputs] == [
        "dense/BiasAdd:0",
        "dense_1/BiasAdd:0",
        "s/out/BiasAdd:0",
        "s/out_1/BiasAdd:0",
    ]
    assert [variable.name for variable in tf.global_variables()] == [
        "dense/kernel:0",
        "dense/bias:0",
        "dense_1/kernel:0",
        "dense_1/bias:0",
        "s/out/kernel:0",
        "s/out/bias:0",
    ]
    with tf.variable_scope("", reuse=tf.AUTO_REUSE):
        tf.layers.dense(x, 5, name="dense")
    assert len(tf.global_variables()) == 6


def test_layer_shares_its_variables_with_itself():
    x = placeholder(None, 3)
    layer = tf.layers.Dense(4, name="d")
    with pytest.raises(ValueError, match="No name available for layer scope"):
        layer.scope_name  # noqa: B018
    assert [layer(x).name, layer.apply(x).name] == ["d/BiasAdd:0", "d/BiasAdd_1:0"]
    assert (layer.name, layer.scope_name, layer.count_params()) == ("d", "d", 16)
    assert layer.variables == layer.trainable_weights == tf.global_variables()
    assert layer.graph is tf.get_default_graph()
    assert layer.dtype == tf.float32


def test_frozen_layer_is_not_trained():
    layer = tf.layers.BatchNormalization(trainable=False)
    layer(placeholder(None, 3))
    assert tf.trainable_variables() == []
    assert len(layer.non_trainable_variables) == 4
    assert layer.updates == []


def test_regularization_is_a_loss():
    x = placeholder(None, 3)
    tf.layers.dense(x, 5, kernel_regularizer=tf.nn.l2_loss, activity_regularizer=tf.nn.l2_loss)
    names = [loss.name for loss in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)]
    assert names == [
        "dense/kernel/Regularizer/L2Loss:0",
        "dense/ActivityRegularizer/L2Loss:0",
    ]


def test_dropout_is_for_training():
    tf.set_random_seed(3)
    x = tf.ones([100, 10])
    training = tf.placeholder(tf.bool, [])
    outputs = [tf.layers.dropout(x, 0.4, training=each) for each in (False, True, training)]
    with tf.Session() as session:
        off, on, chosen = session.run(outputs, {training: True})
        not_chosen = session.run(outputs[2], {training: False})
    assert (off == 1).all()
    assert (not_chosen == 1).all()
    for dropped in (on, chosen):
        assert set(np.unique(dropped.round(4))) == {0.0, np.float32(1.6667)}
        assert 0.3 < (dropped == 0).mean() < 0.5


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 3, 2)])
def test_batch_normalization_follows_a_placeholder(shape):
    training = tf.placeholder(tf.bool, [])
    x = tf.constant(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))
    output = tf.layers.batch_normalization(x, training=training, momentum=0.5)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    moving = [v for v in tf.global_variables() if "moving" in v.name]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(updates, {training: False})
        assert [value.tolist() for value in session.run(moving)] == [
            [0.0] * shape[-1],
            [1.0] * shape[-1],
        ]
        trained = session.run([output, updates], {training: True})[0]
        plain = session.run(output, {training: False})
        assert session.run(moving[0]).any()
    assert abs(trained.mean()) < 1e-4
    assert abs(plain.mean()) > 0.1


def test_own_layer_is_written_as_in_tensorflow():
    class Scale(tf.layers.Layer):
        def build(self, input_shape):
            self.factor = self.add_variable(
                "factor", shape=[int(input_shape[-1])], initializer=tf.ones_initializer()
            )
            self.built = True

        def call(self, inputs):
            return inputs * self.factor

    output = Scale()(tf.constant([[1.0, 2.0]]))
    assert [variable.name for variable in tf.global_variables()] == ["scale/factor:0"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(output).tolist() == [[1.0, 2.0]]


def test_layer_s_gradient_reaches_its_variables():
    x = tf.constant(np.ones((2, 6, 6, 2), np.float32))
    hidden = tf.layers.conv2d(x, 3, 3, activation=tf.nn.relu)
    hidden = tf.layers.batch_normalization(tf.layers.max_pooling2d(hidden, 2, 2), training=True)
    loss = tf.reduce_sum(tf.layers.dense(tf.layers.flatten(hidden), 2) ** 2)
    gradients = tf.gradients(loss, tf.trainable_variables())
    assert None not in gradients
    assert [g.shape for g in gradients] == [v.shape for v in tf.trainable_variables()]


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (
            lambda: tf.layers.dense(tf.placeholder(tf.float32), 3),
            ValueError,
            "The last dimension of the inputs to a Dense layer should be defined. Found None. Full input shape received: <unknown>",
        ),
        (
            lambda: tf.layers.dense(placeholder(3), 3),
            ValueError,
            'Input 0 of layer "dense" is incompatible with the layer: expected min_ndim=2, found ndim=1. Full shape received: (3,)',
        ),
        (
            lambda: tf.layers.dense(placeholder(None, None), 3),
            ValueError,
            "The last dimension of the inputs to a Dense layer should be defined. Found None. Full input shape received: (None, None)",
        ),
        (
            lambda: tf.layers.conv2d(placeholder(None, 3), 3, 3),
            ValueError,
            'Input 0 of layer "conv2d" is incompatible with the layer: expected min_ndim=4, found ndim=2. Full shape received: (None, 3)',
        ),
        (
            lambda: tf.layers.conv2d(placeholder(None, 4, 4, None), 3, 3),
            ValueError,
            "The channel dimension of the inputs should be defined. The input_shape received is (None, 4, 4, None), where axis -1 (0-based) is the channel dimension, which found to be `None`.",
        ),
        (
            lambda: tf.layers.conv2d(placeholder(None, 4, 4, 3), 3, (3, 3, 3)),
            ValueError,
            "The `kernel_size` argument must be a tuple of 2 integers. Received: (3, 3, 3)",
        ),
        (
            lambda: tf.layers.conv2d(placeholder(None, 4, 4, 3), 3, 3, padding="foo"),
            ValueError,
            'The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", only for `Conv1D). Received: foo',
        ),
        (
            lambda: tf.layers.conv2d(placeholder(None, 4, 4, 3), 3, 3, data_format="NHWC"),
            ValueError,
            'The `data_format` argument must be one of "channels_first", "channels_last". Received: NHWC',
        ),
        (
            lambda: tf.layers.max_pooling2d(placeholder(None, 3), 2, 2),
            ValueError,
            'Input 0 of layer "max_pooling2d" is incompatible with the layer: expected ndim=4, found ndim=2. Full shape received: (None, 3)',
        ),
        (
            lambda: tf.layers.Dense(3, foo=1),
            TypeError,
            "('Keyword argument not understood:', 'foo')",
        ),
        (
            lambda: tf.layers.dense(placeholder(None, 3), -1),
            ValueError,
            "Received an invalid value for `units`, expected a positive integer. Received: units=-1",
        ),
        (
            lambda: tf.layers.batch_normalization(placeholder(None, 3), axis=5),
            ValueError,
            "Invalid value for `axis` argument. Expected 0 <= axis < inputs.rank (with inputs.rank=2). Received: axis=(5,)",
        ),
        (
            lambda: tf.layers.dense(placeholder(None, 3), 2, units=4),
            TypeError,
            "dense() multiple values for argument 'units'",
        ),
    ],
)
def test_misuse_is_an_error(use, error, message):
    with pytest.raises(error) as raised:
        use()
    assert str(raised.value) == message


def test_another_size_of_input_is_an_error():
    layer = tf.layers.Dense(3, name="d")
    layer(placeholder(None, 3))
    with pytest.raises(
        ValueError, match="expected axis -1 of input shape to have value 3, but"
    ):
        layer(placeholder(None, 7))
    with pytest.raises(ValueError, match="Variable d/kernel already exists, disallowed"):
        tf.layers.dense(placeholder(None, 3), 2, name="d")
