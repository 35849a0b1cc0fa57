"""What type checkers infer: `reveal_type` of the values that programs handle most."""

import berth as tf
import berth.compat.v1 as tf1

x = tf.constant([[1.0, 2.0]])
sess = tf1.Session()
tape = tf.GradientTape()
reveal_type(tf.constant(1.0))  # Tensor
reveal_type(x @ x)  # Tensor
reveal_type(x.numpy())  # ndarray
reveal_type(sess.run(x))  # ndarray
reveal_type(sess.run([x]))  # list[ndarray
reveal_type(tape.gradient(x, x))  # Tensor
reveal_type(tape.gradient(x, [x]))  # list[Tensor
reveal_type(tf.math.log(x))  # Tensor
reveal_type(tf.Variable(1.0))  # Variable
reveal_type(x.shape)  # TensorShape
reveal_type(x.shape.as_list())  # list[int | None]
reveal_type(x.shape[0])  # int | None
reveal_type(x.shape[1:])  # TensorShape
