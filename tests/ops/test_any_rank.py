"""What is computed along an axis of tensors whose rank is known in the run only."""

from __future__ import annotations

import numpy as np
import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")

A = np.random.default_rng(3).standard_normal((2, 3, 4)).astype(np.float32)
B = np.random.default_rng(4).uniform(0, 1, (2, 3, 4)).astype(np.float32)
CALLS = [
    ("tf.sort(x, axis=1)", (A,)),
    ("tf.argsort(x, axis=0, direction='DESCENDING')", (A,)),
    ("tf.sort(x, axis=-2)", (A,)),
    ("tf.nn.softmax(x, axis=0)", (A,)),
    ("tf.nn.log_softmax(x, axis=-2)", (A,)),
    ("tf.nn.softmax_cross_entropy_with_logits(y, x, axis=1)", (A, B)),
    ("tf.repeat(x, 2, axis=1)", (A,)),
    ("tf.repeat(x, [1, 0, 2], axis=-2)", (A,)),
    ("tf.linspace(x, y, 5)", (A, B)),
    ("tf.linspace(x, y, 5, axis=1)", (A, B)),
    ("tf.linspace(x, y, 5, axis=-1)", (A, B)),
    ("tf.linspace(x, y, 5, axis=-2)", (A, B)),
    ("tf.linspace(x, y, 3)", (np.float32(1), np.float32(2))),
    ("tf.tensordot(x, y, [[2, 1], [-1, 1]])", (A, B)),
    ("tf.tensordot(x, y, [0, 0])", (A, B)),
    ("tf.einsum('ijk->ik', x)", (A,)),
]


def evaluate(call, *tensors):
    return eval(call, {"tf": tf, **dict(zip("xy", tensors, strict=False))})


@pytest.mark.parametrize(("call", "arrays"), CALLS)
def test_unknown_ranks_change_nothing(call, arrays):
    tensors = [tf.constant(array) for array in arrays]
    signature = [tf.TensorSpec(None, tensor.dtype) for tensor in tensors]
    traced = tf.function(lambda *inner: evaluate(call, *inner), input_signature=signature)
    expected, actual = evaluate(call, *tensors).numpy(), traced(*tensors).numpy()
    np.testing.assert_allclose(actual, expected, rtol=1e-5)
    assert actual.dtype == expected.dtype


def test_wrong_ranks_are_found_in_the_run():
    traced = tf.function(
        lambda x: tf.einsum("ijk->ik", x), input_signature=[tf.TensorSpec(None, tf.float32)]
    )
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        traced(tf.ones([2, 3]))
    message = "Shape of tensor input [2,3] is not compatible with expected shape [?,?,?]."
    assert str(caught.value).splitlines()[0] == message
