"""`tf.contrib.opt.MovingAverageOptimizer`: averages after each step, and the swapping saver."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf


def test_averages_are_saved_in_the_place_of_variables(tmp_path):
    with tf.Graph().as_default():
        w = tf.Variable([1.0, 2.0], name="w")
        sgd = tf.train.GradientDescentOptimizer(2.0)
        opt = tf.contrib.opt.MovingAverageOptimizer(sgd, average_decay=0.5)
        with pytest.raises(RuntimeError, match="Must call apply_gradients or minimize before"):
            opt.swapping_saver()
        train = opt.minimize(tf.reduce_sum(w * [0.05, 0.005]))
        assert train.name == "train_with_avg"
        with pytest.raises(ValueError, match="w/ExponentialMovingAverage is not part of"):
            opt.swapping_saver([w])
        swapping, plain = opt.swapping_saver(), tf.train.Saver([w])
        [average] = [v for v in tf.global_variables() if v is not w]
        init = tf.global_variables_initializer()
        with tf.Session() as sess:
            sess.run(init)
            sess.run(train)
            np.testing.assert_allclose(sess.run(w), [0.9, 1.99], rtol=1e-6)
            np.testing.assert_allclose(sess.run(average), [0.95, 1.995], rtol=1e-6)
            path = swapping.save(sess, str(tmp_path / "model"))
        with tf.Session() as sess:
            plain.restore(sess, path)
            np.testing.assert_allclose(sess.run(w), [0.95, 1.995], rtol=1e-6)
            swapping.restore(sess, path)
            np.testing.assert_allclose(sess.run(w), [0.9, 1.99], rtol=1e-6)
            np.testing.assert_allclose(sess.run(average), [0.95, 1.995], rtol=1e-6)
