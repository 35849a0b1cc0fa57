"""Iterators and optionals as arguments, results and loop variables of functions."""

from __future__ import annotations

import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")


def test_function_takes_iterators_and_is_traced_once():
    traces = []

    @tf.function
    def doubled(iterator):
        traces.append(iterator.element_spec)
        return 2 * iterator.get_next()

    dataset = tf.data.Dataset.range(3)
    for _ in range(2):  # another iterator of the same kind
        iterator = iter(dataset)
        assert [doubled(iterator).numpy() for _ in range(3)] == [0, 2, 4]
    assert traces == [tf.TensorSpec([], tf.int64)]
    with pytest.raises(tf.errors.OutOfRangeError):
        doubled(iterator)
    other = iter(tf.data.Dataset.from_tensors([1.0, 2.0]))
    assert doubled(other).numpy().tolist() == [2, 4]
    assert len(traces) == 2


def test_function_returns_an_optional():
    @tf.function
    def step(iterator):
        batch = iterator.get_next()
        return tf.experimental.Optional.from_value(
            {"sum": tf.reduce_sum(batch), "batch": batch}
        )

    result = step(iter(tf.data.Dataset.from_tensors([1.0, 2.0])))
    assert result.has_value().numpy()
    value = result.get_value()
    assert value["sum"].numpy() == 3
    assert value["batch"].numpy().tolist() == [1, 2]
    assert result.element_spec == {
        "sum": tf.TensorSpec([], tf.float32),
        "batch": tf.TensorSpec([2], tf.float32),
    }


def test_function_takes_an_optional():
    @tf.function
    def value_or(optional, default):
        return tf.cond(optional.has_value(), optional.get_value, lambda: default)

    spec = tf.TensorSpec([], tf.int32)
    some = tf.experimental.Optional.from_value(tf.constant(3))
    none = tf.experimental.Optional.empty(spec)
    assert value_or(some, tf.constant(7)).numpy() == 3
    assert value_or(none, tf.constant(7)).numpy() == 7


@pytest.mark.parametrize(
    ("n_elements", "n_steps", "total"), [(5, 3, 3), (2, 3, 2), (0, 3, None)]
)
def test_loop_over_optionals(n_elements, n_steps, total):
    """As Keras runs several steps in one call: the value of the last, if there was one."""

    @tf.function
    def steps(iterator):
        empty = tf.experimental.Optional.empty(None)

        def body(step, last, following):
            got = tf.experimental.Optional.from_value(following.get_value() + 1)
            empty._element_spec = got.element_spec
            return step + 1, got, iterator.get_next_as_optional()

        _, last, _ = tf.while_loop(
            lambda step, last, following: (step < n_steps) & following.has_value(),
            body,
            [tf.constant(0), empty, iterator.get_next_as_optional()],
        )
        last._element_spec = empty.element_spec
        return last

    result = steps(iter(tf.data.Dataset.range(n_elements)))
    assert bool(result.has_value()) == (total is not None)
    if total is None:
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
            result.get_value()
    else:
        assert result.get_value().numpy() == total
