"""Direct executions: later calls of an operation, without binding its kernel."""

from functools import partial

import numpy as np
import pytest

import berth as tf
from berth.dtypes import float32
from berth.eager.direct import DirectExecution, direct_execution
from berth.eager.mode import eager_builder
from berth.ops.arrays.transpose import TRANSPOSE
from berth.ops.elementwise.arithmetic import ADD
from berth.ops.nn.activations import LEAKY_RELU

pytestmark = pytest.mark.usefixtures("eager")
X = np.arange(6, dtype=np.float32).reshape(2, 3)
CALLS = {
    "tf.reduce_sum(x)": lambda x: x.sum(),
    "tf.reduce_sum(x, 1)": lambda x: x.sum(1),
    "tf.reduce_sum(x, [0], keepdims=True)": lambda x: x.sum(0, keepdims=True),
    "tf.reduce_mean(x, 0)": lambda x: x.mean(0),
    "tf.reduce_mean(x, keepdims=True)": lambda x: x.mean(keepdims=True),
    "tf.reduce_max(x, -1)": lambda x: x.max(-1),
    "tf.reduce_all(x > 3, 0)": lambda x: (x > 3).all(0),
    "tf.reduce_any(x > 3, 1, keepdims=True)": lambda x: (x > 3).any(1, keepdims=True),
    "tf.transpose(x)": lambda x: x.T,
    "tf.transpose(x, [1, 0])": lambda x: x.T,
    "tf.reshape(x, [3, -1])": lambda x: x.reshape(3, 2),
    "tf.expand_dims(x, 1)": lambda x: x[:, None],
    "tf.argmax(x, 1)": lambda x: x.argmax(1),
    "tf.cast(x, tf.int32)": lambda x: x.astype(np.int32),
    "tf.matmul(x, x, transpose_b=True)": lambda x: x @ x.T,
    "tf.maximum(x, 2.0)": lambda x: np.maximum(x, 2),
    "x[1]": lambda x: x[1],
}


@pytest.mark.parametrize("text", CALLS)
def test_each_call_computes_its_own_inputs(text):
    for factor in (1, -1, 2, -3):
        given = X * factor
        value = eval(text, {"tf": tf, "x": tf.constant(given)})
        assert value.numpy().tolist() == CALLS[text](given).tolist()


def test_results_are_separate_arrays():
    x = tf.constant(X)
    first, second = tf.reduce_sum(x, 0), tf.reduce_sum(x, 0)
    third = tf.reduce_sum(x, 0)
    assert not np.shares_memory(second.array, third.array)
    assert not np.shares_memory(first.array, second.array)


def test_reshaped_variable_keeps_its_value():
    v = tf.Variable(X)
    views = [tf.reshape(v, [6]) for _ in range(3)]
    v.assign_add(tf.ones_like(v))
    assert all(view.numpy().tolist() == X.reshape(-1).tolist() for view in views)


def test_equal_attributes_may_differ():
    x = tf.constant([-1.0])
    slopes = [0.0, -0.0, 0.0, -0.0]
    values = [tf.nn.leaky_relu(x, alpha=slope).numpy() for slope in slopes]
    assert np.signbit(values).reshape(-1).tolist() == [True, False, True, False]


# --- what may be kept ---------------------------------------------------------------------


def _made(op, call, arrays, attrs=None, dtype=float32):
    """Make a direct execution of a call, if it may be one."""
    device = eager_builder().placer.host
    output = (dtype, arrays[-1].shape)
    return direct_execution(op, attrs or {}, call, arrays, device, output)


def _copy(x, out):
    out[...] = x


def _arrays():
    return [np.ones(2, np.float32), np.ones(2, np.float32), np.empty(2, np.float32)]


def test_functions_of_the_arrays_are_kept():
    x, y, out = arrays = _arrays()
    assert isinstance(_made(ADD, (np.add, (x, y, out)), arrays), DirectExecution)
    assert isinstance(_made(ADD, (np.add, (y, x, out)), arrays), DirectExecution)
    assert isinstance(_made(ADD, (_copy, (x, out)), arrays), DirectExecution)
    assert isinstance(_made(ADD, (x.sum, (0, None, out)), arrays), DirectExecution)


def test_other_arrays_are_not_kept():
    x, y, out = arrays = _arrays()
    other = np.ones(2, np.float32)
    assert _made(ADD, (np.add, (x, other, out)), arrays) is None
    assert _made(ADD, (np.add, (x, y[::-1], out)), arrays) is None
    assert _made(ADD, (_copy, ((x, other), out)), arrays) is None
    assert _made(ADD, (other.sum, (0, None, out)), arrays) is None
    assert _made(ADD, (partial(_copy, other), (x, out)), arrays) is None
    assert _made(ADD, (lambda a, b: np.add(a, other, b), (x, out)), arrays) is None


def test_functions_of_numbers_are_not_kept():
    x, _, out = _arrays()
    call = (lambda a, b: np.multiply(a, 0.5, b), (x, out))
    assert _made(LEAKY_RELU, call, [x, out], {"alpha": 0.5}) is None


def _turn(x, perm, out):
    out[...] = x.transpose(perm)


def test_values_of_host_inputs_are_constants():
    x, perm, out = np.ones((1, 2), np.float32), np.array([1, 0]), np.empty((2, 1), np.float32)
    made = _made(TRANSPOSE, (_turn, (x, perm, out)), [x, perm, out])
    [turned] = made.run([tf.constant([[3.0, 4.0]]), tf.constant([0, 1])], {})
    assert turned.numpy().tolist() == [[3.0], [4.0]]


def test_fixed_attributes_are_distinguished():
    x = tf.constant(X)
    for _ in range(3):
        assert tf.matmul(x, x, transpose_b=True).shape == (2, 2)
        assert tf.matmul(x, x, transpose_a=True).shape == (3, 3)
        assert tf.reduce_sum(x, 0, keepdims=True).shape == (1, 3)
        assert tf.reduce_sum(x, 0).shape == (3,)


def test_floating_point_errors_are_reported_again_afterwards():
    zero = tf.constant([0.0])
    with np.errstate(divide="raise"):
        for _ in range(3):
            assert np.isinf(tf.math.reciprocal(zero).numpy())
        with pytest.raises(FloatingPointError):
            np.divide(1.0, np.zeros(1))
