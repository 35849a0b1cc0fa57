"""Concrete functions."""

from __future__ import annotations

import pytest

import berth as tf
from tests.functions.calls import FLOAT, VECTOR, counted, values

pytestmark = pytest.mark.usefixtures("eager")


def test_concrete_functions_take_specs():
    f, traces = counted()
    concrete = f.get_concrete_function(VECTOR)
    assert values(concrete(tf.constant([1.0, 2.0]))) == 0
    assert values(concrete(tf.constant([1.0]))) == 0
    assert len(traces) == 1
    assert traces[0].shape.as_list() == [None]


def test_concrete_functions_are_shared():
    f = tf.function(lambda x: x * 2.0)
    concrete = f.get_concrete_function(tf.constant(1.0))
    f(tf.constant(5.0))
    assert f.get_concrete_function(tf.constant(2.0)) is concrete
    assert f.experimental_get_tracing_count() == 1
    assert values(concrete(tf.constant(4.0))) == 8.0
    assert values(concrete(x=tf.constant(4.0))) == 8.0


def test_concrete_functions_bind_python_values():
    f = tf.function(lambda x, y: x * y)
    concrete = f.get_concrete_function(FLOAT, 3)
    assert values(concrete(tf.constant(2.0))) == 6.0
    with pytest.raises(TypeError):
        concrete(tf.constant(2.0), 4)
    with pytest.raises(TypeError):
        concrete()


def test_concrete_functions_know_their_tensors():
    f = tf.function(lambda x: {"r": x * 2.0})
    concrete = f.get_concrete_function(VECTOR)
    assert [x.shape.as_list() for x in concrete.inputs] == [[None]]
    assert [y.dtype for y in concrete.outputs] == [tf.float32]
    assert list(concrete.structured_outputs) == ["r"]


def test_concrete_functions_take_names_in_any_order():
    f = tf.function(lambda x, y, z=2.0: x - y * z)
    concrete = f.get_concrete_function(FLOAT, FLOAT)
    one, three = tf.constant(1.0), tf.constant(3.0)
    assert values(concrete(y=one, x=three)) == 1.0
    assert values(concrete(three, y=one)) == 1.0
    assert values(concrete(three, one, 2.0)) == 1.0
    with pytest.raises(TypeError, match=r"Can not cast 5\.0 to Literal\[2\.0\]"):
        concrete(three, one, 5.0)


def test_signed_functions_need_no_arguments():
    f = tf.function(lambda x: x * 2.0, input_signature=[VECTOR])
    assert values(f.get_concrete_function()(tf.constant([1.0]))) == [2.0]


def test_concrete_functions_check_dtypes():
    concrete = tf.function(lambda x: x * 2.0).get_concrete_function(FLOAT)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="was expected to be a float tensor but is a int32 tensor",
    ):
        concrete(tf.constant(1))


def test_concrete_functions_know_their_variables():
    v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="w", trainable=False)
    concrete = tf.function(lambda x: x * v * w).get_concrete_function(FLOAT)
    assert sorted(variable.name for variable in concrete.variables) == ["v:0", "w:0"]
    assert [variable.name for variable in concrete.trainable_variables] == ["v:0"]


def test_concrete_functions_know_their_arguments():
    concrete = tf.function(lambda x: x * 2.0).get_concrete_function(VECTOR)
    arguments, named = concrete.structured_input_signature
    assert (arguments[0].shape.as_list(), arguments[0].dtype, named) == ([None], tf.float32, {})
    f = tf.function(lambda d, n, *, k: d["a"])
    concrete = f.get_concrete_function({"a": FLOAT, "b": [VECTOR, 2]}, 7, k=FLOAT)
    assert repr(concrete.structured_input_signature) == (
        "(({'a': TensorSpec(shape=(), dtype=tf.float32, name='d_a'), 'b': "
        "[TensorSpec(shape=(None,), dtype=tf.float32, name='d_b_0'), 2]}, 7), "
        "{'k': TensorSpec(shape=(), dtype=tf.float32, name='k')})"
    )
