"""What variables start with. Values and texts marked [TF] were read off TensorFlow 2.21."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.variables import initializers as v2
from berth.variables import initializers_v1 as v1
from berth.variables import matrix_initializers as matrix
from berth.variables.scope import get_variable

FLOATS = [tf.float16, tf.float32, tf.float64]


@pytest.fixture(autouse=True)
def graph(sim):
    with tf.Graph().as_default() as graph:
        yield graph


def value(initializer, shape, **options):
    """Compute what an initializer makes."""
    with tf.Session() as session:
        return session.run(initializer(shape, **options))


# --- given values ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("initializer", "dtype", "wanted"),
    [
        (v1.Zeros(), None, [0.0, 0.0]),
        (v1.Zeros(tf.int32), None, [0, 0]),
        (v1.Zeros(), tf.bool, [False, False]),
        (v1.Zeros(tf.string), None, [b"", b""]),
        (v1.Ones(), tf.int64, [1, 1]),
        (v1.Ones(tf.bool), None, [True, True]),
        (v1.Constant(3), None, [3.0, 3.0]),
        (v1.Constant([1, 2]), tf.int32, [1, 2]),
        (v1.Constant(np.array([1, 2]), tf.float64), None, [1.0, 2.0]),
        (v2.Zeros(), tf.int32, [0, 0]),
        (v2.Ones(), tf.complex64, [1.0, 1.0]),
        (v2.Constant(3), None, [3, 3]),
        (v2.Constant([1, 2]), tf.float32, [1.0, 2.0]),
    ],
)
def test_given_values_are_made(initializer, dtype, wanted):
    options = {} if dtype is None else {"dtype": dtype}
    found = value(initializer, [2], **options)
    assert found.tolist() == wanted
    assert type(found.tolist()[0]) is type(wanted[0]) or dtype is tf.complex64


def test_last_value_fills_the_rest():
    """[TF]: in TensorFlow 1; TensorFlow 2 wants one value or all."""
    assert value(v1.Constant([1, 2, 3]), [2, 2]).tolist() == [[1.0, 2.0], [3.0, 3.0]]
    assert value(v2.Constant([1, 2, 3, 4]), [2, 2]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="3 values"):
        v2.Constant([1, 2, 3])([2, 2])
    with pytest.raises(ValueError, match="Too many elements provided"):
        v1.Constant([1, 2, 3])([2])


def test_shape_of_values_is_verified():
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        v1.Constant([1, 2, 3, 4], verify_shape=True)([2, 2])
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        v1.Constant([1, 2, 3, 4])([2, 2], verify_shape=True)
    exact = v1.Constant([[1, 2]], verify_shape=True)
    assert value(exact, [1, 2], partition_info=None).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("make", [v1.Constant, v2.Constant])
def test_values_must_be_plain(make):
    """[TF]."""
    with pytest.raises(
        TypeError, match=r"Invalid type for initial value=.* of type: SymbolicTensor"
    ):
        make(tf.constant(1.0))


# --- chance ---------------------------------------------------------------------------------

SAME = [  # [TF]: with a seed, TensorFlow 2 draws the same numbers in each call
    (v2.RandomUniform(seed=1), [2], [0.03784882, -0.00400198]),
    (v2.RandomNormal(seed=1), [2], [0.00633252, -0.02465083]),
    (v2.VarianceScaling(seed=1), [2, 3], [[0.10181069, -0.39632243, 0.5073968], [-0.63413197, -0.7314084, -0.3208777]]),
    (v2.HeNormal(seed=1), [2, 3], [[0.14398205, -0.5604845, 0.71756744], [-0.896798, -1.0343677, -0.45378962]]),
    (matrix.Orthogonal(seed=1), [2, 3], [[0.14748561, 0.7350282, 0.6618017], [-0.3620382, 0.66280115, -0.65545636]]),
]  # fmt: skip


@pytest.mark.parametrize(("initializer", "shape", "wanted"), SAME)
def test_numbers_are_those_of_tensorflow(initializer, shape, wanted):
    for _ in range(2):
        np.testing.assert_allclose(value(initializer, shape), wanted, rtol=2e-6)


def test_operations_go_on_from_their_seed():
    """TensorFlow 1's seed is that of an operation: as if the user had written it."""
    initializer = v1.RandomNormal(1.0, 2.0, seed=5)
    drawn, same = initializer([3]), tf.random_normal([3], 1.0, 2.0, seed=5)
    with tf.Session() as session:
        first, second = session.run(drawn), session.run(drawn)
        assert first.tolist() != second.tolist()
        assert first.tolist() == session.run(same).tolist()


CASES = {
    "glorot_uniform": (v1.GlorotUniform(7), v2.GlorotUniform(7), "uniform", 1 / 35.0),
    "glorot_normal": (v1.GlorotNormal(7), v2.GlorotNormal(7), "normal", 1 / 35.0),
    "he_uniform": (v1.he_uniform(7), v2.HeUniform(7), "uniform", 2 / 30.0),
    "he_normal": (v1.he_normal(7), v2.HeNormal(7), "normal", 2 / 30.0),
    "lecun_uniform": (v1.lecun_uniform(7), v2.LecunUniform(7), "uniform", 1 / 30.0),
    "lecun_normal": (v1.lecun_normal(7), v2.LecunNormal(7), "normal", 1 / 30.0),
    "scaled": (v1.VarianceScaling(3.0, "fan_out", "normal", 7), v2.VarianceScaling(3.0, "fan_out", "normal", 7), "normal", 3 / 40.0),
    "untruncated": (v1.VarianceScaling(distribution="untruncated_normal", seed=7), v2.VarianceScaling(distribution="untruncated_normal", seed=7), "free", 1 / 30.0),
    "unit": (v1.UniformUnitScaling(2.0, 7), v1.UniformUnitScaling(2.0, 8), "uniform", 4 / 30.0),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_variance_is_scaled(name, dtype):
    *initializers, distribution, variance = CASES[name]
    for initializer in initializers:
        numbers = value(initializer, [30, 40], dtype=dtype)
        assert (numbers.dtype, numbers.shape) == (dtype.np_dtype, (30, 40))
        wide = numbers.astype(np.float64)
        assert abs(wide.var() / variance - 1) < 0.15
        assert abs(wide.mean()) < 4 * (variance / wide.size) ** 0.5
        largest = {"uniform": 3**0.5, "normal": 2 / 0.8796, "free": 5.0}[distribution]
        assert np.abs(wide).max() <= largest * variance**0.5 * 1.001
        assert (np.abs(wide).max() > 2.5 * variance**0.5) == (distribution == "free")


@pytest.mark.parametrize(
    ("shape", "limit"),
    [((3, 4), 0.9258201), ((5,), 0.7745967), ((), 1.7320508), ((3, 3, 4, 8), 0.23570226)],
)
def test_connections_are_counted(graph, shape, limit):
    """[TF]."""
    v1.GlorotUniform()(shape)
    [bound] = [op for op in graph.get_operations() if op.name == "random_uniform/max"]
    np.testing.assert_allclose(bound.attrs["value"], limit, rtol=1e-6)


@pytest.mark.parametrize(
    ("initializer", "low", "high"),
    [
        (v1.RandomUniform(), 0.0, 1.0),
        (v1.RandomUniform(-2, 2), -2.0, 2.0),
        (v2.RandomUniform(), -0.05, 0.05),
        (v1.TruncatedNormal(), -2.0, 2.0),
        (v2.TruncatedNormal(1.0, 0.5), 0.0, 2.0),
    ],
)
def test_numbers_are_between_bounds(initializer, low, high):
    numbers = value(initializer, [500])
    assert low <= numbers.min() < numbers.max() <= high
    assert np.ptp(numbers) > 0.8 * (high - low)


@pytest.mark.parametrize("initializer", [v1.RandomUniform(3, 6), v2.RandomUniform(3, 6)])
def test_integers_are_drawn(initializer):
    numbers = value(initializer, [100], dtype=tf.int32)
    assert (numbers.dtype, set(numbers.tolist())) == (np.int32, {3, 4, 5})


# --- matrices -------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [v1, matrix])
@pytest.mark.parametrize(("shape", "gain"), [((3, 4), 1.0), ((4, 3), 2.0), ((2, 2, 5), 0.5)])
def test_matrices_are_orthogonal(module, shape, gain):
    found = value(module.Orthogonal(gain, seed=3), shape, dtype=tf.float64)
    assert found.shape == shape
    rows = found.reshape(-1, shape[-1])
    rows = rows if rows.shape[0] <= rows.shape[1] else rows.T
    np.testing.assert_allclose(rows @ rows.T, gain**2 * np.eye(len(rows)), atol=1e-12)


@pytest.mark.parametrize("module", [v1, matrix])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
def test_identity_has_a_gain(module, shape):
    found = value(module.Identity(3.0), shape)
    assert found.tolist() == (3.0 * np.eye(*shape)).tolist()


@pytest.mark.parametrize(
    ("initializer", "shape"),
    [(v1.Orthogonal(), (3,)), (matrix.Orthogonal(), ()), (v1.Identity(), (3,)), (matrix.Identity(), (1, 2, 3))],
)  # fmt: skip
def test_matrices_have_two_axes(initializer, shape):
    """[TF]."""
    with pytest.raises(ValueError, match=r"must be at least two-dimensional\. Received shape="):
        initializer(shape)


# --- arguments ------------------------------------------------------------------------------

CONFIGS = [  # [TF]
    (v1.Zeros(tf.int32), {"dtype": "int32"}),
    (v1.Constant(2), {"value": 2, "dtype": "float32"}),
    (v1.RandomUniform(-2, 2, 3), {"minval": -2, "maxval": 2, "seed": 3, "dtype": "float32"}),
    (v1.RandomNormal(), {"mean": 0.0, "stddev": 1.0, "seed": None, "dtype": "float32"}),
    (v1.GlorotNormal(seed=4), {"seed": 4, "dtype": "float32"}),
    (v1.he_normal(), {"scale": 2.0, "mode": "fan_in", "distribution": "truncated_normal", "seed": None, "dtype": "float32"}),
    (v1.Orthogonal(2.0), {"gain": 2.0, "seed": None, "dtype": "float32"}),
    (v1.Identity(3.0), {"gain": 3.0, "dtype": "float32"}),
    (v1.UniformUnitScaling(2.0), {"factor": 2.0, "seed": None, "dtype": "float32"}),
    (v2.Ones(), {}),
    (v2.Constant([1]), {"value": [1]}),
    (v2.RandomUniform(), {"minval": -0.05, "maxval": 0.05, "seed": None}),
    (v2.RandomNormal(), {"mean": 0.0, "stddev": 0.05, "seed": None}),
    (v2.VarianceScaling(distribution="normal"), {"scale": 1.0, "mode": "fan_in", "distribution": "truncated_normal", "seed": None}),
    (v2.HeNormal(1), {"seed": 1}),
    (matrix.Orthogonal(), {"gain": 1.0, "seed": None}),
]  # fmt: skip


@pytest.mark.parametrize(("initializer", "config"), CONFIGS)
def test_initializers_can_be_written_down(initializer, config):
    assert initializer.get_config() == config
    again = type(initializer).from_config(config)
    assert (type(again), again.get_config()) == (type(initializer), config)


WRONG = {  # [TF]
    "scale": (lambda: v1.VarianceScaling(0), "Argument `scale` must be a positive float. Received: 0"),
    "mode": (lambda: v2.VarianceScaling(mode="x"), "Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). Received: x"),
    "distribution": (lambda: v2.VarianceScaling(distribution="x"), "Argument `distribution` should be one of ('normal', uniform', 'truncated_normal', 'untruncated_normal'). Received: x"),
    "type": (lambda: v1.RandomNormal(dtype=tf.int32), "Argument `dtype` is expected to be floating point. Received: <dtype: 'int32'>."),
    "type of call": (lambda: v2.TruncatedNormal()([2], dtype=tf.int32), "Argument `dtype` is expected to be floating point. Received: <dtype: 'int32'>."),
    "strings": (lambda: v2.Zeros()([2], dtype=tf.string), "Argument `dtype` expected to be numeric or boolean. Received <dtype: 'string'>."),
    "no maximum": (lambda: v1.RandomUniform(0, dtype=tf.int32)([2]), "Must specify maxval for integer dtype tf.int32"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_arguments_are_checked(case):
    call, message = WRONG[case]
    with pytest.raises(ValueError, match=r"dtype|Argument") as caught:
        call()
    assert str(caught.value) == message


def test_parts_have_their_shape():
    """[TF]."""
    assert value(v2.Zeros(), [4], partition_shape=(1,), partition_offset=(0,)).shape == (1,)
    with pytest.raises(TypeError, match=r"Keyword argument should be one of .* Received: foo"):
        v2.Zeros()([2], foo=1)


@pytest.mark.parametrize("initializer", [v1.Zeros(), v2.GlorotUniform()])
def test_shape_must_be_known(initializer):
    with pytest.raises(ValueError, match="known in full"):
        initializer([None, 2])


@pytest.mark.parametrize(
    "initializer",
    [
        v1.GlorotUniform(),
        v2.GlorotUniform(),
        v1.Orthogonal(),
        matrix.Identity(),
        v1.Constant(2),
    ],
)
@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
def test_variables_start_on_their_device(sim, initializer, place):
    sim("1xT4")
    with tf.device(place):
        v = get_variable("v", [3, 3], tf.float64, initializer)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(v.initializer)
        assert session.run(v).shape == (3, 3)
        assert session.placements()["v"].endswith(place[1:].upper())
