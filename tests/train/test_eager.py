"""Optimizers, schedules and averages in eager programs and in functions."""

from __future__ import annotations

import numpy as np
import pytest

import berth as tf2
import berth.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("eager")


def test_losses_are_functions():
    w = tf2.Variable([1.0, 2.0])
    for make in (tf.train.AdamOptimizer, lambda rate: tf.train.MomentumOptimizer(rate, 0.9)):
        assert make(0.1).minimize(lambda: tf2.reduce_sum(w * w)) is None
    np.testing.assert_allclose(w.numpy(), [0.9 - 0.18, 1.9 - 0.38], rtol=1e-5)
    with pytest.raises(RuntimeError, match=r"`loss` passed to Optimizer\.compute_gradients"):
        tf.train.AdamOptimizer().minimize(tf2.reduce_sum(w))


def test_steps_equal_those_of_a_session():
    w = tf2.Variable([[1.0, 2.0], [3.0, 4.0]])
    optimizer = tf.train.AdamOptimizer(0.1)
    for _ in range(3):
        optimizer.minimize(lambda: tf2.gather(w, [0, 0]) ** 2, var_list=[w])
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=[[1.0, 2.0], [3.0, 4.0]])
        step = tf.train.AdamOptimizer(0.1).minimize(tf.gather(v, [0, 0]) ** 2)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(3):
                sess.run(step)
            expected = sess.run(v)
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-6)
    assert len(optimizer.variables()) == 4


def test_functions_keep_their_slots():
    w, optimizer = tf2.Variable(2.0), tf.train.AdamOptimizer(0.1)

    @tf2.function
    def step():
        with tf2.GradientTape() as tape:
            loss = w * w
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])

    for _ in range(3):
        step()
    np.testing.assert_allclose(w.numpy(), 1.7, atol=2e-3)


def test_rates_are_functions():
    w, step = tf2.Variable(2.0), tf2.Variable(0)
    rate = tf.train.exponential_decay(1.0, step, 1, 0.5)
    optimizer = tf.train.GradientDescentOptimizer(rate)
    for _ in range(2):
        optimizer.minimize(lambda: 1.0 * w, global_step=step)
    assert (w.numpy(), step.numpy()) == (0.5, 2)


def test_averages_are_beside_their_variable():
    w = tf2.Variable(2.0)
    average = tf.train.ExponentialMovingAverage(0.5)
    average.apply([w])
    w.assign(4.0)
    average.apply([w])
    assert average.average(w).numpy() == 3.0
