"""Soft placement in eager programs and functions is logged, once for each cause."""

from __future__ import annotations

import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")


def messages(caplog):
    return [record.getMessage() for record in caplog.records]


def test_missing_device_is_logged_once(sim, caplog):
    sim("1xT4")
    with tf.device("/GPU:3"):
        for _ in range(3):
            x = tf.constant([1.0, 2.0])
            y = x * x + x
    assert y.device.endswith("GPU:0")
    assert messages(caplog) == [
        "There is no GPU:3: soft placement runs operations that ask for it on the devices that "
        "there are (CPU:0, GPU:0). tf.config.set_soft_device_placement(False) forbids it."
    ]


def test_missing_kernel_is_logged_once(sim, caplog):
    sim("1xT4")
    with tf.device("/GPU:0"):
        for _ in range(3):
            tf.strings.join(["a", "b"])
    assert "StringJoin has no kernel for GPU:0: soft placement runs it on CPU:0." in messages(
        caplog
    )
    assert len(set(messages(caplog))) == len(messages(caplog))


def test_function_logs_it_once(sim, caplog):
    sim()

    @tf.function
    def double(x):
        with tf.device("/GPU:1"):
            return x + x

    for size in (1, 2, 3):
        double(tf.ones([size]))
    assert [text[:18] for text in messages(caplog)] == ["There is no GPU:1:"]


def test_nothing_is_logged_where_it_runs_as_asked(sim, caplog):
    sim("2xT4")
    with tf.device("/GPU:1"):
        x = tf.constant([1.0]) + 1.0
    with tf.device("/CPU:0"):
        tf.strings.join(["a", "b"])
    tf.strings.join(["a", "b"])
    assert x.device.endswith("GPU:1")
    assert messages(caplog) == []


def test_why_takes_eager_values(sim):
    sim("2xT4")
    with tf.device("/GPU:1"):
        held = [(tf.constant([1.0]), "tensor"), (tf.Variable([1.0]), "variable")]
    for value, what in held:
        assert tf.why(value).startswith(f"This eager {what} is on GPU:1\n")
    with pytest.raises(TypeError, match="takes a tensor or an operation"):
        tf.why(3)
