"""`tf.train.SyncReplicasOptimizer`: the mean gradient of workers, tokens, hooks, and errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.threads import run_threads


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _sgd(n, **more):
    return tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.5), n, **more)


@contextlib.contextmanager
def _trained(hook):
    """Give a session, begun with a hook; its end stops the chief, who waits for gradients."""
    hook.begin()
    init, coord = tf.global_variables_initializer(), tf.train.Coordinator()
    with tf.Session() as sess:
        sess.run(init)
        hook.after_create_session(sess, coord)
        yield sess
        coord.request_stop()
    coord.join(stop_grace_period_secs=10)


@pytest.mark.parametrize("use_resource", [False, True])
def test_workers_apply_the_mean_of_their_gradients(use_resource):
    step = tf.train.get_or_create_global_step()
    dense = tf.Variable([1.0, 2.0], name="dense", use_resource=use_resource)
    rows = tf.Variable(np.ones([3, 2], np.float32), name="rows", use_resource=use_resource)
    x = tf.placeholder(tf.float32, [2])
    row = tf.placeholder(tf.int32, [1])
    loss = tf.reduce_sum(dense * x) + tf.reduce_sum(tf.gather(rows, row))
    opt = _sgd(2, total_num_replicas=2)
    train = opt.minimize(loss, global_step=step)
    hook = opt.make_session_run_hook(is_chief=True, num_tokens=0)
    with _trained(hook) as sess:
        feeds = [{x: [1.0, 0.0], row: [0]}, {x: [3.0, 2.0], row: [2]}]
        run_threads(2, lambda i: sess.run(train, feeds[i]))
        # A worker that goes on was told of the step that comes next.
        found = sess.run([dense, rows, step, *tf.local_variables()])
    np.testing.assert_array_equal(found[0], [0.0, 1.5])
    np.testing.assert_array_equal(found[1], [[0.5, 0.5], [1, 1], [0.5, 0.5]])
    assert found[2:] == [1, 1]


@pytest.mark.parametrize("use_resource", [False, True])
def test_one_replica_trains_in_a_plain_loop(use_resource):
    step = tf.train.get_or_create_global_step()
    w = tf.Variable([1.0, 2.0], name="w", use_resource=use_resource)
    average = tf.train.ExponentialMovingAverage(0.9)
    opt = _sgd(1, variable_averages=average, variables_to_average=[w])
    train = opt.minimize(tf.reduce_sum(w), global_step=step)
    with _trained(opt.make_session_run_hook(is_chief=True, num_tokens=0)) as sess:
        for position in range(3):
            assert sess.run(train) == position + 1
        assert sess.run(step) == 3
        np.testing.assert_array_equal(sess.run(w), [-0.5, 0.5])


def test_names_slots_and_tokens():
    step = tf.train.get_or_create_global_step()
    w = tf.Variable([1.0, 2.0], name="w")
    inner = tf.train.MomentumOptimizer(0.5, 0.9)
    opt = tf.train.SyncReplicasOptimizer(inner, 4, total_num_replicas=2)
    assert opt.get_slot_names() == []
    for call, message in (
        (opt.get_chief_queue_runner, "Should be called after apply_gradients"),
        (opt.get_init_tokens_op, "get_init_tokens_op.. should be called after apply_gradients"),
        (opt.make_session_run_hook(True).begin, "should be called before using the hook"),
        (lambda: opt.apply_gradients([], step), "Must supply at least one variable"),
        (lambda: opt.minimize(tf.reduce_sum(w)), "Global step is required to check staleness"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    opt.minimize(tf.reduce_sum(w), global_step=step)
    assert opt.get_slot_names() == ["momentum"]
    assert opt.get_slot(w, "momentum") is inner.get_slot(w, "momentum")
    assert opt.variables() == inner.variables()
    runner = opt.get_chief_queue_runner()
    assert (runner.name, runner.enqueue_ops[0].name) == (
        "sync_token_q",
        "sync_token_q_EnqueueMany",
    )
    assert [each.name for each in tf.local_variables()] == ["sync_rep_local_step:0"]
    assert opt.chief_init_op.name == "sync_replicas/group_deps"
    with pytest.raises(ValueError, match=r"Too few tokens .*: 1 \(given\) vs 2 \(needed\)"):
        opt.get_init_tokens_op(1)
    tokens = opt.get_init_tokens_op()
    init = tf.global_variables_initializer()
    size = runner.queue.size()
    hook = opt.make_session_run_hook(is_chief=False)
    hook.begin()
    with tf.Session() as sess:
        with pytest.raises(RuntimeError, match="Variables not initialized: global_step, w"):
            hook.after_create_session(sess, None)
        sess.run(init)
        hook.after_create_session(sess, None)
        sess.run(tokens)
        assert sess.run(size) == 4


def test_no_tokens_are_needed_for_as_many_replicas():
    step = tf.train.get_or_create_global_step()
    opt = _sgd(1)
    opt.minimize(tf.reduce_sum(tf.Variable([1.0])), global_step=step)
    assert opt.get_init_tokens_op(0).name == "no_init_tokens"
