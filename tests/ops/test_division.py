"""Division, remainders, and functions with a gap at zero: values and gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.elementwise import division
from tests.ops.everywhere import compute, shape_of
from tests.ops.gradient_checks import check_gradient, gradients_of
from tests.ops.numbers import INF, NAN, between, close, complex_normal, normal


@pytest.fixture(autouse=True)
def _ignore_fp_errors():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize(
    ("function", "x", "y", "expected"),
    [
        (division.xlogy, [0.0, 2.0, 0.0], [0.0, 1.0, -1.0], [0, 0, 0]),
        (division.xlog1py, [0.0, 2.0], [-1.0, 0.0], [0, 0]),
        (division.xdivy, [0.0, 1.0, 1.0], [0.0, 0.0, 4.0], [0, INF, 0.25]),
        (division.divide_no_nan, [1.0, 3.0, 0.0], [0.0, 2.0, 0.0], [0, 1.5, 0]),
        (division.multiply_no_nan, [INF, NAN, 2.0], [0.0, 0.0, 3.0], [0, 0, 6]),
        (division.truncatediv, [7, -7, 7], [2, 2, -2], [3, -3, -3]),
        (division.truncatediv, [7.0, -7.0], [2.0, 2.0], [3, -3]),
        (division.truncatemod, [7, -7, 7], [2, 2, -2], [1, -1, 1]),
        (division.floor_div, [7, -7], [2, 2], [3, -4]),
        (division.realdiv, [1.0], [2.0], [0.5]),
        (division.nextafter, [1.0], [2.0], [np.nextafter(1, 2)]),
    ],
)
def test_quotients_say_what_0_gives(function, x, y, expected):
    np.testing.assert_array_equal(compute(function, np.array(x), np.array(y)), expected)


@pytest.mark.parametrize(
    "function",
    [
        division.xlogy,
        division.xlog1py,
        division.xdivy,
        division.divide_no_nan,
        division.multiply_no_nan,
    ],
    ids=lambda function: function.__name__,
)
def test_quotients_have_gradients(function):
    check_gradient(function, between(0.2, 0.8, 3, 1), between(0.2, 0.8, 4), order=2)
    check_gradient(function, complex_normal(3), complex_normal(3))


@pytest.mark.parametrize(
    ("function", "x", "y", "expected"),
    [
        (division.xlogy, [0.0, 2.0], [0.0, 3.0], ([0, math.log(3)], [0, 2 / 3])),
        (division.xdivy, [0.0, 2.0], [0.0, 3.0], ([0, 1 / 3], [0, -2 / 9])),
        (division.divide_no_nan, [2.0, 2.0], [0.0, 3.0], ([0, 1 / 3], [0, -2 / 9])),
        (division.multiply_no_nan, [INF, 2.0], [0.0, 3.0], ([0, 3], [INF, 2])),
        (division.nextafter, [1.2], [2.0], ([1], [0])),
    ],
)
def test_gradients_at_0_are_those_of_tensorflow(function, x, y, expected):
    for actual, wanted in zip(gradients_of(function, x, y), expected, strict=True):
        close(actual, wanted)


def test_remainder_has_gradients():
    check_gradient(division.truncatemod, normal(3, 1) * 5, between(0.2, 0.8, 4))


def test_integers_become_floats_to_divide():
    actual = compute(division.divide_no_nan, np.array([1, 2], "i4"), np.array([0, 4], "i4"))
    assert actual.dtype == np.float64
    np.testing.assert_array_equal(actual, [0, 0.5])
    with pytest.raises(TypeError, match="must have the same dtype"):
        shape_of(lambda x: division.divide_no_nan(x, tf.constant(1, tf.float64)), ())


@pytest.mark.parametrize("function", [division.truncatediv, division.truncatemod])
def test_integers_cannot_be_divided_by_0(function):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
        compute(function, np.array([1, 2]), np.array([1, 0]))


def test_reciprocals_and_roundings():
    close(compute(division.reciprocal_no_nan, np.array([2.0, 0.0])), [0.5, 0])
    close(compute(division.rint, np.array([0.5, 1.5, -1.7])), [0, 2, -2])
