"""NaN and -inf where the largest element is looked for, and windows larger than the images.

The numbers were recorded from TensorFlow 2.21 on a CPU.
"""

from __future__ import annotations

import numpy as np
import pytest

import berth as tf
from berth.errors import InvalidArgumentError
from berth.ops.nn.pooling_ops import MAX_POOL, MAX_POOL_GRAD, MAX_POOL_WITH_ARGMAX
from tests.ops.test_pooling import CASES, attrs_of, compute, compute_all, first_largest
from tests.ops.windows import pool

pytestmark = pytest.mark.usefixtures("eager")

NAN, INF = np.nan, np.inf
LOW = np.finfo("f4").min

# Four elements, and what TensorFlow finds: argmax and argmin; and as an image of 2x2 with
# windows of 2x2, SAME: largest, gradient, largest with argmax, argmax.
FOUND = {
    (1, NAN, 2, 3): (3, 0, [3, 3, 3, 3], [0, 1, 0, 3], [3, NAN, 3, 3], [3, 1, 3, 3]),
    (NAN, 1, 2, 3): (3, 1, [3, 3, 3, 3], [1, 0, 0, 3], [NAN, 3, 3, 3], [0, 3, 3, 3]),
    (3, 2, 1, NAN): (0, 2, [3, 2, 1, LOW], [1, 1, 1, 1], [3, 2, 1, NAN], [0, 1, 2, 3]),
    (1, 2, NAN, 3): (3, 0, [3, 3, 3, 3], [0, 0, 1, 3], [3, 3, NAN, 3], [3, 3, 2, 3]),
    (NAN, NAN, NAN, NAN): (0, 0, [LOW] * 4, [1, 1, 1, 1], [NAN] * 4, [0, 1, 2, 3]),
    (-INF, NAN, -INF, NAN): (
        *(0, 0, [LOW] * 4, [1, 1, 1, 1]),
        *([-INF, NAN, -INF, NAN], [0, 1, 2, 3]),
    ),
    (NAN, -INF, -INF, -INF): (
        *(0, 1, [LOW] * 4, [1, 1, 1, 1]),
        *([NAN, -INF, -INF, -INF], [0, 1, 2, 3]),
    ),
}


def same(found, expected):
    return np.array_equal(np.ravel(found), np.array(expected, "f4"), equal_nan=True)


@pytest.mark.parametrize("values", FOUND, ids=str)
def test_argmax_passes_over_nan(values):
    largest, smallest, *_ = FOUND[values]
    for dtype in ("f4", "f8", "f2"):
        assert tf.argmax(np.array(values, dtype)).numpy() == largest
        assert tf.argmin(np.array(values, dtype)).numpy() == smallest
    columns = np.array([values, (1, 2, 3, 4)], "f4").T
    assert tf.argmax(columns, 0, tf.int32).numpy().tolist() == [largest, 3]


@pytest.mark.parametrize("values", FOUND, ids=str)
def test_max_pool_passes_over_nan(values):
    _, _, largest, grads, with_argmax, argmax = FOUND[values]
    images = tf.constant(np.array(values, "f4").reshape(1, 2, 2, 1))
    with tf.GradientTape() as tape:
        tape.watch(images)
        found = tf.nn.max_pool2d(images, 2, 1, "SAME")
    assert same(found, largest)
    assert same(tape.gradient(found, images), grads)
    found, positions = tf.nn.max_pool_with_argmax(images, 2, 1, "SAME")
    assert same(found, with_argmax)
    assert np.ravel(positions).tolist() == argmax


def with_holes(dims, dtype="f4"):
    generator = np.random.default_rng(0)
    images = generator.integers(-3, 4, dims).astype(dtype)
    for value in (NAN, -INF):
        images[generator.random(dims) < 0.4] = value
    return images


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_a_position_moves_to_what_is_larger(case):
    images, attrs = with_holes(case.image), attrs_of(case)

    def largest_number(window):
        return np.fmax(np.fmax.reduce(window, 0), LOW)

    largest = compute(MAX_POOL, [images], attrs)
    assert np.array_equal(largest, pool(case, images, largest_number))
    grads = np.arange(1, largest.size + 1, dtype="f4").reshape(largest.shape)
    arrived, values = np.zeros_like(images), np.zeros_like(largest)
    for window, place in first_largest(case, images).items():
        arrived[place] += grads[window]
        values[window] = images[place]
    assert np.array_equal(compute(MAX_POOL_GRAD, [images, largest, grads], attrs), arrived)
    attrs |= {"Targmax": tf.int64, "include_batch_in_index": True}
    found, positions = compute_all(MAX_POOL_WITH_ARGMAX, [images], attrs)
    assert np.array_equal(found, values, equal_nan=True)
    assert np.array_equal(images.ravel()[positions], values, equal_nan=True)


# --- windows larger than images -----------------------------------------------------------


# Window, stride, and the size of what is found in 2 elements; None for an error.
SIZES = [(3, 1, 0), (3, 2, 0), (5, 3, 0), (5, 1, None), (6, 2, None)]
IMAGES = np.ones((1, 2, 2, 1), "f4")
OPERATIONS = {
    "max_pool": lambda x, size, step: tf.nn.max_pool2d(x, size, step, "VALID"),
    "avg_pool": lambda x, size, step: tf.nn.avg_pool2d(x, size, step, "VALID"),
    "argmax": lambda x, size, step: tf.nn.max_pool_with_argmax(x, size, step, "VALID")[0],
    "conv2d": lambda x, size, step: tf.nn.conv2d(
        x, np.ones((size, size, 1, 1), "f4"), step, "VALID"
    ),
    "depthwise": lambda x, size, step: tf.nn.depthwise_conv2d(
        x, np.ones((size, size, 1, 1), "f4"), [1, step, step, 1], "VALID"
    ),
}


@pytest.mark.parametrize(("size", "step", "n_out"), SIZES)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_window_larger_than_images_finds_nothing(operation, size, step, n_out):
    images = tf.constant(IMAGES)
    spec = tf.TensorSpec([None, None, None, 1], tf.float32)
    in_a_run = tf.function(lambda x: operation(x, size, step), input_signature=[spec])
    if n_out is None:
        message = rf"would be negative: -\d \[input_size: 2, effective_filter_size: {size}"
        for run in (in_a_run, lambda x: operation(x, size, step)):
            with pytest.raises(InvalidArgumentError, match=message):
                run(images)
        return
    assert in_a_run(images).shape == (1, n_out, n_out, 1)
    with tf.GradientTape() as tape:
        tape.watch(images)
        found = operation(images, size, step)
    assert found.shape == (1, n_out, n_out, 1)
    assert not tape.gradient(found, images).numpy().any()


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_graph_refuses_a_window_larger_than_images(operation):
    with pytest.raises(
        ValueError, match="Negative dimension size caused by subtracting 3 from 2"
    ):
        tf.function(lambda: operation(tf.constant(IMAGES), 3, 1))()
