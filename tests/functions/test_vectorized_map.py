"""tf.vectorized_map and tf.recompute_grad, compared with TensorFlow 2.21."""

from __future__ import annotations

import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")
CALLS = {
    "one tensor": (lambda: tf.vectorized_map(lambda x: x * 2, tf.constant([[1, 2]])), [[2, 4]]),
    "another structure": (
        lambda: tf.vectorized_map(lambda x: {"a": x}, tf.constant([1, 2]))["a"],
        [1, 2],
    ),
    "another type": (
        lambda: tf.vectorized_map(lambda x: tf.cast(x, tf.int32), tf.constant([1.5, 2.5])),
        [1, 2],
    ),
    "one element for all": (
        lambda: tf.vectorized_map(lambda x: x[0] + x[1], (tf.constant([1, 2]), tf.constant([10]))),
        [11, 12],
    ),
    "other rank": (
        lambda: tf.vectorized_map(tf.reduce_sum, tf.constant([[1, 2], [3, 4]])),
        [3, 7],
    ),
}  # fmt: skip


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(("call", "expected"), CALLS.values(), ids=CALLS)
def test_function_is_applied_to_each_element(call, expected, traced):
    assert (tf.function(call) if traced else call)().numpy().tolist() == expected


@pytest.mark.parametrize("traced", [False, True])
def test_gradient_computes_the_function_again(traced):
    calls = []
    weight = tf.Variable(2.0)

    @tf.recompute_grad
    def f(x, factor=1.0):
        calls.append(x)
        return tf.exp(weight * x) * factor, x

    def gradients(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            first, second = f(x, factor=3.0)
            y = first + second
        return tape.gradient(y, [x, weight])

    found = (tf.function(gradients) if traced else gradients)(tf.constant(0.5))
    assert [round(float(grad), 4) for grad in found] == [17.3097, 4.0774]
    assert len(calls) == 2
