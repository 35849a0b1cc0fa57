"""Losses: values against formulas, fused gradients, gradients, and TensorFlow's errors."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.autodiff.backprop import gradients
from berth.ops.nn import losses
from tests.ops.calls import run, run_all, sample
from tests.ops.gradient_checks import (
    check_gradient,
    each_type,
    evaluate,
    gradients_of,
)
from tests.ops.test_softmax import expected_softmax

TOLERANCE = {"f2": 2e-3, "f4": 2e-6, "f8": 1e-13}
RNG = np.random.default_rng(7)


def logits_of(shape, dtype="f8"):
    return (RNG.standard_normal(shape) * 3).astype(dtype)


def cross_entropy(labels, logits, axis=-1):
    return -(labels.astype("f8") * np.log(expected_softmax(logits, axis))).sum(axis)


# --- labels are probabilities -------------------------------------------------------------


@each_type(TOLERANCE)
@pytest.mark.parametrize(
    "shape", [(4, 3), (3,), (2, 3, 4), (3000, 3), (2, 500), (0, 3), (2, 0)]
)
def test_soft_labels_follow_the_formula(shape, dtype, device):
    logits = logits_of(shape, dtype)
    labels = expected_softmax(logits_of(shape)).astype(dtype)
    [loss] = evaluate(losses.softmax_cross_entropy_with_logits, [labels, logits], device)
    assert loss.dtype == dtype
    expected = cross_entropy(labels, logits) if shape[-1] else np.zeros(shape[:-1])
    tolerance = 4 * TOLERANCE[dtype]
    np.testing.assert_allclose(loss, expected, tolerance, tolerance)


@pytest.mark.parametrize("axis", [0, 1, -2])
def test_classes_may_lie_along_any_axis(axis):
    logits = logits_of((2, 3, 4))
    labels = expected_softmax(logits_of((2, 3, 4)), axis)
    expected = cross_entropy(labels, logits, axis)
    functions = [
        losses.softmax_cross_entropy_with_logits,
        lambda p, x, axis: losses.softmax_cross_entropy_with_logits_v2(p, x, dim=axis),
        lambda p, x, axis: losses.softmax_cross_entropy_with_logits_v1(p, x, dim=axis),
    ]
    for function in functions:
        [loss] = evaluate(lambda p, x, f=function: f(p, x, axis), [labels, logits])
        np.testing.assert_allclose(loss, expected)


def test_one_row_of_labels_serves_all():
    logits, labels = logits_of((4, 3)), np.array([[0.2, 0.3, 0.5]])
    [loss] = evaluate(losses.softmax_cross_entropy_with_logits, [labels, logits])
    np.testing.assert_allclose(loss, cross_entropy(labels, logits))
    check_gradient(losses.softmax_cross_entropy_with_logits, labels, logits)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_slopes_are_probabilities_less_labels(dtype):
    logits = logits_of((5, 4), dtype)
    labels = expected_softmax(logits_of((5, 4))).astype(dtype)
    loss, slope = run_all("SoftmaxCrossEntropyWithLogits", logits, labels)
    assert loss.dtype == slope.dtype == dtype
    expected = expected_softmax(logits) - labels
    np.testing.assert_allclose(slope, expected, 1e-3, TOLERANCE[dtype])


@pytest.mark.parametrize("shape", [(3, 4), (4,), (2, 2, 3)])
def test_soft_labels_have_gradients(shape):
    labels, logits = expected_softmax(logits_of(shape)), logits_of(shape)
    check_gradient(losses.softmax_cross_entropy_with_logits, labels, logits, order=2, rtol=1e-5)


def test_labels_have_no_gradients_in_version_1():
    labels, logits = expected_softmax(logits_of((2, 3))), logits_of((2, 3))
    grads = gradients_of(losses.softmax_cross_entropy_with_logits_v1, labels, logits)
    assert grads[0] is None
    np.testing.assert_allclose(grads[1], expected_softmax(logits) - labels)
    grads = gradients_of(losses.softmax_cross_entropy_with_logits_v2, labels, logits)
    np.testing.assert_allclose(grads[0], -np.log(expected_softmax(logits)))


def test_training_needs_no_second_softmax():
    with tf.Graph().as_default() as graph:
        x, k = tf.placeholder(tf.float32, [8, 3]), tf.placeholder(tf.int32, [8])
        loss = losses.sparse_softmax_cross_entropy_with_logits(k, x)
        gradients(loss, x)
        assert not [op for op in graph.get_operations() if op.type in ("Softmax", "ZerosLike")]


@pytest.mark.parametrize("dtype", ["i4", "f8"])
def test_labels_take_the_type_of_logits(dtype):
    labels, logits = np.array([[0, 1]], dtype), np.array([[1, 2]], "f")
    [loss] = evaluate(losses.softmax_cross_entropy_with_logits, [labels, logits])
    assert loss.dtype == np.float32
    np.testing.assert_allclose(loss, [math.log1p(math.exp(-1))], rtol=1e-6)


def test_large_logits_do_not_overflow():
    logits = np.array([[1e4, -1e4], [3e38, -3e38]], np.float32)
    loss, slope = run_all("SparseSoftmaxCrossEntropyWithLogits", logits, np.array([1, 0]))
    np.testing.assert_array_equal(loss, [2e4, 0])
    np.testing.assert_array_equal(slope, [[1, -1], [0, 0]])
    labels = np.array([[0, 1], [1, 0]], np.float32)
    loss, _ = run_all("SoftmaxCrossEntropyWithLogits", logits[:1], labels[:1])
    np.testing.assert_array_equal(loss, [2e4])


# --- labels are classes -------------------------------------------------------------------


@each_type(TOLERANCE)
@pytest.mark.parametrize("index", ["i4", "i8"])
@pytest.mark.parametrize("shape", [(4, 3), (3,), (2, 3, 4), (3000, 3), (2, 500), (0, 3)])
def test_classes_follow_the_formula(shape, index, dtype, device):
    logits = logits_of(shape, dtype)
    labels = RNG.integers(0, shape[-1], shape[:-1]).astype(index)
    [loss] = evaluate(losses.sparse_softmax_cross_entropy_with_logits, [labels, logits], device)
    assert loss.dtype == dtype
    expected = cross_entropy(np.eye(shape[-1])[labels], logits)
    tolerance = 4 * TOLERANCE[dtype]
    np.testing.assert_allclose(loss, expected, tolerance, tolerance)


@pytest.mark.parametrize("shape", [(3, 4), (4,), (2, 2, 3)])
def test_classes_have_gradients(shape):
    labels, logits = RNG.integers(0, shape[-1], shape[:-1]), logits_of(shape)
    check_gradient(
        losses.sparse_softmax_cross_entropy_with_logits, labels, logits, order=2, rtol=1e-5
    )


@pytest.mark.parametrize(("labels", "wrong"), [([0, 5], 5), ([-1, 1], -1), ([1, 2], 2)])
def test_unknown_classes_are_refused(labels, wrong):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        run_all("SparseSoftmaxCrossEntropyWithLogits", np.zeros((2, 2)), np.array(labels))
    assert str(caught.value) == (
        f"Received a label value of {wrong} which is outside the valid range of [0, 2).  "
        f"Label values: {labels[0]} {labels[1]}"
    )


def test_losses_know_shapes_in_part():
    with tf.Graph().as_default():
        logits = tf.placeholder(tf.float32, [None, 5, 3])
        labels = tf.placeholder(tf.int32, [None, 5])
        loss = losses.sparse_softmax_cross_entropy_with_logits(labels, logits)
        assert loss.shape.as_list() == [None, 5]
        loss = losses.softmax_cross_entropy_with_logits(logits, logits)
        assert loss.shape.as_list() == [None, 5]
        unknown = tf.placeholder(tf.float32)
        assert losses.softmax_cross_entropy_with_logits(unknown, unknown).shape.rank is None
        assert losses.l2_loss(unknown).shape.rank == 0


def test_unknown_ranks_are_settled_in_a_run():
    with tf.Graph().as_default(), tf.Session() as session:
        logits, labels = tf.placeholder(tf.float64), tf.placeholder(tf.int64)
        loss = losses.sparse_softmax_cross_entropy_with_logits(labels, logits)
        x, k = logits_of((2, 3, 4)), RNG.integers(0, 4, (2, 3))
        actual = session.run(loss, {logits: x, labels: k})
    np.testing.assert_allclose(actual, cross_entropy(np.eye(4)[k], x))


# --- of sigmoids, and others --------------------------------------------------------------


@each_type(TOLERANCE)
@pytest.mark.parametrize("shape", [(4, 3), (), (0, 3), (70_000,)])
def test_binary_losses_follow_the_formula(shape, dtype, device):
    x, z = logits_of(shape, dtype), RNG.random(shape).astype(dtype)
    wide, p = x.astype("f8"), z.astype("f8")
    missed, false = np.logaddexp(0, -wide), np.logaddexp(0, wide)
    tolerance = 8 * TOLERANCE[dtype]
    [loss] = evaluate(losses.sigmoid_cross_entropy_with_logits, [z, x], device)
    assert loss.dtype == dtype
    np.testing.assert_allclose(loss, p * missed + (1 - p) * false, tolerance, tolerance)
    for function in (
        losses.weighted_cross_entropy_with_logits,
        losses.weighted_cross_entropy_with_logits_v1,
    ):
        [loss] = evaluate(lambda z, x, f=function: f(z, x, 3.0), [z, x], device)
        np.testing.assert_allclose(loss, 3 * p * missed + (1 - p) * false, tolerance, tolerance)


def test_certain_binary_losses_are_exact():
    x, z = np.array([20, -20, 60, -60], np.float32), np.array([1, 0, 1, 0], np.float32)
    [loss] = evaluate(losses.sigmoid_cross_entropy_with_logits, [z, x])
    np.testing.assert_allclose(loss, np.log1p(np.exp(-np.abs(x.astype("f8")))), rtol=1e-6)


def test_binary_losses_have_gradients():
    x, z = logits_of((2, 3)), RNG.random((2, 3))
    check_gradient(losses.sigmoid_cross_entropy_with_logits, z, x, order=2, rtol=1e-5)

    def weighted(z, x):
        return losses.weighted_cross_entropy_with_logits(z, x, 2.5)

    check_gradient(weighted, z, x, order=2, rtol=1e-5)


def test_undecided_logits_are_pulled_halfway():
    [_, slope] = gradients_of(
        losses.sigmoid_cross_entropy_with_logits, np.array([0.0, 1.0]), np.zeros(2)
    )
    np.testing.assert_array_equal(slope, [0.5, -0.5])


def test_poisson_losses_follow_the_formula():
    targets, x = np.array([0.0, 0.5, 1.0, 2.0, 7.0]), np.array([1.0, 2.0, -1.0, 3.0, 0.5])
    [loss] = evaluate(losses.log_poisson_loss, [targets, x])
    np.testing.assert_allclose(loss, np.exp(x) - x * targets)

    def full(t, x):
        return losses.log_poisson_loss(t, x, compute_full_loss=True)

    t = targets[3:]
    stirling = t * np.log(t) - t + 0.5 * np.log(2 * np.pi * t)
    [loss] = evaluate(full, [targets, x])
    np.testing.assert_allclose(loss, np.exp(x) - x * targets + [0, 0, 0, *stirling])
    check_gradient(full, targets[3:], x[3:], order=2, rtol=1e-5)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0,)])
def test_half_of_the_squares_is_summed(shape, dtype):
    t = sample(dtype, shape)
    loss = run("L2Loss", t)
    assert loss.dtype == dtype
    assert loss.shape == ()
    np.testing.assert_allclose(loss, (t.astype("f8") ** 2).sum() / 2, TOLERANCE[dtype])


def test_squares_have_gradients():
    check_gradient(losses.l2_loss, sample("f8", (2, 3)), order=2)


# --- complaints ---------------------------------------------------------------------------

MISTAKES = {
    "losses.softmax_cross_entropy_with_logits_v1(labels=[[0.0]])": "Both `labels` and `logits` must be provided for softmax_cross_entropy_with_logitsReceived: labels=[[0.0]] and logits=None",
    "losses.sparse_softmax_cross_entropy_with_logits_v1(labels=[0])": "Both `labels` and `logits` must be provided for sparse_softmax_cross_entropy_with_logitsReceived: labels=[0] and logits=None",
    "losses.sigmoid_cross_entropy_with_logits(labels=[0.0])": "Both `labels` and `logits` must be provided for sigmoid_cross_entropy_with_logitsReceived: labels=[0.0] and logits=None",
    "losses.sigmoid_cross_entropy_with_logits([0.0, 1.0], [1.0])": "`logits` and `labels` must have the same shape, received ((1,) vs (2,)).",
    "losses.weighted_cross_entropy_with_logits([0.0, 1.0], [1.0], 2.0)": "`logits` and `labels` must have the same shape, received ((1,) vs (2,)).",
    "losses.log_poisson_loss([0.0, 1.0], [1.0])": "`log_input` and `targets` must have the same shape, received ((1,) vs (2,)).",
    "losses.sparse_softmax_cross_entropy_with_logits([0, 1], [[1.0, 2.0]])": "`labels.shape` must equal `logits.shape` except for the last dimension. Received: labels.shape=(2,) and logits.shape=(1, 2)",
    "losses.sparse_softmax_cross_entropy_with_logits([[0]], [[1.0, 2.0]])": "`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels.shape=(1, 1) of rank 2 and logits.shape=(1, 2) of rank 2",
    "losses.sparse_softmax_cross_entropy_with_logits(0, 1.0)": "`logits` cannot be a scalar.",
    "losses.softmax_cross_entropy_with_logits([[0.0, 1, 1]], [[1.0, 2], [3, 4]])": "Dimensions must be equal, but are 2 and 3",
    "losses.weighted_cross_entropy_with_logits_v1([0.0], [1.0], 1.0, targets=[0.0])": "Cannot specify both 'targets' and 'labels'.",
}


@pytest.mark.parametrize(("call", "message"), MISTAKES.items(), ids=MISTAKES)
def test_misfitting_arguments_are_refused(call, message):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        eval(call)


def test_classes_are_needed():
    with pytest.raises(ValueError, match="Must have at least one class"):
        run_all("SparseSoftmaxCrossEntropyWithLogits", np.zeros((2, 0)), np.zeros(2, int))
