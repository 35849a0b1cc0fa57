"""Small models learn the same on the CPU and on two GPUs, in both APIs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import berth as tf
import berth.compat.v1 as tf1
from berth.eager.mode import set_eager

N_STEPS = 12
RATE = 0.1


def _data(shape: tuple[int, ...]) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    images = rng.standard_normal((8, *shape)).astype(np.float32)
    labels = rng.integers(0, 3, 8)
    return images, labels


def _first_values(shapes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        name: (rng.standard_normal(shape) * 0.3).astype(np.float32)
        for name, shape in shapes.items()
    }


def mlp(tf: Any, x: Any, p: dict[str, Any]) -> Any:
    hidden = tf.tanh(tf.matmul(x, p["w1"]) + p["b1"])
    return tf.matmul(tf.nn.relu(hidden), p["w2"]) + p["b2"]


def cnn(tf: Any, x: Any, p: dict[str, Any]) -> Any:
    maps = tf.nn.conv2d(x, p["filter"], strides=[1, 1, 1, 1], padding="SAME")
    maps = tf.nn.relu(tf.nn.bias_add(maps, p["bias"]))
    maps = tf.nn.max_pool(maps, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    maps = tf.nn.local_response_normalization(maps, depth_radius=1)
    return tf.matmul(tf.reshape(maps, [-1, 3 * 3 * 4]), p["w"])


MODELS = {
    "mlp": (mlp, (5,), {"w1": (5, 6), "b1": (6,), "w2": (6, 3), "b2": (3,)}),
    "cnn": (cnn, (5, 6, 2), {"filter": (3, 3, 2, 4), "bias": (4,), "w": (36, 3)}),
}


def _loss(tf: Any, model: Any, x: Any, y: Any, parameters: dict[str, Any]) -> Any:
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=y, logits=model(tf, x, parameters)
    )
    return tf.reduce_mean(losses)


def losses_in_numpy(name: str) -> list[float]:
    """Train by numeric differences in float64: slow, and owing nothing to our gradients."""
    model, shape, shapes = MODELS[name]
    x, y = _data(shape)
    values = {key: value.astype(np.float64) for key, value in _first_values(shapes).items()}

    def loss_of(parameters: dict[str, Any]) -> float:
        return float(_loss(tf, model, tf.constant(x.astype(np.float64)), y, parameters))

    losses = []
    for _ in range(3):
        losses.append(loss_of(values))
        slopes = {}
        for key, value in values.items():
            slope = np.zeros_like(value)
            for index in np.ndindex(*value.shape):
                step = np.zeros_like(value)
                step[index] = 1e-4
                up, down = (
                    loss_of({**values, key: value + step}),
                    loss_of({**values, key: value - step}),
                )
                slope[index] = (up - down) / 2e-4
            slopes[key] = slope
        values = {key: value - RATE * slopes[key] for key, value in values.items()}
    return losses


def train_eagerly(name: str, devices: list[str], *, as_function: bool) -> list[float]:
    model, shape, shapes = MODELS[name]
    x, y = _data(shape)
    with tf.device("/cpu:0"):
        variables = {key: tf.Variable(value) for key, value in _first_values(shapes).items()}
    parts = len(devices)

    def step() -> Any:
        towers, losses = [], []
        for number, device in enumerate(devices):
            with tf.device(device), tf.GradientTape() as tape:
                losses.append(_loss(tf, model, x[number::parts], y[number::parts], variables))
            towers.append(tape.gradient(losses[-1], list(variables.values())))
        for variable, *grads in zip(variables.values(), *towers, strict=True):
            variable.assign_sub(RATE * tf.add_n(grads) / parts)
        return tf.add_n(losses) / parts

    run = tf.function(step) if as_function else step
    return [float(run()) for _ in range(N_STEPS)]


def train_in_session(name: str, devices: list[str]) -> list[float]:
    model, shape, shapes = MODELS[name]
    x, y = _data(shape)
    parts = len(devices)
    with tf1.Graph().as_default():
        with tf1.device("/cpu:0"), tf1.variable_scope("model"):
            variables = {
                key: tf1.get_variable(key, initializer=tf1.constant(value))
                for key, value in _first_values(shapes).items()
            }
        towers, losses = [], []
        for number, device in enumerate(devices):
            with tf1.device(device):
                losses.append(_loss(tf1, model, x[number::parts], y[number::parts], variables))
                towers.append(tf1.gradients(losses[-1], list(variables.values())))
        loss = tf1.add_n(losses) / parts
        with tf1.control_dependencies([loss]):
            update = tf1.group(
                *[
                    tf1.assign_sub(variable, RATE * tf1.add_n(grads) / parts)
                    for variable, *grads in zip(variables.values(), *towers, strict=True)
                ]
            )
        with tf1.Session() as sess:
            sess.run(tf1.global_variables_initializer())
            return [float(sess.run([loss, update])[0]) for _ in range(N_STEPS)]


def busy_gpus() -> list[str]:
    """Name the GPUs that have held more than a few numbers."""
    gpus = tf.config.list_logical_devices("GPU")
    peaks = [tf.config.experimental.get_memory_info(gpu.name)["peak"] for gpu in gpus]
    return [f"/gpu:{k}" for k, peak in enumerate(peaks) if peak > 1000]


@pytest.fixture(params=list(MODELS))
def name(request):
    return request.param


@pytest.fixture
def expected(name, eager):
    """The curve on the CPU, by a tape; its start was checked against numeric differences."""
    curve = train_eagerly(name, ["/cpu:0"], as_function=False)
    np.testing.assert_allclose(curve[:3], losses_in_numpy(name), rtol=1e-4)
    assert curve[-1] < 0.9 * curve[0]
    return curve


def test_training_is_the_same_everywhere(name, expected, sim):
    for machine, devices in (
        (None, ["/cpu:0"]),
        ("2xT4", ["/gpu:0"]),
        ("2xT4", ["/gpu:0", "/gpu:1"]),
    ):
        for way in ("eager", "function", "session"):
            sim(machine)
            before = set_eager(way != "session")
            if way == "session":
                curve = train_in_session(name, devices)
            else:
                curve = train_eagerly(name, devices, as_function=way == "function")
            set_eager(before)
            assert busy_gpus() == [device for device in devices if "gpu" in device]
            np.testing.assert_allclose(curve, expected, rtol=1e-4, err_msg=f"{way} {devices}")
