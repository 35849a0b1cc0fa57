"""Finding operations of a graph: by name, and by what they take."""

import pytest

import berth.compat.v1 as tf


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_consumers_are_those_that_take_a_tensor(graph):
    x = tf.placeholder(tf.float32, [])
    assert x.consumers() == []
    twice, once = tf.add(x, x), tf.negative(x)
    assert x.consumers() == [twice.op, twice.op, once.op]
    later = tf.exp(x)
    assert x.consumers() == [twice.op, twice.op, once.op, later.op]
    assert later.consumers() == []


def test_failed_operations_consume_nothing(graph):
    x = tf.placeholder(tf.float32, [2])
    before = x.consumers()
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        tf.add(x, [1.0, 2.0, 3.0])
    assert x.consumers() == before
    after = tf.add(x, [1.0, 2.0])
    assert x.consumers() == [after.op]


def test_marks_of_one_line_are_one_object(graph):
    made = [tf.constant(1.0) for _ in range(3)]
    assert len({id(tensor.op.where) for tensor in made}) == 1
    assert made[0].op.where.file == __file__
    other = tf.constant(1.0)
    assert other.op.where.line == made[0].op.where.line + 3
