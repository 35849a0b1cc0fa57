"""Statistics: moments, histograms, bins: values and gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.elementwise.add_n import accumulate_n
from berth.ops.elementwise.arithmetic import scalar_mul
from berth.ops.elementwise.polyval import polyval
from berth.ops.reductions import statistics
from tests.ops.everywhere import RANK, compute, shape_of
from tests.ops.gradient_checks import check_gradient
from tests.ops.numbers import INF, close, complex_normal, normal


@pytest.fixture(autouse=True)
def _ignore_fp_errors():
    with np.errstate(all="ignore"):
        yield


REDUCTIONS = {
    statistics.reduce_logsumexp: lambda x, axis: np.log(np.exp(x).sum(axis)),
    statistics.reduce_variance: np.var,
    statistics.reduce_std: np.std,
    statistics.reduce_euclidean_norm: lambda x, axis: np.sqrt((x * x).sum(axis)),
}


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_statistics_are_those_of_numpy(function, axis):
    x = normal(3, 4)
    axes = None if axis is None else np.array(axis)
    actual = compute(lambda x: function(x, axis=axes), x)
    close(actual, REDUCTIONS[function](x, axis))
    kept = compute(lambda x: function(x, axis=axes, keepdims=True), x)
    assert kept.shape == x.sum(axis, keepdims=True).shape


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda function: function.__name__)
def test_statistics_have_gradients(function):
    check_gradient(lambda x: function(x, axis=1), normal(3, 4), order=2)
    check_gradient(function, normal(3, 4))


def test_large_exponents_do_not_overflow():
    x = np.array([[1000.0, 1000.0], [-1000.0, -INF], [-INF, -INF], [INF, 0]])
    expected = [1000 + math.log(2), -1000, -INF, INF]
    close(compute(lambda x: statistics.reduce_logsumexp(x, 1), x), expected)
    close(compute(lambda x: statistics.reduce_logsumexp(x, reduction_indices=[1]), x), expected)


def test_complex_numbers_vary_by_real_squares():
    x = complex_normal(3, 2)
    close(compute(lambda x: statistics.reduce_variance(x, 0), x), np.var(x, 0))
    check_gradient(lambda x: statistics.reduce_std(x, 0), x)


def test_integers_have_no_variance():
    with pytest.raises(TypeError, match="Received integer type <dtype: 'int32'>"):
        shape_of(statistics.reduce_variance, (2,), dtype=np.int32)
    assert compute(statistics.reduce_euclidean_norm, np.array([1, 2, 3], "i4")) == 3


def test_what_is_not_0_is_counted():
    x = np.array([[0, 1, 2], [0, 0, 3]], "i4")
    np.testing.assert_array_equal(
        compute(lambda x: statistics.count_nonzero(x, 0), x), [0, 1, 2]
    )
    assert compute(statistics.count_nonzero, x).dtype == np.int64
    v1 = compute(
        lambda x: statistics.count_nonzero_v1(x, reduction_indices=1, keep_dims=True), x
    )
    np.testing.assert_array_equal(v1, [[2], [1]])
    close(compute(statistics.zero_fraction, x), np.float32(0.5))
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(statistics.count_nonzero(tf.constant(["", "a"]))) == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, [0, 2, 0, 1]),
        ({"minlength": 6}, [0, 2, 0, 1, 0, 0]),
        ({"maxlength": 2}, [0, 2]),
        ({"weights": np.array([0.5, 1, 2])}, [0, 1.5, 0, 2]),
        ({"binary_output": True}, [0, 1, 0, 1]),
        ({"dtype": np.int64}, [0, 2, 0, 1]),
    ],
    ids=str,
)
def test_integers_are_counted(arguments, expected):
    actual = compute(lambda x: statistics.bincount(x, **arguments), np.array([1, 1, 3], "i4"))
    np.testing.assert_array_equal(actual, expected)
    assert actual.dtype == arguments.get(
        "dtype", np.float64 if "weights" in arguments else np.int32
    )


def test_integers_are_counted_by_row():
    x = np.array([[1, 1, 3], [0, 0, 1]], "i4")
    count = statistics.bincount
    by_row = compute(lambda x: count(x, axis=-1), x, without=[RANK])
    np.testing.assert_array_equal(by_row, [[0, 2, 0, 1], [2, 1, 0, 0]])
    by_row = compute(lambda x: count(x, axis=-1, maxlength=2), x, without=[RANK])
    np.testing.assert_array_equal(by_row, [[0, 2], [2, 1]])
    np.testing.assert_array_equal(compute(statistics.bincount_v1, x), [2, 3, 0, 1])


def test_counted_integers_are_not_negative():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Input arr must be non-negative!"):
        compute(statistics.bincount, np.array([1, -1], "i4"))
    assert compute(statistics.bincount, np.zeros(0, "i4")).shape == (0,)


def test_confusion_is_counted():
    labels, predictions = np.array([1, 2, 2, 0]), np.array([1, 0, 2, 0])
    expected = [[1, 0, 0], [0, 1, 0], [1, 0, 1]]
    actual = compute(statistics.confusion_matrix, labels, predictions)
    np.testing.assert_array_equal(actual, expected)
    weighted = compute(
        lambda a, b: statistics.confusion_matrix_v1(
            a, b, 4, np.float32, weights=np.array([0.5, 1, 2, 3])
        ),
        labels,
        predictions,
    )
    np.testing.assert_array_equal(
        weighted, [[3, 0, 0, 0], [0, 0.5, 0, 0], [1, 0, 2, 0], [0, 0, 0, 0]]
    )


@pytest.mark.parametrize(
    ("predictions", "n_classes", "message"),
    [([0, -1], None, "`predictions` contains negative values"), ([0, 3], 3, "out of bound")],
)
def test_classes_are_checked(predictions, n_classes, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        compute(
            lambda a, b: statistics.confusion_matrix(a, b, n_classes),
            np.array([0, 1]),
            np.array(predictions),
        )


def test_order_is_noticed():
    for values, is_sorted, is_strict in (
        ([1, 2, 2], True, False),
        ([1, 2, 3], True, True),
        ([2, 1], False, False),
        ([], True, True),
    ):
        x = np.array(values, "f")
        assert compute(statistics.is_non_decreasing, x) == is_sorted
        assert compute(statistics.is_strictly_increasing, x) == is_strict


def test_sums_of_terms():
    x = normal(3)
    close(compute(lambda x: polyval([1.0, 2.0, 3.0], x), x), x**2 + 2 * x + 3)
    close(compute(lambda x: scalar_mul(2.0, x), x), 2 * x)
    close(compute(lambda x: accumulate_n([x, x], [3], np.float64), x), 2 * x)
    with pytest.raises(ValueError, match="must be a 0-D value"):
        shape_of(lambda x: scalar_mul(x, x), (2,))
