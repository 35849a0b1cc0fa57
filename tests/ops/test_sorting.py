"""top_k, sort, searchsorted, histograms and unique, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.arrays.sorting import argsort, in_top_k, in_top_k_v1, sort, top_k
from berth.ops.arrays.unique import unique, unique_with_counts
from berth.ops.reductions.histogram import histogram_fixed_width, histogram_fixed_width_bins
from berth.ops.reductions.searchsorted import searchsorted
from tests.ops.calls import sample
from tests.ops.gradient_checks import CPU, GPU, check_gradient, each_type, evaluate

on_devices = pytest.mark.parametrize("device", [CPU, GPU])
everywhere = each_type(["f2", "i1", "i8", "u8"])


@pytest.fixture
def graph(sim):
    with tf.Graph().as_default() as graph:
        yield graph


def one(function, *arrays, device=CPU):
    [output] = evaluate(function, [np.asarray(array) for array in arrays], device)
    return output


def with_ties(dtype, shape):
    """Draw few different numbers, the least and the largest of the type among them."""
    kind = np.dtype(dtype).kind
    limits = (-np.inf, np.inf) if kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    numbers = np.array([*limits, 1, 2, 3], dtype)
    return np.random.default_rng(0).choice(numbers, shape)


def stable_order(x, axis, descending):
    """Sort stably by Python's own numbers, which do not overflow."""

    def order(row):
        sign = -1 if descending else 1
        return sorted(range(len(row)), key=lambda k: sign * row[k].item())

    return np.apply_along_axis(order, axis, x).astype(np.int32)


# --- the largest ----------------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize("shape", [(5,), (2, 5), (2, 0, 5), (3, 2, 8)])
@pytest.mark.parametrize("k", [0, 1, 3, 5])
def test_the_largest_come_first(shape, k, dtype, device):
    x = with_ties(dtype, shape)
    values, indices = evaluate(lambda x: top_k(x, k), [x], device)
    expected = np.zeros((*shape[:-1], k), np.int32)
    if expected.size:
        expected = stable_order(x, -1, True)[..., :k]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, -1))
    assert (values.dtype, indices.dtype) == (x.dtype, np.int32)


def test_places_have_the_wanted_type():
    x = sample("f", (4,))
    indices = one(lambda x: top_k(x, 2, index_type=tf.int64).indices, x)
    assert indices.dtype == np.int64


def test_shapes_of_the_largest_are_known(graph):
    x = tf.placeholder(tf.float32, [None, 5])
    assert [t.dims for t in top_k(x, 3)] == [(None, 3)] * 2
    assert top_k(x, tf.placeholder(tf.int32, [])).values.dims == (None, None)
    assert top_k(tf.placeholder(tf.float32), 3).values.dims is None


@pytest.mark.parametrize(
    ("shape", "k", "message"),
    [
        ([3], 4, "input must have last dimension >= k = 4 but is 3"),
        ([3], -1, "Dimension size, given by scalar input 1, must be non-negative but is -1"),
        ([], 1, "Shape must be at least rank 1 but is rank 0"),
    ],
)
def test_there_must_be_enough(graph, shape, k, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        top_k(tf.placeholder(tf.float32, shape), k)


@on_devices
@pytest.mark.parametrize("k", [0, 1, 2, 9])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_targets_are_among_the_largest(k, dtype, device):
    rng = np.random.default_rng(1)
    predictions = rng.integers(0, 4, (40, 5)).astype(np.float32)
    predictions[3, 2], predictions[5, 0] = np.nan, np.inf
    targets = rng.integers(-1, 6, 40).astype(dtype)
    expected = [
        bool(np.isfinite(row).all() and 0 <= t < 5 and (row > row[t % 5]).sum() < k)
        for row, t in zip(predictions, targets, strict=True)
    ]
    for function in (
        lambda p, t: in_top_k(t, p, k),
        lambda p, t: in_top_k_v1(p, t, k),
    ):
        assert one(function, predictions, targets, device=device).tolist() == expected


# --- all in order -----------------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((6,), -1), ((3, 4), 0), ((2, 3, 4), 1), ((0,), 0)]
)
def test_elements_are_put_in_order(shape, axis, direction, dtype, device):
    x = with_ties(dtype, shape)
    order = np.zeros(shape, np.int32)
    if x.size:
        order = stable_order(x, axis, direction == "DESCENDING")
    expected = np.take_along_axis(x, order, axis)
    np.testing.assert_array_equal(
        one(lambda x: sort(x, axis, direction), x, device=device), expected
    )
    found = one(lambda x: argsort(x, axis, direction, stable=True), x, device=device)
    np.testing.assert_array_equal(found, order)
    assert found.dtype == np.int32


def test_directions_are_two(graph):
    with pytest.raises(ValueError, match="should be one of ASCENDING, DESCENDING"):
        sort([1.0], direction="x")
    with pytest.raises(ValueError, match="slice index 2 of dimension 0 out of bounds"):
        sort(tf.placeholder(tf.float32, [3]), axis=2)


def test_sorted_shapes_are_known(graph):
    assert sort(tf.placeholder(tf.float32, [2, 3, 4]), axis=0).dims == (2, 3, 4)


# --- places in an order -----------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    ("batch", "n_sorted", "n_values"), [((), 6, 4), ((3,), 5, 2), ((2, 3), 4, 3), ((2,), 0, 3)]
)
def test_places_are_numpys(batch, n_sorted, n_values, side, dtype, device):
    sequences = np.sort(with_ties(dtype, (*batch, n_sorted)))
    values = with_ties(dtype, (*batch, n_values))
    expected = np.zeros(values.shape, np.int32)
    for k in np.ndindex(*batch):
        expected[k] = np.searchsorted(sequences[k], values[k], side)
    actual = one(lambda s, v: searchsorted(s, v, side), sequences, values, device=device)
    assert actual.dtype == np.int32
    np.testing.assert_array_equal(actual, expected)


def test_batches_must_agree():
    arrays = [sample("f", (2, 3)), sample("f", (3, 3))]
    with pytest.raises(ValueError, match="Leading dim_size of both tensors must match"):
        evaluate(searchsorted, arrays)
    with pytest.raises(ValueError, match="must be either 'right' or 'left'"):
        searchsorted([1], [1], side="middle")


@on_devices
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("n_bins", [1, 5])
def test_values_are_counted_in_bins(n_bins, dtype, device):
    values = np.array([[-1, 0, 1, 2], [4, 5, 15, 3]], dtype)
    bounds = np.array([0, 5], dtype)
    bins = np.clip(np.floor((values - 0.0) / (5 / n_bins)), 0, n_bins - 1).astype(np.int32)
    actual = one(
        lambda v, r: histogram_fixed_width_bins(v, r, n_bins), values, bounds, device=device
    )
    np.testing.assert_array_equal(actual, bins)
    counts = one(
        lambda v, r: histogram_fixed_width(v, r, n_bins), values, bounds, device=device
    )
    np.testing.assert_array_equal(counts, np.bincount(bins.ravel(), minlength=n_bins))
    assert counts.dtype == np.int32


def test_nothing_falls_into_no_bin():
    empty, bounds = np.zeros(0, np.float32), np.array([0, 1], np.float32)
    actual = one(lambda v, r: histogram_fixed_width(v, r, 3, tf.int64), empty, bounds)
    assert actual.tolist() == [0, 0, 0]
    assert actual.dtype == np.int64


# --- different elements -----------------------------------------------------------------------


@on_devices
@pytest.mark.parametrize("dtype", ["f4", "?", "c8"])
@pytest.mark.parametrize("size", [0, 1, 30])
def test_different_elements_come_in_their_order(size, dtype, device):
    x = sample(dtype, (size,)).round() if dtype != "?" else sample(dtype, (size,))
    order = list(dict.fromkeys(x.tolist()))
    y, idx, count = evaluate(unique_with_counts, [x], device)
    assert y.tolist() == order
    assert idx.tolist() == [order.index(value) for value in x.tolist()]
    assert count.tolist() == [x.tolist().count(value) for value in order]
    assert (y.dtype, idx.dtype, count.dtype) == (x.dtype, np.int32, np.int32)
    y, idx = evaluate(lambda x: unique(x, tf.int64), [x], device)
    assert y.tolist() == order
    assert idx.dtype == np.int64


def test_texts_are_compared_too():
    texts = np.array([b"b", b"a", b"b", b""], object)
    y, idx = evaluate(unique, [texts])
    assert y.tolist() == [b"b", b"a", b""]
    assert idx.tolist() == [0, 1, 0, 2]


def test_no_nan_equals_another():
    _, idx = evaluate(unique, [np.array([np.nan, 1, np.nan], np.float32)])
    assert idx.tolist() == [0, 1, 2]


def test_only_vectors_have_different_elements(graph):
    x = tf.placeholder(tf.float32, [None])
    assert [t.dims for t in unique(x)] == [(None,), (None,)]
    assert unique(tf.placeholder(tf.float32, [4])).idx.dims == (4,)
    with pytest.raises(ValueError, match="Shape must be rank 1 but is rank 2"):
        unique(tf.placeholder(tf.float32, [2, 3]))


def test_what_follows_has_the_new_size():
    x = np.array([3.0, 1.0, 3.0])
    doubled = one(lambda x: unique(x).y * 2.0, x)
    assert doubled.tolist() == [6.0, 2.0]


# --- gradients --------------------------------------------------------------------------------

X = np.random.default_rng(5).permutation(24).reshape(2, 3, 4) / 7


@pytest.mark.parametrize(
    "function",
    [
        lambda x: top_k(x * x, 2).values,
        lambda x: top_k(x * x, 1).values,
        lambda x: top_k(x * x, 0).values,
        lambda x: sort(x * x),
        lambda x: sort(x * x, 1, "DESCENDING"),
    ],
)
def test_gradients_go_where_elements_came_from(function):
    check_gradient(function, X, order=2)
