"""Runs in segments: what waits for a value runs when it is known, and everything runs once."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf


@pytest.fixture(autouse=True, params=["", "1xT4"])
def _machine(sim, request):
    sim(request.param)
    with tf.Graph().as_default():
        yield


def _with_a_fed_placeholder_that_waits():
    """Return a reshape whose shape is fed, behind a fed placeholder that waits for a sum."""
    x = tf.placeholder(tf.float32, [2, 2])
    axis = tf.placeholder(tf.int32, [])
    with tf.control_dependencies([tf.reduce_sum(x, axis)]):
        waiting = tf.placeholder(tf.float32, [])
    shape = tf.placeholder(tf.int32, [2])
    with tf.control_dependencies([waiting]):
        reshaped = tf.reshape(x, shape)
    return reshaped, {x: np.ones((2, 2)), axis: 0, shape: [4, 1], waiting: 1.0}


def test_fed_placeholder_loses_no_write():
    reshaped, feeds = _with_a_fed_placeholder_that_waits()
    variable = tf.Variable(1.0)
    add = variable.assign_add(10.0)
    with tf.Session() as session:
        session.run(variable.initializer)
        session.run([reshaped, add.op], feeds)
        assert session.run(variable) == 11.0


def test_fed_placeholder_loses_no_read():
    reshaped, feeds = _with_a_fed_placeholder_that_waits()
    variable = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(variable.initializer)
        values = session.run([reshaped, variable.value()], feeds)
    assert values[0].shape == (4, 1)
    assert values[1] == 1.0


def test_writes_before_and_after_a_value_happen_once():
    variable = tf.Variable(1.0)
    shape = tf.placeholder(tf.int32, [1])
    before = variable.assign_add(10.0)
    with tf.control_dependencies([before]):
        filled = tf.fill(shape * 2, 1.0)
    with tf.control_dependencies([filled]):
        after = variable.assign_add(100.0)
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run([filled, after], {shape: [2]})[0].shape == (4,)
        assert session.run(variable) == 111.0
