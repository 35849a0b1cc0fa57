"""The two APIs: what a name that is missing says, and where TensorFlow 1 and 2 differ."""

from __future__ import annotations

import pytest

import berth
from berth.backends.base import MemoryInfo
from berth.backends.sim import SimBackend
from berth.compat import v1
from berth.errors import ResourceExhaustedError
from berth.ops.shape import TensorShape


@pytest.mark.parametrize(
    ("api", "name", "message"),
    [
        (berth, "log", "module 'berth' has no attribute 'log'. There is tf.math.log."),
        (
            berth,
            "Session",
            "module 'berth' has no attribute 'Session'. It is TensorFlow 1's: "
            "tf.compat.v1.Session, or `import berth.compat.v1 as tf`.",
        ),
        (berth, "matmull", "module 'berth' has no attribute 'matmull'. Did you mean 'matmul'?"),
        (berth, "estimator", "berth has no tf.estimator yet: docs/ops.md lists what it has."),
        (berth, "xyzzy", "module 'berth' has no attribute 'xyzzy'."),
        (
            v1,
            "placehodler",
            "module 'berth.compat.v1' has no attribute 'placehodler'. Did you mean 'placeholder'?",
        ),
    ],
)
def test_missing_name_says_what_there_is(api, name, message):
    with pytest.raises(AttributeError) as error:
        getattr(api, name)
    assert str(error.value) == message


def test_asking_for_a_name_changes_no_mode(eager):
    assert not hasattr(berth, "Session")
    assert berth.executing_eagerly()


def test_unknown_size_is_none_in_version_2(eager):
    shape = TensorShape([None, 3])
    assert shape[0] is None
    assert list(shape) == [None, 3]
    assert shape.dims[0].value is None


def test_unknown_size_has_a_value_in_version_1():
    shape = TensorShape([None, 3])
    assert shape[0].value is None
    assert shape[1].value == 3
    assert TensorShape(None)[0].value is None


@pytest.mark.parametrize("api", [berth, v1])
def test_new_axis_is_none(api):
    assert api.newaxis is None


def test_variable_that_does_not_fit_names_a_free_gpu(sim, eager):
    sim("2xT4:1GiB")
    kept = [berth.Variable(berth.zeros([4096, 4096])) for _ in range(8)]
    assert kept[0].device.endswith("GPU:0")
    with pytest.raises(ResourceExhaustedError) as error:
        berth.Variable(berth.zeros([8192, 4096]))
    assert "It fits on GPU:1" in error.value.message


@pytest.mark.parametrize("size", [2**40, 2**62])
def test_more_than_the_host_has_is_refused(eager, size):
    with pytest.raises(ResourceExhaustedError) as error:
        berth.zeros([size])
    assert error.value.message.startswith(
        f"OOM when allocating tensor with shape[{size}] and type float on "
        "/job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu"
    )


def test_more_than_the_host_has_is_refused_on_a_simulated_card(sim, eager, monkeypatch):
    """It would be killed when it writes to the memory."""
    sim("1xA100-80GB")
    small = MemoryInfo(2**30, 2**31)
    monkeypatch.setattr(SimBackend, "backing", lambda self: small)
    for ask in (
        lambda: berth.zeros([2**29]),
        lambda: berth.function(lambda x: berth.reduce_sum(berth.fill([2**29], x)))(1.0),
    ):
        with pytest.raises(ResourceExhaustedError) as error:
            ask()
        first, _, why, *_ = error.value.message.splitlines()
        assert first.startswith(
            "OOM when allocating tensor with shape[536870912] and type float"
        )
        assert why == (
            "  It is this computer's memory that is too small, and not that of GPU:0, which is "
            "simulated in it: 1 GiB of 2 GiB are available."
        )
    assert (berth.ones([3]) + 1.0).numpy().tolist() == [2.0, 2.0, 2.0]
