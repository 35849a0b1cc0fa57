"""Typical mistakes of a user's program, one a line: type checkers report each."""

import berth as tf
import berth.compat.v1 as tf1

x = tf.constant([[1.0, 2.0]])
a = tf.matmull(x, x)  # mistake
b = tf.reshape(x, "flat")  # mistake
c: str = x.numpy()  # mistake
d = tf1.Session().runn(x)  # mistake
e = tf.GradientTape().gradient(x)  # mistake
