"""What the tests of sessions share."""

from __future__ import annotations

from collections import namedtuple

import pytest

import berth.compat.v1 as tf

CPU_0 = "/job:localhost/replica:0/task:0/device:CPU:0"
CPU_1 = "/job:localhost/replica:0/task:0/device:CPU:1"
GPU_0 = "/job:localhost/replica:0/task:0/device:GPU:0"
GPU_1 = "/job:localhost/replica:0/task:0/device:GPU:1"
FULL_TRACE = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)

KINDS = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
"""Both kinds of variables."""

Point = namedtuple("Point", "x y")


def of_another_graph(name="other"):
    with tf.Graph().as_default():
        return tf.constant(1.0, name=name)


def cpus(n_cpus):
    return tf.ConfigProto(device_count={"CPU": n_cpus})
