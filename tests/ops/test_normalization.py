"""Moments and normalization: values, statistics, gradients, errors."""

from __future__ import annotations

import re

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.autodiff.backprop import gradients
from berth.ops.nn import normalization
from berth.ops.nn.fused_batch_norm import fused_batch_norm
from tests.ops.calls import run_all, sample
from tests.ops.gradient_checks import (
    CPU,
    GPU,
    check_gradient,
    each_type,
    evaluate,
    gradients_of,
)

RNG = np.random.default_rng(3)

# --- moments ------------------------------------------------------------------------------


@each_type(["f2", "f4", "f8"])
@pytest.mark.parametrize("axes", [[0], [0, 2], [-1], 1, [0, 1, 2]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_moments_are_numpys(axes, keepdims, dtype, device):
    x = RNG.standard_normal((4, 3, 2)).astype(dtype)
    along = tuple(axes) if isinstance(axes, list) else axes
    functions = [
        lambda x: normalization.moments(x, axes, keepdims=keepdims),
        lambda x: normalization.moments_v1(x, axes, keep_dims=keepdims),
        lambda x: normalization.weighted_moments(x, axes, 2.0, keepdims),
    ]
    for function in functions:
        mean, variance = evaluate(function, [x], device)
        assert mean.dtype == variance.dtype == dtype
        wide, tolerance = x.astype("f8"), {"f2": 2e-3, "f4": 1e-6, "f8": 1e-12}[dtype]
        expected = wide.mean(along, keepdims=keepdims)
        np.testing.assert_allclose(mean, expected, tolerance, tolerance)
        expected = wide.var(along, keepdims=keepdims)
        np.testing.assert_allclose(variance, expected, tolerance, tolerance)


def test_half_floats_do_not_overflow():
    x = np.full((3000,), 300, np.float16)
    mean, variance = evaluate(lambda x: normalization.moments(x, [0]), [x])
    assert mean == 300
    assert variance == 0


@pytest.mark.parametrize("weights", [[[1.0], [3.0], [0.0]], [2.0, 1.0], 0.5])
def test_weights_count_elements_several_times(weights):
    x, w = RNG.standard_normal((3, 2)), np.array(weights)
    function = normalization.weighted_moments_v1
    mean, variance = evaluate(lambda x, w: function(x, [0], w), [x, w])
    wide = np.broadcast_to(w, x.shape)
    expected = np.average(x, 0, wide)
    np.testing.assert_allclose(mean, expected)
    np.testing.assert_allclose(variance, np.average((x - expected) ** 2, 0, wide), atol=1e-12)
    check_gradient(lambda x, w: function(x, [0], w), x, w, rtol=1e-5)


def test_no_weight_gives_no_nonsense():
    x = np.ones((3, 2))
    found = evaluate(lambda x: normalization.weighted_moments(x, [0], 0.0), [x])
    np.testing.assert_array_equal(found, np.zeros((2, 2)))


def test_moments_have_gradients():
    check_gradient(lambda x: normalization.moments(x, [0, 2]), RNG.standard_normal((2, 3, 2)))


def test_integers_have_moments():
    x = sample("i4", (5, 2), positive=True)
    mean, variance = evaluate(lambda x: normalization.moments(x, [0]), [x])
    np.testing.assert_array_equal(mean, x.sum(0) // 5)
    np.testing.assert_array_equal(variance, ((x - mean) ** 2).sum(0) // 5)


@pytest.mark.parametrize("shift", [None, 1.5])
@pytest.mark.parametrize("is_open", [False, True])
def test_statistics_give_moments_again(shift, is_open):
    value = RNG.standard_normal((4, 3))
    for statistics in (
        normalization.sufficient_statistics,
        normalization.sufficient_statistics_v1,
    ):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float64, [None, None] if is_open else [4, 3])
            found = statistics(x, [0], shift)
            moments = normalization.normalize_moments(*found)
            count, (mean, variance) = session.run([found[0], moments], {x: value})
        assert count == 4
        np.testing.assert_allclose(mean, value.mean(0))
        np.testing.assert_allclose(variance, value.var(0))
        assert (found[3] is None) == (shift is None)


# --- composed normalization ---------------------------------------------------------------


@pytest.mark.parametrize("has_scale", [False, True])
@pytest.mark.parametrize("has_offset", [False, True])
def test_batches_are_normalized(has_scale, has_offset):
    x, mean, variance = RNG.standard_normal((5, 3)), RNG.random(3), RNG.random(3)
    scale = RNG.random(3) if has_scale else None
    offset = RNG.random(3) if has_offset else None

    def normalize(x, mean, variance):
        return normalization.batch_normalization(x, mean, variance, offset, scale, 0.01)

    [actual] = evaluate(normalize, [x, mean, variance])
    expected = (x - mean) / np.sqrt(variance + 0.01)
    expected = expected * (1 if scale is None else scale) + (0 if offset is None else offset)
    np.testing.assert_allclose(actual, expected)
    check_gradient(normalize, x, mean, variance, rtol=1e-5)


@pytest.mark.parametrize("is_scaled", [False, True])
def test_global_normalization_scales_on_request(is_scaled):
    x, mean, variance, beta, gamma = (RNG.random((2, 3)), *RNG.random((4, 3)))
    expected = (x - mean) / np.sqrt(variance + 0.1) * (gamma if is_scaled else 1) + beta
    functions = [
        normalization.batch_norm_with_global_normalization,
        normalization.batch_norm_with_global_normalization_v1,
    ]
    for function in functions:
        [actual] = evaluate(
            lambda *a, f=function: f(*a, 0.1, is_scaled), [x, mean, variance, beta, gamma]
        )
        np.testing.assert_allclose(actual, expected)


def test_half_floats_are_normalized_by_wider():
    x, one = np.array([[1, 2]], np.float16), np.ones(2, np.float32)
    [actual] = evaluate(
        lambda x, v: normalization.batch_normalization(x, v, v, v, v, 0.0), [x, one]
    )
    assert actual.dtype == np.float16
    np.testing.assert_array_equal(actual, [[1, 2]])


@pytest.mark.parametrize("axis", [-1, [1, 2]])
def test_layers_are_normalized_by_example(axis):
    x, scale, offset = RNG.standard_normal((2, 3, 4)), RNG.random(4), RNG.random(4)

    def normalize(x, scale, offset):
        return normalization.layer_normalization(x, scale, offset, axis)

    along = tuple(axis) if isinstance(axis, list) else axis
    mean, variance = x.mean(along, keepdims=True), x.var(along, keepdims=True)
    [actual] = evaluate(normalize, [x, scale, offset])
    np.testing.assert_allclose(actual, (x - mean) / np.sqrt(variance + 1e-3) * scale + offset)
    check_gradient(normalize, x, scale, offset, rtol=1e-5)


# --- fused normalization ------------------------------------------------------------------

# What TensorFlow 2.21 gives on a CPU.
IMAGES = (np.arange(12, dtype=np.float32).reshape(2, 2, 1, 3) ** 2) / 10
SCALE, OFFSET = np.array([1, 2, 3], "f"), np.array([0.5, 0, 1], "f")
MEAN, VARIANCE = np.array([1, 2, 3], "f"), np.array([1, 4, 9], "f")
NORMAL = [
    [-0.49994957447052, -2.132797956466675, -2.335310697555542],
    [-0.21424967050552368, -1.3428728580474854, -0.9203305244445801],
    [0.642849862575531, 0.3949625492095947, 1.7074899673461914],
    [2.0713493824005127, 3.0807080268859863, 5.548150539398193],
]
BATCH_MEAN, BATCH_VARIANCE = [3.15, 4.15, 5.35], [13.23, 19.23, 26.43]
MIXED_MEAN, MIXED_VARIANCE = [2.075, 3.075, 4.175], [7.115, 11.615, 17.715]
BY_GIVEN = [
    [-0.4995003938674927, -1.8997626304626465, -1.5998554229736328],
    [0.40004992485046387, -0.3999499976634979, 0.5000277757644653],
    [3.098701000213623, 2.8996376991271973, 4.399811267852783],
    [7.5964531898498535, 7.999000549316406, 10.099494934082031],
]
LAYOUTS = {
    "NHWC": (2, 2, 1, 3),
    "NCHW": (2, 3, 2, 1),
    "NDHWC": (2, 1, 2, 1, 3),
    "NCDHW": (2, 3, 1, 2, 1),
}


def laid_out(rows, data_format):
    """Give rows of channels the shape that a format wants."""
    images = np.asarray(rows, np.float32).reshape(2, 2, 3)
    if data_format.startswith("NC"):
        images = images.swapaxes(1, 2)
    return images.reshape(LAYOUTS[data_format])


@pytest.mark.parametrize("device", [CPU, GPU])
@pytest.mark.parametrize("data_format", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (NORMAL, BATCH_MEAN, BATCH_VARIANCE)),
        ({"exponential_avg_factor": 0.5}, (NORMAL, MIXED_MEAN, MIXED_VARIANCE)),
        ({"is_training": False}, (BY_GIVEN, MEAN, VARIANCE)),
    ],
)
def test_images_are_normalized_as_by_tensorflow(options, expected, dtype, data_format, device):
    x = laid_out(IMAGES, data_format).astype(dtype)

    def normalize(*arrays):
        return fused_batch_norm(*arrays, data_format=data_format, **options)

    y, mean, variance = evaluate(normalize, [x, SCALE, OFFSET, MEAN, VARIANCE], device)
    tolerance = 2e-3 if dtype == "f2" else 2e-6
    assert y.dtype == dtype
    assert mean.dtype == variance.dtype == np.float32
    np.testing.assert_allclose(y, laid_out(expected[0], data_format), tolerance, tolerance)
    np.testing.assert_allclose(mean, expected[1], tolerance)
    np.testing.assert_allclose(variance, expected[2], tolerance)


BACK = {
    True: (
        [
            [0.12412562966346741, 0.16024231910705566, 0.4843801259994507],
            [0.04832834750413895, -0.2596747875213623, -0.7616247534751892],
            [-0.3007076680660248, 0.11670336127281189, 0.2884537875652313],
            [0.12825369834899902, -0.017270904034376144, -0.011209127493202686],
        ],
        [-1.954729676246643, -2.297100067138672, 1.0771803855895996],
    ),
    False: (
        [
            [0.9995003938674927, 0.9948798418045044, 0.9210098385810852],
            [0.6212994456291199, -0.02919589728116989, -0.8010990619659424],
            [-0.8963103890419006, 0.18648916482925415, 0.9931297302246094],
            [-0.24342285096645355, -0.8389666676521301, 0.8931567072868347],
        ],
        [-5.120339393615723, -4.024754047393799, 3.1700973510742188],
    ),
}


@pytest.mark.parametrize("device", [CPU, GPU])
@pytest.mark.parametrize("data_format", LAYOUTS)
@pytest.mark.parametrize("is_training", BACK)
def test_images_go_back_as_in_tensorflow(is_training, data_format, device):
    x = laid_out(IMAGES, data_format)

    def normalize(x, scale, offset):
        options = {"data_format": data_format, "is_training": is_training}
        return fused_batch_norm(x, scale, offset, MEAN, VARIANCE, **options)[0]

    grads = gradients_of(normalize, x, SCALE, OFFSET, weights=[np.cos(x)], device=device)
    by_x, by_scale = BACK[is_training]
    np.testing.assert_allclose(grads[0], laid_out(by_x, data_format), 1e-4, 2e-6)
    np.testing.assert_allclose(grads[1], by_scale, 1e-5)
    np.testing.assert_allclose(grads[2], [0.48130697, 0.31324553, 2.00630856], 1e-5)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("shape", [(3, 2, 2, 4), (2, 70, 80, 8)])
def test_fused_gradients_are_those_of_the_parts(shape, is_training, data_format):
    x = RNG.standard_normal(shape).astype("f")
    order = [0, 3, 1, 2] if data_format == "NCHW" else [0, 1, 2, 3]
    n_channels = shape[-1]
    scale, offset = RNG.random((2, n_channels)).astype("f")
    mean, variance = RNG.random((2, n_channels)).astype("f")
    weights = RNG.standard_normal(shape).astype("f")

    def fused(x, scale, offset):
        options = {"data_format": data_format, "is_training": is_training}
        y = fused_batch_norm(x, scale, offset, mean, variance, **options)[0]
        return y * tf.constant(weights.transpose(order))

    def parts(x, scale, offset):
        given = mean.astype("f8"), variance.astype("f8")
        statistics = normalization.moments(x, [0, 1, 2]) if is_training else given
        y = normalization.batch_normalization(x, *statistics, offset, scale, 0.001)
        return y * tf.constant(weights.astype("f8"))

    actual = gradients_of(fused, x.transpose(order), scale, offset)
    wide = [array.astype("f8") for array in (x, scale, offset)]
    expected = gradients_of(parts, *wide)
    np.testing.assert_allclose(actual[0], expected[0].transpose(order), 1e-3, 1e-5)
    np.testing.assert_allclose(actual[1], expected[1], 1e-4, 2e-3)
    np.testing.assert_allclose(actual[2], expected[2], 1e-4, 2e-3)


def of_parts(x, scale, is_training, order):
    """Normalize by other operations, so that all orders of gradients are known."""
    axes = [order.index(k) for k in range(3)]
    wide = (-1, 1, 1) if order[1] == 3 else (-1,)
    if not is_training:
        centred = x - MEAN.reshape(wide)
        return centred / np.sqrt(VARIANCE + 0.001).reshape(wide) * tf.reshape(scale, wide)
    centred = x - tf.reduce_mean(x, axes, keepdims=True)
    variance = tf.reduce_mean(centred * centred, axes, keepdims=True)
    return centred / tf.sqrt(variance + 0.001) * tf.reshape(scale, wide)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [0, 3, 1, 2]], ids=["NHWC", "NCHW"])
@pytest.mark.parametrize("is_training", [True, False])
def test_second_gradients_are_those_of_the_parts(is_training, order):
    x = RNG.standard_normal((3, 2, 2, 3)).astype("f").transpose(order).copy()
    weights = RNG.standard_normal((3, *x.shape)).astype("f")
    channel_weights = RNG.standard_normal(3).astype("f")
    data_format = "NHWC" if order[1] == 1 else "NCHW"

    def second(normalize):
        def function(x, scale, w):
            grads = gradients(normalize(x, scale), [x, scale], grad_ys=[w])
            loss = tf.reduce_sum(grads[0] * weights[1]) + tf.reduce_sum(
                grads[1] * channel_weights
            )
            return gradients(loss, [x, scale, w])

        return evaluate(function, [x, SCALE, weights[0]])

    def fused(x, scale):
        options = {"data_format": data_format, "is_training": is_training}
        return fused_batch_norm(x, scale, OFFSET, MEAN, VARIANCE, **options)[0]

    actual = second(fused)
    expected = second(lambda x, scale: of_parts(x, scale, is_training, order))
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, 1e-3, 1e-4)


def test_saved_statistics_are_the_batchs_own():
    attrs = {
        "epsilon": 0.001,
        "exponential_avg_factor": 0.5,
        "data_format": "NHWC",
        "is_training": True,
    }
    *_, mean, variance, unused = run_all(
        "FusedBatchNormV3", IMAGES, SCALE, OFFSET, MEAN, VARIANCE, **attrs
    )
    rows = IMAGES.reshape(-1, 3)
    np.testing.assert_allclose(mean, rows.mean(0), rtol=1e-6)
    np.testing.assert_allclose(variance, rows.var(0), rtol=1e-6)
    assert unused == 0


def test_one_example_has_no_variance():
    x = np.ones((1, 1, 1, 3), np.float32)
    y, mean, variance = evaluate(fused_batch_norm, [x, SCALE, OFFSET])
    np.testing.assert_array_equal(y[0, 0, 0], OFFSET)
    np.testing.assert_array_equal(mean, [1, 1, 1])
    np.testing.assert_array_equal(variance, [0, 0, 0])


def test_no_example_gives_no_statistics():
    x = np.ones((0, 1, 1, 3), np.float32)
    y, mean, variance = evaluate(fused_batch_norm, [x, SCALE, OFFSET])
    assert y.shape == x.shape
    assert np.isnan(mean).all()
    assert np.isnan(variance).all()


def test_small_epsilons_are_not_taken():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2, 2, 3])
        y, mean, _ = fused_batch_norm(x, SCALE, OFFSET, epsilon=1e-9)
        assert y.op.attrs["epsilon"] == 1.001e-5
        assert y.shape.as_list() == [None, 2, 2, 3]
        assert mean.shape.as_list() == [3]


def test_channels_of_open_images_are_known():
    with tf.Graph().as_default():
        y, mean, _ = fused_batch_norm(tf.placeholder(tf.float32), SCALE, OFFSET)
        assert y.shape.rank is None
        assert mean.shape.as_list() == [3]


FUSED_MISTAKES = {
    "fused_batch_norm(IMAGES, SCALE, OFFSET, is_training=False)": "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or `exponential_avg_factor` != 1.0. Received: `mean` None and `variance` None",
    "fused_batch_norm(IMAGES[0], SCALE, OFFSET)": "Shape must be rank 4 but is rank 3",
    "fused_batch_norm(IMAGES, SCALE[:2], OFFSET)": "Dimensions must be equal, but are 3 and 2",
    "fused_batch_norm(IMAGES, SCALE, IMAGES)": "Shape must be rank 1 but is rank 4",
}


@pytest.mark.parametrize(("call", "message"), FUSED_MISTAKES.items(), ids=FUSED_MISTAKES)
def test_misfitting_statistics_are_refused(call, message):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        eval(call)


def test_wide_floats_are_not_fused():
    with tf.Graph().as_default(), pytest.raises(TypeError, match="float64 not in list"):
        fused_batch_norm(tf.constant(IMAGES.astype("f8")), SCALE, OFFSET)
