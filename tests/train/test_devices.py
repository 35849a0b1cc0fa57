"""Slots and updates are with their variable; several GPUs give the numbers of one device."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.train.programs import OPTIMIZERS

IMAGES = np.sin(np.arange(48)).reshape(8, 6).astype("f")
LABELS = np.arange(8) % 3


def _loss(images, labels):
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE), tf.device("/cpu:0"):
        start = tf.constant(np.cos(np.arange(18)).reshape(6, 3).astype("f"))
        w = tf.get_variable("w", initializer=lambda: tf.identity(start))
        b = tf.get_variable("b", [3], initializer=tf.zeros_initializer())
    logits = tf.nn.bias_add(tf.matmul(images, w), b)
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )


def _mean(towers):
    """Average the gradients of towers, as in TensorFlow's CIFAR-10."""
    return [
        (tf.reduce_mean(tf.stack([grad for grad, _ in pairs]), 0), pairs[0][1])
        for pairs in zip(*towers, strict=True)
    ]


def _trained(name, n_gpus):
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            step = tf.train.get_or_create_global_step()
        optimizer = OPTIMIZERS[name](tf, step)
        towers = []
        for k in range(max(n_gpus, 1)):
            part = slice(k, None, max(n_gpus, 1))
            with tf.device(f"/gpu:{k}" if n_gpus else "/cpu:0"), tf.name_scope(f"tower_{k}"):
                loss = _loss(tf.constant(IMAGES[part]), tf.constant(LABELS[part]))
                towers.append(
                    optimizer.compute_gradients(loss, colocate_gradients_with_ops=True)
                )
        with tf.device("/cpu:0"):
            train_op = optimizer.apply_gradients(_mean(towers), global_step=step)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(5):
                sess.run(train_op)
            return {v.name: sess.run(v) for v in tf.global_variables()}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_towers_give_the_numbers_of_one_device(name, sim):
    sim("2xT4")
    alone, towers = _trained(name, 0), _trained(name, 2)
    assert alone.keys() == towers.keys()
    for variable, value in alone.items():
        np.testing.assert_allclose(towers[variable], value, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_run_where_the_variable_is(name, resource, sim):
    """On a GPU too, with sparse and dense gradients, and with the numbers of the CPU."""
    sim("T4")
    values = []
    for device in ("/cpu:0", "/gpu:0"):
        with tf.Graph().as_default() as graph:
            with tf.device("/cpu:0"):
                step = tf.train.get_or_create_global_step()
            with tf.device(device):
                w = tf.get_variable("w", initializer=IMAGES, use_resource=resource)
                b = tf.get_variable("b", initializer=IMAGES[0], use_resource=resource)
            optimizer = OPTIMIZERS[name](tf, step)
            loss = tf.reduce_sum(tf.gather(w, [0, 2, 0]) * b)
            train_op = optimizer.minimize(loss, global_step=step)
            slots = [v for v in optimizer.variables() if v.op.name[0] in "wb/"]
            assert all(slot.device == w.device for slot in slots)
            options = tf.ConfigProto(allow_soft_placement=True)
            with tf.Session(config=options) as sess:
                sess.run(tf.global_variables_initializer())
                report = tf.RunMetadata()
                for _ in range(3):
                    sess.run(train_op, None, tf.RunOptions(trace_level=3), run_metadata=report)
                values.append(sess.run([w, b, *optimizer.variables()]))
            places = _places(report)
            updates = [op.name for op in graph.get_operations() if "Apply" in op.type]
            assert updates
            assert {places[op][-5:] for op in updates} == {device[1:].upper()}
    for one, other in zip(*values, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def _places(report):
    """Return the device of each node of a trace."""
    return {
        node.node_name: each.device
        for each in report.step_stats.dev_stats
        for node in each.node_stats
    }
