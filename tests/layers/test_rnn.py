"""Recurrent networks: values, gradients, variables and errors are TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.layers.compared import check, evaluate, kept
from tests.layers.rnn_programs import CASES, CELLS, INPUTS

TENSORFLOW = kept("rnn")


@pytest.mark.parametrize("name", CASES)
def test_network_is_tensorflow_s(name):
    found, wanted = evaluate(tf, CASES[name]), TENSORFLOW[name]
    check(found, wanted, names=False)
    assert found.get("collections") == wanted.get("collections")


def test_dropout_keeps_the_seeds_of_tensorflow():
    with tf.Graph().as_default(), tf.Session() as session:
        cell = tf.nn.rnn_cell.DropoutWrapper(
            tf.nn.rnn_cell.BasicLSTMCell(8), 0.5, 0.5, 0.5, seed=7
        )
        assert [cell._seed_of("input", 0), cell._seed_of("state", 1)] == [1933561695, 839511211]
        outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(INPUTS), dtype=tf.float32)
        session.run(tf.global_variables_initializer())
        output, last = session.run([outputs, state])
    assert 0 < np.count_nonzero(output == 0) < output.size
    assert np.count_nonzero(last.h == 0) > 0
    assert np.count_nonzero(last.c == 0) == 0


def test_variational_dropout_is_the_same_in_all_steps():
    with tf.Graph().as_default(), tf.Session() as session:
        cell = tf.nn.rnn_cell.DropoutWrapper(
            tf.nn.rnn_cell.BasicRNNCell(20),
            output_keep_prob=0.5,
            variational_recurrent=True,
            dtype=tf.float32,
        )
        outputs, _ = tf.nn.dynamic_rnn(cell, tf.constant(INPUTS), dtype=tf.float32)
        session.run(tf.global_variables_initializer())
        is_dropped = session.run(outputs) == 0
    assert 0 < is_dropped.sum() < is_dropped.size
    assert (is_dropped == is_dropped[:1, :1]).all()


def test_cells_know_their_variables():
    with tf.Graph().as_default():
        cell = CELLS["stack"](tf)
        tf.nn.dynamic_rnn(cell, tf.constant(INPUTS), dtype=tf.float32)
        assert cell.trainable_variables == tf.trainable_variables()
        assert [v.op.name for v in cell.variables][:2] == [
            "rnn/multi_rnn_cell/cell_0/basic_rnn_cell/kernel",
            "rnn/multi_rnn_cell/cell_0/basic_rnn_cell/bias",
        ]


def test_lengths_of_another_batch_are_an_error():
    with tf.Graph().as_default(), tf.Session() as session:
        lengths = tf.placeholder(tf.int32, [None])
        outputs, _ = tf.nn.dynamic_rnn(
            CELLS["gru"](tf), tf.constant(INPUTS), lengths, dtype=tf.float32
        )
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(outputs, {lengths: [1, 2]})


def test_objects_that_are_no_cells_are_refused():
    with pytest.raises(
        TypeError, match=r"is not an RNNCell: 'output_size' property is missing"
    ):
        tf.nn.dynamic_rnn(object(), INPUTS)
