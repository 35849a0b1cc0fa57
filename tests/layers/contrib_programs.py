"""Programs of `tf.contrib.layers` and `slim`, for `tests.layers.compared`.

TensorFlow 2 has no `tf.contrib`: what is kept was given by the package tf_slim, its successor.
"""

from __future__ import annotations

import numpy as np

from tests.layers.compared import numbers

IMAGES = numbers([2, 6, 6, 3], 5, 31)
ROWS = numbers([4, 3], 5, 13)


def slim_of(tf):
    if hasattr(tf, "contrib"):
        return tf.contrib.slim
    import sys

    from tensorflow.python.framework import ops

    ops.Tensor = tf.Tensor  # tf_slim finds two things where they were
    from tf_keras.src import legacy_tf_layers
    from tf_keras.src.legacy_tf_layers import normalization

    sys.modules["tf_keras.legacy_tf_layers"] = legacy_tf_layers
    sys.modules["tf_keras.legacy_tf_layers.normalization"] = normalization
    import tf_slim

    return tf_slim


def weights(tf):
    return lambda shape, dtype=None, partition_info=None: tf.constant(
        numbers([int(size) for size in shape], 5, 17)
    )


def program(inputs, build, *, updates=False):
    """Return a program that gives the output of layers, and then what updates changed."""

    def built(tf):
        slim = slim_of(tf)
        outputs = build(tf, slim, tf.constant(inputs))
        after = tf.get_collection(tf.GraphKeys.UPDATE_OPS) if updates else []
        others = [v for v in tf.global_variables() if v not in tf.trainable_variables()]
        with tf.control_dependencies(after):
            run = [tf.zeros([], name="run")]
        averages = [tf.identity(v, name="average") for v in others] if updates else []
        return [outputs, *run, *averages]

    return built


def connected(tf, slim, x):
    with slim.arg_scope([slim.fully_connected], weights_initializer=weights(tf)):
        x = slim.fully_connected(x, 4, weights_regularizer=slim.l2_regularizer(0.5))
        return slim.fully_connected(x, 2, activation_fn=None, scope="out")


def convolved(tf, slim, x):
    scope = {
        "weights_initializer": weights(tf),
        "normalizer_fn": slim.batch_norm,
        "normalizer_params": {"is_training": False, "scale": True},
    }
    with (
        slim.arg_scope([slim.conv2d, slim.max_pool2d], padding="SAME"),
        slim.arg_scope([slim.conv2d], **scope),
    ):
        x = slim.conv2d(x, 4, [3, 3])
        x = slim.max_pool2d(x, 2)
        x = slim.repeat(x, 2, slim.conv2d, 2, 3, scope="block")
        x = slim.conv2d(x, 2, 1, normalizer_fn=None, activation_fn=None, scope="last")
    return slim.flatten(slim.avg_pool2d(x, [2, 2], scope="pool"))


def stacked(tf, slim, x):
    with slim.arg_scope([slim.fully_connected], weights_initializer=weights(tf)):
        x = slim.stack(x, slim.fully_connected, [4, 3], scope="fc")
    return slim.dropout(x, 0.5, is_training=False)


def shared(tf, slim, x):
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        first = slim.fully_connected(x, 3, weights_initializer=weights(tf), scope="fc")
        second = slim.fully_connected(first, 3, weights_initializer=weights(tf), scope="fc")
    return second


CASES = {
    "fully connected": program(ROWS, connected),
    "convolutions": program(IMAGES, convolved),
    "stack": program(ROWS, stacked),
    "shared": program(ROWS, shared),
    "batch norm of images": program(
        IMAGES, lambda tf, slim, x: slim.batch_norm(x, decay=0.9, scale=True), updates=True
    ),
    "batch norm of rows": program(
        ROWS, lambda tf, slim, x: slim.batch_norm(x, decay=0.9, scope="bn"), updates=True
    ),
    "batch norm at once": program(
        IMAGES,
        lambda tf, slim, x: slim.batch_norm(
            x, decay=0.9, updates_collections=None, activation_fn=tf.nn.relu
        ),
        updates=True,
    ),
    "layer norm": program(IMAGES, lambda tf, slim, x: slim.layer_norm(x)),
    "separable": program(
        IMAGES,
        lambda tf, slim, x: slim.separable_conv2d(
            x, 4, [3, 3], weights_initializer=weights(tf)
        ),
    ),
    "transposed": program(
        IMAGES,
        lambda tf, slim, x: slim.conv2d_transpose(
            x, 2, 3, stride=2, weights_initializer=weights(tf)
        ),
    ),
    "one hot": program(np.int32([2, 0, 1]), lambda tf, slim, x: slim.one_hot_encoding(x, 3)),
    "softmax": program(ROWS, lambda tf, slim, x: slim.softmax(x)),
    "regularized": program(
        ROWS, lambda tf, slim, x: slim.apply_regularization(slim.l1_regularizer(0.5), [x])
    ),
    "xavier": program(
        ROWS, lambda tf, slim, x: slim.xavier_initializer(seed=3)([4, 5], tf.float32)
    ),
    "variance": program(
        ROWS,
        lambda tf, slim, x: slim.variance_scaling_initializer(seed=3)([3, 3, 2, 4], tf.float32),
    ),
    "loss": program(
        ROWS,
        lambda tf, slim, x: slim.losses.softmax_cross_entropy(
            x, tf.constant(np.eye(4, 3, dtype="f"))
        ),
    ),
    "no number": program(ROWS, lambda tf, slim, x: slim.fully_connected(x, 2.5)),
    "bad format": program(IMAGES, lambda tf, slim, x: slim.conv2d(x, 2, 3, data_format="XY")),
    "bad rank": program(ROWS, lambda tf, slim, x: slim.conv2d(x, 2, 3)),
    "integer scale": program(ROWS, lambda tf, slim, x: slim.l2_regularizer(1)(x)),
}
