"""Activations, dropout and biases: values against formulas, gradients against differences."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.autodiff.backprop import gradients
from berth.ops.elementwise import sigmoid
from berth.ops.nn import activations, bias, dropout, softplus
from tests.ops.calls import bind, run, sample
from tests.ops.formulas import FORMULAS, SELU_ALPHA, SELU_SCALE
from tests.ops.gradient_checks import (
    CPU,
    check_gradient,
    each_type,
    evaluate,
    gradients_of,
)

NORMAL_CDF = np.vectorize(lambda x: (1 + math.erf(x / math.sqrt(2))) / 2)


def tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def of(name):
    return FORMULAS[name].function


FUNCTIONS = {
    "relu": (sigmoid.relu, of("Relu")),
    "relu6": (activations.relu6, of("Relu6")),
    "leaky_relu": (activations.leaky_relu, of("LeakyRelu")),
    "elu": (activations.elu, of("Elu")),
    "selu": (activations.selu, of("Selu")),
    "gelu": (activations.gelu, lambda x: x * NORMAL_CDF(x) if x.size else x),
    "tanh_gelu": (lambda x: activations.gelu(x, approximate=True), tanh_gelu),
    "silu": (softplus.silu, lambda x: x / (1 + np.exp(-x))),
    "beta_silu": (lambda x: softplus.silu(x, beta=2.0), lambda x: x / (1 + np.exp(-2 * x))),
    "softplus": (softplus.softplus, of("Softplus")),
    "softsign": (softplus.softsign, of("Softsign")),
    "log_sigmoid": (softplus.log_sigmoid, lambda x: -np.logaddexp(-x, 0)),
    "crelu": (activations.crelu, lambda x: np.maximum(np.concatenate([x, -x], -1), 0)),
}
TOLERANCE = {"f2": 2e-3, "f4": 2e-6, "f8": 1e-12}


@each_type(TOLERANCE)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_activations_follow_their_formulas(name, dtype, device):
    function, formula = FUNCTIONS[name]
    shapes = [(2, 3, 4), (0, 2), *([] if name == "crelu" else [()])]
    if dtype == "f4":
        shapes.append((70_000,))  # done in slices, and by several threads
    for shape in shapes:
        x = (np.random.default_rng(1).standard_normal(shape) * 4).astype(dtype)
        [actual] = evaluate(function, [x], device)
        assert actual.dtype == dtype
        expected = np.asarray(formula(x.astype("f8")))
        np.testing.assert_allclose(actual, expected, TOLERANCE[dtype] * 4, TOLERANCE[dtype])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_activations_have_gradients(name):
    x = np.array([[-5.5, -1.3, -0.2], [0.3, 1.7, 7.5]])
    check_gradient(FUNCTIONS[name][0], x, order=2, rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "crelu"])
def test_activations_keep_open_shapes(name):
    with tf.Graph().as_default():
        for dims in ([None, 3], None):
            x = tf.placeholder(tf.float32, dims)
            assert FUNCTIONS[name][0](x).shape == tf.TensorShape(dims)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 2.0, -0.5])
def test_any_leak_is_possible(alpha):
    def leaky(x):
        return activations.leaky_relu(x, alpha=alpha)

    x = np.array([-3.0, -0.5, 0.25, 4.0])
    [actual] = evaluate(leaky, [x])
    np.testing.assert_array_equal(actual, np.where(x > 0, x, alpha * x))
    check_gradient(leaky, x, devices=[CPU])


def test_integers_leak_as_floats():
    [actual] = evaluate(activations.leaky_relu, [np.array([1, -5])])
    np.testing.assert_array_equal(actual, np.array([1, -1], "f"))


@pytest.mark.parametrize("name", ["Relu", "Relu6"])
@pytest.mark.parametrize("dtype", ["i4", "i8", "u1"])
def test_integers_can_be_clipped(name, dtype):
    x = sample(dtype, (6,)) * np.array(2, dtype)
    top = 6 if name == "Relu6" else np.iinfo(dtype).max
    np.testing.assert_array_equal(run(name, x), np.clip(x, 0, top))


@pytest.mark.parametrize("size", [1, 5000])
@pytest.mark.parametrize("name", ["Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softplus"])
def test_not_a_number_stays_one(name, size):
    x = np.full(size, np.nan, np.float32)
    assert np.isnan(run(name, x, alpha=0.2)).all()


EXTREME = {
    "Relu": [0, np.inf],
    "Relu6": [0, 6],
    "LeakyRelu": [-np.inf, np.inf],
    "Elu": [-1, np.inf],
    "Selu": [-SELU_SCALE * SELU_ALPHA, np.inf],
    "Softplus": [0, np.inf],
}


@pytest.mark.parametrize("name", EXTREME)
def test_infinities_go_to_the_limits(name):
    x = np.array([-np.inf, np.inf], np.float32)
    np.testing.assert_allclose(run(name, x, alpha=0.2), EXTREME[name], rtol=1e-6)


def test_softplus_is_exact_where_small():
    x = np.array([-80.0, -20.0, -5.0], np.float32)
    expected = np.log1p(np.exp(x.astype("f8")))
    np.testing.assert_allclose(run("Softplus", x), expected, rtol=1e-6)


GRADIENTS_AT_CORNERS = [
    ("Relu6Grad", [-1, 0, 3, 6, 7], [0, 0, 1, 0, 0]),
    ("LeakyReluGrad", [-1, 0, 1], [0.2, 0.2, 1]),
    ("EluGrad", [-0.5, 0, 1], [0.5, 1, 1]),
    ("SeluGrad", [-0.5, 0, 1], [SELU_SCALE * SELU_ALPHA - 0.5, SELU_SCALE, SELU_SCALE]),
]


@pytest.mark.parametrize(("name", "at", "expected"), GRADIENTS_AT_CORNERS)
def test_corners_have_tensorflows_gradients(name, at, expected):
    at = np.array(at, np.float32)
    actual = run(name, np.ones_like(at), at, alpha=0.2)
    np.testing.assert_allclose(actual, np.array(expected, np.float32), rtol=1e-6)


def test_unknown_gradients_stay_unknown():
    gradients = np.full(4, np.nan, np.float32)
    for name in ("Relu6Grad", "LeakyReluGrad", "EluGrad", "SoftplusGrad", "SoftsignGrad"):
        actual = run(name, gradients, np.array([-1, 0, 1, 9], np.float32), alpha=0.2)
        assert np.isnan(actual).all()


def test_shapes_of_gradients_must_agree():
    with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal"):
        run("EluGrad", np.ones(2), np.ones(3))


def test_gelu_is_of_floats_only():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="floating point tensor") as e:
        activations.gelu([1, 2])
    assert str(e.value).endswith("Received:features.dtype=<dtype: 'int32'>")


def test_crelu_goes_along_an_axis():
    x = np.array([[1.0, -2.0]])
    [actual] = evaluate(lambda x: activations.crelu_v1(x, axis=0), [x])
    np.testing.assert_array_equal(actual, [[1, 0], [0, 2]])


# --- dropout ------------------------------------------------------------------------------


@each_type(["f2", "f4", "f8"])
def test_dropout_keeps_or_drops_elements(dtype, device):
    x = np.arange(1, 1001).astype(dtype)
    [actual] = evaluate(lambda x: dropout.dropout(x, 0.25, seed=1), [x], device)
    kept = actual != 0
    assert actual.dtype == dtype
    np.testing.assert_allclose(actual[kept], x[kept] / 0.75, rtol=1e-3)
    assert 0.7 < kept.mean() < 0.8


@pytest.mark.parametrize("noise_shape", [[4, 1], [None, 1], (4, 1)])
def test_noise_is_shared_along_an_axis(noise_shape):
    def shared(x):
        return dropout.dropout(x, rate=0.5, noise_shape=noise_shape, seed=3)

    [actual] = evaluate(shared, [np.ones((4, 50))])
    assert {tuple(set(row)) for row in actual} == {(0.0,), (2.0,)}


def test_open_noise_takes_sizes_of_a_run():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3])
        y = dropout.dropout(x, 0.5, noise_shape=[None, 1], seed=1)
        assert y.shape.as_list() == [None, 3]
        assert session.run(y, {x: np.ones((20, 3))}).shape == (20, 3)


def test_no_dropout_gives_the_tensor_itself():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        assert dropout.dropout(x, 0) is x
        assert dropout.dropout_v1(x, 1.0) is x
        assert dropout.dropout_v1(x, rate=0.0) is x


def test_the_rate_may_be_a_tensor():
    x, rate = np.ones(400, "f"), np.array(0.75, "f")
    for function, given in ((dropout.dropout, rate), (dropout.dropout_v1, np.array(0.25, "f"))):
        [actual] = evaluate(function, [x, given])
        assert set(actual) == {0, 4}


def test_gradients_go_where_elements_were_kept():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [100])
        y = dropout.dropout(x, 0.5, seed=1)
        grad = gradients(y, x)
        actual, [slope] = session.run([y, grad], {x: np.full(100, 3.0)})
    np.testing.assert_array_equal(slope, actual / 3)
    assert set(slope) == {0, 2}


DROPOUT_MISTAKES = {
    "dropout.dropout(tf.ones([2]), 1.0)": "`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate=1.0",
    "dropout.dropout(tf.ones([2]), -0.1)": "`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate=-0.1",
    "dropout.dropout(tf.ones([2], tf.int32), 0.5)": "`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype=<dtype: 'int32'>",
    "dropout.dropout(tf.ones([2]), 'a')": "`rate` must be a scalar or scalar tensor. Received: rate=a",
    "dropout.dropout(tf.ones([2]), tf.constant([0.5]))": "Shape (1,) must have rank 0",
    "dropout.dropout(tf.ones([2]), tf.constant(1))": "`x.dtype` must be compatible with `rate.dtype`. Received: x.dtype=<dtype: 'float32'> and rate.dtype=<dtype: 'int32'>",
    "dropout.dropout_v1(tf.ones([2]))": "`rate` must be provided. Received: rate=None",
    "dropout.dropout_v1(tf.ones([2]), 0.5, rate=0.5)": "Cannot specify both 'keep_prob' and 'rate'.",
    "dropout.dropout_v1(tf.ones([2]), 0.0)": "`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate=1.0",
}


@pytest.mark.parametrize(("call", "message"), DROPOUT_MISTAKES.items(), ids=DROPOUT_MISTAKES)
def test_wrong_rates_are_refused(call, message):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        eval(call)


# --- biases -------------------------------------------------------------------------------


@each_type(["f2", "f4", "f8", "i4", "c8"])
@pytest.mark.parametrize(
    ("shape", "data_format"),
    [
        ((3, 2), None),
        ((2, 3, 4, 2), "NHWC"),
        ((2, 3, 2), "NWC"),
        ((0, 2), None),
        ((3, 2, 4, 5), "NCHW"),
        ((3, 2), "NCHW"),
        ((3, 2, 1, 4, 2), "NCDHW"),
    ],
)
def test_biases_are_added_by_channel(shape, data_format, dtype, device):
    x, b = sample(dtype, shape), sample(dtype, (2,), 1)
    [actual] = evaluate(lambda x, b: bias.bias_add(x, b, data_format), [x, b], device)
    is_first = data_format is not None and data_format.startswith("NC")
    wide = b.reshape((-1, *(1 for _ in shape[2:]))) if is_first else b
    np.testing.assert_array_equal(actual, x + wide)
    others = tuple(k for k in range(len(shape)) if k != (1 if is_first else len(shape) - 1))
    summed = run("BiasAddGrad", x, data_format="NCHW" if is_first else "NHWC")
    np.testing.assert_allclose(summed, x.sum(others), rtol=1e-2 if dtype == "f2" else 1e-5)


@pytest.mark.parametrize(("shape", "data_format"), [((3, 2), None), ((2, 3, 2, 2), "NCHW")])
def test_biases_have_gradients(shape, data_format):
    n_channels = shape[1]
    x, b = sample("f8", shape), sample("f8", (n_channels,), 1)
    check_gradient(lambda x, b: bias.bias_add(x, b, data_format) ** 2, x, b, order=2, rtol=1e-5)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_bias_is_added_by_several_threads(data_format, monkeypatch):
    monkeypatch.setattr(bias, "_FEW", 0)
    x, b = np.arange(5 * 3 * 2 * 3.0).reshape(5, 3, 2, 3), np.array([10.0, 20.0, 30.0])
    (function, arguments), [found] = bind(
        bias.BIAS_ADD, [x, b], {"data_format": data_format}, n_threads=3
    )
    function(*arguments)
    along = b if data_format == "NHWC" else b[:, None, None]
    assert np.array_equal(found, x + along)


def test_layers_multiply_add_and_bend():
    x, w, b = sample("f8", (2, 3)), sample("f8", (3, 4), 1), sample("f8", (4,), 2)
    [plain] = evaluate(bias.xw_plus_b, [x, w, b])
    np.testing.assert_allclose(plain, x @ w + b)
    [bent] = evaluate(bias.relu_layer, [x, w, b])
    np.testing.assert_allclose(bent, np.maximum(x @ w + b, 0))
    check_gradient(bias.relu_layer, x, w, b)


def test_biased_shapes_are_known_in_part():
    with tf.Graph().as_default():
        x, b = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [3])
        assert bias.bias_add(x, b).shape.as_list() == [None, 3]
        unknown = tf.placeholder(tf.float32)
        assert bias.bias_add(unknown, unknown).shape.rank is None


BIAS_MISTAKES = {
    "bias.bias_add([1.0, 2.0], [1.0, 1.0])": "Shape must be at least rank 2 but is rank 1",
    "bias.bias_add([[1.0, 2.0]], [1.0])": "Dimensions must be equal, but are 2 and 1",
    "bias.bias_add([[1.0, 2.0]], [[1.0]])": "Shape must be rank 1 but is rank 2",
    "bias.bias_add([[1.0, 2.0]], [1.0], 'XX')": "`data_format` must be of the form `N...C` or `NC...`. Received: data_format=XX",
}


@pytest.mark.parametrize(("call", "message"), BIAS_MISTAKES.items(), ids=BIAS_MISTAKES)
def test_misfitting_biases_are_refused(call, message):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        eval(call)


def test_relu_has_no_slope_at_zero():
    [slope] = gradients_of(sigmoid.relu, np.array([-1.0, 0.0, 1.0]))
    np.testing.assert_array_equal(slope, [0, 0, 1])
