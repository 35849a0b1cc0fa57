"""Golden plans: what `plan.explain()` says of a dozen graphs, word for word.

A change of these texts is a change of placement, order, copies or memory, and belongs to the
commit that makes it: ``BERTH_UPDATE_GOLDEN=1 pytest tests/plan/test_explain.py`` writes them
anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

import berth.compat.v1 as tf

GOLDEN = Path(__file__).parent / "golden"
SIX = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def product():
    return tf.matmul(tf.constant(SIX, shape=[2, 3]), tf.constant(SIX, shape=[3, 2])), {}


def constants_on_the_cpu():
    with tf.device("/cpu:0"):
        a = tf.constant(SIX, shape=[2, 3], name="a")
        b = tf.constant(SIX, shape=[3, 2], name="b")
    return tf.matmul(a, b), {}


def two_towers():
    towers = []
    for device in ("/gpu:2", "/gpu:3"):
        with tf.device(device):
            towers.append(product()[0])
    with tf.device("/cpu:0"):
        return tf.add_n(towers), {}


def missing_device():
    with tf.device("/gpu:9"):
        return tf.square(tf.placeholder(tf.float32, [2], name="x")), {"x:0": [1, 2]}


def no_kernel_for_gpus():
    with tf.device("/gpu:1"):
        return tf.Assert(tf.placeholder(tf.bool, [], name="ok"), ["no"]), {"ok:0": True}


def colocated():
    with tf.device("/gpu:1"):
        a = tf.placeholder(tf.float32, [2], name="a")
    with tf.colocate_with(a.op):
        return tf.square(a), {a: [1, 2]}


def reference_variable():
    with tf.device("/gpu:1"):
        v = tf.Variable([1.0, 2.0], name="v")
    with tf.device("/gpu:0"):
        return [v.assign_add([1.0, 1.0]), v + 1.0], {}


def resource_variable():
    with tf.device("/gpu:1"):
        v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
    with tf.device("/gpu:0"):
        return v * 2.0, {}


def value_read_before_a_write():
    v = tf.Variable([1.0, 2.0], name="v")
    before = v.read_value()
    with tf.control_dependencies([before]):
        changed = v.assign([5.0, 5.0])
    with tf.control_dependencies([changed]):
        return before + 1.0, {}


def shapes_are_known_beforehand():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    return tf.reshape(x, [tf.size(x)]), {x: np.ones((2, 3))}


def shape_depends_on_values():
    x = tf.placeholder(tf.float32, [None], name="x")
    mask = tf.placeholder(tf.bool, [None], name="mask")
    return tf.boolean_mask(tf.square(x), mask) * 2.0, {x: [1, 2], mask: [True, False]}


def chain_in_slices():
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [100_000], name="x")
        return tf.sqrt(tf.abs(x * 2.0 + 1.0)), {x: np.ones(100_000)}


def dependency_between_devices():
    with tf.device("/gpu:0"):
        first = tf.square(tf.placeholder(tf.float32, [2], name="x"))
    with tf.device("/gpu:1"), tf.control_dependencies([first]):
        return tf.negative(tf.ones([2])), {"x:0": [1, 2]}


GRAPHS = [
    product,
    constants_on_the_cpu,
    two_towers,
    missing_device,
    no_kernel_for_gpus,
    colocated,
    reference_variable,
    resource_variable,
    value_read_before_a_write,
    shapes_are_known_beforehand,
    shape_depends_on_values,
    chain_in_slices,
    dependency_between_devices,
]


@pytest.mark.parametrize("build", GRAPHS, ids=lambda build: build.__name__)
def test_plan_is_the_golden_one(build, sim):
    sim("4xTesla K20m")
    with tf.Graph().as_default():
        fetches, feeds = build()
        config = tf.ConfigProto(allow_soft_placement=True, intra_op_parallelism_threads=2)
        with tf.Session(config=config) as session:
            text = session.plan(fetches, feeds).explain()
    text = re.sub(r"(test_explain\.py):\d+", r"\1", text)
    path = GOLDEN / f"{build.__name__}.txt"
    if os.environ.get("BERTH_UPDATE_GOLDEN"):
        path.write_text(text)

    assert text == path.read_text()
