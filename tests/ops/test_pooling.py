"""Pooling and local response normalization against the formula, with gradients."""

from __future__ import annotations

import re

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.autodiff.backprop import gradients
from berth.errors import InvalidArgumentError, UnimplementedError
from berth.ops.nn import lrn as lrn_module
from berth.ops.nn import pooling_slices
from berth.ops.nn.lrn import LRN, LRN_GRAD, local_response_normalization, lrn
from berth.ops.nn.pool import avg_pool, max_pool
from berth.ops.nn.pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool_v1,
    max_pool1d,
    max_pool2d,
    max_pool_v1,
    max_pool_with_argmax,
    max_pool_with_argmax_v1,
)
from berth.ops.nn.pooling_ops import (
    AVG_POOL,
    AVG_POOL_GRAD,
    MAX_POOL,
    MAX_POOL_GRAD,
    MAX_POOL_GRAD_GRAD,
    MAX_POOL_WITH_ARGMAX,
)
from tests.ops.calls import bind
from tests.ops.gradient_checks import check_gradient
from tests.ops.windows import Case, pool

CASES = [
    Case((3, 6, 6, 2), (2, 2), (2, 2)),
    Case((3, 7, 8, 2), (3, 3), (2, 2)),
    Case((2, 5, 9, 3), (3, 2), (1, 3), padding="VALID"),
    Case((2, 5, 4, 1), (1, 1), (2, 3)),
    Case((2, 4, 5, 2), (4, 5), (1, 1)),
    Case((2, 4, 5, 2), (3, 3), (2, 1), padding=[[0, 0], [1, 2], [0, 2], [0, 0]]),
    Case((2, 8, 8, 2), (2, 1), (3, 4)),
    Case((0, 4, 4, 2), (2, 2)),
]


def attrs_of(case):
    attrs = dict(case.attrs)
    del attrs["dilations"]
    return attrs | {"ksize": [1, *case.taps, 1]}


def compute_all(op, inputs, attrs, n_threads=1):
    call, outputs = bind(op, inputs, attrs, n_threads)
    if call is not None:
        function, arguments = call
        function(*arguments)
    return outputs


def compute(op, inputs, attrs, n_threads=1):
    [output] = compute_all(op, inputs, attrs, n_threads)
    return output


def draw(seed, *dims, dtype="f8"):
    """Draw few different numbers, so that windows have several largest."""
    return np.random.default_rng(seed).integers(-3, 4, dims).astype(dtype)


def first_largest(case, images):
    """Say for each window and channel in which place its first largest element is."""
    found = {}
    for i, j, _, _, h, w in case.places():
        for n, c in np.ndindex(images.shape[0], images.shape[3]):
            value = images[n, h, w, c]
            if (n, i, j, c) not in found or value > found[n, i, j, c][0]:
                found[n, i, j, c] = value, (n, h, w, c)
    return {window: place for window, (_, place) in found.items()}


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def n_threads(request, monkeypatch):
    """Work on one image at a time if there are threads to divide the work by."""
    if request.param > 1:
        monkeypatch.setattr(pooling_slices, "FEW", 0)
        monkeypatch.setattr(pooling_slices, "AT_ONCE", 1)
        monkeypatch.setattr(lrn_module, "FEW", 0)
        monkeypatch.setattr(lrn_module, "AT_ONCE", 8)
    return request.param


# --- largest elements ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "u1"])
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_largest_elements_are_found(case, dtype, n_threads):
    images = draw(1, *case.image).astype(dtype)
    found = compute(MAX_POOL, [images], attrs_of(case), n_threads)
    assert found.dtype == images.dtype
    assert np.array_equal(found, pool(case, images, lambda window: window.max(0)))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4"])
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_first_largest_gets_the_gradient(case, dtype, n_threads):
    images, attrs = draw(1, *case.image, dtype=dtype), attrs_of(case)
    largest = compute(MAX_POOL, [images], attrs)
    grads, more = draw(2, *largest.shape, dtype=dtype), draw(3, *images.shape, dtype=dtype)
    to_input, back = np.zeros_like(images), np.zeros_like(largest)
    for window, place in first_largest(case, images).items():
        to_input[place] += grads[window]
        back[window] = more[place]
    inputs = [images, largest, grads]
    assert np.array_equal(compute(MAX_POOL_GRAD, inputs, attrs, n_threads), to_input)
    inputs = [images, largest, more]
    assert np.array_equal(compute(MAX_POOL_GRAD_GRAD, inputs, attrs, n_threads), back)


@pytest.mark.parametrize("with_batch", [False, True])
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_positions_are_of_the_first(case, with_batch, n_threads):
    images = draw(1, *case.image, dtype="f4")
    attrs = attrs_of(case) | {"Targmax": tf.int32, "include_batch_in_index": with_batch}
    largest, positions = compute_all(MAX_POOL_WITH_ARGMAX, [images], attrs, n_threads)
    expected = np.zeros(largest.shape, np.int32)
    for window, (n, *place) in first_largest(case, images).items():
        start = n * images[0].size if with_batch else 0
        expected[window] = start + np.ravel_multi_index(place, images.shape[1:])
    assert np.array_equal(largest, compute(MAX_POOL, [images], attrs_of(case)))
    assert positions.dtype == np.int32
    assert np.array_equal(positions, expected)


# --- means --------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), [("f8", 1e-12), ("f4", 1e-6), ("f2", 2e-3)])
@pytest.mark.parametrize("case", [c for c in CASES if isinstance(c.padding, str)], ids=repr)
def test_means_leave_padding_out(case, dtype, tolerance, n_threads):
    images, attrs = draw(1, *case.image, dtype=dtype), attrs_of(case)
    found = compute(AVG_POOL, [images], attrs, n_threads)
    expected = pool(case, images.astype("f8"), lambda window: window.mean(0))
    assert found.dtype == images.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    grads, shape = draw(2, *found.shape, dtype=dtype), np.array(images.shape, np.int32)
    back = compute(AVG_POOL_GRAD, [shape, grads], attrs, n_threads)
    assert back.shape == images.shape
    step = draw(3, *images.shape)  # the gradient predicts its effect
    change = (pool(case, step, lambda window: window.mean(0)) * grads).sum()
    np.testing.assert_allclose((back * step).sum(), change, atol=100 * tolerance)


# --- normalization ------------------------------------------------------------------------

NORMS = [
    {"depth_radius": 5, "bias": 1.0, "alpha": 1.0, "beta": 0.5},
    {"depth_radius": 1, "bias": 2.0, "alpha": 0.5, "beta": 0.75},
    {"depth_radius": 2, "bias": 1.0, "alpha": 0.1, "beta": 1.0},
    {"depth_radius": 0, "bias": 0.5, "alpha": 2.0, "beta": 0.3},
]


def normalize(x, depth_radius, bias, alpha, beta):
    out = np.zeros(x.shape)
    for c in range(x.shape[-1]):
        around = x[..., max(c - depth_radius, 0) : c + depth_radius + 1].astype("f8")
        out[..., c] = x[..., c] / (bias + alpha * (around**2).sum(-1)) ** beta
    return out


@pytest.mark.parametrize(("dtype", "tolerance"), [("f8", 1e-12), ("f4", 1e-6), ("f2", 2e-3)])
@pytest.mark.parametrize("attrs", NORMS, ids=repr)
@pytest.mark.parametrize("dims", [(2, 3, 3, 7), (1, 1, 1, 1), (0, 2, 2, 3)])
def test_channels_are_divided_by_neighbours(attrs, dtype, tolerance, dims, n_threads):
    images = draw(1, *dims, dtype=dtype)
    found = compute(LRN, [images], attrs, n_threads)
    assert found.dtype == images.dtype
    np.testing.assert_allclose(found, normalize(images, **attrs), tolerance, tolerance)


def test_large_half_floats_do_not_overflow():
    images = np.full((1, 1, 1, 2), 1000, np.float16)
    found = compute(LRN, [images], {"depth_radius": 1, "bias": 1.0, "alpha": 1.0, "beta": 0.5})
    np.testing.assert_allclose(found, 1000 / np.sqrt(2e6 + 1), rtol=1e-3)
    back = compute(
        LRN_GRAD,
        [np.ones_like(images), images, found],
        {"depth_radius": 0, "bias": 1.0, "alpha": 1.0, "beta": 1.0},
    )
    assert np.isfinite(back).all()


# --- through graphs -----------------------------------------------------------------------


def distinct(*dims):
    """Draw numbers of which no two are near each other."""
    n_numbers = int(np.prod(dims))
    return np.random.default_rng(0).permutation(n_numbers).reshape(dims) / 10.0


FUNCTIONS = {
    "max": lambda x: max_pool2d(x, 3, 2, "SAME"),
    "max, overlapping": lambda x: max_pool2d(x, [2, 3], 1, "VALID"),
    "max, padded": lambda x: max_pool2d(x, 2, 2, [[0, 0], [1, 0], [1, 1], [0, 0]]),
    "max with positions": lambda x: max_pool_with_argmax(x, 2, 2, "SAME")[0],
    "mean": lambda x: avg_pool2d(x, 3, 2, "SAME"),
    "mean, channels first": lambda x: avg_pool2d(x, [1, 1, 2, 2], 1, "VALID", "NCHW"),
    "max, channels first": lambda x: max_pool2d(x, 2, [1, 1, 2, 1], "SAME", "NCHW"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_differences(name):
    check_gradient(FUNCTIONS[name], distinct(2, 4, 5, 3), order=2)


@pytest.mark.parametrize("attrs", NORMS, ids=repr)
def test_normalization_gradients_are_differences(attrs):
    check_gradient(lambda x: lrn(x, **attrs), distinct(1, 2, 2, 5))


def test_normalization_has_no_second_gradient():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [1, 2, 2, 3])
        [once] = gradients(lrn(x), [x])
        with pytest.raises(LookupError, match="No gradient defined for operation 'LRNGrad'"):
            gradients(once, [x])


@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("threads", [1, 2])
def test_sessions_give_the_formula(sim, place, threads):
    sim("T4")
    case = Case((20, 12, 12, 16), (3, 3), (2, 2))
    images = draw(1, *case.image, dtype="f4")
    with tf.Graph().as_default(), tf.device(place):
        x = tf.placeholder(tf.float32, [None, None, None, 16])
        results = [max_pool2d(x, 3, 2, "SAME"), avg_pool2d(x, 3, 2, "SAME"), lrn(x, 2)]
        back = gradients(results[0], [x])
        config = tf.ConfigProto(intra_op_parallelism_threads=threads)
        with tf.Session(config=config) as session:
            for _ in range(2):
                *found, to_input = session.run(results + back, {x: images})
    expected = np.zeros(images.shape)
    for place_of in first_largest(case, images).values():
        expected[place_of] += 1
    assert np.array_equal(found[0], pool(case, images, lambda window: window.max(0)))
    np.testing.assert_allclose(found[1], pool(case, images, lambda w: w.mean(0)), atol=1e-6)
    np.testing.assert_allclose(found[2], normalize(images, 2, 1, 1, 0.5), atol=1e-6)
    assert np.array_equal(to_input, expected)


SEQUENCE, IMAGES = distinct(2, 6, 3), distinct(2, 4, 5, 3)
SAME_AS = {
    "max of sequences": (
        lambda: max_pool1d(SEQUENCE, 2, 2, "SAME"),
        lambda: max_pool2d(SEQUENCE[:, None], [1, 2], [1, 2], "SAME")[:, 0],
    ),
    "means of sequences": (
        lambda: avg_pool1d(SEQUENCE.transpose(0, 2, 1), 2, 1, "VALID", "NCW"),
        lambda: tf.transpose(avg_pool(SEQUENCE, 2, 1, "VALID"), [0, 2, 1]),
    ),
    "max by rank": (
        lambda: max_pool(tf.constant(SEQUENCE), 2, 2, "SAME"),
        lambda: max_pool1d(SEQUENCE, 2, 2, "SAME"),
    ),
    "max of images": (
        lambda: max_pool(IMAGES, 2, 2, "SAME"),
        lambda: max_pool_v1(IMAGES, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    ),
    "means of images": (
        lambda: avg_pool(IMAGES, 2, 2, "SAME"),
        lambda: avg_pool_v1(None, [1, 2, 2, 1], [1, 2, 2, 1], "SAME", input=IMAGES),
    ),
    "positions": (
        lambda: max_pool_with_argmax_v1(IMAGES, 2, 2, "SAME", Targmax=tf.int32)[1],
        lambda: tf.cast(max_pool_with_argmax(IMAGES, 2, 2, "SAME")[1], tf.int32),
    ),
    "two names": (lambda: lrn(IMAGES), lambda: local_response_normalization(IMAGES)),
}


@pytest.mark.parametrize("name", SAME_AS)
def test_others_are_made_of_these(name):
    with tf.Graph().as_default(), tf.Session() as session:
        one, other = session.run([build() for build in SAME_AS[name]])
    assert one.dtype == other.dtype
    assert np.array_equal(one, other)


# --- shapes and mistakes ------------------------------------------------------------------

N = None
SHAPES = [
    # images, windows, strides, padding: what TensorFlow 2.21 says comes out
    ((N, N, N, N), 2, 2, "SAME", (N, N, N, N)),
    ((N, 7, N, 3), 3, 2, "SAME", (N, 4, N, 3)),
    ((2, 7, 8, N), [2, 3], [2, 1], "VALID", (2, 3, 6, N)),
    (N, 2, 2, "VALID", (N, N, N, N)),
    ((2, 5, 5, 4), 2, 2, [[0, 0], [1, 1], [1, 1], [0, 0]], (2, 3, 3, 4)),
]


@pytest.mark.parametrize("row", SHAPES, ids=repr)
def test_shapes_are_inferred(row):
    dims, size, strides, padding, expected = row
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, dims)
        assert max_pool2d(images, size, strides, padding).shape == expected
        if isinstance(padding, str):
            assert avg_pool2d(images, size, strides, padding).shape == expected


def zeros(*dims):
    return tf.zeros(dims)


MISTAKES = {
    # Read off TensorFlow 2.21, in a graph.
    "Shape must be rank 4 but is rank 3": lambda: max_pool2d(zeros(5, 5, 3), 2, 2, "SAME"),
    "Negative dimension size caused by subtracting 3 from 2": lambda: avg_pool2d(
        zeros(1, 2, 2, 3), 3, 1, "VALID"
    ),
    "Stride must be > 0, but got 0": lambda: max_pool2d(zeros(1, 5, 5, 3), 2, 0, "VALID"),
    "ksize should be of length 1, 2 or 4. Received: ksize=[1, 1, 1] of length 3": (
        lambda: max_pool2d(zeros(1, 5, 5, 3), [1, 1, 1], 1, "VALID")
    ),
    "Attr 'padding' of 'MaxPool' Op passed string 'FULL' not in:": lambda: max_pool2d(
        zeros(1, 5, 5, 3), 2, 1, "FULL"
    ),
    "Shape must be rank 4 but is rank 2": lambda: lrn(zeros(4, 4)),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_invalid_arguments_raise(message):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=re.escape(message)):
        MISTAKES[message]()


def test_means_take_no_explicit_padding():
    message = re.escape("Expected string for argument 'padding' not [[0, 0], [1, 1]")
    with tf.Graph().as_default(), pytest.raises(TypeError, match=message):
        avg_pool2d(zeros(1, 4, 4, 4), 2, 1, [[0, 0], [1, 1], [1, 1], [0, 0]])


AT_RUN = {
    "Sliding window ksize must be positive. The specified or inferred ksize is: 1,0,2,1": (
        InvalidArgumentError,
        lambda: max_pool2d(zeros(1, 5, 5, 3), [1, 0, 2, 1], 1, "SAME"),
    ),
    "Top padding 2 needs to be smaller than the window size 2": (
        InvalidArgumentError,
        lambda: max_pool2d(zeros(2, 5, 5, 4), 2, 2, [[0, 0], [2, 1], [1, 1], [0, 0]]),
    ),
    "Pooling is not yet supported on the batch dimension.": (
        UnimplementedError,
        lambda: max_pool2d(zeros(2, 5, 5, 3), [2, 1, 1, 1], 1, "VALID"),
    ),
    "Non-spatial pooling is not yet supported.": (
        UnimplementedError,
        lambda: avg_pool2d(zeros(1, 2, 2, 4), [1, 1, 1, 2], 1, "VALID"),
    ),
}


@pytest.mark.parametrize("message", AT_RUN)
def test_mistakes_are_found_in_a_run(message):
    kind, build = AT_RUN[message]
    with tf.Graph().as_default(), tf.Session() as session:
        tensor = build()
        with pytest.raises(kind) as error:
            session.run(tensor)
    assert error.value.message.startswith(message)
    assert f"[[node {tensor.op.name} " in error.value.message


@pytest.mark.parametrize(("argument", "position"), [("orig_output", 1), ("grad", 2)])
def test_gradients_fit_their_pools(argument, position):
    arrays = [np.zeros((1, 4, 4, 2)), np.zeros((1, 2, 2, 2)), np.zeros((1, 2, 2, 2))]
    arrays[position] = np.zeros((1, 3, 2, 2))
    message = f"Expected {argument} shape to be [1,2,2,2], but got [1,3,2,2]"
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        compute(MAX_POOL_GRAD, arrays, attrs_of(Case((1, 4, 4, 2), (2, 2), (2, 2))))


def test_names_are_tensorflows():
    with tf.Graph().as_default() as graph:
        x = zeros(1, 4, 4, 3)
        max_pool2d(x, 2, 2, "SAME")
        max_pool_v1(x, 2, 2, "SAME")
        avg_pool2d(x, 2, 2, "SAME")
        avg_pool(x, 2, 2, "SAME")
        lrn(x)
        max_pool1d(zeros(1, 4, 3), 2, 2, "SAME")
        names = {op.name: op.type for op in graph.get_operations()}
    expected = {
        "MaxPool2d": "MaxPool",
        "MaxPool": "MaxPool",
        "AvgPool2D": "AvgPool",
        "AvgPool": "AvgPool",
        "LRN": "LRN",
        "MaxPool1d/ExpandDims": "ExpandDims",
        "MaxPool1d": "MaxPool",
        "MaxPool1d/Squeeze": "Squeeze",
    }
    assert {name: names.get(name) for name in expected} == expected
