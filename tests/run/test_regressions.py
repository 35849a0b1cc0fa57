"""Small programs that once went wrong."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import berth.compat.v1 as tf


@pytest.fixture(autouse=True)
def _machine(sim):
    sim("2xT4")
    with tf.Graph().as_default():
        yield


def test_random_numbers_find_their_kernel():
    with tf.Session() as session:
        assert session.run(tf.random_uniform([3])).shape == (3,)


def test_texts_stay_off_gpus():
    with tf.Session() as session:
        filled = session.run(
            tf.fill([2], tf.placeholder(tf.string, [], name="s")), {"s:0": "a"}
        )
    assert filled.tolist() == [b"a", b"a"]


def test_texts_keep_their_last_zeros():
    with tf.Session() as session:
        assert session.run(tf.constant("ab\0")) == b"ab\0"


def test_failure_beforehand_names_its_operation():
    with tf.device("/cpu:0"):
        quotient = tf.constant(1) // tf.constant(0)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as raised:
        session.run(quotient)
    assert raised.value.op is quotient.op


def test_uninitialized_variable_does_not_cross():
    with tf.device("/gpu:0"):
        variable = tf.Variable(1.0, name="v")
    with tf.device("/gpu:1"):
        read = variable.read_value()
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError):
        session.run(read)


@pytest.mark.parametrize("size", [2, 50_000])
def test_fed_variable_cannot_be_written(size):
    variable, mine = tf.Variable(np.zeros(size, np.float32)), np.zeros(size, np.float32)
    with tf.Session() as session:
        session.run(variable.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="incompatible with expected"):
            session.run(variable.assign_add(np.ones(size)), {variable: mine})
    assert not mine.any()


def test_threads_draw_different_numbers():
    number = tf.random_uniform([], 0, 2**31 - 1, dtype=tf.int32)
    drawn: list[int] = []
    with tf.Session() as session:

        def work():
            drawn.extend(int(session.run(number)) for _ in range(100))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert len(drawn) == 400
    assert len(set(drawn)) > 395  # of 2^31, by chance two may be alike


def test_returned_list_is_the_callers():
    parts = tf.unstack(tf.placeholder(tf.float32, [2], name="x"))
    total = parts[0] + parts[1]
    parts.clear()
    with tf.Session() as session:
        assert session.run(total, {"x:0": [1, 2]}) == 3


def test_name_scopes_are_the_threads():
    entered, may_leave = threading.Event(), threading.Event()
    graph = tf.get_default_graph()

    def work():
        with graph.as_default(), tf.name_scope("other"):
            entered.set()
            may_leave.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait(60)
    name = tf.constant(1.0).name
    may_leave.set()
    thread.join(60)
    assert (name, graph.get_name_scope()) == ("Const:0", "")


def test_interrupted_placement_is_done_again(monkeypatch):
    from berth.run import planner

    first = tf.constant(1.0)
    with tf.Session() as session:
        session.run(first)
        second = first + 1.0

        def interrupt(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(planner, "place", interrupt)
            with pytest.raises(KeyboardInterrupt):
                session.run(second)
        assert session.run(second) == 2


def test_many_shapes_keep_little_memory():
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/gpu:0"):
        y = tf.reduce_sum(tf.square(x))
    with tf.Session() as session:
        for size in range(1_000, 61_000, 1_000):
            session.run(y, {x: np.ones(size)})
        arena = session._engine.devices[1].arena
        assert arena.stats.in_use_bytes < 20 * 2 * 4 * 61_000


def test_one_error_is_raised_once():
    divisor = tf.placeholder(tf.int32, [])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as raised:
        session.run(tf.floordiv(1, divisor), {divisor: 0})
    assert raised.value.__cause__ is None
    assert str(raised.value).count("[[node") == 1


def test_operations_go_to_the_graph_of_their_inputs():
    variable = tf.Variable(1.0)
    with tf.Graph().as_default():
        write = variable.assign_add(1.0)
        total = variable + 1.0
    assert write.graph is total.graph is variable.graph


def test_sizes_have_values():
    shape = tf.placeholder(tf.float32, [None, 3]).get_shape()
    assert (shape[0].value, shape[1].value, shape.as_list()) == (None, 3, [None, 3])
    assert [size.value for size in shape.dims] == [None, 3]


def test_references_can_be_written_through():
    variable = tf.Variable(1.0)
    both = tf.assign_add(tf.assign(variable, 5.0), 2.0, use_locking=True)
    with tf.Session() as session:
        assert session.run(both) == 7
