"""bfloat16 and float8, by the package ml_dtypes. The values are TensorFlow 2.21's."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")


@pytest.fixture
def ml_dtypes():
    return pytest.importorskip("ml_dtypes")


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert tf.bfloat16.name == "bfloat16"
    assert (tf.bfloat16.is_floating, tf.bfloat16.size) == (True, 2)
    with pytest.raises(ImportError) as raised:
        tf.constant(1.0, tf.bfloat16)
    assert str(raised.value) == "tf.bfloat16 needs the package ml_dtypes: pip install ml_dtypes"


def values(tensor):
    return np.asarray(tensor, np.float32).tolist()


X = [[1.5, 2.25], [3.0, 4.0]]
EXPRESSIONS = {
    "add": (lambda x: x + 1, [[2.5, 3.25], [4, 5]]),
    "matmul": (lambda x: tf.matmul(x, x), [[9, 12.375], [16.5, 22.75]]),
    "sum": (tf.reduce_sum, 10.75),
    "exp": (tf.exp, [[4.46875, 9.5], [20.125, 54.5]]),
    "softmax": (tf.nn.softmax, [[0.3203125, 0.6796875], [0.26953125, 0.73046875]]),
    "slice": (lambda x: x[:, 1:], [[2.25], [4]]),
    "diag": (lambda x: tf.linalg.diag(x[0]), [[1.5, 0], [0, 2.25]]),
    "concat": (lambda x: tf.concat([x, x], 0), [*X, *X]),
    "gather": (lambda x: tf.gather(x, [1, 0]), X[::-1]),
    "divide": (lambda x: x / 3, [[0.5, 0.75], [1, 1.3359375]]),
    "one_hot": (lambda x: tf.one_hot([1], 2, dtype=tf.bfloat16), [[0, 1]]),
    "uniform": (
        lambda x: tf.random.stateless_uniform([4], [1, 2], dtype=tf.bfloat16),
        [0.34375, 0.8828125, 0.484375, 0.1484375],
    ),
    "normal": (
        lambda x: tf.random.stateless_normal([4], [1, 2], dtype=tf.bfloat16),
        [0.54296875, 0.20703125, 0.07373046875, 0.04638671875],
    ),
}


@pytest.mark.usefixtures("ml_dtypes")
@pytest.mark.parametrize("machine", [None, "1xT4"])
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(("compute", "expected"), EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_operations_compute_in_float32_and_round(sim, machine, traced, compute, expected):
    sim(machine)
    result = (tf.function(compute) if traced else compute)(tf.constant(X, tf.bfloat16))
    assert result.dtype is tf.bfloat16
    assert values(result) == expected


@pytest.mark.usefixtures("ml_dtypes")
def test_variables_and_gradients_are_bfloat16():
    variable = tf.Variable(X, dtype=tf.bfloat16)
    variable.assign_add(tf.constant(X, tf.bfloat16))
    assert values(variable) == [[3, 4.5], [6, 8]]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(variable * variable)
    grad = tape.gradient(loss, variable)
    assert grad.dtype is tf.bfloat16
    assert values(grad) == [[6, 9], [12, 16]]


@pytest.mark.usefixtures("ml_dtypes")
def test_large_arrays_are_not_fused_in_bfloat16():
    @tf.function
    def chain(x):
        return tf.exp(x * 2) + 1

    x = tf.cast(tf.fill([2**17], 0.5), tf.bfloat16)
    assert set(values(chain(x))) == {3.71875}


def test_types_are_found_by_name_and_numpy(ml_dtypes):
    for name in ("bfloat16", "float8_e5m2", "float8_e4m3fn"):
        dtype = tf.as_dtype(name)
        assert tf.as_dtype(getattr(ml_dtypes, name)) is dtype
        assert tf.constant(np.ones(2, dtype.as_numpy_dtype)).dtype is dtype
    assert tf.as_dtype("bfloat16") is tf.bfloat16
    assert tf.bfloat16.as_datatype_enum == 14
    assert float(tf.bfloat16.max) == 3.3895313892515355e38


@pytest.mark.usefixtures("ml_dtypes")
def test_float8_is_cast():
    rounded = tf.cast([1.1, 300.0], "float8_e4m3fn")
    assert values(tf.cast(rounded, tf.float32)) == [1.125, 288]
    assert values(tf.cast(tf.cast([1.1, 300.0], "float8_e5m2"), tf.float32)) == [1, 320]


@pytest.mark.usefixtures("ml_dtypes")
def test_bytes_are_kept_by_bitcast():
    x = tf.constant([1.5, 2.25], tf.bfloat16)
    assert tf.bitcast(x, tf.uint16).numpy().tolist() == [16320, 16400]
