"""Shapes that depend on a tensor are those of the value that is fed for it."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf


@pytest.fixture(autouse=True, params=["", "1xT4"])
def _machine(sim, request):
    sim(request.param)
    with tf.Graph().as_default():
        yield


def _ones(*dims):
    return tf.constant(np.ones(dims, np.float32))


# What is computed from a constant, its value, what is fed instead, and the shape that results.
CASES = {
    "reshape": (lambda s: tf.reshape(_ones(4), s), [2, 2], [4, 1], (4, 1)),
    "after": (lambda s: tf.reshape(_ones(4), s) + 1.0, [2, 2], [4, 1], (4, 1)),
    "zeros": (tf.zeros, [2, 2], [4, 1], (4, 1)),
    "fill": (lambda s: tf.fill(s, 1.0) * 2.0, [2, 2], [4, 1], (4, 1)),
    "random": (tf.random_uniform, [2, 2], [3, 1], (3, 1)),
    "sum": (lambda s: tf.reduce_sum(_ones(2, 3), s), 0, 1, (2,)),
    "concat": (lambda s: tf.concat([_ones(2, 2), _ones(2, 2)], s), 0, 1, (2, 4)),
    "range": (tf.range, 4, 3, (3,)),
    "one_hot": (lambda s: tf.one_hot([1, 2], s), 4, 3, (2, 3)),
    "tile": (lambda s: tf.tile(_ones(2, 2), s), [1, 1], [2, 3], (4, 6)),
    "slice": (lambda s: tf.slice(_ones(4, 4), [0, 0], s), [1, 1], [3, 2], (3, 2)),
    "from": (lambda s: _ones(4, 4)[s:], 1, 3, (1, 4)),
    "stacked": (lambda s: tf.zeros(tf.stack([s, 1])), 4, 2, (2, 1)),
    "cast": (lambda s: tf.range(tf.cast(s, tf.int64)), 4, 2, (2,)),
    "twice": (lambda s: tf.zeros(s * 2), [2, 2], [4, 1], (8, 2)),
    "expand": (lambda s: tf.expand_dims(_ones(4, 4), s), 0, 1, (4, 1, 4)),
    "transpose": (lambda s: tf.transpose(_ones(4, 3), s), [0, 1], [1, 0], (3, 4)),
    "where": (tf.where, [True, False], [True, True], (2, 1)),
    "split": (lambda s: tf.split(_ones(4, 3), s, 0)[0], [2, 2], [1, 3], (1, 3)),
    "argmax": (lambda s: tf.argmax(_ones(4, 3), s), 0, 1, (4,)),
}
IMPOSSIBLE = {
    "reshape": (lambda s: tf.reshape(_ones(4), s), [2, 2], [3, 7], "4 (elements|values)"),
    "fill": (lambda s: tf.fill(s, 1.0), [2, 2], [-4, 1], "must be >= 0"),
    "sum": (lambda s: tf.reduce_sum(_ones(2, 3), s), 0, 5, "Invalid reduction dimension"),
    "slice": (lambda s: tf.slice(_ones(4, 4), [0, 0], s), [1, 1], [7, 2], r"size\[0\] in"),
    "stacked": (lambda s: tf.reshape(_ones(4), tf.stack([s, 1])), 4, 2, "4 (elements|values)"),
}


@pytest.mark.parametrize("case", CASES)
def test_fed_constant_decides_the_shape(case):
    function, value, fed, shape = CASES[case]
    constant = tf.constant(value)
    result = function(constant)
    with tf.Session() as session:
        assert session.run(result, {constant: fed}).shape == shape
        assert result.shape.is_compatible_with(session.run(result).shape)


def test_fed_shape_decides_the_shape():
    shape = tf.shape(_ones(2, 2))
    zeros = tf.zeros(shape)
    with tf.Session() as session:
        assert session.run(zeros, {shape: [4, 1]}).shape == (4, 1)


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_impossible_fed_shape_is_an_invalid_argument(case):
    function, value, fed, message = IMPOSSIBLE[case]
    constant = tf.constant(value)
    result = function(constant)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(result, {constant: fed})
