"""Where functions run, and the memory that they take."""

from __future__ import annotations

import gc

import pytest

import berth as tf
from tests.eager.cases import CPU_0, GPU_0, GPU_1, in_use
from tests.functions.calls import values
from tests.parity.programs import first_line

pytestmark = pytest.mark.usefixtures("eager")


def test_functions_run_where_called(sim):
    sim("2xT4")
    f = tf.function(lambda x: x + 1.0)
    assert f(tf.constant(1.0)).device == GPU_0
    with tf.device("/gpu:1"):
        assert f(tf.constant(1.0)).device == GPU_1
    with tf.device("/cpu:0"):
        assert f(tf.constant(1.0)).device == CPU_0


def test_devices_share_one_trace(sim):
    sim("2xT4")
    f = tf.function(lambda x: x + 1.0)
    for place in ("/gpu:0", "/gpu:1", "/cpu:0"):
        with tf.device(place):
            f(tf.constant(1.0))
    assert f.experimental_get_tracing_count() == 1


def test_devices_reach_the_bodies_of_conditions(sim):
    sim("2xT4")
    f = tf.function(
        lambda x: tf.cond(
            x > 0.0, lambda: tf.reduce_sum(tf.fill([1 << 18], x) + 1.0), lambda: x
        )
    )
    assert values(f(tf.constant(1.0))) == 2.0 * (1 << 18)
    with tf.device("/gpu:1"):
        before = tf.config.experimental.get_memory_info("GPU:1")["peak"]
        assert values(f(tf.constant(1.0))) == 2.0 * (1 << 18)
        assert values(f(tf.constant(-1.0))) == -1.0
    assert tf.config.experimental.get_memory_info("GPU:1")["peak"] >= before + (1 << 20)


def test_placed_functions_differentiate(sim):
    sim("2xT4")
    v = tf.Variable([1.0, 2.0])
    f = tf.function(lambda x: tf.reduce_sum(tf.gather(v, [1, 1]) * x))
    for place in ("/gpu:1", "/cpu:0"):
        with tf.device(place), tf.GradientTape() as tape:
            y = f(tf.constant(3.0))
        gradient = tape.gradient(y, v)
        assert isinstance(gradient, tf.IndexedSlices)
        assert values(gradient.values) == [3.0, 3.0]
    assert f.experimental_get_tracing_count() == 1


def test_tensors_of_several_devices_mix(sim):
    sim("2xT4")
    with tf.device("/gpu:0"):
        a = tf.constant([1.0, 2.0])
    with tf.device("/gpu:1"):
        b = tf.constant([10.0, 20.0])
        v = tf.Variable([100.0, 200.0])
    with tf.device("/cpu:0"):
        c = tf.constant([1000.0, 2000.0])
    f = tf.function(lambda x, y: x + y + v + c)
    assert values(f(a, b)) == [1111.0, 2222.0]
    assert values(f(b, a)) == [1111.0, 2222.0]
    assert f.experimental_get_tracing_count() == 1


def test_device_blocks_inside_functions(sim):
    sim("2xT4")
    devices = []

    @tf.function
    def f(x):
        with tf.device("/gpu:1"):
            y = x + 1.0
            with tf.device("/cpu:0"):
                z = y + 1.0
        devices.extend([x.device, y.device, z.device])
        return tf.reduce_sum(z)

    assert values(f(tf.ones([1 << 18]))) == 3.0 * (1 << 18)
    assert devices == ["", "/device:GPU:1", "/device:CPU:0"]
    peak = tf.config.experimental.get_memory_info("GPU:1")["peak"]
    assert peak >= 1 << 20  # y was there


def test_device_blocks_inside_graphs():
    with tf.Graph().as_default(), tf.device("/gpu:1"):
        assert tf.zeros([2]).device == "/device:GPU:1"
        with tf.device(None):
            assert tf.zeros([2]).device == ""


def test_missing_devices_without_soft_placement(sim):
    sim()
    tf.config.set_soft_device_placement(False)

    @tf.function
    def f(x):
        with tf.device("/gpu:0"):
            return x + 1.0

    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        f(tf.constant(1.0))
    assert first_line(raised.value).startswith(
        "Unable to find any devices for spec /device:GPU:0 [Op:__inference_f_"
    )


def test_missing_devices_around_functions(sim):
    sim()
    tf.config.set_soft_device_placement(False)
    f = tf.function(lambda x: x + 1.0)
    x = tf.constant(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError) as raised, tf.device("/gpu:0"):
        f(x)
    assert first_line(raised.value).startswith(
        "Could not satisfy device specification '/job:localhost/replica:0/task:0/device:GPU:0'. enable_soft_placement=0. Supported device types [CPU]."
    )
    assert values(f(x)) == 2.0


def test_missing_devices_with_soft_placement(sim):
    sim()

    @tf.function
    def f(x):
        with tf.device("/gpu:0"):
            return x + 1.0

    assert f(tf.constant(1.0)).device == CPU_0


def test_variables_of_several_gpus_are_written(sim):
    sim("2xT4")
    weights = []
    for index in (0, 1):
        with tf.device(f"/gpu:{index}"):
            weights.append(tf.Variable([1.0, 2.0]))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.reduce_sum(weight * weight) for weight in weights])
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.5 * gradient)
        return loss

    assert [float(step()), float(step())] == [10.0, 0.0]
    assert [weight.device for weight in weights] == [GPU_0, GPU_1]
    assert values(weights) == [[0.0, 0.0], [0.0, 0.0]]


def test_calls_do_not_gather_memory(sim):
    sim("1xT4")
    v = tf.Variable(tf.ones([1 << 16]))
    f = tf.function(lambda x: tf.sin(x * v) + x)
    y = f(tf.ones([1 << 16]))
    before = in_use()
    for _ in range(10):
        y = f(y)
    assert in_use() == before


@pytest.mark.xfail(strict=True, reason="a function keeps the workspace of its calls")
def test_calls_give_their_memory_back(sim):
    sim("1xT4")
    f = tf.function(lambda x: tf.reduce_sum(tf.sin(x * x) + x))
    x = tf.ones([1 << 18])
    before = in_use()
    f(x)
    assert in_use() == before


def test_forgotten_functions_leave_no_memory(sim):
    sim("1xT4")
    tf.ones([1])
    before = in_use()

    def train():
        v = tf.Variable(tf.ones([1 << 16]))
        f = tf.function(lambda x: tf.sin(x * v) + x)
        with tf.GradientTape() as tape:
            y = f(tf.ones([1 << 16]))
        gradient = tape.gradient(y, v)
        assert in_use() > before
        return gradient.shape

    assert train() == [1 << 16]
    gc.collect()
    assert in_use() == before


def test_running_out_of_memory_is_survived(sim):
    sim("1xT4")
    f = tf.function(lambda x: tf.reduce_sum(x[:, None] * x))
    before = in_use()
    with pytest.raises(
        tf.errors.ResourceExhaustedError,
        match=r"^OOM when allocating tensor with shape\[262144,262144\] and type float on .*GPU:0 by allocator GPU_0_bfc",
    ):
        f(tf.ones([1 << 18]))
    gc.collect()
    assert in_use() == before
    assert values(f(tf.ones([4]))) == 16.0


@pytest.mark.parametrize("kind", ["variable", "handle", "tensor"])
def test_operations_are_colocated_with_what_is_outside(sim, kind):
    sim("2xT4")
    with tf.device("/gpu:1"):
        v, x = tf.Variable(1.0), tf.constant(1.0)
    outside = {"variable": v, "handle": v.handle, "tensor": x}[kind]

    @tf.function
    def f():
        with tf.compat.v1.colocate_with(outside):
            inside = tf.constant(2.0) * tf.constant(3.0)
        return inside, tf.constant(2.0) * tf.constant(3.0)

    assert [tensor.device[-5:] for tensor in f()] == ["GPU:1", "GPU:0"]
    ops = f.get_concrete_function().graph.get_operations()
    # [TF] the device is written into each operation of the block, and into no other.
    assert [op.device[-5:] for op in ops if op.type == "Mul"] == ["GPU:1", ""]
