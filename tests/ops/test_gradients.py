"""Gradients of operations: against differences, and at kinks against TensorFlow's values."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.autodiff.backprop import gradients
from berth.ops.arrays import metadata, slicing
from berth.ops.arrays.broadcasting import broadcast_to, sum_like
from berth.ops.arrays.gathering import gather, where, where_v2
from berth.ops.arrays.placeholders import placeholder_with_default
from berth.ops.elementwise import arithmetic as math
from berth.ops.elementwise import roots, sigmoid, unary
from berth.ops.elementwise.add_n import add_n
from berth.ops.elementwise.casting import cast
from berth.ops.elementwise.roots import reciprocal_grad
from berth.ops.elementwise.sigmoid import relu_grad
from berth.ops.opdef import CATALOGUE
from berth.ops.reductions import reduction
from berth.ops.reductions.unsorted_segments import unsorted_segment_sum
from tests.ops.gradient_checks import GPU, KNOWN, OPEN, check_gradient, gradients_of


def function_of(name):
    """Return an element-wise function of one operand by its name."""
    return next(getattr(m, name) for m in (unary, roots, sigmoid) if hasattr(m, name))


def real(*shape, low=-2.0, high=2.0, seed=0):
    """Make numbers that are no ties and lie on no kinks."""
    return np.random.default_rng(seed).uniform(low, high, shape)


def positive(*shape, seed=0):
    return real(*shape, low=0.5, seed=seed)


def complexes(*shape, seed=0):
    return real(*shape, low=0.3, seed=seed) + 1j * real(*shape, low=0.3, seed=seed + 1)


# --- every operation ------------------------------------------------------------------------


def test_every_operation_has_its_say():
    silent = sorted(name for name, op in CATALOGUE.items() if op.gradient is None)
    assert not silent, (
        f"neither @gradient nor NOT_DIFFERENTIABLE beside its definition: {', '.join(silent)}"
    )


# --- one operand ----------------------------------------------------------------------------

UNARY = {
    "negative": real(2, 3),
    "abs": real(2, 3),
    "square": real(2, 3),
    "sqrt": positive(2, 3),
    "rsqrt": positive(2, 3),
    "reciprocal": positive(2, 3),
    "exp": real(2, 3),
    "expm1": real(2, 3),
    "log": positive(2, 3),
    "log1p": positive(2, 3),
    "tanh": real(2, 3),
    "sin": real(2, 3),
    "cos": real(2, 3),
    "sigmoid": real(2, 3),
    "relu": real(2, 3),
    "sign": real(2, 3),
    "floor": real(2, 3),
    "ceil": real(2, 3),
    "round": real(2, 3),
}
COMPLEX = [
    "negative",
    "abs",
    "conj",
    "square",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "exp",
    "expm1",
    "log",
    "log1p",
    "tanh",
    "sin",
    "cos",
    "sigmoid",
]


@pytest.mark.parametrize("name", UNARY)
def test_one_operand_follows_differences(name):
    check_gradient(function_of(name), UNARY[name], order=2)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_operand_follows_differences(name):
    order = 1 if name == "abs" else 2  # TensorFlow's sign has no gradient to go on with
    check_gradient(function_of(name), complexes(3), order=order)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
@pytest.mark.parametrize("name", ["tanh", "relu", "sqrt", "square"])
def test_scalars_and_empty_arrays_pass(name, shape):
    check_gradient(function_of(name), positive(*shape), order=2)


# --- two operands ---------------------------------------------------------------------------

BINARY = {
    "add": (real, real),
    "subtract": (real, real),
    "multiply": (real, real),
    "truediv": (real, positive),
    "floordiv": (real, positive),
    "mod": (real, positive),
    "pow": (positive, real),
    "maximum": (real, real),
    "minimum": (real, real),
    "squared_difference": (real, real),
}
SHAPES = {
    "same": ((2, 3), (2, 3)),
    "scalar": ((2, 3), ()),
    "both stretched": ((2, 1), (1, 3)),
    "new axis": ((3,), (2, 3)),
    "empty": ((0, 3), (3,)),
}


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("name", BINARY)
def test_two_operands_follow_differences(name, shapes):
    x, y = (
        make(*shape, seed=seed)
        for seed, (make, shape) in enumerate(zip(BINARY[name], shapes, strict=True))
    )
    check_gradient(getattr(math, name), x, y, order=2)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "truediv", "pow"])
def test_complex_operands_follow_differences(name):
    check_gradient(getattr(math, name), complexes(2, 1), complexes(1, 3, seed=5), order=2)


@pytest.mark.parametrize("op", [add_n, lambda xs: math.clip_by_value(xs[0], -0.5, 0.5)])
def test_sums_and_clips_follow_differences(op):
    check_gradient(lambda x, y: op([x, y]), real(2, 3), real(2, 3, seed=1))


def test_ranks_may_be_unknown():
    def function(x, y):
        x, y = (placeholder_with_default(tensor, None) for tensor in (x, y))
        return reduction.reduce_sum(x * y, -1), reduction.reduce_mean(x - y)

    check_gradient(function, real(2, 3), real(3, seed=1), order=2)


# --- kinks and ends: the values of TensorFlow 2.21 ------------------------------------------

NAN, INF = float("nan"), float("inf")
KINKS = {
    "abs": (unary.abs, [[1.5, -2.5, 0.0]], [[1, -1, 0]]),
    "sign": (unary.sign, [[1.5, -2.5, 0.0]], [[0, 0, 0]]),
    "relu": (sigmoid.relu, [[1.5, -2.5, 0.0]], [[1, 0, 0]]),
    "maximum": (math.maximum, [[1.5, -2.5, 0.0], [1.5, 1, 0]], [[1, 0, 1], [0, 1, 0]]),
    "minimum": (math.minimum, [[1.5, -2.5, 0.0], [1.5, 1, 0]], [[1, 1, 1], [0, 0, 0]]),
    "mod": (math.mod, [[1.5, -2.5, 0.0], [2.0, -1, 3]], [[1, 1, 1], [0, -2, 0]]),
    "pow": (
        math.pow,
        [[0.0, -1, 2, 0], [0.0, 2, 3, 2]],
        [[NAN, -2, 12, 0], [0, 0, 5.545177444479562, 0]],
    ),
    "sqrt": (roots.sqrt, [[0.0]], [[INF]]),
    "rsqrt": (roots.rsqrt, [[0.0]], [[-INF]]),
    "nothing through a root": (lambda x: unary.square(roots.sqrt(x)), [[0.0]], [[0]]),
    "ties of a maximum": (reduction.reduce_max, [[2.0, 2, 1]], [[0.5, 0.5, 0]]),
    "ties of a minimum": (reduction.reduce_min, [[2.0, 1, 1, 1]], [[0, 1 / 3, 1 / 3, 1 / 3]]),
    "product with a zero": (reduction.reduce_prod, [[2.0, 0, 3]], [[0, 6, 0]]),
    "product with two zeros": (reduction.reduce_prod, [[0.0, 0, 3]], [[0, 0, 0]]),
    "complex size": (unary.abs, [[3 + 4j, 0]], [[0.6 + 0.8j, 0]]),
    "complex to real": (lambda x: cast(x, tf.float64), [[3 + 4j]], [[1]]),
}


@pytest.mark.parametrize(("function", "arrays", "expected"), KINKS.values(), ids=KINKS)
def test_kinks_are_as_in_tensorflow(function, arrays, expected):
    actual = gradients_of(function, *(np.array(array) for array in arrays))
    for grad, values in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(grad, np.array(values))


NONE = {
    "floor": unary.floor,
    "ceil": unary.ceil,
    "round": unary.round,
    "floordiv": lambda x: math.floordiv(x, 2.0),
    "to integers and back": lambda x: cast(cast(x, tf.int32), tf.float64),
    "stop_gradient": tf.stop_gradient,
    "zeros_like": lambda x: tf.zeros_like(x, optimize=False),
    "one_hot": lambda x: tf.one_hot([0, 1], 3, x[0], x[1]),
    "range": lambda x: tf.range(x[0], 3.0, dtype=tf.float64),
    "is_nan": lambda x: cast(unary.is_nan(x), tf.float64),
    "argmax": lambda x: cast(tf.argmax(x), tf.float64),
    "comparison": lambda x: cast(reduction.reduce_all(x > 1), tf.float64),
    "shape": lambda x: cast(metadata.shape(x), tf.float64),
}


@pytest.mark.parametrize("function", NONE.values(), ids=NONE)
def test_nothing_goes_back_as_in_tensorflow(function):
    assert gradients_of(function, np.array([1.5, 2.5])) == [None]


# --- backward halves ------------------------------------------------------------------------


@pytest.mark.parametrize("op", [relu_grad, reciprocal_grad])
def test_backward_halves_want_one_shape(op):
    with tf.Graph().as_default():
        assert op(tf.placeholder(tf.float32, [None, 3]), tf.zeros([2, 3])).shape == (2, 3)
        with pytest.raises(ValueError, match="must be equal"):
            op(tf.zeros([2]), tf.zeros([3]))


# --- conversions and choices ----------------------------------------------------------------


@pytest.mark.parametrize("dtype", [tf.float32, tf.complex128])
def test_casts_keep_gradients(dtype):
    weights = [np.array([1.0, 2.0]).astype(dtype.as_numpy_dtype)]
    [grad] = gradients_of(lambda x: cast(x, dtype), np.array([3.0, 4.0]), weights=weights)
    assert grad.dtype == np.float64
    assert grad.tolist() == [1, 2]


CONDITION = np.array([[True, False, True], [False, False, True]])


@pytest.mark.parametrize("condition", [CONDITION, CONDITION[:, 0], np.array(True)])
def test_where_chooses_gradients(condition):
    check_gradient(where, condition, real(2, 3), real(2, 3, seed=1), order=2)


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((3,), ()), ((2, 1), (1, 1))])
def test_where_v2_chooses_gradients(shapes):
    x, y = (real(*shape, seed=seed) for seed, shape in enumerate(shapes))
    check_gradient(where_v2, CONDITION, x, y, order=2)


# --- products of matrices -------------------------------------------------------------------

TURNS = [(False, False), (False, True), (True, False), (True, True)]


def factors(turns, make, before_a=(), before_b=()):
    a = make(*before_a, 2, 3, seed=1)
    b = make(*before_b, 3, 4, seed=2)
    return [
        np.swapaxes(array, -1, -2) if turned else array
        for array, turned in zip((a, b), turns, strict=True)
    ]


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("make", [real, complexes])
def test_matmul_follows_differences(turns, make):
    def function(a, b):
        return tf.matmul(a, b, *turns)

    check_gradient(function, *factors(turns, make), order=2)


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize(
    ("before_a", "before_b"), [((2,), (2,)), ((2, 1), (3,)), ((), (2,)), ((0,), (1,))]
)
def test_stacks_of_matrices_follow_differences(turns, before_a, before_b):
    def function(a, b):
        return tf.matmul(a, b, *turns)

    check_gradient(function, *factors(turns, real, before_a, before_b))


@pytest.mark.parametrize("turns", TURNS)
def test_adjoint_matrices_follow_differences(turns):
    def function(a, b):
        return tf.matmul(a, b, adjoint_a=turns[0], adjoint_b=turns[1])

    check_gradient(function, *factors(turns, complexes, (2,), (1,)), order=2)


# --- reductions -----------------------------------------------------------------------------

REDUCTIONS = ["reduce_sum", "reduce_mean", "reduce_prod", "reduce_max", "reduce_min"]
AXES = [None, 0, -1, [0, 2], [2, -2], []]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_follow_differences(name, axis, keepdims):
    def function(x):
        return getattr(reduction, name)(x, axis, keepdims)

    check_gradient(function, real(2, 3, 2), order=2 if axis == 0 else 1)


@pytest.mark.parametrize("name", REDUCTIONS[:3])
def test_complex_reductions_follow_differences(name):
    check_gradient(lambda x: getattr(reduction, name)(x, 0), complexes(2, 2), order=2)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_scalars_and_nothing_pass(name):
    check_gradient(getattr(reduction, name), real())
    check_gradient(lambda x: getattr(reduction, name)(x, 1), real(3, 0))
    check_gradient(lambda x: getattr(reduction, name)(x, 0), real(3, 0))


@pytest.mark.parametrize("zeros", [(), (0,), (0, 1), (0, 1, 2)])
def test_products_with_zeros_have_second_derivatives(zeros):
    x = positive(4)
    x[list(zeros)] = 0
    check_gradient(reduction.reduce_prod, x, order=2)
    check_gradient(lambda x: reduction.reduce_prod(x, 1, keepdims=True), np.stack([x, x + 1]))


def test_axes_may_be_tensors():
    def function(x, axes):
        return reduction.reduce_sum(x, axes), reduction.reduce_max(x, axes)

    check_gradient(function, real(2, 3, 2), np.array([2, 0], np.int32))


# --- shapes, joining, splitting -------------------------------------------------------------

MOVES = {
    "reshape": lambda x: tf.reshape(x, [3, -1]),
    "expand_dims": lambda x: tf.expand_dims(x, 1),
    "squeeze": lambda x: tf.squeeze(x[:1], 0),
    "identity": tf.identity,
    "placeholder_with_default": lambda x: placeholder_with_default(x, [None, 3, 2]),
    "fill": lambda x: tf.fill([2, 2], x[0, 1, 1]),
    "broadcast_to": lambda x: broadcast_to(x[:, :1], [4, 2, 3, 2]),
    "sum_like": lambda x: sum_like(x, x[:, :1]),
    "transpose": tf.transpose,
    "transpose by order": lambda x: tf.transpose(x, [2, 0, 1]),
    "transpose by negative order": lambda x: tf.transpose(x, [-1, 0, -2]),
    "tile": lambda x: tf.tile(x, [2, 1, 3]),
    "tile away": lambda x: tf.tile(x, [2, 0, 3]),
    "pad": lambda x: tf.pad(x, [[1, 2], [0, 0], [0, 1]]),
    "pad with a value": lambda x: tf.pad(x, [[1, 2], [0, 0], [0, 1]], constant_values=3.0),
    "slice": lambda x: slicing.slice(x, [0, 1, 0], [2, -1, 1]),
    "slice of nothing": lambda x: slicing.slice(x, [2, 0, 0], [0, 1, 1]),
    "concat": lambda x: tf.concat([x, x[:, :1], 2 * x], 1),
    "concat at the end": lambda x: tf.concat([x, x[:, :, :1]], -1),
    "concat of one": lambda x: tf.concat([x], 0),
    "stack": lambda x: tf.stack([x, x * x], 1),
    "stack at the end": lambda x: tf.stack([x, 3 * x], -1),
    "unstack": lambda x: tf.unstack(x, 3, 1),
    "unstack, one used": lambda x: tf.unstack(x, 2, -1)[0],
    "split": lambda x: tf.split(x, 2, 0),
    "split, one used": lambda x: tf.split(x, 2, -1)[1],
    "split by sizes": lambda x: tf.split(x, [1, 2], 1),
    "split with the rest": lambda x: tf.split(x, [1, -1], 1)[1],
}


@pytest.mark.parametrize("function", MOVES.values(), ids=MOVES)
def test_moves_follow_differences(function):
    check_gradient(function, real(2, 3, 2), order=2)


INDICES = {
    "one": np.s_[1],
    "two": np.s_[1, 2],
    "from the end": np.s_[-1, :, -2],
    "range": np.s_[:, 1:3],
    "steps": np.s_[:, ::2],
    "backwards": np.s_[::-1, 2:0:-1],
    "ellipsis": np.s_[..., 0],
    "new axis": np.s_[:, None, 1:, ..., None],
    "nothing": np.s_[1:1],
    "all": np.s_[...],
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_indexing_follows_differences(index):
    check_gradient(lambda x: x[index], real(2, 3, 2), order=2)


DYNAMIC = {
    "transpose": (tf.transpose, [2, 0, 1]),
    "transpose from the end": (tf.transpose, [-1, 0, -2]),
    "tile": (tf.tile, [2, 1, 3]),
    "reshape": (tf.reshape, [3, 4]),
    "pad": (lambda x, k: tf.pad(x, tf.reshape(k, [3, 2])), [1, 2, 0, 0, 0, 1]),
    "slice": (lambda x, k: slicing.slice(x, k, [1, 2, 1]), [1, 0, 1]),
    "index": (lambda x, k: x[k[0], : k[1]], [1, 2]),
    "concat": (lambda x, k: tf.concat([x, x + 1], k[0]), [1]),
    "split": (lambda x, k: tf.split(x, k, 1, num=2), [1, 2]),
    "broadcast_to": (broadcast_to, [2, 2, 3, 2]),
    "boolean_mask": (lambda x, k: tf.boolean_mask(x, k > 0), [0, 1]),
}


@pytest.mark.parametrize(("function", "numbers"), DYNAMIC.values(), ids=DYNAMIC)
def test_numbers_may_be_tensors(function, numbers):
    check_gradient(function, real(2, 3, 2), np.array(numbers, np.int32), order=2)


# --- rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize(
    "indices", [1, np.int32([1, 0, 1]), [[0, 1], [1, 1]], np.zeros([0], int)]
)
def test_gather_follows_differences(axis, indices):
    def function(x, k):
        return gather(x, k, axis=axis)

    check_gradient(function, real(2, 3, 2), np.array(indices), order=2)


@pytest.mark.parametrize(("batch_dims", "axis"), [(1, 1), (1, 2), (2, 2), (-1, 1)])
def test_gather_of_batches_follows_differences(batch_dims, axis):
    def function(x, k):
        return gather(x, k, axis=axis, batch_dims=batch_dims)

    indices = np.array([[0, 1, 1], [1, 0, 1]])
    check_gradient(function, real(2, 3, 2, 2)[:, :, :2], indices, order=2)


def test_unsorted_segments_follow_differences():
    def function(x, ids):
        return unsorted_segment_sum(x, ids, 3)

    check_gradient(function, real(4, 2), np.array([2, 0, 2, -1]), order=2)
    check_gradient(function, real(2, 2), np.array([[2, 0], [2, -1]]), order=2)


# --- programs -------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["/cpu:0", GPU])
@pytest.mark.parametrize("sizes", [KNOWN, OPEN])
def test_large_arrays_follow_their_formula(device, sizes):
    """Elementwise steps on large arrays are done in slices."""
    x = real(2**9, 2**9)

    def function(x):
        return sigmoid.relu(sigmoid.tanh(sigmoid.sigmoid(x) - 0.5))

    [grad] = gradients_of(function, x, device=device, sizes=sizes)
    y = 1 / (1 + np.exp(-x))
    inner = np.tanh(y - 0.5)
    expected = (inner > 0) * (1 - inner**2) * y * (1 - y)
    np.testing.assert_allclose(grad, expected, rtol=1e-9, atol=1e-12)


def test_a_network_follows_differences():
    def network(x, w, b, v):
        hidden = tf.tanh(tf.matmul(x, w) + b)
        scores = tf.matmul(hidden, v, transpose_b=True)
        largest = reduction.reduce_max(scores, 1, keepdims=True)
        spread = tf.exp(scores - largest)
        probabilities = spread / reduction.reduce_sum(spread, 1, keepdims=True)
        return -reduction.reduce_mean(tf.log(probabilities)[:, 0])

    shapes = [(4, 3), (3, 5), (5,), (2, 5)]
    check_gradient(
        network, *(real(*s, seed=k) for k, s in enumerate(shapes)), order=2, atol=1e-6
    )


def test_gradients_know_their_shapes():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3])
        tiled = tf.tile(x, tf.placeholder(tf.int32, [2]))
        [grad] = gradients(tiled, x)
        assert grad.shape.as_list() == [None, 3]
