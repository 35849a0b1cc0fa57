"""tf.losses: values, gradients, names, collections and errors are TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.layers.compared import check, evaluate, kept
from tests.layers.losses_programs import CASES, LABELS, LOGITS

TENSORFLOW = kept("losses")


@pytest.mark.parametrize("name", CASES)
def test_loss_is_tensorflow_s(name):
    check(evaluate(tf, CASES[name]), TENSORFLOW[name])


def test_weights_of_unknown_shape_are_checked_when_run():
    with tf.Graph().as_default(), tf.Session() as session:
        weights = tf.placeholder(tf.float32, None)
        loss = tf.losses.mean_squared_error(LABELS, LOGITS, weights)
        assert session.run(loss, {weights: 2.0}) > 0
        with pytest.raises(tf.errors.InvalidArgumentError, match="can not be broadcast"):
            session.run(loss, {weights: np.ones([4])})  # as NumPy would
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(loss, {weights: np.ones([3, 2])})


def test_eager_losses_are_not_collected(eager):
    loss = tf.losses.mean_squared_error(LABELS, LOGITS)
    assert loss.numpy() == pytest.approx(np.mean((LABELS - LOGITS) ** 2), rel=1e-6)
    assert tf.losses.get_losses() == []
