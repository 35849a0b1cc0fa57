"""Random orders and choices, and numbers from a seed alone: TensorFlow's own values.

What is expected of seeds was recorded from TensorFlow 2.21, on a CPU.
"""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.random.sampling import categorical, multinomial, shuffle
from berth.ops.random.seeded import set_random_seed
from berth.ops.random.stateless import (
    stateless_categorical,
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
)
from tests.ops.calls import sample

SEED = np.array([-5, 2**40])
LOGITS = np.array([[0, 1, 2, -1], [3, 0, 0.5, 1]], np.float32)


@pytest.fixture(params=["/cpu:0", "/gpu:0"])
def device(request, sim):
    """Run a test on the CPU, and again on a simulated GPU."""
    sim("T4" if request.param == "/gpu:0" else None)
    return request.param


@pytest.fixture
def graph(device):
    with tf.Graph().as_default() as graph, tf.device(device):
        yield graph


def runs(tensor, n_runs=1, feeds=None):
    """Run a tensor several times in one session."""
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        return [session.run(tensor, feeds) for _ in range(n_runs)]


# --- orders ---------------------------------------------------------------------------------


def test_orders_are_tensorflows_from_run_to_run(graph):
    set_random_seed(7)
    values = runs(shuffle(np.arange(9), seed=3), 2)
    assert values[0].tolist() == [3, 0, 5, 1, 6, 2, 4, 7, 8]
    assert values[1].tolist() == [8, 1, 5, 0, 6, 4, 7, 2, 3]


@pytest.mark.parametrize("dtype", ["f4", "i8", "?"])
def test_rows_stay_whole(graph, dtype):
    set_random_seed(7)
    rows = sample(dtype, (9, 2))
    [value] = runs(shuffle(rows, seed=3))
    assert value.dtype == rows.dtype
    assert value.tolist() == rows[[3, 0, 5, 1, 6, 2, 4, 7, 8]].tolist()


def test_texts_are_shuffled_too():
    with tf.Graph().as_default():
        [value] = runs(shuffle(["a", "b", "c"], seed=1))
    assert sorted(value.tolist()) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (1, 3), (0, 2), (2, 0)])
def test_little_is_left_as_it_is(graph, shape):
    value = sample("f", shape)
    np.testing.assert_array_equal(runs(shuffle(value))[0], value)


def test_a_long_row_keeps_its_elements(graph):
    [value] = runs(shuffle(np.arange(5000), seed=1))
    assert sorted(value.tolist()) == list(range(5000))
    assert (value != np.arange(5000)).mean() > 0.99


def test_without_seeds_sessions_differ(graph):
    tensor = shuffle(np.arange(100))
    assert runs(tensor)[0].tolist() != runs(tensor)[0].tolist()
    choices = categorical(np.zeros((1, 1000)), 100)
    assert runs(choices)[0].tolist() != runs(choices)[0].tolist()


# --- choices --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choose", "dtype", "expected"),
    [
        (
            lambda logits: categorical(logits, 5, seed=4),
            "f4",
            [[[2, 2, 1, 2, 2], [0, 0, 0, 0, 0]], [[2, 2, 2, 2, 2], [0, 0, 0, 0, 0]]],
        ),
        (
            lambda logits: multinomial(logits, 3, seed=5),
            "f8",
            [[[2, 2, 2], [0, 3, 0]], [[2, 2, 2], [0, 3, 0]]],
        ),
        (
            lambda logits: categorical(logits, 6, seed=6),
            "f2",
            [
                [[2, 0, 2, 2, 1, 2], [3, 0, 0, 0, 0, 0]],
                [[1, 2, 2, 2, 2, 2], [0, 0, 0, 0, 2, 0]],
            ],
        ),
    ],
)
def test_choices_are_tensorflows_from_run_to_run(graph, choose, dtype, expected):
    set_random_seed(7)
    values = runs(choose(LOGITS.astype(dtype)), 2)
    assert [value.tolist() for value in values] == expected
    assert values[0].dtype == np.int64


def test_probabilities_are_followed(graph):
    logits = np.log(np.array([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]]))
    [value] = runs(categorical(logits, 20000, tf.int32, seed=1))
    assert value.dtype == np.int32
    shares = [np.bincount(row, minlength=3) / 20000 for row in value]
    np.testing.assert_allclose(shares, np.exp(logits), atol=0.02)


def test_classes_that_are_not_finite_have_probability_0(graph):
    logits = np.array([[-np.inf, 0, np.nan], [np.inf, 1, 2]], np.float32)
    [value] = runs(categorical(logits, 200, seed=1))
    assert set(value[0]) == {1}
    assert set(value[1]) == {1, 2}


@pytest.mark.parametrize(("n_rows", "n_samples"), [(0, 3), (2, 0)])
def test_nothing_may_be_chosen(graph, n_rows, n_samples):
    [value] = runs(categorical(np.zeros((n_rows, 2), np.float32), n_samples))
    assert value.shape == (n_rows, n_samples)


def test_shapes_of_choices_are_known(graph):
    logits = tf.placeholder(tf.float32, [None, 4])
    assert categorical(logits, 5).dims == (None, 5)
    assert categorical(logits, tf.placeholder(tf.int32, [])).dims == (None, None)
    with pytest.raises(ValueError, match="Shape must be rank 2 but is rank 1"):
        categorical(np.zeros(3, np.float32), 2)
    with pytest.raises(ValueError, match="must be non-negative but is -1"):
        categorical(logits, -1)
    with pytest.raises(ValueError, match="Accepted dtypes are"):
        categorical(logits, 1, tf.float32)


def test_something_must_be_there_to_choose(graph):
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_classes should be positive"):
        runs(categorical(np.zeros((2, 0), np.float32), 2))


# --- from a seed alone ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (lambda: stateless_uniform([3], SEED), [0.94021404, 0.56251037, 0.0191654]),
        (
            lambda: stateless_uniform([3], SEED, -2, 2, tf.float64),
            [0.08685046108447292, -1.3867040979030936, 0.7626638910743866],
        ),
        (
            lambda: stateless_uniform([3], SEED, dtype=tf.float16),
            [0.2333984375, 0.0849609375, 0.0029296875],
        ),
        (lambda: stateless_normal([3], SEED), [-0.13439448, -0.32439727, -1.2159101]),
        (
            lambda: stateless_normal([3], SEED, 5.0, 2.0, tf.float64),
            [6.873351039464257, 6.302176250836104, 4.200769816521245],
        ),
        (
            lambda: stateless_truncated_normal([7], SEED),
            [
                -0.13439448,
                -0.32439727,
                -1.2159101,
                -0.84518075,
                -1.2896565,
                0.9594706,
                -0.77080846,
            ],
        ),
        (lambda: stateless_uniform([4], SEED, -7, 1000, tf.int32), [516, 293, 511, 152]),
        (
            lambda: stateless_uniform([2], SEED, -7, 10**15, tf.int64),
            [75676718674901, 960828763589588],
        ),
        (lambda: stateless_uniform([2], SEED, None, None, tf.int32), [-1728554769, 1405616215]),
        (
            lambda: stateless_uniform([2], SEED, None, None, tf.int64),
            [6037075676718717167, -2933783244945853437],
        ),
        (lambda: stateless_uniform([2], SEED, None, None, tf.uint32), [2566412527, 1405616215]),
        (
            lambda: stateless_uniform([2], SEED, None, None, tf.uint64),
            [6037075676718717167, 15512960828763698179],
        ),
        (
            lambda: stateless_categorical(LOGITS, 5, SEED),
            [[2, 1, 2, 2, 1], [0, 0, 1, 0, 0]],
        ),
    ],
)
def test_a_seed_gives_tensorflows_values(graph, draw, expected):
    tensor = draw()
    first, second = runs(tensor, 2)
    wanted = np.array(expected, tensor.dtype.as_numpy_dtype)
    np.testing.assert_allclose(first, wanted, rtol=3e-7 if wanted.dtype.kind == "f" else 0)
    np.testing.assert_array_equal(second, first)


def test_a_seed_may_be_fed(graph):
    seed = tf.placeholder(tf.int32, [2])
    tensor = stateless_uniform([3], seed)
    [one] = runs(tensor, feeds={seed: [1, 2]})
    [other] = runs(tensor, feeds={seed: [1, 3]})
    np.testing.assert_allclose(one, [0.8440604, 0.19204533, 0.9962232], rtol=1e-6)
    assert not (one == other).any()


@pytest.mark.parametrize("shape", [[], [0, 3], [7, 11]])
@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_any_shape_is_filled(graph, shape, dtype):
    for draw, limit in (
        (stateless_uniform, 1),
        (stateless_normal, 9),
        (stateless_truncated_normal, 2),
    ):
        [value] = runs(draw(shape, [1, 2], dtype=dtype))
        assert np.shape(value) == tuple(shape)
        assert np.asarray(value).dtype == dtype.as_numpy_dtype
        assert (np.abs(value) <= limit).all()


def test_shapes_are_known_in_part(graph):
    shape = tf.placeholder(tf.int32, [2])
    assert stateless_normal(shape, [1, 2]).dims == (None, None)
    assert stateless_normal([2, 3], tf.placeholder(tf.int32)).dims == (2, 3)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: stateless_uniform([2], [1, 2, 3]), "Dimension must be 2 but is 3"),
        (
            lambda: stateless_uniform([2], [1, 2], dtype=tf.int32),
            "must be both None or not None",
        ),
        (
            lambda: stateless_uniform([2], [1, 2], 0, 5, tf.uint32),
            "Please don't use unsigned integers in this case",
        ),
        (lambda: stateless_normal([2], [1, 2], alg="threefry"), "got unsupported value"),
        (lambda: stateless_uniform([2], [1, 2], dtype=tf.bool), "Accepted dtypes are"),
    ],
)
def test_wrong_arguments_are_refused(graph, draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_integers_need_a_range(graph):
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Need minval < maxval, got 5 >= 3"
    ):
        runs(stateless_uniform([2], [1, 2], 5, 3, tf.int32))
