"""Rows taken from and put to places, against NumPy's indices."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.arrays.gathering import gather, gather_v2
from berth.ops.arrays.scattering import (
    gather_nd,
    gather_nd_v1,
    scatter_nd,
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
)
from tests.ops.calls import sample
from tests.ops.gradient_checks import CPU, GPU, check_gradient, each_type, evaluate

on_devices = pytest.mark.parametrize("device", [CPU, GPU])
everywhere = each_type(["f2", "f8", "i8", "u1"])
PLACES = np.array([[0, 2], [1, 0], [0, 2], [1, 1]], np.int32)


@pytest.fixture
def graph(sim):
    with tf.Graph().as_default() as graph:
        yield graph


def rows_at(tensor, indices):
    """Index as NumPy does: by a column of numbers for each axis."""
    return tensor[tuple(np.moveaxis(indices, -1, 0))]


def one(function, *arrays, device=CPU):
    [output] = evaluate(function, [np.asarray(array) for array in arrays], device)
    return output


# --- taking ---------------------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize(
    ("shape", "indices"),
    [
        ((2, 3), PLACES),
        ((2, 3, 4), PLACES),
        ((2, 3, 4), PLACES[:, :1]),
        ((2, 3), PLACES.astype(np.int64).reshape(2, 2, 2)),
        ((2, 3), PLACES[0]),
        ((2, 3), PLACES[:0]),
        ((2, 3, 0), PLACES),
    ],
)
def test_named_rows_are_taken(dtype, shape, indices, device):
    params = sample(dtype, shape)
    actual = one(gather_nd, params, indices, device=device)
    assert actual.dtype == params.dtype
    np.testing.assert_array_equal(actual, rows_at(params, indices))


def test_empty_vectors_name_everything():
    params = sample("f", (2, 3))
    actual = one(gather_nd, params, np.zeros((4, 0), np.int32))
    np.testing.assert_array_equal(actual, np.broadcast_to(params, (4, 2, 3)))


@on_devices
@pytest.mark.parametrize("n_batch", [1, 2, -2])
def test_batches_take_from_themselves(n_batch, device):
    params = sample("f", (2, 3, 4, 5))
    indices = np.random.default_rng(1).integers(0, 4, (2, 3, 1)).astype(np.int32)
    if n_batch in (1, -2):
        expected = np.stack([params[k][indices[k, :, 0] % 3] for k in range(2)])
        indices %= 3
    else:
        expected = np.stack(
            [params[a, b, indices[a, b, 0]] for a in range(2) for b in range(3)]
        )
        expected = expected.reshape(2, 3, 5)
    for function in (
        lambda p, k: gather_nd(p, k, batch_dims=n_batch),
        lambda p, k: gather_nd_v1(p, k, None, n_batch),
    ):
        np.testing.assert_array_equal(one(function, params, indices, device=device), expected)


@everywhere
@pytest.mark.parametrize(
    ("shape", "indices", "axis", "n_batch"),
    [
        ((2, 3), (2, 4), 1, 1),
        ((2, 3), (2,), 1, 1),
        ((2, 3, 4), (2, 3, 5), 2, 2),
        ((2, 3, 4, 5), (2, 6), 2, 1),
        ((2, 3, 4, 5), (2, 6, 1), -1, -2),
        ((2, 3, 0), (2, 4), 1, 1),
        ((0, 3), (0, 4), 1, 1),
        ((2, 3), (2, 0), 1, 1),
    ],
)
def test_batches_are_gathered_along_an_axis(dtype, shape, indices, axis, n_batch, device):
    params = sample(dtype, shape)
    along = axis % len(shape)
    many = max(shape[along], 1)
    numbers = np.random.default_rng(2).integers(0, many, indices).astype(np.int32)
    n_first = n_batch % len(indices) if n_batch < 0 else n_batch
    batch = shape[:n_first]
    parts = [params[k].take(numbers[k], along - n_first) for k in np.ndindex(*batch)]
    dims = shape[:along] + indices[n_first:] + shape[along + 1 :]
    expected = np.array(parts, params.dtype).reshape(dims)
    for function in (
        lambda p, k: gather(p, k, axis=axis, batch_dims=n_batch),
        lambda p, k: gather_v2(p, k, None, axis, n_batch),
    ):
        actual = one(function, params, numbers, device=device)
        np.testing.assert_array_equal(actual, expected)


def test_the_batch_decides_the_axis(graph):
    params = tf.placeholder(tf.float32, [2, 3, 4])
    indices = tf.placeholder(tf.int32, [2, 5])
    assert gather(params, indices, batch_dims=1).dims == (2, 5, 4)
    assert gather(params, indices, batch_dims=-1).dims == (2, 5, 4)
    assert gather_v2(params, indices).dims == (2, 5, 3, 4)
    assert gather_v2(params, indices, axis=2, batch_dims=1).dims == (2, 3, 5)


@on_devices
@pytest.mark.parametrize(
    ("function", "arrays", "message"),
    [
        (
            gather_nd,
            [sample("f", (1, 3)), [[[0, 1]], [[0, 7]]]],
            "indices[1,0] = [0, 7] does not index into param shape [1,3]",
        ),
        (gather_nd, [sample("f", (3,)), [-1]], "indices[0] = [-1] does not index into param "),
        (
            lambda x, k: scatter_nd(k, x, [4]),
            [sample("f", (2,)), [[1], [9]]],
            "indices[1] = [9] does not index into shape [4]",
        ),
        (
            lambda x, k: tensor_scatter_nd_add(x, k, x),
            [sample("f", (2,)), [[0], [4]]],
            "indices[1] = [4] does not index into shape [2]",
        ),
        (
            lambda x, k: gather(x, k, axis=1, batch_dims=1),
            [sample("f", (2, 3)), [[0], [3]]],
            "indices[1,0] = 3 is not in [0, 3)",
        ),
    ],
)
def test_a_place_that_is_not_there_is_refused(function, arrays, message, device):
    arrays = [np.asarray(a, None if np.asarray(a).dtype.kind == "f" else "i4") for a in arrays]
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        evaluate(function, arrays, device)
    assert message in caught.value.message


# --- putting --------------------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize("n_axes", [1, 2])
def test_rows_put_twice_are_added(dtype, n_axes, device):
    indices = PLACES[:, :n_axes]
    shape = (2, 3, 4)
    updates = sample(dtype, (4, *shape[n_axes:]))
    expected = np.zeros(shape, dtype)
    np.add.at(expected, tuple(indices.T), updates)
    actual = one(lambda k, u: scatter_nd(k, u, shape), indices, updates, device=device)
    assert actual.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(actual, expected)


def test_truth_is_put_too():
    truth = np.array([True, False])
    actual = one(lambda k, u: scatter_nd(k, u, [3]), np.array([[2], [0]], np.int32), truth)
    assert actual.tolist() == [False, False, True]


def test_nothing_put_leaves_zeros():
    none, updates = np.zeros((0, 1), np.int32), np.zeros((0, 2), np.float32)
    actual = one(lambda k, u: scatter_nd(k, u, [3, 2]), none, updates)
    np.testing.assert_array_equal(actual, np.zeros((3, 2)))


@everywhere
@pytest.mark.parametrize(
    ("function", "ufunc"),
    [
        (tensor_scatter_nd_add, np.add),
        (tensor_scatter_nd_sub, np.subtract),
        (tensor_scatter_nd_min, np.minimum),
        (tensor_scatter_nd_max, np.maximum),
    ],
)
def test_tensors_are_updated_in_places(function, ufunc, dtype, device):
    tensor, updates = sample(dtype, (2, 3, 2)), sample(dtype, (4, 2), 1)
    expected = tensor.copy()
    ufunc.at(expected, tuple(PLACES.T), updates)
    actual = one(function, tensor, PLACES, updates, device=device)
    assert actual.dtype == tensor.dtype
    np.testing.assert_array_equal(actual, expected)


@everywhere
def test_the_last_row_put_counts(dtype, device):
    tensor, updates = sample(dtype, (2, 3)), sample(dtype, (4,), 1)
    expected = tensor.copy()
    for place, update in zip(PLACES, updates, strict=True):
        expected[tuple(place)] = update
    actual = one(tensor_scatter_nd_update, tensor, PLACES, updates, device=device)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("indices", "updates", "shape", "message"),
    [
        (
            (2, 1),
            (2, 3),
            [4, 4],
            "Dimensions [1,2) of input[shape=[4,4]] = [4] must match dimensions [1,2) of "
            "updates[shape=[2,3]] = [3]: Dimension 0 in both shapes must be equal, but are 4 and "
            "3. Shapes are [4] and [3].",
        ),
        (
            (2, 1),
            (3, 4),
            [4, 4],
            "Dimensions [0,1) of indices[shape=[2,1]] = [2] must match dimensions [0,1) of "
            "updates[shape=[3,4]] = [3]: Dimension 0 in both shapes must be equal, but are 2 and "
            "3. Shapes are [2] and [3].",
        ),
    ],
)
def test_updates_must_fit(graph, indices, updates, shape, message):
    places = tf.placeholder(tf.int32, indices)
    rows = tf.placeholder(tf.float32, updates)
    with pytest.raises(ValueError, match="must match") as caught:
        scatter_nd(places, rows, shape)
    assert str(caught.value).startswith(message)
    with pytest.raises(ValueError, match="must match"):
        tensor_scatter_nd_update(tf.zeros(shape), places, rows)


def test_vectors_cannot_be_too_long(graph):
    with pytest.raises(ValueError, match="but saw indices shape: "):
        gather_nd(tf.placeholder(tf.float32, [2, 2]), tf.placeholder(tf.int32, [1, 3]))


@pytest.mark.parametrize(
    ("params", "indices", "dims"),
    [
        ([None, 3], [5, 2], (5,)),
        ([None, None, 3], [None, 2], (None, 3)),
        ([2, 3], [4, None], None),
        (None, [4, 2], None),
    ],
)
def test_shapes_are_known_in_part(graph, params, indices, dims):
    places = tf.placeholder(tf.int32, indices)
    assert gather_nd(tf.placeholder(tf.float32, params), places).dims == dims


# --- gradients ------------------------------------------------------------------------------

X = np.arange(12.0).reshape(2, 3, 2) / 7
ROWS = np.arange(8.0).reshape(4, 2) / 3 + 10


@pytest.mark.parametrize(
    "function",
    [
        lambda x, u: gather_nd(x * x, PLACES),
        lambda x, u: gather_nd(x * x, PLACES[:2, 1:], batch_dims=1),
        lambda x, u: scatter_nd(PLACES, u * u, [2, 3, 2]),
        lambda x, u: tensor_scatter_nd_update(x * x, PLACES[1:], u[1:] * u[1:]),
        lambda x, u: tensor_scatter_nd_add(x * x, PLACES, u * u),
        lambda x, u: tensor_scatter_nd_sub(x * x, PLACES, u * u),
        lambda x, u: gather(x * x, np.array([[1], [0]]), axis=2, batch_dims=1),
    ],
)
def test_gradients_go_where_rows_came_from(function):
    check_gradient(function, X, ROWS, order=2)


@pytest.mark.parametrize("function", [tensor_scatter_nd_min, tensor_scatter_nd_max])
def test_gradients_go_to_the_extreme(function):
    check_gradient(lambda x, u: function(x, PLACES, u), X, ROWS)
    check_gradient(lambda x, u: function(x, PLACES, u), X, ROWS - 20)


@pytest.mark.parametrize(
    "scatter",
    [
        lambda: scatter_nd([[0, 1]], [1.0], [2]),
        lambda: tensor_scatter_nd_add([1.0, 2.0], [[0, 1]], [1.0]),
    ],
)
def test_long_vectors_name_no_place(graph, scatter):
    """[TF]: noticed in a run."""
    made = scatter()
    message = r"^Dimensions \[2,1\) of input\[shape=\[2\]\] must match dimensions \[1,1\) of "
    refused = pytest.raises(tf.errors.InvalidArgumentError, match=message)
    with tf.Session() as session, refused:
        session.run(made)
