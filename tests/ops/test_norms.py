"""Norms, and clipping by them: values and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.reductions import norms
from tests.ops.everywhere import RANK, compute, shape_of
from tests.ops.gradient_checks import check_gradient, gradients_of
from tests.ops.numbers import INF, close, complex_normal, normal


@pytest.fixture(autouse=True)
def _ignore_fp_errors():
    with np.errstate(all="ignore"):
        yield


NORMS = [
    {},
    {"ord": 1},
    {"ord": np.inf},
    {"ord": 3},
    {"axis": 1},
    {"axis": -2, "ord": 1, "keepdims": True},
    {"axis": (0, 1)},
    {"axis": (0, 1), "ord": 1},
    {"axis": (1, 0), "ord": np.inf, "keepdims": True},
    {"axis": (0, 1), "ord": 2},
    {"axis": (-1, -3), "ord": 2, "keepdims": True},
]


@pytest.mark.parametrize("arguments", NORMS, ids=str)
def test_norms_are_those_of_numpy(arguments):
    x = normal(2, 3, 4) if -3 in np.atleast_1d(arguments.get("axis", 0)) else normal(3, 4)
    without = [RANK] if arguments.get("ord") == 2 else []
    actual = compute(lambda x: norms.norm(x, **arguments), x, without=without)
    flat = x if "axis" in arguments else x.reshape(-1)
    close(actual, np.linalg.norm(flat, **arguments))
    check_gradient(lambda x: norms.norm(x, **arguments), x)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ord": "x"}, "'ord' must be a supported vector norm, got x"),
        ({"ord": -1}, "'ord' must be a supported vector norm, got -1"),
        ({"ord": 3, "axis": (0, 1)}, "'ord' must be a supported matrix norm in .*, got 3"),
        ({"axis": (0, 0)}, "'axis' must be None, an integer, or a tuple of 2 unique integers"),
    ],
)
def test_other_norms_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        norms.norm(np.ones((2, 2)), **arguments)


def test_norms_of_version_1_keep_dims():
    assert shape_of(lambda x: norms.norm_v1(x, axis=1, keep_dims=True), (None, 3)) == (None, 1)


def test_vectors_get_the_length_1():
    x = normal(3, 4)
    expected = x / np.linalg.norm(x, axis=1, keepdims=True)
    close(compute(lambda x: norms.l2_normalize(x, axis=1), x), expected)
    both = compute(lambda x: norms.normalize(x, axis=1), x)
    close(both[0], expected)
    check_gradient(lambda x: norms.l2_normalize(x, dim=1), x, order=2)
    check_gradient(lambda x: norms.l2_normalize(x, 1), complex_normal(2, 3))
    close(compute(norms.l2_normalize, np.zeros(3)), np.zeros(3))


def test_tensors_are_clipped_by_norm():
    x = np.array([[3.0, 4.0], [0.3, 0.4], [0, 0]])
    rows = compute(lambda x: norms.clip_by_norm(x, 1.0, axes=[1]), x)
    close(rows, [[0.6, 0.8], [0.3, 0.4], [0, 0]])
    close(compute(lambda x: norms.clip_by_norm(x, 1.0), x[0]), [0.6, 0.8])
    close(compute(lambda x: norms.clip_by_average_norm(x, 1.0), x[0]), [1.2, 1.6])
    check_gradient(lambda x: norms.clip_by_norm(x, 1.0, axes=[1]), x[:2], order=2)
    np.testing.assert_array_equal(
        gradients_of(lambda x: norms.clip_by_norm(x, 1.0), [0.0, 0.0])[0], [1, 1]
    )


def test_tensors_are_clipped_together():
    x, y = np.array([3.0, 4.0]), np.array([[12.0]])
    close(compute(lambda x, y: norms.global_norm([x, None, y]), x, y), 13)

    def clip(x, y):
        clipped, length = norms.clip_by_global_norm([x, None, y], 6.5)
        assert clipped[1] is None
        return clipped[0], clipped[2], length

    actual = compute(clip, x, y)
    for one, expected in zip(actual, ([1.5, 2], [[6]], 13), strict=True):
        close(one, expected)
    check_gradient(lambda x, y: clip(x, y)[:2], x, y)


def test_infinite_tensors_cannot_be_clipped():
    x = np.array([1.0, INF])
    assert np.isnan(compute(lambda x: norms.clip_by_global_norm([x], 1.0)[0][0], x)).all()
    with pytest.raises(TypeError, match="`t_list` should be a sequence of tensors"):
        norms.global_norm(3)


def test_rows_are_clipped_as_rows():
    with tf.Graph().as_default(), tf.Session() as session:
        rows = IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1]), tf.constant([2, 2]))
        clipped = norms.clip_by_norm(rows, 1.0)
        [together], _ = norms.clip_by_global_norm([rows], 2.5)
        for result, expected in ((clipped, [[0.6, 0.8]]), (together, [[1.5, 2.0]])):
            assert isinstance(result, IndexedSlices)
            close(session.run(result.values), expected, 1e-6)
