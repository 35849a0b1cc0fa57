"""What the tests of `tf.function` share: signatures, and functions that count their traces."""

from __future__ import annotations

from collections import namedtuple

import berth as tf

Point = namedtuple("Point", "x y")
FLOAT = tf.TensorSpec([], tf.float32)
VECTOR = tf.TensorSpec([None], tf.float32)


def values(structure):
    """The arrays of a structure of tensors, as lists and numbers."""
    if structure is None:
        return None
    if isinstance(structure, dict):
        return {key: values(item) for key, item in structure.items()}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*map(values, structure))
    if isinstance(structure, list | tuple):
        return type(structure)(map(values, structure))
    return structure.numpy().tolist()


def counted(**options):
    """A function that returns its first argument, and the list of its traces."""
    traces = []

    @tf.function(**options)
    def traced(x, *others, **named):
        traces.append(x)
        return tf.constant(0)

    return traced, traces
