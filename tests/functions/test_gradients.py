"""Gradients of functions, and tapes inside of them."""

from __future__ import annotations

import numpy as np
import pytest

import berth as tf
from tests.functions.calls import values

pytestmark = pytest.mark.usefixtures("eager")


def test_tapes_outside():
    v = tf.Variable(3.0)
    f = tf.function(lambda x: x * v * v)
    x = tf.constant(2.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
            z = y * 2.0
        assert values(tape.gradient(z, [x, v])) == [18.0, 24.0]


def test_tapes_inside():
    v = tf.Variable(3.0)

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * v * v
        return tape.gradient(y, [x, v])

    assert values(f(tf.constant(2.0))) == [9.0, 12.0]


def test_tapes_inside_give_none():
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            y = x * x
        return tape.gradient(y, x)

    assert f(tf.constant(2.0)) is None


def test_tapes_inside_and_outside():
    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.gradient(y, x)

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = slope(x)
    assert values([y, tape.gradient(y, x)]) == [12.0, 12.0]


def test_higher_orders_through_functions():
    f = tf.function(lambda x: x**4)
    x = tf.constant(2.0)
    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                y = f(x)
            g = first.gradient(y, x)
        h = second.gradient(g, x)
    assert values([g, h, third.gradient(h, x)]) == [32.0, 48.0, 48.0]


def test_higher_orders_inside_functions():
    v = tf.Variable(3.0)

    @tf.function
    def f():
        with tf.GradientTape() as second:
            with tf.GradientTape() as first:
                y = v**3
            g = first.gradient(y, v)
        return g, second.gradient(g, v)

    assert values(f()) == (27.0, 18.0)


def test_gradients_through_nested_functions():
    g = tf.function(lambda x: x * x)
    f = tf.function(lambda x: g(g(x)))
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert values([y, tape.gradient(y, x)]) == [16.0, 32.0]


def test_gradients_of_captured_tensors():
    scale, x = tf.constant(3.0), tf.constant(2.0)
    f = tf.function(lambda x: x * scale * scale)
    with tf.GradientTape() as tape:
        tape.watch([scale, x])
        y = f(x)
    assert values(tape.gradient(y, [scale, x])) == [12.0, 9.0]


def test_gradients_of_several_results():
    f = tf.function(lambda x: {"a": x * x, "b": x * 3.0})
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        d = f(x)
    assert values([tape.gradient(d["a"], x), tape.gradient(d["b"], x)]) == [4.0, 3.0]
    assert values(tape.gradient([d["a"], d["b"]], x)) == 7.0


def test_unused_arguments_have_no_gradient():
    f = tf.function(lambda a, b: a * 2.0)
    a, b = tf.constant(1.0), tf.constant([1.0, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        y = f(a, b)
    assert values(tape.gradient(y, [a, b])) == [2.0, None]
    assert values(tape.gradient(y, [a, b], unconnected_gradients="zero")) == [2.0, [0.0, 0.0]]


@pytest.mark.parametrize("size", [1, 3, 0])
def test_gradients_of_unknown_shapes(size):
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def f(x):
        return tf.reduce_sum(x * x, 0)

    x = tf.ones([size, 2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert values(tape.gradient(y, x)) == [[2.0, 2.0]] * size


def test_jacobians_and_functions():
    f = tf.function(lambda x: x * x)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert values(tape.jacobian(y, x)) == [[2.0, 0.0], [0.0, 4.0]]

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.jacobian(y, x)

    assert values(inside(x)) == [[2.0, 0.0], [0.0, 4.0]]


def test_gradients_see_the_values_of_the_call():
    v = tf.Variable(3.0)
    f = tf.function(lambda: v * v)
    with tf.GradientTape() as tape:
        y = f()
        v.assign(100.0)
    assert values(tape.gradient(y, v)) == 6.0


def test_gradients_after_writes():
    v = tf.Variable(1.0)

    @tf.function
    def f():
        v.assign_add(1.0)
        return v * v

    with tf.GradientTape() as tape:
        y = f()
        z = y + v * v
    assert values(tape.gradient(z, v)) == 8.0


def test_sparse_gradients_leave_functions():
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    @tf.function
    def f(rows):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, rows))
        return tape.gradient(y, table)

    gradient = f(tf.constant([0, 2, 0]))
    assert isinstance(gradient, tf.IndexedSlices)
    assert values(gradient.indices) == [0, 2, 0]


def test_sparse_gradients_pass_through_functions():
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    f = tf.function(lambda rows: tf.reduce_sum(tf.gather(table, rows)))
    with tf.GradientTape() as tape:
        y = f(tf.constant([0, 2, 0]))
    assert isinstance(tape.gradient(y, table), tf.IndexedSlices)


def test_training_steps_are_functions():
    v = tf.Variable(2.0)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = (v - 5.0) ** 2
        v.assign_sub(0.1 * tape.gradient(loss, v))
        return loss

    losses = [float(step()) for _ in range(4)]
    np.testing.assert_allclose(losses, [9.0, 5.76, 3.6864, 2.359296], rtol=1e-6)
    np.testing.assert_allclose(float(v), 3.7712, rtol=1e-6)


def test_numpy_functions_run_every_time():
    runs = []

    def double(array):
        runs.append(array)
        return array + array  # times 2 would be a float64 in NumPy 1

    f = tf.function(lambda x: tf.numpy_function(double, [x], tf.float32))
    assert values([f(tf.constant(1.0)), f(tf.constant(2.0))]) == [2.0, 4.0]
    assert len(runs) == 2
