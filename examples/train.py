# berth run --sim 2xT4 examples/train.py
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
points = rng.standard_normal((256, 2)).astype(np.float32)
labels = (points[:, 0] * points[:, 1] > 0).astype(np.int64)  # which quarter of the plane

with tf.device('/cpu:0'):
  hidden = tf.Variable(rng.standard_normal((2, 16)).astype(np.float32))
  biases = tf.Variable(np.zeros(16, np.float32))
  out = tf.Variable(rng.standard_normal((16, 2)).astype(np.float32) * 0.1)
variables = [hidden, biases, out]


def loss_of(x, y):
  logits = tf.nn.relu(x @ hidden + biases) @ out
  return tf.reduce_mean(
      tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))


@tf.function
def train_step():
  losses, gradients = [], []
  for gpu in (0, 1):  # a tower on each, with half of the points
    with tf.device(f'/gpu:{gpu}'), tf.GradientTape() as tape:
      loss = loss_of(tf.constant(points[gpu::2]), labels[gpu::2])
    losses.append(loss)
    gradients.append(tape.gradient(loss, variables))
  for variable, *towers in zip(variables, *gradients, strict=True):
    variable.assign_sub(0.5 * tf.add_n(towers) / 2.0)
  return tf.add_n(losses) / 2.0


for step in range(301):
  loss = train_step()
  if step % 100 == 0:
    print(f'step {step:3}: loss {loss.numpy():.3f}')
