"""2-D convolution and its gradients by input and filter, against the formula."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.autodiff.backprop import gradients
from berth.errors import InvalidArgumentError, UnimplementedError
from berth.ops.nn import (
    conv2d_binders,
    conv2d_blocks,
    conv2d_strips,
    depthwise_kernels,
)
from berth.ops.nn.conv1d import conv1d, conv1d_transpose, conv1d_v1
from berth.ops.nn.conv2d import (
    CONV2D,
    CONV2D_BACKPROP_FILTER,
    CONV2D_BACKPROP_INPUT,
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv2d_transpose,
    conv2d_transpose_v1,
    conv2d_v1,
)
from berth.ops.nn.convolution import atrous_conv2d, convolution, convolution_v1
from berth.ops.nn.depthwise import (
    DEPTHWISE,
    DEPTHWISE_BACKPROP_FILTER,
    DEPTHWISE_BACKPROP_INPUT,
    depthwise_conv2d,
    depthwise_conv2d_backprop_filter,
    depthwise_conv2d_backprop_input,
    depthwise_conv2d_native,
    depthwise_conv2d_v1,
    separable_conv2d,
    separable_conv2d_v1,
)
from berth.ops.nn.windows import windows_of
from tests.ops.calls import bind
from tests.ops.gradient_checks import check_gradient
from tests.ops.windows import Case, convolve, convolve_back, depthwise, filter_gradient

TOLERANCES = {"f8": 1e-11, "f4": 2e-5, "f2": 2e-2}
EXPLICIT = [[0, 0], [2, 1], [0, 3], [0, 0]]
CASES = [
    Case((3, 7, 8, 2), (3, 3)),
    Case((2, 5, 5, 1), (1, 1)),
    Case((2, 6, 9, 3), (2, 4), (2, 3)),
    Case((2, 9, 7, 2), (3, 2), (1, 1), (2, 3), "VALID"),
    Case((1, 8, 8, 2), (3, 3), (3, 2), (2, 1)),
    Case((2, 4, 5, 2), (5, 5), padding=EXPLICIT),
    Case((2, 5, 6, 2), (2, 2), (4, 3), padding="VALID"),
    Case((2, 3, 4, 2), (1, 3), (2, 1), (1, 2), EXPLICIT),
    Case((0, 5, 5, 2), (3, 3)),
    Case((5, 12, 12, 3), (5, 5)),
]


def draw(seed: int, *dims: int, dtype: str = "f8") -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(dims).astype(dtype)


def operands(case, dtype="f8", features=3, n_groups=1):
    """Return images, a filter, and gradients of what comes out."""
    n, h, w, c = case.image
    images = draw(1, n, h, w, c * n_groups, dtype=dtype)
    filters = draw(2, *case.taps, c, features * n_groups, dtype=dtype)
    grads = draw(3, n, case.rows, case.columns, features * n_groups, dtype=dtype)
    return images, filters, grads


def compute(op, inputs, attrs, n_threads=1):
    call, [output] = bind(op, inputs, attrs, n_threads)
    if call is not None:
        function, arguments = call
        function(*arguments)
    return output


def sizes(*dims):
    return np.array(dims, np.int32)


def three_ways(case, images, filters, grads, n_threads=1):
    """Compute all that a convolution goes with: result, and gradients of input and filter."""
    attrs = case.attrs
    back = [sizes(*images.shape), filters, grads]
    to_filter = [images, sizes(*filters.shape), grads]
    return (
        compute(CONV2D, [images, filters], attrs, n_threads),
        compute(CONV2D_BACKPROP_INPUT, back, attrs, n_threads),
        compute(CONV2D_BACKPROP_FILTER, to_filter, attrs, n_threads),
    )


def by_formula(case, images, filters, grads, n_groups=1):
    images, filters, grads = (array.astype("f8") for array in (images, filters, grads))
    return (
        convolve(case, images, filters),
        convolve_back(case, grads, filters, n_groups),
        filter_gradient(case, images, grads, n_groups),
    )


def assert_same(found, expected, tolerance):
    for actual, wanted in zip(found, expected, strict=True):
        assert actual.shape == wanted.shape
        scale = 1 + abs(wanted).max(initial=0)
        np.testing.assert_allclose(actual, wanted, rtol=tolerance, atol=tolerance * scale)


@pytest.fixture
def small_blocks(monkeypatch):
    """Divide work that is not worth it into as many blocks, by as many threads as there are."""

    def set_limits(gathered, fewest=1, tall=conv2d_strips.TALL):
        monkeypatch.setattr(conv2d_binders, "FEW", 0)
        monkeypatch.setattr(conv2d_blocks, "GATHERED", gathered)
        monkeypatch.setattr(conv2d_blocks, "SHORT", 0 if fewest == 1 else 96)
        monkeypatch.setattr(conv2d_strips, "TALL", tall)
        monkeypatch.setattr(conv2d_strips, "AT_ONCE", 1000 * gathered)
        monkeypatch.setattr(depthwise_kernels, "AT_ONCE", gathered)

    return set_limits


# --- values -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_values_are_the_formulas(case, dtype):
    arrays = operands(case, dtype)
    assert_same(three_ways(case, *arrays), by_formula(case, *arrays), TOLERANCES[dtype])


@pytest.mark.parametrize("case", CASES[:5], ids=repr)
def test_groups_are_kept_apart(case):
    arrays = operands(case, n_groups=3)
    expected = by_formula(case, *arrays, n_groups=3)
    assert_same(three_ways(case, *arrays), expected, 1e-11)


def random_case(seed):
    rng = random.Random(seed)
    while True:
        a, b, c, d = (rng.randint(0, 3) for _ in range(4))
        case = Case(
            (rng.randint(1, 5), rng.randint(1, 10), rng.randint(1, 10), rng.randint(1, 3)),
            (rng.randint(1, 5), rng.randint(1, 7)),
            rng.choice([(1, 1), (1, 1), (rng.randint(1, 3), rng.randint(1, 3))]),
            rng.choice([(1, 1), (1, 1), (rng.randint(1, 3), rng.randint(1, 3))]),
            rng.choice(["SAME", "VALID", [[0, 0], [a, b], [c, d], [0, 0]]]),
        )
        if case.rows > 0 and case.columns > 0:
            return case


@pytest.mark.parametrize("seed", range(60))
def test_division_changes_no_values(seed, small_blocks):
    rng = random.Random(seed)
    case = random_case(seed)
    dtype = rng.choice(["f8", "f4", "f4"])
    arrays = operands(case, dtype, n_groups=rng.choice([1, 1, 2]))
    n_groups = arrays[0].shape[3] // case.image[3]
    expected = by_formula(case, *arrays, n_groups=n_groups)
    small_blocks(rng.choice([1, 100, 1000]), rng.choice([1, 1, 99]), rng.choice([1, 128]))
    for n_threads in (1, 3):
        assert_same(three_ways(case, *arrays, n_threads), expected, TOLERANCES[dtype])


# --- windows ------------------------------------------------------------------------------


def spiked(value, taps, n_channels=32):
    """Return a case of ordinary numbers, and its operands with one of them replaced."""
    case = Case((1, 24, 24, n_channels), (taps, taps))
    arrays = operands(case, "f4", features=n_channels)
    changed = [array.copy() for array in arrays]
    changed[0][0, 11, 11, 0] = changed[2][0, 11, 11, 0] = value
    return case, arrays, changed


def outside(taps):
    """Mark the places of which no window has the one at row and column 11."""
    reach = taps // 2
    mask = np.ones((24, 24), bool)
    mask[11 - reach : 12 + reach, 11 - reach : 12 + reach] = False
    return mask


@pytest.mark.parametrize(("n_threads", "tall"), [(1, 128), (2, 128), (1, 1)])
@pytest.mark.parametrize("taps", [3, 5, 7])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e7, 1e30])
def test_outputs_depend_on_their_windows_only(value, taps, n_threads, tall, monkeypatch):
    monkeypatch.setattr(conv2d_strips, "TALL", tall)
    case, arrays, changed = spiked(value, taps)
    with np.errstate(all="ignore"):
        before = three_ways(case, *arrays, n_threads)
        after = three_ways(case, *changed, n_threads)
    mask = outside(taps)
    for one, other in zip(before[:2], after[:2], strict=True):
        assert np.array_equal(one[0][mask], other[0][mask])
        assert not np.array_equal(one[0][~mask], other[0][~mask])


@pytest.mark.parametrize("taps", [3, 5, 7])
def test_nan_spreads_to_its_windows(taps):
    case, _, changed = spiked(np.nan, taps)
    forwards, backwards, _ = three_ways(case, *changed)
    for found in (forwards, backwards):
        assert np.isnan(found).sum() == taps * taps * found.shape[3]


@pytest.mark.parametrize("taps", [3, 5, 7])
def test_zeros_give_exact_zeros(taps):
    case, _, changed = spiked(1e3, taps)
    images, filters, grads = changed
    for array in (images, grads):
        array[0, :11] = array[0, 12:] = array[0, :, :11] = array[0, :, 12:] = 0
    forwards, backwards, _ = three_ways(case, images, filters, grads)
    assert not forwards[0][outside(taps)].any()
    assert not backwards[0][outside(taps)].any()


@pytest.mark.parametrize("taps", [3, 5, 7])
def test_whole_numbers_are_exact(taps):
    case = Case((1, 24, 24, 32), (taps, taps))
    rng = np.random.default_rng(taps)
    images = rng.integers(0, 256, case.image).astype("f4")
    filters = rng.integers(-8, 9, (taps, taps, 32, 32)).astype("f4")
    grads = rng.integers(-8, 9, (1, 24, 24, 32)).astype("f4")
    found = three_ways(case, images, filters, grads)
    for actual, wanted in zip(found, by_formula(case, images, filters, grads), strict=True):
        assert abs(wanted).max() < 2**24
        assert np.array_equal(actual, wanted)


@pytest.mark.parametrize("taps", [3, 5, 7])
def test_errors_stay_within_the_bound(taps):
    """n · 2⁻²⁴ · Σ|x||w| for sums of n products, the bound of any order of summation."""
    case = Case((2, 24, 24, 32), (taps, taps))
    arrays = operands(case, "f4", features=32)
    found = three_ways(case, *arrays)
    expected = by_formula(case, *arrays)
    sizes = by_formula(case, *map(abs, arrays))
    lengths = (taps * taps * 32, taps * taps * 32, 2 * 24 * 24)
    for actual, wanted, size, n in zip(found, expected, sizes, lengths, strict=True):
        assert (abs(actual - wanted) <= n * 2.0**-24 * size).all()


def test_small_numbers_stay_exact():
    images = np.arange(2 * 6 * 6 * 3, dtype="f").reshape(2, 6, 6, 3)
    filters = np.ones((3, 3, 3, 4), "f")
    found = compute(CONV2D, [images, filters], Case(images.shape, (3, 3)).attrs)
    assert np.array_equal(found, convolve(Case(images.shape, (3, 3)), images, filters))


def test_integers_are_convolved():
    images, filters = np.arange(18, dtype="i4").reshape(1, 3, 3, 2), np.ones((2, 2, 2, 1), "i4")
    case = Case(images.shape, (2, 2))
    assert np.array_equal(
        compute(CONV2D, [images, filters], case.attrs), convolve(case, images, filters)
    )


@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize("seed", range(15))
def test_channels_are_convolved_apart(seed, multiplier, small_blocks):
    case = random_case(seed)
    images, grads = (operands(case)[k] for k in (0, 2))
    filters = draw(4, *case.taps, case.image[3], multiplier)
    small_blocks(random.Random(seed).choice([1, 100, 1000]))
    for n_threads in (1, 3):
        found = compute(DEPTHWISE, [images, filters], case.attrs, n_threads)
        np.testing.assert_allclose(found, depthwise(case, images, filters), atol=1e-11)
        grads = draw(5, *found.shape)
        inputs = [sizes(*images.shape), filters, grads]
        to_input = compute(DEPTHWISE_BACKPROP_INPUT, inputs, case.attrs, n_threads)
        inputs = [images, sizes(*filters.shape), grads]
        to_filter = compute(DEPTHWISE_BACKPROP_FILTER, inputs, case.attrs, n_threads)
        # The gradient predicts the effect of any step of the input.
        step, turn = draw(6, *images.shape), draw(7, *filters.shape)
        changed = (depthwise(case, step, filters) * grads).sum()
        np.testing.assert_allclose((to_input * step).sum(), changed)
        changed = (depthwise(case, images, turn) * grads).sum()
        np.testing.assert_allclose((to_filter * turn).sum(), changed)


@pytest.mark.parametrize("op", [conv2d, depthwise_conv2d])
def test_channels_may_come_first(op):
    images, filters = draw(1, 2, 3, 6, 7), draw(2, 3, 2, 3, 2)
    padding = [[0, 0], [0, 0], [1, 2], [0, 1]]
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(op(images, filters, [1, 1, 2, 2], padding, data_format="NCHW"))
        last = images.transpose(0, 2, 3, 1)
        expected = session.run(op(last, filters, 2, [padding[k] for k in (0, 2, 3, 1)]))
    np.testing.assert_allclose(found, expected.transpose(0, 3, 1, 2))


# --- through sessions ---------------------------------------------------------------------


def layer(x, w):
    return conv2d(x, w, 2, "SAME")


@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_sessions_give_the_formula(sim, place, n_threads):
    sim("T4")
    case = Case((8, 12, 12, 16), (5, 5))
    images, filters, grads = operands(case, "f4", features=16)
    with tf.Graph().as_default(), tf.device(place):
        x = tf.placeholder(tf.float32, [None, None, None, 16])
        w = tf.placeholder(tf.float32, [5, 5, 16, 16])
        y = tf.placeholder(tf.float32, [None, None, None, 16])
        results = [
            conv2d(x, w, 1, "SAME"),
            conv2d_backprop_input(tf.shape(x), w, y, 1, "SAME"),
            conv2d_backprop_filter(x, tf.shape(w), y, 1, "SAME"),
        ]
        config = tf.ConfigProto(intra_op_parallelism_threads=n_threads)
        with tf.Session(config=config) as session:
            for _ in range(2):
                found = session.run(results, {x: images, w: filters, y: grads})
    assert_same(found, by_formula(case, images, filters, grads), TOLERANCES["f4"])


SMALL = draw(1, 2, 4, 5, 2), draw(2, 3, 2, 2, 3)
GRADIENTS = {
    "strides": lambda x, w: conv2d(x, w, [2, 1], "SAME"),
    "dilations": lambda x, w: conv2d(x, w, 1, [[0, 0], [2, 1], [1, 0], [0, 0]], dilations=2),
    "depthwise": lambda x, w: depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"),
    "depthwise strides": lambda x, w: depthwise_conv2d(x, w, [1, 2, 2, 1], "VALID"),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_differences(name):
    check_gradient(GRADIENTS[name], *SMALL, order=2, sizes=["known sizes"])


def test_gradients_need_no_known_sizes():
    check_gradient(layer, *SMALL)


def test_transposed_gradients_are_differences():
    grads = draw(3, 2, 2, 3, 3)

    def grow(x, w):
        return conv2d_transpose(x, w, [2, 4, 5, 2], 2)

    check_gradient(grow, grads, SMALL[1], order=2, sizes=["known sizes"])


# --- what is made of others ---------------------------------------------------------------


def run(build):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build())


SEQUENCES, LINE = draw(1, 2, 7, 3), draw(2, 3, 3, 4)
IMAGES, FILTER = draw(3, 2, 5, 6, 3), draw(4, 3, 3, 3, 2)
SAME_AS = {
    "conv1d": (
        lambda: conv1d(SEQUENCES, LINE, 2, "SAME"),
        lambda: conv2d(SEQUENCES[:, None], LINE[None], [1, 2], "SAME")[:, 0],
    ),
    "conv1d, channels first": (
        lambda: conv1d(SEQUENCES.transpose(0, 2, 1), LINE, 1, "VALID", "NCW", 2),
        lambda: tf.transpose(conv1d_v1(SEQUENCES, LINE, 1, "VALID", dilations=2), [0, 2, 1]),
    ),
    "conv1d_transpose": (
        lambda: conv1d_transpose(SEQUENCES, draw(5, 3, 4, 3), [2, 14, 4], 2),
        lambda: conv2d_transpose(
            SEQUENCES[:, None], draw(5, 3, 4, 3)[None], [2, 1, 14, 4], [1, 2]
        )[:, 0],
    ),
    "convolution of sequences": (
        lambda: convolution(SEQUENCES, LINE, padding="SAME"),
        lambda: conv1d(SEQUENCES, LINE, 1, "SAME"),
    ),
    "convolution of images": (
        lambda: convolution_v1(IMAGES, FILTER, "VALID", dilation_rate=[2, 1]),
        lambda: conv2d(IMAGES, FILTER, 1, "VALID", dilations=[2, 1]),
    ),
    "atrous": (
        lambda: atrous_conv2d(IMAGES, FILTER, 2, "SAME"),
        lambda: conv2d_v1(IMAGES, filters=FILTER, strides=1, padding="SAME", dilations=2),
    ),
    "separable": (
        lambda: separable_conv2d(IMAGES, FILTER, draw(6, 1, 1, 6, 4), [1, 1, 1, 1], "SAME"),
        lambda: tf.reshape(
            tf.matmul(
                tf.reshape(depthwise_conv2d_native(IMAGES, FILTER, 1, "SAME"), [-1, 6]),
                draw(6, 6, 4),
            ),
            [2, 5, 6, 4],
        ),
    ),
    "rates": (
        lambda: depthwise_conv2d_v1(IMAGES, FILTER, [1, 1, 1, 1], "SAME", rate=[2, 2]),
        lambda: depthwise_conv2d(IMAGES, FILTER, 1, "SAME", dilations=2),
    ),
    "separable rates": (
        lambda: separable_conv2d_v1(
            IMAGES, FILTER, draw(6, 1, 1, 6, 4), [1, 1, 1, 1], "SAME", rate=2
        ),
        lambda: separable_conv2d(
            IMAGES, FILTER, draw(6, 1, 1, 6, 4), 1, "SAME", dilations=[2, 2]
        ),
    ),
    "transposed": (
        lambda: conv2d_transpose_v1(
            value=IMAGES, filters=draw(7, 3, 3, 2, 3), output_shape=[2, 9, 12, 2], strides=2
        ),
        lambda: conv2d_backprop_input([2, 9, 12, 2], draw(7, 3, 3, 2, 3), IMAGES, 2, "SAME"),
    ),
    "sizes without batch and channels": (
        lambda: conv2d_backprop_input([9, 12], draw(7, 3, 3, 2, 3), IMAGES, 2, "SAME"),
        lambda: conv2d_transpose(IMAGES, draw(7, 3, 3, 2, 3), [2, 9, 12, 2], 2),
    ),
    "depthwise, back": (
        lambda: depthwise_conv2d_backprop_input(
            [2, 5, 6, 3], FILTER, draw(8, 2, 5, 6, 6), 1, "SAME"
        ),
        lambda: gradients(
            depthwise_conv2d(x := tf.constant(IMAGES), FILTER, 1, "SAME"),
            x,
            draw(8, 2, 5, 6, 6),
        )[0],
    ),
    "depthwise, back to the filter": (
        lambda: depthwise_conv2d_backprop_filter(
            IMAGES, [3, 3, 3, 2], draw(8, 2, 5, 6, 6), 1, "SAME"
        ),
        lambda: gradients(
            depthwise_conv2d(IMAGES, w := tf.constant(FILTER), 1, "SAME"),
            w,
            draw(8, 2, 5, 6, 6),
        )[0],
    ),
}


@pytest.mark.parametrize("name", SAME_AS)
def test_others_are_made_of_these(name):
    one, other = SAME_AS[name]
    np.testing.assert_allclose(run(one), run(other), atol=1e-12)


# --- shapes -------------------------------------------------------------------------------

N = None
SHAPES = [
    # images, filter, strides, padding, dilations: what TensorFlow 2.21 says comes out
    ((N, N, N, N), (N, N, N, N), 1, "SAME", 1, (N, N, N, N)),
    ((N, 7, N, 3), (3, 3, 3, 8), 2, "SAME", 1, (N, 4, N, 8)),
    ((2, 7, N, 3), (3, N, 3, 8), 2, "VALID", 1, (2, 3, N, 8)),
    ((2, 7, 9, 3), (N, N, 3, 8), 2, "SAME", 1, (2, 4, 5, 8)),
    ((2, 7, 9, 3), (N, N, 3, 8), 2, "VALID", 1, (2, N, N, 8)),
    ((2, 7, 9, N), (3, 3, 3, 8), 1, "VALID", 2, (2, 3, 5, 8)),
    ((2, 7, 9, 6), (3, 3, 3, 8), 1, EXPLICIT, 1, (2, 8, 10, 8)),
    (N, (3, 3, 3, 8), 1, "SAME", 1, (N, N, N, 8)),
    ((2, 7, 9, 3), N, 1, "SAME", 1, (2, 7, 9, N)),
]


@pytest.mark.parametrize("row", SHAPES, ids=repr)
def test_shapes_are_inferred(row):
    images, filters, strides, padding, dilations, expected = row
    with tf.Graph().as_default():
        x, w = tf.placeholder(tf.float32, images), tf.placeholder(tf.float32, filters)
        assert conv2d(x, w, strides, padding, dilations=dilations).shape == expected


def test_depthwise_shapes_are_inferred():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [N, 9, N, 3])
        w = tf.placeholder(tf.float32, [3, 3, N, 4])
        assert depthwise_conv2d(x, w, [1, 2, 2, 1], "VALID").shape == [N, 4, N, 12]


def test_backprop_shapes_are_what_was_asked():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [N, 9, N, 3])
        w = tf.placeholder(tf.float32, [3, 3, 3, 4])
        y = tf.placeholder(tf.float32, [N, 9, N, 4])
        assert conv2d_backprop_input(tf.shape(x), w, y, 1, "SAME").shape == [N, 9, N, 3]
        assert conv2d_backprop_filter(x, tf.shape(w), y, 1, "SAME").shape == [3, 3, 3, 4]


# --- mistakes -----------------------------------------------------------------------------


def zeros(*dims):
    return tf.zeros(dims)


MISTAKES = {
    # Read off TensorFlow 2.21, in a graph.
    "Shape must be rank 4 but is rank 3": lambda: conv2d(
        zeros(5, 5, 3), zeros(3, 3, 3, 4), 1, "SAME"
    ),
    "Depth of input (3) is not a multiple of input depth of filter (2)": lambda: conv2d(
        zeros(1, 5, 5, 3), zeros(3, 3, 2, 4), 1, "SAME"
    ),
    "Depth of filter must not be 0": lambda: conv2d(
        zeros(1, 5, 5, 0), zeros(3, 3, 0, 4), 1, "SAME"
    ),
    "Negative dimension size caused by subtracting 3 from 2": lambda: conv2d(
        zeros(1, 2, 5, 3), zeros(3, 3, 3, 4), 1, "VALID"
    ),
    "Stride must be > 0, but got 0": lambda: conv2d(
        zeros(1, 5, 5, 3), zeros(3, 3, 3, 4), [1, 0, 1, 1], "VALID"
    ),
    "Dilation rate must be >= 1, but got 0": lambda: conv2d(
        zeros(1, 5, 5, 3), zeros(3, 3, 3, 4), 1, "SAME", dilations=0
    ),
    "strides should be of length 1, 2 or 4. Received: strides=[1, 1, 1] of length 3": (
        lambda: conv2d(zeros(1, 5, 5, 3), zeros(3, 3, 3, 4), [1, 1, 1], "SAME")
    ),
    "Attr 'padding' of 'Conv2D' Op passed string 'FULL' not in: \"SAME\", \"VALID\", \"EXPLICIT\".": (
        lambda: conv2d(zeros(1, 5, 5, 3), zeros(3, 3, 3, 4), 1, "FULL")
    ),
    "Attr 'data_format' of 'Conv2D' Op passed string 'NWHC' not in: \"NHWC\", \"NCHW\".": (
        lambda: conv2d(zeros(1, 5, 5, 3), zeros(3, 3, 3, 4), 1, "SAME", "NWHC")
    ),
    "When padding is a list, it must be of size 4. Received: padding=[[0, 0], [0, 0]] of size 2": (
        lambda: conv2d(zeros(1, 5, 5, 3), zeros(3, 3, 3, 4), 1, [[0, 0], [0, 0]])
    ),
    "All elements of explicit_paddings must be nonnegative": lambda: conv2d(
        zeros(1, 5, 5, 3), zeros(3, 3, 3, 4), 1, [[0, 0], [-1, 0], [0, 0], [0, 0]]
    ),
    "Nonzero explicit padding in the batch or depth dimensions is not supported": (
        lambda: conv2d(
            zeros(1, 5, 5, 3), zeros(3, 3, 3, 4), 1, [[1, 0], [0, 0], [0, 0], [0, 0]]
        )
    ),
    "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, but got: 3": (
        lambda: conv2d_transpose(zeros(1, 5, 5, 4), zeros(3, 3, 2, 4), [5, 5, 2], 1)
    ),
    "Dimensions must be equal, but are 2 and 1": lambda: conv2d_transpose(
        zeros(1, 5, 5, 4), zeros(3, 3, 3, 4), [2, 5, 5, 3], 1
    ),
    "Dimensions must be equal, but are 3 and 2": lambda: depthwise_conv2d(
        zeros(1, 5, 5, 3), zeros(3, 3, 2, 4), [1, 1, 1, 1], "SAME"
    ),
    "Dimensions 2 and 1 are not compatible": lambda: separable_conv2d(
        zeros(1, 4, 4, 3), zeros(3, 3, 3, 2), zeros(2, 1, 6, 4), [1, 1, 1, 1], "SAME"
    ),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_invalid_arguments_raise(message):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=re.escape(message)):
        MISTAKES[message]()


AT_RUN = {
    "Conv2DCustomBackpropInput: Size of out_backprop doesn't match computed: actual = 5, "
    "computed = 6 spatial_dim: 1 input: 12 filter: 3 output: 5 stride: 2 dilation: 1": (
        lambda: conv2d_transpose(zeros(1, 5, 5, 4), zeros(3, 3, 3, 4), [1, 12, 9, 3], 2)
    ),
    "Conv2DCustomBackpropInput: input depth must be evenly divisible by filter depth": (
        lambda: conv2d_transpose(zeros(1, 5, 5, 4), zeros(3, 3, 3, 4), [1, 5, 5, 2], 1)
    ),
    "Conv2DCustomBackpropFilter: filter and out_backprop must have the same out_depth": (
        lambda: conv2d_backprop_filter(
            zeros(1, 5, 5, 3), [3, 3, 3, 5], zeros(1, 5, 5, 4), 1, "SAME"
        )
    ),
}


@pytest.mark.parametrize("message", AT_RUN)
def test_mistakes_are_found_in_a_run(message):
    with tf.Graph().as_default(), tf.Session() as session:
        tensor = AT_RUN[message]()
        with pytest.raises(InvalidArgumentError) as error:
            session.run(tensor)
    assert error.value.message.startswith(message)
    assert f"[[node {tensor.op.name} " in error.value.message


@pytest.mark.parametrize("kind", ["strides", "dilations"])
def test_windows_skip_no_images(kind):
    with tf.Graph().as_default(), tf.Session() as session:
        more = {"strides": 1, kind: [2, 1, 1, 1]}
        tensor = conv2d(zeros(1, 5, 5, 3), zeros(3, 3, 3, 4), padding="SAME", **more)
        with pytest.raises(UnimplementedError) as error:
            session.run(tensor)
    assert error.value.message.startswith(
        f"Current implementation does not yet support {kind} in the batch and depth dimensions."
    )


def test_names_are_tensorflows():
    with tf.Graph().as_default() as graph:
        x, w = zeros(1, 5, 5, 3), zeros(3, 3, 3, 2)
        conv2d(x, w, 1, "SAME")
        depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME")
        separable_conv2d(x, w, zeros(1, 1, 6, 2), [1, 1, 1, 1], "SAME")
        conv2d_transpose(x, zeros(3, 3, 2, 3), [1, 10, 10, 2], 2)
        conv1d(zeros(1, 4, 3), zeros(2, 3, 2), 1, "SAME")
        names = {op.name: op.type for op in graph.get_operations()}
    expected = {
        "Conv2D": "Conv2D",
        "depthwise": "DepthwiseConv2dNative",
        "separable_conv2d/depthwise": "DepthwiseConv2dNative",
        "separable_conv2d": "Conv2D",
        "conv2d_transpose/input_sizes": "Const",
        "conv2d_transpose": "Conv2DBackpropInput",
        "conv1d/ExpandDims": "ExpandDims",
        "conv1d": "Conv2D",
        "conv1d/Squeeze": "Squeeze",
    }
    assert {name: names.get(name) for name in expected} == expected


# --- strips -------------------------------------------------------------------------------


def test_small_images_are_multiplied_in_place():
    case = Case((16, 12, 12, 32), (5, 5))
    images, filters, _ = operands(case, "f4", features=8)
    rows, columns = windows_of(images.shape, (5, 5), case.attrs)
    walk = conv2d_blocks.Walk(16, rows, columns, 32, 8)
    strips = conv2d_strips.divide_strips(walk, 1)
    flat = np.zeros(strips.n_elements, "f4")
    out = np.zeros((16, 12, 12, 8), "f4")
    arrays = (images, filters, out)
    [calls] = conv2d_strips.correlate_strips(np, arrays, walk, strips, [flat])
    factors = [arguments[0] for function, arguments in calls if function is np.matmul]
    assert len(factors) == 12 * 5
    assert all(np.shares_memory(flat, each) for each in factors)
    # Of five taps, 54 of 60 rows are inside, and as many columns.
    assert factors[0].shape == (16 * 12, 3 * 32)
    assert sum(each.size for each in factors) == 16 * 54 * 54 * 32


@pytest.mark.parametrize("dims", [(1, 12, 12, 64), (128, 12, 12, 1), (2, 600, 600, 64)])
def test_other_images_are_gathered(dims):
    case = Case(dims, (5, 5))
    rows, columns = windows_of(dims, (5, 5), case.attrs)
    assert (
        conv2d_strips.divide_strips(conv2d_blocks.Walk(*dims[:1], rows, columns, dims[3], 8), 2)
        is None
    )
