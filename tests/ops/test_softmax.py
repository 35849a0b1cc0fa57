"""Softmax and its logarithm: values, limits, gradients, and memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.ops.nn.softmax import log_softmax, softmax
from berth.ops.opdef import CATALOGUE, Launch, Parts
from tests.ops.calls import bind, run, sample
from tests.ops.gradient_checks import check_gradient, each_type, evaluate


def expected_softmax(x, axis=-1):
    x = x.astype("f8")
    powers = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return powers / powers.sum(axis, keepdims=True)


TOLERANCE = {"f2": 2e-3, "f4": 1e-6, "f8": 1e-14}
SHAPES = [(5,), (4, 3), (2, 3, 4), (500, 3), (3, 40), (1, 1), (0, 3), (3, 0), (2, 0, 3)]


@each_type(TOLERANCE)
@pytest.mark.parametrize("shape", SHAPES)
def test_probabilities_follow_the_formula(shape, dtype, device):
    x = (np.random.default_rng(0).standard_normal(shape) * 3).astype(dtype)
    [p], [logp] = (evaluate(f, [x], device) for f in (softmax, log_softmax))
    assert p.dtype == logp.dtype == dtype
    assert p.shape == logp.shape == shape
    expected = expected_softmax(x)
    np.testing.assert_allclose(p, expected, TOLERANCE[dtype] * 4, TOLERANCE[dtype])
    np.testing.assert_allclose(
        logp, np.log(expected), TOLERANCE[dtype] * 4, TOLERANCE[dtype] * 4
    )


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_any_axis_can_be_normalized(axis):
    x = sample("f8", (2, 3, 4))
    [p] = evaluate(lambda x: softmax(x, axis=axis), [x])
    np.testing.assert_allclose(p, expected_softmax(x, axis))
    [logp] = evaluate(lambda x: log_softmax(x, dim=axis), [x])
    np.testing.assert_allclose(logp, np.log(expected_softmax(x, axis)))


@pytest.mark.parametrize("function", [softmax, log_softmax])
@pytest.mark.parametrize(
    ("shape", "axis"), [((3,), -1), ((2, 4), -1), ((2, 4), 0), ((2, 2, 3), 1)]
)
def test_softmax_has_gradients(function, shape, axis):
    x = np.random.default_rng(0).standard_normal(shape)
    check_gradient(lambda x: function(x, axis), x, order=2, rtol=1e-5)


def test_large_scores_do_not_overflow():
    x = np.array([[1e4, 0, -1e4], [-1e30, -1e30, -np.inf]], np.float32)
    np.testing.assert_allclose(run("Softmax", x), [[1, 0, 0], [0.5, 0.5, 0]])
    expected = [[0, -1e4, -2e4], [-np.log(2), -np.log(2), -np.inf]]
    np.testing.assert_allclose(run("LogSoftmax", x), expected, rtol=1e-6)


@pytest.mark.parametrize("rows", [[np.inf, 1], [np.nan, 1], [-np.inf, -np.inf]])
@pytest.mark.parametrize("n_rows", [1, 40])
def test_no_probability_comes_of_nonsense(rows, n_rows):
    x = np.tile(np.array(rows, np.float32), (n_rows, 1))
    assert np.isnan(run("Softmax", x)).all()


@pytest.mark.parametrize("shape", [(2**18, 2), (2**10, 2**9), (4, 2**17)])
@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax"])
def test_nothing_large_is_allocated(name, shape):
    x = sample("f4", shape)
    (function, arguments), [out] = bind(CATALOGUE[name], [x], {})
    tracemalloc.start()
    try:
        function(*arguments)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**16
    np.testing.assert_allclose(np.exp(out).sum(-1) if name[0] == "L" else out.sum(-1), 1, 1e-4)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_share_the_rows(n_threads):
    x = sample("f4", (1000, 300))
    op, out = CATALOGUE["Softmax"], np.empty_like(x)
    kernel = op.kernel("CPU", None)
    types = [(tf.float32, x.shape)]
    needed = kernel.scratch(types, types, {}, n_threads)
    scratch = [np.empty(dims, dtype.np_dtype) for dtype, dims in needed]
    parts = kernel.bind(Launch(np, [x], [out], {}, scratch, None, n_threads))
    assert isinstance(parts, Parts)
    assert len(parts.calls) == n_threads
    for function, arguments in reversed(parts.calls):
        function(*arguments)
    np.testing.assert_array_equal(out, run("Softmax", x))


def test_shapes_stay_as_open_as_they_were():
    with tf.Graph().as_default():
        for dims in (None, [None, 3], [2, None]):
            x = tf.placeholder(tf.float32, dims)
            assert softmax(x).shape == tf.TensorShape(dims)
        turned = softmax(tf.placeholder(tf.float32, [None, 3]), axis=0)
        assert turned.shape.as_list() == [None, 3]


def test_a_number_has_no_softmax():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="at least rank 1"):
        softmax(tf.constant(1.0))


@pytest.mark.parametrize("axis", [2, -3])
def test_axes_outside_are_refused(axis):
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError) as caught:
        softmax(tf.ones([1, 2]), axis)
    assert str(caught.value) == (
        "`dim` must be in the range [-2, 2) where 2 is the number of dimensions in the input. "
        f"Received: dim={axis}"
    )


def test_axes_have_one_name_at_a_time():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Cannot specify both 'dim'"):
        softmax(tf.ones([1, 2]), axis=0, dim=0)


def test_integers_have_no_softmax():
    with tf.Graph().as_default(), pytest.raises(TypeError, match="int32 not in list"):
        softmax([1, 2])
