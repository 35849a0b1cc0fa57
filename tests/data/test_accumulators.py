"""Accumulators of gradients: means, stale gradients, waiting, and TensorFlow's words."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.threads import until


@pytest.fixture
def sess() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


@pytest.mark.parametrize(("kind", "first", "second"), [("MEAN", 1, 20), ("SUM", 2, 60)])
def test_take_gives_the_reduction_and_begins_the_next_step(sess, kind, first, second):
    acc = tf.ConditionalAccumulator(tf.float32, shape=[2], name="Q", reduction_type=kind)
    assert acc.accumulator_ref.op.type == "ResourceConditionalAccumulator"
    assert (acc.name, acc.dtype) == ("Q", tf.float32)
    apply, count, take = acc.apply_grad([1.0, 2.0]), acc.num_accumulated(), acc.take_grad(2)
    assert (apply.type, take.op.type) == (
        "ResourceAccumulatorApplyGradient",
        "ResourceAccumulatorTakeGradient",
    )
    assert (count.op.name, take.shape.as_list()) == ("Q_NumAccumulated", [2])
    sess.run(apply)
    sess.run(apply)
    assert sess.run(count) == 2
    np.testing.assert_array_equal(sess.run(take), [first, 2 * first])
    assert sess.run(count) == 0
    sess.run(apply)  # stale now
    assert sess.run(count) == 0
    for value, step in ((10.0, 1), (20.0, 5), (30.0, 5)):
        sess.run(acc.apply_grad([value, 2.0], local_step=step))
    assert sess.run(take)[0] == second  # of all three


def test_the_step_can_be_set_forth_and_back(sess):
    acc = tf.ConditionalAccumulator(tf.float64)
    count, late = acc.num_accumulated(), acc.apply_grad(1.0, local_step=6)
    op = acc.set_global_step(7)
    assert op.type == "ResourceAccumulatorSetGlobalStep"
    sess.run(op)
    sess.run(late)
    assert sess.run(count) == 0
    sess.run(acc.set_global_step(1))
    sess.run(late)
    assert sess.run(count) == 1


def test_errors_are_tensorflows(sess):
    any_size = tf.placeholder(tf.float32)
    acc = tf.ConditionalAccumulator(tf.float32, shape=[None, 2])
    free = tf.ConditionalAccumulator(tf.float32)
    sess.run(free.apply_grad([1.0, 2.0, 3.0]))
    feed = {any_size: [1.0, 2.0]}
    for op, message in (
        (acc.take_grad(0), "Argument num_required must be positive, but was 0"),
        (acc.apply_grad(any_size), "Shape mismatch: expected [?,2], got [2]"),
        (free.apply_grad(any_size), "Shape mismatch: expected [3], got [2]"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            sess.run(op, feed)
        assert message in str(caught.value)
    sess.run(free.take_grad(1))
    sess.run(free.apply_grad(any_size, local_step=1), feed)  # nothing is there to differ from
    with pytest.raises(ValueError, match=r"Shapes \(3, 3\) and \(None, 2\) are incompatible"):
        acc.apply_grad(np.zeros([3, 3], np.float32))
    with pytest.raises(ValueError, match='passed string \'X\' not in: "MEAN", "SUM"'):
        tf.ConditionalAccumulator(tf.float32, reduction_type="X")
    whole = tf.ConditionalAccumulator(tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="No OpKernel was registered"):
        sess.run(whole.num_accumulated())


def test_accumulators_of_one_name_are_shared(sess):
    one = tf.ConditionalAccumulator(tf.float32, shape=[2], shared_name="both")
    other = tf.ConditionalAccumulator(tf.float32, shape=[2], shared_name="both")
    sess.run(one.apply_grad([1.0, 1.0]))
    assert sess.run(other.num_accumulated()) == 1
    with tf.Session() as another:
        assert another.run(other.num_accumulated()) == 0


def test_take_waits_until_there_are_enough(sess):
    acc = tf.ConditionalAccumulator(tf.float32, shape=[])
    take, value = acc.take_grad(2), tf.placeholder(tf.float32, [])
    apply, taken = acc.apply_grad(value), []
    thread = threading.Thread(target=lambda: taken.append(sess.run(take)))
    thread.start()
    sess.run(apply, {value: 1.0})
    assert not taken
    sess.run(apply, {value: 4.0})
    thread.join(10)
    assert taken == [2.5]


def test_a_wait_ends_with_its_timeout_and_with_the_session(sess):
    acc = tf.ConditionalAccumulator(tf.float32, shape=[])
    take, count = acc.take_grad(1), acc.num_accumulated()
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(take, options=tf.RunOptions(timeout_in_ms=20))
    sess.run(acc.apply_grad(1.0))
    assert sess.run(count) == 1  # the run that gave up takes nothing
    assert sess.run(take) == 1.0
    caught = []

    def wait() -> None:
        try:
            sess.run(take)
        except tf.errors.CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    assert until(lambda: len(sess._engine.state.objects._waiting) == 1)
    sess.close()
    thread.join(10)
    assert "TakeGrad operation was cancelled" in str(caught[0])


def test_rows_are_averaged_over_the_gradients_that_have_them(sess):
    acc = tf.SparseConditionalAccumulator(tf.float32, shape=[None, 2])
    grad = tf.IndexedSlices(
        tf.constant([[1.0, 2.0], [3.0, 4.0]]),
        tf.constant([0, 2], tf.int64),
        tf.constant([3, 2], tf.int64),
    )
    sess.run(acc.apply_indexed_slices_grad(grad))
    sess.run(acc.apply_grad([1, 2], [[10.0, 10.0], [20.0, 20.0]]))
    taken = sess.run(acc.take_indexed_slices_grad(1))
    np.testing.assert_array_equal(taken.values, [[1, 2], [10, 10], [11.5, 12]])
    assert (taken.indices.tolist(), taken.dense_shape.tolist()) == ([0, 1, 2], [-1, 2])
    assert sess.run(acc.num_accumulated()) == 0
    total = tf.SparseConditionalAccumulator(tf.float32, reduction_type="SUM")
    sess.run(total.apply_grad([1], [[1.0, 2.0]]))
    sess.run(total.apply_grad([0, 1], [[1.0, 2.0], [3.0, 4.0]]))
    indices, values, shape = sess.run(total.take_grad(2))
    assert (indices.tolist(), shape.tolist()) == ([0, 1], [-1, 2])
    np.testing.assert_array_equal(values, [[1, 2], [4, 6]])


def test_errors_of_rows_are_tensorflows(sess):
    acc = tf.SparseConditionalAccumulator(tf.float32, shape=[None, 2])
    for op, message in (
        (acc.apply_grad([1, 2, 3], [[1.0, 2.0]]), "Expected 3 non-empty input values, got 1"),
        (acc.apply_grad([1], [[1.0, 2.0, 3.0]]), "expected values dim 1 to be 2, got 3"),
        (acc.apply_grad([2], [[1.0, 2.0]], [5, 3]), "expected shape dim 1 to be 2, got 3"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            sess.run(op)
