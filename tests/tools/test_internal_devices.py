"""Names of devices, completed as TensorFlow's internal modules complete them."""

from __future__ import annotations

import pytest

import berth as tf
from berth.eager.mode import set_eager
from berth.tools.run import internal_devices as devices
from berth.tools.run.internal_modules import internal_module


def test_both_modules_are_there():
    for path in ("python.framework.device", "python.distribute.device_util"):
        assert internal_module(path) is devices


@pytest.mark.parametrize(
    ("name", "default", "canonical"),
    [
        ("/gpu:1", None, "/replica:0/task:0/device:GPU:1"),
        ("/job:a/cpu:0", None, "/job:a/replica:0/task:0/device:CPU:0"),
        ("/job:a/task:3", "/gpu:2", "/job:a/replica:0/task:3/device:GPU:2"),
        ("/gpu:1", "/job:b/task:4", "/job:b/replica:0/task:4/device:GPU:1"),
    ],
)
def test_names_are_completed_in_graphs(name, default, canonical):
    with tf.Graph().as_default():
        assert devices.canonicalize(name, default) == canonical


def test_scopes_of_graphs_complete_names():
    with tf.Graph().as_default(), tf.compat.v1.device("/job:a"):
        with tf.compat.v1.device("/gpu:1"):
            assert devices.current() == "/job:a/device:GPU:1"
            assert devices.resolve("/task:2") == "/job:a/replica:0/task:2/device:GPU:1"
        assert devices.resolve("/cpu:0") == "/job:a/replica:0/task:0/device:CPU:0"
    with tf.Graph().as_default():
        assert devices.current() == ""


@pytest.fixture
def eager():
    before = set_eager(True)
    yield
    set_eager(before)


@pytest.mark.usefixtures("eager")
def test_eager_programs_complete_names_by_this_process():
    here = "/job:localhost/replica:0/task:0/device:CPU:0"
    assert devices.canonicalize("/cpu:0") == here
    assert devices.canonicalize(tf.config.list_logical_devices("CPU")[0]) == here
    with tf.device("/cpu:0"):
        assert devices.current() == here
        assert tf.function(lambda: tf.constant(devices.current()))().numpy() == here.encode()


def test_names_are_put_in_order_and_checked():
    assert devices.canonical_name("/cpu:0/task:1/job:a") == "/job:a/task:1/device:CPU:0"
    assert devices.canonical_name(tf.DeviceSpec(job="a")) == "/job:a"
    assert devices.canonical_name(None) == ""
    assert devices.is_device_spec(tf.DeviceSpec())
    assert not devices.is_device_spec("/cpu:0")
    assert devices.get_host_for_device("/job:a/gpu:1") == "/job:a/device:CPU:0"
    assert devices.local_devices_from_num_gpus(2) == ("/device:GPU:0", "/device:GPU:1")
    assert devices.local_devices_from_num_gpus(0) == ("/device:CPU:0",)
    with pytest.raises(ValueError, match="Unknown attribute 'nothing'"):
        devices.check_valid("/nothing:1/more:2")
