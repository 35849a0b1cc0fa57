"""tf.raw_ops: errors of calls are TensorFlow's; values are in tests/ops/expressions/raw.txt."""

from __future__ import annotations

import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tf.raw_ops.Bucketize([1.0], [2.0]),
            "bucketize only takes keyword args (possible keys: ['input', 'boundaries', 'name'])."
            " Please pass these args as kwargs instead.",
        ),
        (
            lambda: tf.raw_ops.Bucketize(input=[1.0]),
            "bucketize() missing 1 required positional argument: 'boundaries'",
        ),
        (
            lambda: tf.raw_ops.Bucketize(input=[1.0], boundaries=[2.0], foo=3),
            "bucketize() got an unexpected keyword argument 'foo'",
        ),
        (
            lambda: tf.raw_ops.MatMul(a=[[1.0]]),
            "mat_mul() missing 1 required positional argument: 'b'",
        ),
    ],
)
def test_calls_are_checked(call, message):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message


def test_operations_by_their_names():
    raw = tf.raw_ops
    assert raw.MatMul(a=[[1.0]], b=[[2.0]]).numpy().tolist() == [[2.0]]
    assert raw.Cast(x=[1, 2], DstT=tf.float32).dtype is tf.float32
    assert raw.ArgMax(input=[1, 2], dimension=0).numpy() == 1
    assert raw.Pack(values=[[1], [2]]).numpy().tolist() == [[1], [2]]
    different, which = raw.UniqueV2(x=[4, 4, 5], axis=[0])
    assert (different.numpy().tolist(), which.numpy().tolist()) == ([4, 5], [0, 0, 1])
    assert "MatMul" in dir(raw)
    with pytest.raises(AttributeError, match="has no attribute 'Foo'"):
        _ = raw.Foo
