"""Plans for other feed shapes: what they share, and that they are what a new plan would be."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.errors import InvalidArgumentError
from berth.plan.fuse import AT_LEAST
from berth.plan.infer import FOLD_AT_MOST
from berth.plan.layout import IN_PLACE, LARGE, LARGE_FEED


@pytest.fixture
def session(sim):
    sim("2xT4")
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def dense(x, n_layers=3):
    """Build a network; return its last layer, and its weights."""
    weights = []
    for k in range(n_layers):
        with tf.device(f"/gpu:{k % 2}"):
            weights.append(tf.get_variable(f"w{k}", [4, 4]))
            x = tf.nn.relu(tf.matmul(x, weights[-1]) + tf.get_variable(f"b{k}", [4]))
    return x, weights


def gradients(x):
    loss, weights = dense(x)
    return tf.gradients(tf.reduce_mean(tf.square(loss)), weights)


def training(x):
    loss = tf.reduce_mean(tf.square(dense(x)[0]))
    return [loss, tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)]


def on_the_host(function):
    def build(x):
        with tf.device("/cpu:0"):
            return function(x)

    return build


PROGRAMS = {
    "layers": lambda x: dense(x)[0],
    "gradients": gradients,
    "training": training,
    "shape": tf.shape,
    "size of what is not computed": lambda x: tf.size(tf.concat([x, x], 0)),
    "reshape": lambda x: tf.reshape(x, [-1]) + 1.0,
    "computed shape": lambda x: tf.zeros(tf.shape(x)[:1] * 2) + 1.0,
    "mean": lambda x: tf.reduce_mean(x, 0),
    "broadcast": lambda x: x + tf.reduce_sum(x, 0, keepdims=True),
    "outputs of several shapes": lambda x: tf.split(x, [1, 3], 1),
    "fed and fetched": lambda x: [x, tf.square(x)],
    "chain": on_the_host(lambda x: tf.sqrt(tf.abs(x) + 1.0) * x),
    "strings": on_the_host(tf.as_string),
    "scratch": lambda x: tf.nn.softmax(x) @ tf.ones([4, 2]),
    "random": lambda x: tf.random_uniform(tf.shape(x), seed=1),
}
SIZES = (3, 1, 7, IN_PLACE // 16, LARGE // 16, AT_LEAST // 4 + 5, LARGE_FEED // 16, 2, 0)


def described(plan):
    types = [(t.dtype, t.dims, t.nbytes, np.asarray(t.value).tolist()) for t in plan.types]
    scratch = [
        [(each.type.dims, each.offset) for each in plan.scratch.get(step, ())]
        for step in plan.steps
    ]
    large = [value.number for value in sorted(plan.large, key=lambda value: value.number)]
    sizes = (plan.workspace_bytes, plan.work_seconds)
    return plan.explain(), types, list(plan.offsets), scratch, large, sizes


@pytest.mark.parametrize("program", PROGRAMS)
def test_plan_is_what_a_new_one_would_be(session, program):
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    fetches = PROGRAMS[program](x)
    for size in SIZES:
        feeds = {x: np.ones((size, 4))}
        resized = session.plan(fetches, feeds)
        with tf.Session() as other:
            assert described(resized) == described(other.plan(fetches, feeds))


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_are_those_of_a_new_session(session, program):
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    fetches = PROGRAMS[program](x)
    random = np.random.default_rng(0)
    session.run(tf.global_variables_initializer())
    start = session.run(tf.global_variables())
    for size in (3, 1, 7, LARGE // 16):
        feeds = {x: random.normal(size=(size, 4))}
        for variable, value in zip(tf.global_variables(), start, strict=True):
            variable.load(value, session)
        if program == "random":
            assert session.run(fetches, feeds).shape == (size, 4)
            continue
        with tf.Session() as other:
            for variable, value in zip(tf.global_variables(), start, strict=True):
                variable.load(value, other)
            expected = other.run(fetches, feeds)
        np.testing.assert_equal(session.run(fetches, feeds), expected)


def shares(session, fetches, x, first, second):
    """Tell whether plans for two shapes have one structure."""
    one, other = (session.plan(fetches, {x: np.ones(dims)}) for dims in (first, second))
    return one.structure is other.structure


@pytest.mark.parametrize("program", PROGRAMS)
def test_small_shapes_share_one_structure(session, program):
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    fetches = PROGRAMS[program](x)

    assert shares(session, fetches, x, (3, 4), (5, 4))


def test_steps_and_unchanged_types_are_shared(session):
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    fetches = gradients(x)
    one, other = (session.plan(fetches, {x: np.ones((size, 4))}) for size in (3, 5))

    assert one.steps is other.steps
    for fetched in one.fetches:  # the gradients of weights
        assert one.type_of(fetched) is other.type_of(fetched)


def test_layers_of_one_shape_have_one_type(session):
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    fetches = dense(x, 6)[0]
    session.plan(fetches, {x: np.ones((3, 4))})
    plan = session.plan(fetches, {x: np.ones((5, 4))})
    batches = {id(t) for t in plan.types if t.dims == (5, 4)}

    assert len(batches) == 1


def test_fused_steps_fit_while_the_same_are_large(session):
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    y = PROGRAMS["chain"](x)
    n_large = AT_LEAST // 4

    assert shares(session, y, x, (n_large, 4), (n_large + 1, 4))
    assert not shares(session, y, x, (n_large, 4), (n_large - 1, 4))
    assert not shares(session, y, x, (n_large - 1, 4), (n_large, 4))


def test_members_of_a_fused_step_keep_one_shape(session):
    x, y = (tf.placeholder(tf.float32, [None], name=name) for name in "xy")
    with tf.device("/cpu:0"):
        fetches = [tf.square(x), tf.sqrt(y)]
    large, other = np.ones(AT_LEAST), np.ones(AT_LEAST + 1)
    one = session.plan(fetches, {x: large, y: large})
    two = session.plan(fetches, {x: large, y: other})

    assert [len(step.members) for step in one.steps] == [2]
    assert [len(step.members) for step in two.steps] == [1, 1]


def test_constant_that_grows_too_large_is_computed_in_the_run(session):
    x = tf.placeholder(tf.float32, [None], name="x")
    with tf.device("/cpu:0"):
        y = tf.fill(tf.shape(x), 1.0) * 2.0
    small, large = 3, FOLD_AT_MOST // 4 + 1

    assert not session.plan(y, {x: np.ones(small)}).steps
    assert session.plan(y, {x: np.ones(large)}).steps
    assert session.run(y, {x: np.ones(small)}).tolist() == [2.0] * small


def test_shape_that_stays_open_is_planned_from_the_beginning(session):
    """With one row the shape rule says all; with more, only a value does."""
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.boolean_mask(x, x > 1.0)
    for size in (1, 2, 3):
        assert session.run(y, {x: np.arange(size)}).tolist() == list(range(2, size))


def test_shape_that_does_not_fit_is_an_error(session):
    x = tf.placeholder(tf.float32, [None, None], name="x")
    y = tf.matmul(x, tf.ones([2, 2]), name="product")
    assert session.run(y, {x: np.ones((3, 2))}).shape == (3, 2)
    with pytest.raises(InvalidArgumentError, match=r"\[\[node product \(defined at ") as error:
        session.run(y, {x: np.ones((3, 5))})
    assert error.value.op is y.op
    assert session.run(y, {x: np.ones((4, 2))}).shape == (4, 2)


def test_folding_that_fails_is_an_error(session):
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.reshape(tf.ones([4]), [2, tf.shape(x)[0]], name="pairs")
    assert session.run(y, {x: np.ones(2)}).shape == (2, 2)
    with pytest.raises(InvalidArgumentError, match=r"\[\[node pairs \(defined at "):
        session.run(y, {x: np.ones(3)})


def test_attributes_tell_rules_apart(session):
    x = tf.placeholder(tf.float32, [None, None], name="x")
    products = [
        tf.matmul(x, x, transpose_a=True),
        tf.matmul(x, x, transpose_b=True),
        tf.reduce_sum(x, 0),
        tf.reduce_sum(x, 1),
    ]
    for dims in ((2, 3), (5, 7), (4, 1)):
        rows, columns = dims
        shapes = [value.shape for value in session.run(products, {x: np.ones(dims)})]
        assert shapes == [(columns, columns), (rows, rows), (columns,), (rows,)]
