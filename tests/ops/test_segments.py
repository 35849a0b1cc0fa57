"""Segment reductions: values and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.reductions import segments, unsorted_segments
from tests.ops.everywhere import OPEN, compute, shape_of
from tests.ops.gradient_checks import check_gradient, gradients_of
from tests.ops.numbers import close, normal


@pytest.fixture(autouse=True)
def _ignore_fp_errors():
    with np.errstate(all="ignore"):
        yield


DATA = np.array([[1, 2], [3, 4], [5, 6], [-1, 0]], "i4")
SORTED = {
    segments.segment_sum: [[4, 6], [0, 0], [4, 6]],
    segments.segment_mean: [[2, 3], [0, 0], [2, 3]],
    segments.segment_max: [[3, 4], [0, 0], [5, 6]],
    segments.segment_min: [[1, 2], [0, 0], [-1, 0]],
    segments.segment_prod: [[3, 8], [1, 1], [-5, 0]],
}
LOW, HIGH = np.iinfo(np.int32).min, np.iinfo(np.int32).max
UNSORTED = {
    unsorted_segments.unsorted_segment_sum: [[5, 6], [0, 0], [4, 6]],
    unsorted_segments.unsorted_segment_max: [[5, 6], [LOW, LOW], [3, 4]],
    unsorted_segments.unsorted_segment_min: [[5, 6], [HIGH, HIGH], [1, 2]],
    unsorted_segments.unsorted_segment_prod: [[5, 6], [1, 1], [3, 8]],
}
name_of = {"ids": lambda function: getattr(function, "__name__", "")}


@pytest.mark.parametrize("function", SORTED, **name_of)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_sorted_segments_may_have_gaps(function, dtype):
    data, ids = DATA.astype(dtype), np.array([0, 0, 2, 2])
    actual = compute(function, data, ids)
    assert actual.dtype == dtype
    np.testing.assert_array_equal(actual, SORTED[function])
    assert compute(function, data[:0], ids[:0]).shape == (0, 2)


@pytest.mark.parametrize("function", UNSORTED, **name_of)
def test_unsorted_segments_drop_negative_ids(function):
    actual = compute(lambda x, ids: function(x, ids, 3), DATA, np.array([2, 2, 0, -1], "i4"))
    np.testing.assert_array_equal(actual, UNSORTED[function])


def test_segments_of_none_are_numbers():
    x = np.array([1.0], "f")
    for function, expected in (
        (unsorted_segments.unsorted_segment_max, np.finfo("f").min),
        (unsorted_segments.unsorted_segment_min, np.finfo("f").max),
        (unsorted_segments.unsorted_segment_mean, 0),
        (unsorted_segments.unsorted_segment_sqrt_n, 0),
    ):
        assert compute(lambda x, f=function: f(x, [0], 2), x)[1] == expected


def test_ids_may_have_several_axes():
    x, ids = normal(2, 3, 2), np.array([[0, 1, 2], [2, -1, 0]])
    actual = compute(lambda x, ids: unsorted_segments.unsorted_segment_mean(x, ids, 4), x, ids)
    expected = [(x[0, 0] + x[1, 2]) / 2, x[0, 1], (x[0, 2] + x[1, 0]) / 2, [0, 0]]
    close(actual, expected)
    root = compute(lambda x, ids: unsorted_segments.unsorted_segment_sqrt_n(x, ids, 4), x, ids)
    close(root[0], (x[0, 0] + x[1, 2]) / np.sqrt(2))


@pytest.mark.parametrize("function", SORTED, **name_of)
def test_sorted_segments_have_gradients(function):
    check_gradient(function, normal(5, 2), np.array([0, 0, 1, 1, 3]), order=2)


@pytest.mark.parametrize(
    "function",
    [
        *UNSORTED,
        unsorted_segments.unsorted_segment_mean,
        unsorted_segments.unsorted_segment_sqrt_n,
    ],
    **name_of,
)
def test_unsorted_segments_have_gradients(function):
    ids = np.array([2, 0, 2, -1, 0])
    check_gradient(lambda x, ids: function(x, ids, 3)[::2], normal(5, 2), ids, order=2)


def test_gradients_of_zeros_and_ties():
    x = normal(6, 2)
    x[0, 0] = x[1, 0] = x[3, 1] = 0
    check_gradient(segments.segment_prod, x, np.array([0, 0, 1, 1, 1, 3]))
    check_gradient(
        lambda x, ids: unsorted_segments.unsorted_segment_prod(x, ids, 3),
        x,
        np.array([2, 2, 2, -1, 0, 2]),
    )
    tied = gradients_of(segments.segment_max, [1.0, 3.0, 3.0, 2.0], np.array([0, 0, 0, 2]))[0]
    np.testing.assert_array_equal(tied, [0, 0.5, 0.5, 1])


@pytest.mark.parametrize(
    ("function", "ids", "message"),
    [
        (segments.segment_sum, [1, 0, 2, 2], "segment ids are not increasing"),
        (segments.segment_sum, [-1, 0, 1, 1], r"Segment id -1 out of range \[0, 2\)"),
        (
            lambda x, ids: unsorted_segments.unsorted_segment_sum(x, ids, 3),
            [0, 5, 1, 1],
            r"segment_ids\[1\] = 5 is out of range \[0, 3\)",
        ),
    ],
)
def test_wrong_ids_are_refused(function, ids, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        compute(function, DATA, np.array(ids))


def test_shapes_of_segments_are_known_in_part():
    ids = np.array([0, 0, 2])
    assert shape_of(lambda x: segments.segment_sum(x, ids), (None, 4)) == (3, 4)
    assert shape_of(lambda x: unsorted_segments.unsorted_segment_max(x, ids, 7), (None, 4)) == (
        7,
        4,
    )
    with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal"):
        shape_of(lambda x: segments.segment_sum(x, ids), (2, 4))
    with pytest.raises(tf.errors.InvalidArgumentError, match="same size as dimension 0"):
        compute(segments.segment_sum, DATA, np.array([0, 1]), without=["known", OPEN])


def test_negative_number_of_segments_is_refused():
    import berth as tf

    message = "Dimension size, given by scalar input 2, must be non-negative but is -1"
    traced = tf.function(lambda x: tf.math.unsorted_segment_sum(x, [0, 1], -1))
    with pytest.raises(ValueError, match=message):
        traced(np.ones(2, np.float32))
