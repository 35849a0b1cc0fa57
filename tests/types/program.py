"""A user's program: type checkers accept all of it, and see real types."""

import numpy as np

import berth as tf
import berth.compat.v1 as tf1

x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
y = x @ x + 1.0 - np.ones(2)
scaled = tf.math.log(tf.reduce_sum(y, axis=[0]) * tf.nn.relu(x)[0, 1:])
flat = tf.reshape(y, [-1])
rows: list[int | None] = x.shape.as_list()
array = y.numpy()
total = float(array.sum())
variable = tf.Variable(tf.zeros([2, 2]), name="weights")
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.square(variable - x))
gradient = tape.gradient(loss, variable)
gradients = tape.gradient(loss, [variable])
with tf.device("/GPU:0"):
    z = tf.concat([x, tf.cast(x, tf.float32)], axis=0)

with tf1.Session() as sess:
    fed = tf1.placeholder(tf1.float32, [None, 2])
    value = sess.run(fed * 2.0, feed_dict={fed: np.ones((1, 2))})
    both = sess.run([fed, x])
