"""tf.metrics: values after each batch, variables, names, collections and errors are TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.layers.compared import check, evaluate, kept
from tests.layers.metrics_programs import CASES

TENSORFLOW = kept("metrics")


@pytest.mark.parametrize("name", CASES)
def test_metric_is_tensorflow_s(name):
    check(evaluate(tf, CASES[name]), TENSORFLOW[name])


def test_predictions_out_of_range_are_an_error():
    with tf.Graph().as_default(), tf.Session() as session:
        predictions = tf.placeholder(tf.float32, [3])
        _, update = tf.metrics.auc([0, 1, 1], predictions)
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"predictions must be in \[0"):
            session.run(update, {predictions: [0.5, 2.0, 0.1]})


def test_weights_and_values_of_unknown_rank():
    with tf.Graph().as_default(), tf.Session() as session:
        values, weights = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        value, update = tf.metrics.mean(values, weights)
        session.run(tf.local_variables_initializer())
        session.run(update, {values: np.ones([3, 2]), weights: [1.0, 0.0, 2.0]})
        session.run(update, {values: [4.0], weights: 3.0})
        session.run(update, {values: [1.0, 5.0], weights: [[1.0], [0.0]]})
        assert session.run(value) == pytest.approx((6 + 12 + 1) / (6 + 3 + 1))


def test_metrics_refuse_eager_mode(eager):
    with pytest.raises(RuntimeError, match=r"^tf.metrics.mean is not supported when eager"):
        tf.metrics.mean([1.0])
