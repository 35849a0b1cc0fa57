"""`tf.IndexedSlices` as a fetch."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def test_slices_are_fetched_as_arrays():
    table = tf.placeholder(tf.float32, [4, 2])
    [slices] = tf.gradients(tf.gather(table, [3, 0, 3]), [table])
    with tf.Session() as session:
        found = session.run(slices, {table: np.ones((4, 2))})
    assert isinstance(found, tf.IndexedSlicesValue)
    assert found.values.tolist() == [[1, 1], [1, 1], [1, 1]]
    assert found.indices.tolist() == [3, 0, 3]
    assert found.dense_shape.tolist() == [4, 2]


def test_slices_without_shape_have_none():
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([2]))
    with tf.Session() as session:
        found = session.run({"grad": slices, "rows": slices.values})
    assert found["grad"].dense_shape is None
    assert found["grad"].indices.tolist() == [2]
    assert found["rows"].tolist() == [[1.0]]
