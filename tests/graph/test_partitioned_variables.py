"""Partitioned variables: names, shapes and errors are TensorFlow's [TF]."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf

in_parts = tf.fixed_size_partitioner


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def described(variable):
    return [(part.op.name, part.shape.as_list()) for part in variable]


def test_parts_are_variables_of_their_own(graph):
    v = tf.get_variable("v", [5, 7], partitioner=in_parts(3, axis=1))
    assert described(v) == [("v/part_0", [5, 3]), ("v/part_1", [5, 2]), ("v/part_2", [5, 2])]
    assert (v.name, v.shape.as_list(), v.get_shape(), len(v)) == ("v", [5, 7], v.shape, 3)
    assert v.dtype == tf.float32
    assert tf.trainable_variables() == tf.global_variables() == list(v)
    tensor = tf.convert_to_tensor(v)
    assert (tensor.name, tensor.shape.as_list()) == ("v:0", [5, 7])
    assert tensor.op.inputs[0].name == "v/ConcatPartitions/concat:0"
    assert tf.convert_to_tensor(v).name == "v_1:0"


@pytest.mark.parametrize(
    ("partitioner", "shape", "dtype", "parts"),
    [
        (in_parts(2), [5, 2], "float32", [2, 1]),
        (in_parts(3), [2, 7], "float32", [2, 1]),
        (tf.variable_axis_size_partitioner(1 << 16), [1000, 1000], "float32", [63, 1]),
        (tf.variable_axis_size_partitioner(1 << 16), [7], "float32", [1]),
        (
            tf.variable_axis_size_partitioner(1 << 16, axis=1, max_shards=5),
            [1000, 1000],
            "float32",
            [1, 5],
        ),
        (tf.variable_axis_size_partitioner(1 << 16), [100, 3], "string", [1, 1]),
        (tf.min_max_variable_partitioner(max_partitions=8), [1000, 1000], "float32", [8, 1]),
        (tf.min_max_variable_partitioner(max_partitions=8), [7], "float32", [1]),
        (tf.min_max_variable_partitioner(3, 1, 8), [100, 3], "string", [1, 3]),
        (tf.min_max_variable_partitioner(3, 0, 8), [7], "float32", [3]),
    ],
)
def test_partitioners_divide_as_tensorflows(partitioner, shape, dtype, parts):
    assert partitioner(shape=tf.TensorShape(shape), dtype=tf.as_dtype(dtype)) == parts


def test_initial_values_are_those_of_tensorflow():
    """The parts are scaled as the whole; each draws its own values [TF 2.21, seed 1]."""
    v = tf.get_variable(
        "v",
        [5, 4],
        initializer=tf.random_normal_initializer(seed=1),
        partitioner=in_parts(2),
    )
    w = tf.get_variable(
        "w", [3, 2], initializer=tf.constant([[1, 2], [3, 4], [5, 6]]), partitioner=in_parts(2)
    )
    g = tf.get_variable(
        "g", [4, 2], initializer=tf.glorot_uniform_initializer(seed=2), partitioner=in_parts(4)
    )
    limit = np.sqrt(6 / (4 + 2))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(
            session.run(tf.convert_to_tensor(v))[:, 0],
            [-0.8113182, 0.0992484, -0.72289723, -0.8113182, 0.0992484],
            rtol=1e-6,
        )
        assert session.run(tf.convert_to_tensor(w)).tolist() == [[1, 2], [3, 4], [5, 6]]
        drawn = session.run(tf.convert_to_tensor(g))
    assert np.abs(drawn).max() <= limit
    assert list(w)[1].initial_value.op.name == "w/part_1/PartitionedInitializer/Slice"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: tf.get_variable("v", [4, 4], partitioner=lambda **_: [2, 2]),
            "Can only slice a variable along one dimension: shape: (4, 4), partitioning: [2, 2]",
        ),
        (
            lambda: tf.get_variable("v", [4, 4], partitioner=lambda **_: [2]),
            "Partitioner returned a partition list that does not match the Variable's rank: [2] "
            "vs. (4, 4)",
        ),
        (
            lambda: tf.get_variable("v", [4, 4], partitioner=lambda **_: [0, 1]),
            "Partitioner returned zero partitions for some axes: [0, 1]",
        ),
        (
            lambda: tf.get_variable("v", [4, 4], partitioner=lambda **_: 3),
            "Partitioner must return a sequence, but saw: 3",
        ),
        (
            lambda: tf.get_variable("v", [4, 4], partitioner="x"),
            "Partitioner must be callable, but received: x",
        ),
        (
            lambda: tf.get_variable("old", [5, 2]),
            "No partitioner was provided, but a partitioned version of the variable was found: "
            "old/part_0. Perhaps a variable of the same name was already created with "
            "partitioning?",
        ),
        (
            lambda: tf.get_variable("old", [5, 2], partitioner=in_parts(1)),
            "Partitioned variable with name old already exists. Did you mean to set reuse=True "
            "or reuse=tf.AUTO_REUSE in VarScope?",
        ),
        (
            lambda: tf.get_variable("plain", [5, 2], partitioner=in_parts(1)),
            "A partitioner was provided, but an unpartitioned version of the variable was "
            "found: plain.  Perhaps a variable of the same name was already created without "
            "partitioning?",
        ),
        (
            lambda: tf.create_partitioned_variables([2], [1, 1], tf.zeros_initializer()),
            "The 'shape' and 'slicing' of a partitioned Variable must have the length: shape: "
            "[2], slicing: [1, 1]",
        ),
    ],
)
def test_what_cannot_be_divided(make, message):
    tf.get_variable("old", [5, 2], partitioner=in_parts(2))
    tf.get_variable("plain", [5, 2])
    n_before = len(tf.global_variables())
    with pytest.raises(ValueError) as error:  # noqa: PT011
        make()
    assert str(error.value) == message
    assert len(tf.global_variables()) == n_before


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("v", {"shape": [5, 8]}, "specified shape (5, 8) and found shape (5, 7)."),
        ("v", {"dtype": tf.int32}, "specified dtype int32 and found dtype float32."),
        (
            "v",
            {"partitioner": in_parts(2)},
            "specified partitions [2, 1] and found partitions [1, 3].",
        ),
    ],
)
def test_variables_in_parts_are_reused(name, options, message):
    v = tf.get_variable("v", [5, 7], partitioner=in_parts(3, axis=1))
    with tf.variable_scope("", reuse=True):
        assert tf.get_variable("v", [5, 7]) is v
        assert tf.get_variable("v/part_0", [5, 3]) is next(iter(v))
        with pytest.raises(ValueError) as error:  # noqa: PT011
            tf.get_variable(name, **{"shape": [5, 7], **options})
    assert str(error.value) == f"Trying to reuse partitioned variable v, but {message}"


def test_scopes_have_partitioners():
    with tf.variable_scope("a", partitioner=in_parts(2)):
        v = tf.get_variable("v", [5, 3], regularizer=tf.nn.l2_loss)
        scalar = tf.get_variable("s", [])
        with tf.variable_scope("b"):
            inner = tf.get_variable("v", [2])
    assert described(v) == [("a/v/part_0", [3, 3]), ("a/v/part_1", [2, 3])]
    assert described(inner) == [("a/b/v/part_0", [1]), ("a/b/v/part_1", [1])]
    assert scalar.op.name == "a/s"
    losses = [loss.op.name for loss in tf.losses.get_regularization_losses()]
    assert losses == ["a/v/part_0/Regularizer/L2Loss", "a/v/part_1/Regularizer/L2Loss"]
    made = tf.create_partitioned_variables([5, 2], [2, 1], tf.zeros_initializer(), name="c")
    assert described(made) == [("c/part_0", [3, 2]), ("c/part_1", [2, 2])]


def test_values_are_assigned_in_parts():
    v = tf.get_variable("v", [3], initializer=tf.zeros_initializer(), partitioner=in_parts(2))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(v.assign([1.0, 2.0, 3.0]))
        session.run(v.assign_add([np.float32([1, 1]), np.float32([2])]))
        session.run(v.assign_sub([0.0, 1.0, 0.0]))
        assert session.run(tf.identity(v)).tolist() == [2, 2, 5]


def test_lstm_kernels_are_divided():
    cell = tf.nn.rnn_cell.LSTMCell(2, num_proj=3, num_unit_shards=2, num_proj_shards=1)
    output, _ = cell(tf.ones([1, 4]), cell.zero_state(1, tf.float32))
    assert [v.op.name for v in tf.global_variables()] == [
        "lstm_cell/kernel/part_0",
        "lstm_cell/kernel/part_1",
        "lstm_cell/bias",
        "lstm_cell/projection/kernel/part_0",
    ]
    assert output.shape.as_list() == [1, 3]
