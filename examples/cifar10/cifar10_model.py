"""The model: two convolutions with pooling and normalization, two local layers, softmax.

It is the network of TensorFlow's CIFAR-10 tutorial. Its variables are on the CPU, where all
towers share them; everything else is where the caller's tf.device says.
"""

import math
from typing import NamedTuple

import tensorflow.compat.v1 as tf

from cifar10_input import N_CLASSES

WEIGHT_DECAY = 0.004
MOVING_AVERAGE_DECAY = 0.9999
SEED = 42


class Size(NamedTuple):
    """How large the model is: rows and columns of its images, features of its layers."""

    image_size: int = 24
    filters: int = 64
    units: int = 384

    def check(self):
        """Raise an error for sizes that cannot be."""
        if self.image_size % 4 or not 8 <= self.image_size <= 32:
            raise ValueError(f"Images of {self.image_size} rows: it takes 8, 12, ... or 32.")
        if self.filters < 1 or self.units < 2:
            raise ValueError(f"{self.filters} filters and {self.units} units are too few.")

    @classmethod
    def of_checkpoint(cls, path):
        """Read from a checkpoint how large the model in it is."""
        shapes = tf.train.NewCheckpointReader(path).get_variable_to_shape_map()
        filters = shapes["conv1/weights"][-1]
        inputs, units = shapes["local3/weights"]
        return cls(4 * round((inputs / filters) ** 0.5), filters, units)


def variable(name, shape, initializer):
    """Make a variable on the CPU, or find the one that another tower has made."""
    with tf.device("/cpu:0"):
        return tf.get_variable(name, shape, initializer=initializer)


def weights_and_biases(shape, bias):
    # Weights for n inputs have a variance of 2 / n, so that what comes out is as large as what
    # goes in. With a seed of their own, they are the same whatever else is in the graph.
    stddev = math.sqrt(2.0 / math.prod(shape[:-1]))
    initial = tf.truncated_normal_initializer(stddev=stddev, seed=SEED)
    weights = variable("weights", shape, initial)
    return weights, variable("biases", shape[-1:], tf.constant_initializer(bias))


def convolution(x, name, features, bias):
    with tf.variable_scope(name):
        shape = [5, 5, x.shape[-1].value, features]
        weights, biases = weights_and_biases(shape, bias)
        x = tf.nn.conv2d(x, weights, [1, 1, 1, 1], padding="SAME")
        return tf.nn.relu(tf.nn.bias_add(x, biases), name="relu")


def pool(x, name):
    return tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], padding="SAME", name=name)


def normalize(x, name):
    return tf.nn.lrn(x, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75, name=name)


def connected(x, name, features, bias):
    """Return what a layer computes, and the penalty for its weights."""
    with tf.variable_scope(name):
        shape = [x.shape[-1].value, features]
        weights, biases = weights_and_biases(shape, bias)
        penalty = tf.multiply(tf.nn.l2_loss(weights), WEIGHT_DECAY, name="penalty")
        return tf.nn.bias_add(tf.matmul(x, weights), biases), penalty


def inference(images, size):
    """Return the logits of images, and the penalties for large weights."""
    x = convolution(images, "conv1", size.filters, 0.0)
    x = normalize(pool(x, "pool1"), "norm1")
    x = convolution(x, "conv2", size.filters, 0.1)
    x = pool(normalize(x, "norm2"), "pool2")
    x = tf.reshape(x, [-1, (size.image_size // 4) ** 2 * size.filters])
    x, penalty3 = connected(x, "local3", size.units, 0.1)
    x, penalty4 = connected(tf.nn.relu(x), "local4", size.units // 2, 0.1)
    logits, _ = connected(tf.nn.relu(x), "softmax", N_CLASSES, 0.0)
    return logits, [penalty3, penalty4]


def total_loss(logits, labels, penalties):
    """Return the mean cross entropy of a tower's images, with the penalties."""
    entropies = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.add_n([tf.reduce_mean(entropies), *penalties], name="total_loss")


def moving_averages(step):
    """Return what keeps the averages of the variables, by which they are evaluated."""
    return tf.train.ExponentialMovingAverage(MOVING_AVERAGE_DECAY, step)
