"""Specializing a request: what is computed, of what shape, and what is known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.plan.structure import Storage


def names(made):
    return [step.op.name for step in made.steps]


def test_only_what_is_fetched_is_computed(plan):
    x = tf.placeholder(tf.float32, [2], name="x")
    a = tf.square(x, name="a")
    tf.sqrt(a, name="unused")
    b = tf.negative(a, name="b")

    assert names(plan(b, {x: [1, 2]})) == ["a", "b"]


def test_steps_are_in_the_order_of_the_graph(plan):
    x = tf.placeholder(tf.float32, [2], name="x")
    parts = [tf.square(x, name=name) for name in "dbca"]

    assert names(plan(parts[::-1], {x: [1, 2]})) == ["d", "b", "c", "a"]


def test_fed_tensor_is_not_computed(plan):
    x = tf.placeholder(tf.float32, [2], name="x")
    a = tf.square(x, name="a")
    b = tf.sqrt(a, name="b")

    assert names(plan(b, {a: [1, 2]})) == ["b"]


def test_feed_that_nothing_needs_has_no_value(plan):
    x, y = (tf.placeholder(tf.float32, [2], name=name) for name in "xy")
    made = plan(tf.square(x), {x: [1, 2], y: [1, 2]})

    assert [value is None for value in made.feeds] == [False, True]


def test_shapes_come_from_the_feeds(plan):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    made = plan(tf.matmul(x, x, transpose_a=True, name="a"), {x: np.ones((5, 3))})

    assert made.type_of(made.steps[0].outputs[0]).dims == (3, 3)
    assert made.type_of(made.feeds[0]).dims == (5, 3)


def test_shape_of_a_feed_is_known_beforehand(plan):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    flat = tf.reshape(x, [tf.shape(x, name="s")[0] * 3], name="flat")
    made = plan(flat, {x: np.ones((5, 3))})

    assert "s" in [op.name for op in made.folded]
    assert names(made) == ["flat"]
    assert made.type_of(made.fetches[0]).dims == (15,)


def test_host_work_on_constants_is_done_beforehand(plan):
    with tf.device("/cpu:0"):
        a = tf.square(tf.constant([1.0, 2.0]), name="a")
    made = plan(a)

    assert (names(made), [op.name for op in made.folded]) == ([], ["a"])
    assert made.fetches[0].storage is Storage.CONSTANT
    assert made.type_of(made.fetches[0]).value.tolist() == [1, 4]


def test_large_constants_are_not_computed_beforehand(plan):
    with tf.device("/cpu:0"):
        a = tf.fill([2**14 + 1], 1.0, name="a")

    assert names(plan(a)) == ["a"]


@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
def test_random_numbers_are_never_known_beforehand(plan, place):
    with tf.device(place):
        a = tf.random_uniform([2], name="a")

    assert any(step.op.type == "RandomUniform" for step in plan(a).steps)


def test_known_values_still_wait(plan):
    """A constant with a control dependency is there when that is done, and not before."""
    x = tf.placeholder(tf.float32, [2], name="x")
    first = tf.square(x, name="first")
    with tf.control_dependencies([first]):
        c = tf.constant(1.0, name="c")
    made = plan(c, {x: [1, 2]})

    assert names(made) == ["first", "c"]
    assert made.steps[1].is_known
    assert made.steps[1].waits_for == [made.steps[0]]


def test_shape_of_what_has_effects_waits_for_them(plan):
    v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
    x = tf.placeholder(tf.float32, [None], name="x")
    write = v.assign_add([1.0, 1.0], read_value=False)
    with tf.control_dependencies([write]):
        y = tf.square(x, name="y")
    made = plan(tf.shape(y, name="sizes"), {x: [1, 2]})

    assert made.type_of(made.fetches[0]).value.tolist() == [2]
    assert names(made) == [write.name, "y", "sizes"]


def test_shape_of_what_has_none_needs_no_work(plan):
    x = tf.placeholder(tf.float32, [None], name="x")
    made = plan(tf.shape(tf.square(x), name="sizes"), {x: [1, 2]})

    assert names(made) == []
    assert made.type_of(made.fetches[0]).value.tolist() == [2]


def test_missing_feed_is_an_error(plan):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        plan(tf.square(x))

    assert caught.value.message.split("\n")[0] == (
        "You must feed a value for placeholder tensor 'x' with dtype float and shape [?,2]"
    )
    assert caught.value.op is x.op


def test_shapes_that_do_not_fit_name_the_operation(plan):
    x, y = (tf.placeholder(tf.float32, [None, None], name=name) for name in "xy")
    product = tf.matmul(x, y, name="product")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        plan(product, {x: np.ones((2, 3)), y: np.ones((2, 3))})

    assert caught.value.op is product.op


def test_traced_runs_do_all_the_work(sim):
    sim("1xT4")
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        a = tf.square(tf.constant([1.0, 2.0]), name="a")
        with tf.Session() as session:
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            assert session.run(a, options=options, run_metadata=metadata).tolist() == [1, 4]
    recorded = [
        node.node_name for dev in metadata.step_stats.dev_stats for node in dev.node_stats
    ]

    assert "a" in recorded
