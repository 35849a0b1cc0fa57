"""Layers on small data, for berth and TensorFlow alike.

    TF_USE_LEGACY_KERAS=1 python tests/layers/programs.py tests/layers/tensorflow.json

run by a Python that has tensorflow and tf_keras writes what TensorFlow gives.
"""

from __future__ import annotations

import json
import sys

import numpy as np


def numbers(shape, step, period):
    count = int(np.prod(shape))
    return (
        (np.arange(count) * step % period / (period / 2) - 0.9)
        .astype(np.float32)
        .reshape(shape)
    )


def init(tf):
    """Return an initializer that gives the same values on both sides."""
    return lambda shape, dtype=None, partition_info=None: tf.constant(
        numbers([int(size) for size in shape], 5, 7)
    )


# The shape of the input, and the layer of it.
CASES = {
    "dense": (
        [2, 3],
        lambda tf, x: tf.layers.dense(x, 4, kernel_initializer=init(tf), activation=tf.nn.relu),
    ),
    "dense3": (
        [2, 3, 2],
        lambda tf, x: tf.layers.dense(
            x, 4, kernel_initializer=init(tf), bias_initializer=init(tf)
        ),
    ),
    "dense_nobias": (
        [2, 3],
        lambda tf, x: tf.layers.dense(
            x, 2, use_bias=False, kernel_initializer=init(tf), name="named"
        ),
    ),
    "conv1d": (
        [2, 8, 3],
        lambda tf, x: tf.layers.conv1d(x, 4, 3, kernel_initializer=init(tf), strides=2),
    ),
    "conv1d_causal": (
        [2, 8, 3],
        lambda tf, x: tf.layers.Conv1D(
            4, 3, kernel_initializer=init(tf), padding="causal", dilation_rate=2
        )(x),
    ),
    "conv2d": (
        [2, 6, 5, 3],
        lambda tf, x: tf.layers.conv2d(
            x,
            4,
            (3, 2),
            padding="same",
            kernel_initializer=init(tf),
            bias_initializer=init(tf),
            activation=tf.nn.relu,
        ),
    ),
    "conv2d_strides": (
        [2, 6, 5, 3],
        lambda tf, x: tf.layers.conv2d(x, 2, 3, strides=(2, 1), kernel_initializer=init(tf)),
    ),
    "conv2d_dilated": (
        [1, 7, 7, 2],
        lambda tf, x: tf.layers.conv2d(x, 2, 3, dilation_rate=2, kernel_initializer=init(tf)),
    ),
    "conv3d": (
        [1, 4, 4, 4, 2],
        lambda tf, x: tf.layers.conv3d(x, 3, 2, kernel_initializer=init(tf)),
    ),
    "conv2d_transpose": (
        [2, 4, 3, 2],
        lambda tf, x: tf.layers.conv2d_transpose(
            x, 3, 3, strides=2, padding="same", kernel_initializer=init(tf)
        ),
    ),
    "conv2d_transpose_valid": (
        [2, 4, 3, 2],
        lambda tf, x: tf.layers.conv2d_transpose(
            x, 3, (3, 2), strides=(1, 3), kernel_initializer=init(tf)
        ),
    ),
    "conv3d_transpose": (
        [1, 2, 3, 2, 2],
        lambda tf, x: tf.layers.conv3d_transpose(
            x, 3, 3, strides=2, kernel_initializer=init(tf)
        ),
    ),
    "separable_conv1d": (
        [2, 8, 3],
        lambda tf, x: tf.layers.separable_conv1d(
            x, 4, 3, depthwise_initializer=init(tf), pointwise_initializer=init(tf)
        ),
    ),
    "separable_conv2d": (
        [2, 6, 5, 3],
        lambda tf, x: tf.layers.separable_conv2d(
            x,
            4,
            3,
            depth_multiplier=2,
            depthwise_initializer=init(tf),
            pointwise_initializer=init(tf),
        ),
    ),
    "max_pooling1d": ([2, 8, 3], lambda tf, x: tf.layers.max_pooling1d(x, 2, 2)),
    "max_pooling2d": (
        [2, 6, 5, 3],
        lambda tf, x: tf.layers.max_pooling2d(x, (2, 3), 1, padding="same"),
    ),
    "max_pooling3d": ([1, 4, 4, 4, 2], lambda tf, x: tf.layers.max_pooling3d(x, 2, 2)),
    "average_pooling1d": (
        [2, 8, 3],
        lambda tf, x: tf.layers.average_pooling1d(x, 3, 2, padding="same"),
    ),
    "average_pooling2d": ([2, 6, 5, 3], lambda tf, x: tf.layers.average_pooling2d(x, 2, 2)),
    "average_pooling3d": ([1, 4, 4, 4, 2], lambda tf, x: tf.layers.average_pooling3d(x, 2, 2)),
    "flatten": ([2, 3, 4], lambda tf, x: tf.layers.flatten(x)),
    "dropout_off": ([2, 3], lambda tf, x: tf.layers.dropout(x, 0.5)),
    "batch_norm": ([4, 3], lambda tf, x: tf.layers.batch_normalization(x, training=True)),
    "batch_norm_off": (
        [4, 3],
        lambda tf, x: tf.layers.batch_normalization(
            x, beta_initializer=init(tf), moving_mean_initializer=init(tf)
        ),
    ),
    "batch_norm_4d": (
        [2, 3, 3, 2],
        lambda tf, x: tf.layers.batch_normalization(
            x, training=True, gamma_initializer=init(tf)
        ),
    ),
    "batch_norm_axis1": (
        [2, 3, 4],
        lambda tf, x: tf.layers.batch_normalization(x, axis=1, training=True),
    ),
    "batch_norm_noscale": (
        [2, 3, 3, 2],
        lambda tf, x: tf.layers.batch_normalization(
            x, scale=False, center=False, training=True, momentum=0.9
        ),
    ),
}


def evaluate(tf, name):
    """Run one case: the output, its name and shape, and the variables after the updates."""
    shape, layer = CASES[name]
    with tf.Graph().as_default():
        return evaluated(tf, shape, layer)


def evaluated(tf, shape, layer):
    fed = tf.placeholder(tf.float32, [None, *shape[1:]])
    output = layer(tf, fed)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    feed = {fed: numbers(shape, 7, 11)}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value = session.run(output, feed)
        session.run([getattr(update, "op", update) for update in updates], feed)
        variables = {v.name: session.run(v) for v in tf.global_variables()}
    return {
        "output": output.name,
        "static_shape": str(output.shape),
        "values": rounded(value),
        "shape": list(value.shape),
        "variables": {name: rounded(value) for name, value in variables.items()},
        "trainable": [variable.name for variable in tf.trainable_variables()],
    }


def rounded(array):
    return [round(float(each), 6) for each in np.ravel(array)]


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_eager_execution()
    found = {name: evaluate(tensorflow, name) for name in CASES}
    with open(sys.argv[1], "w") as file:
        file.write(
            "{\n"
            + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items())
            + "\n}\n"
        )
