"""Iterators of TensorFlow 1: in sessions, with their errors."""

from __future__ import annotations

import gc
import time

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.data.test_dataset_threads import wait_for_no_threads

D = tf.data.Dataset
END = "End of sequence"


def read(session, iterator):
    """Read an iterator to its end."""
    following, found = iterator.get_next(), []
    try:
        while True:
            found.append(int(session.run(following)))
    except tf.errors.OutOfRangeError as error:
        assert error.message.startswith(END)  # noqa: PT017
    return found


@pytest.fixture
def session(sim):
    tf.reset_default_graph()
    tf.set_random_seed(5)
    with tf.Session() as session:
        yield session


def test_one_shot_iterators_need_no_initialization(session):
    iterator = D.range(6).shuffle(4, seed=1).repeat(3).make_one_shot_iterator()
    following = iterator.get_next()
    assert (following.op.type, following.name) == ("IteratorGetNext", "IteratorGetNext:0")
    # What TensorFlow gives.
    assert read(session, iterator) == [0, 4, 3, 5, 1, 2, 2, 3, 0, 4, 5, 1, 1, 3, 4, 5, 0, 2]
    with pytest.raises(ValueError, match="The iterator does not have an initializer"):
        _ = iterator.initializer


def test_datasets_without_own_seeds_take_the_graph_s_in_turn(session):
    first = D.range(6).shuffle(4).make_one_shot_iterator()
    second = tf.data.make_initializable_iterator(D.range(6).shuffle(4))
    session.run(second.initializer)
    # What TensorFlow gives.
    assert read(session, first) == [2, 0, 5, 1, 3, 4]
    assert read(session, second) == [1, 3, 2, 4, 0, 5]


def test_initializable_iterators_start_again(session):
    iterator = tf.data.make_initializable_iterator(D.range(10).shuffle(4, seed=1))
    assert (iterator.initializer.type, iterator.initializer.name) == ("MakeIterator",) * 2
    with pytest.raises(
        tf.errors.FailedPreconditionError, match="the iterator has not been initialized"
    ):
        session.run(iterator.get_next())
    for _ in range(2):
        session.run(iterator.initializer)
        assert read(session, iterator) == [0, 4, 3, 6, 2, 8, 1, 7, 9, 5]


def test_placeholders_are_fed_to_the_initializer(session):
    n = tf.placeholder(tf.int64, [])
    rows = tf.placeholder(tf.int64, [None])
    dataset = D.zip((D.range(n), D.from_tensor_slices(rows))).map(lambda x, y: x + y * n)
    iterator = dataset.make_initializable_iterator()
    for count in (2, 3):
        fed = np.arange(10, 10 + count)
        session.run(iterator.initializer, {n: count, rows: fed})
        assert read(session, iterator) == [k + (10 + k) * count for k in range(count)]
    message = r"Cannot capture a placeholder \(name:Placeholder, type:Placeholder\) by value."
    with pytest.raises(ValueError, match=message):
        D.range(n).make_one_shot_iterator()


def test_one_shot_iterators_capture_computed_constants(session):
    n = tf.constant(2, tf.int64) * 2
    assert read(session, D.range(n).make_one_shot_iterator()) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="Cannot capture a stateful node"):
        D.range(tf.random_uniform([], maxval=3, dtype=tf.int64)).make_one_shot_iterator()


def test_reinitializable_iterators_change_their_dataset(session):
    iterator = tf.data.Iterator.from_structure(tf.int64, [])
    train, test = map(iterator.make_initializer, (D.range(3), D.range(10, 12)))
    for initializer, expected in ((train, [0, 1, 2]), (test, [10, 11]), (train, [0, 1, 2])):
        session.run(initializer)
        assert read(session, iterator) == expected
    with pytest.raises(
        TypeError, match=r"Expected output types tf\.int64 but got dataset with"
    ):
        iterator.make_initializer(D.from_tensors(1.0))
    with pytest.raises(TypeError, match="Expected output shapes compatible with"):
        iterator.make_initializer(D.range(3).batch(2))


def test_feedable_iterators_are_those_whose_handle_is_fed(session):
    handle = tf.placeholder(tf.string, [])
    following = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    iterators = [D.range(k, k + 9).make_one_shot_iterator() for k in (0, 100)]
    a, b = session.run([iterator.string_handle() for iterator in iterators])
    assert [session.run(following, {handle: h}) for h in (a, b, a, b)] == [0, 100, 1, 101]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse string_handle"):
        session.run(following, {handle: b"x"})


def test_sessions_have_positions_of_their_own(session):
    following = D.range(5).make_one_shot_iterator().get_next()
    with tf.Session() as other:
        assert [session.run(following), session.run(following)] == [0, 1]
        assert other.run(following) == 0


def test_structures_types_and_shapes(session):
    dataset = D.from_tensor_slices({"a": [1, 2], "b": ([1.0, 2.0], ["x", "y"])}).batch(2)
    iterator = dataset.make_one_shot_iterator()
    for each in (dataset, iterator):
        assert each.output_types == {"a": tf.int32, "b": (tf.float32, tf.string)}
        assert each.output_shapes["b"][0].as_list() == [None]
        assert each.output_classes["a"] is tf.Tensor
    assert tf.data.get_output_types(dataset) == dataset.output_types
    element = session.run(iterator.get_next())
    assert element["b"][1].tolist() == [b"x", b"y"]


def test_an_error_is_raised_by_the_run_that_needed_the_element(session):
    following = D.range(4).map(lambda x: 10 // (x - 1)).make_one_shot_iterator().get_next()
    assert session.run(following) == -10
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Integer division by zero"
    ) as caught:
        session.run(following)
    assert "test_iterators_v1.py" in str(caught.value)
    assert session.run(following) == 10


def test_optionals_tell_the_end(session):
    iterator = D.range(1).make_one_shot_iterator()
    optional = tf.data.experimental.get_next_as_optional(iterator)
    both = [optional.has_value(), optional.get_value()]
    assert session.run(both) == [True, 0]
    assert not session.run(both[0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
        session.run(both)


def test_one_run_reads_one_element(session):
    x, y = D.from_tensor_slices(([1, 2], [3, 4])).make_one_shot_iterator().get_next()
    assert session.run([x + y, x * y]) == [4, 3]
    assert session.run(x) == 2


def test_threads_end_with_the_session(sim):
    with tf.Graph().as_default():
        following = D.range(9).repeat().prefetch(2).make_one_shot_iterator().get_next()
        session = tf.Session()
        session.run(following)
        session.close()
    del session
    gc.collect()
    time.sleep(0)
    wait_for_no_threads()


def test_graphs_are_not_iterated_over(session):
    with pytest.raises(RuntimeError, match="only supports Python-style iteration in eager"):
        iter(D.range(3))
    with pytest.raises(TypeError, match=r"must be a `tf\.data\.Dataset`"):
        tf.data.make_one_shot_iterator([1, 2])


def test_cardinality_of_a_fed_dataset(session):
    n = tf.placeholder(tf.int64, [])
    cardinality = D.range(n).batch(2).cardinality()
    assert session.run(cardinality, {n: 5}) == 3
    assert session.run(D.range(4).cardinality()) == 4


def test_reduce_runs_when_it_is_fetched(session):
    n = tf.placeholder(tf.int64, [])
    total = D.range(n).reduce(tf.constant(0, tf.int64), lambda state, x: state + x * n)
    assert total.op.type == "ReduceDataset"
    assert [session.run(total, {n: k}) for k in (2, 4)] == [2, 24]
