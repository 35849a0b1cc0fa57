"""What a `tf.function` returns."""

from __future__ import annotations

import numpy as np
import pytest

import berth as tf
from tests.functions.calls import Point, values

pytestmark = pytest.mark.usefixtures("eager")

RESULTS = {
    "nothing": (lambda x: None, None),
    "itself": (lambda x: x, 2.0),
    "twice": (lambda x: (x, x), (2.0, 2.0)),
    "dict": (
        lambda x: {"b": x + 1.0, "a": [x, (x * 2.0,)], "c": None},
        {"b": 3.0, "a": [2.0, (4.0,)], "c": None},
    ),
    "namedtuple": (lambda x: Point(x, -x), Point(2.0, -2.0)),
    "empty": (lambda x: [(), {}], [(), {}]),
    "numbers": (lambda x: (x, 3.5, True, 7, [1]), (2.0, 3.5, True, 7, [1])),
    "word": (lambda x: "s", b"s"),
    "array": (lambda x: np.array([1, 2]), [1, 2]),
    "constant": (lambda x: tf.constant([1, 2]), [1, 2]),
    "shape": (lambda x: x.shape.rank, 0),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_results_keep_their_structure(kind):
    compute, expected = RESULTS[kind]
    result = tf.function(compute)(tf.constant(2.0))
    if kind == "word":
        assert result.numpy() == expected
    else:
        assert values(result) == expected


def test_results_are_eager_tensors():
    x = tf.constant(3.0)
    result = tf.function(lambda x: x)(x)
    assert result is not x
    assert values(result + 1.0) == 4.0
    assert values(tf.function(lambda: x)()) == 3.0


def test_returned_variables_are_their_values():
    v = tf.Variable(3.0)
    f = tf.function(lambda: v)
    read = f()
    v.assign(5.0)
    assert not isinstance(read, tf.Variable)
    assert values([read, f()]) == [3.0, 5.0]
    assert values(tf.function(lambda: v.assign_add(1.0))()) == 6.0


@pytest.mark.parametrize(
    "thing", [object(), tf.float32, abs], ids=["object", "dtype", "callable"]
)
def test_other_results_are_refused(thing):
    with pytest.raises(
        TypeError,
        match=r"^To be compatible with tf\.function, Python functions must return zero or more Tensors",
    ):
        tf.function(lambda: thing)()


@pytest.mark.parametrize("value", [tf.zeros, tf.ones], ids=["zeros", "ones"])
def test_empty_tensors_pass_through(value):
    f = tf.function(lambda x: (x + 1.0, tf.reduce_sum(x)))
    assert values(f(value([0, 3]))) == ([], 0.0)


def test_shapes_known_only_when_run():
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
    def f(x):
        return tf.shape(x), tf.zeros([tf.shape(x)[1]]), tf.reshape(x, [-1])

    assert values(f(tf.ones([2, 3]))) == ([2, 3], [0.0] * 3, [1.0] * 6)
    assert values(f(tf.ones([0, 1]))) == ([0, 1], [0.0], [])


def test_strings_pass_through():
    assert tf.function(lambda x: x)(tf.constant(["a", "bc"])).numpy().tolist() == [b"a", b"bc"]
