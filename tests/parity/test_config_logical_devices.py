"""Section 2.3: GPUs and CPUs divided into logical devices by tf.config."""

from __future__ import annotations

import pytest

import berth as tf
from tests.parity.config_devices import CPU, GPU, PART, names
from tests.parity.programs import first_line

config = tf.config


# --- 2.3 set_logical_device_configuration, get_logical_device_configuration ---

UNSUPPORTED = {
    "CPU limit": (
        CPU,
        [PART(memory_limit=1024)],
        "Setting memory limit on CPU virtual devices is currently not supported",
    ),
    "CPU priority": (
        CPU,
        [PART(experimental_priority=1)],
        "Setting experimental_priority on CPU virtual  devices is currently not supported",
    ),
    "CPU ordinal": (
        CPU,
        [PART(experimental_device_ordinal=1)],
        "Setting experimental_device_ordinal on CPU virtual  devices is currently not supported",
    ),
    "CPU, second part": (
        CPU,
        [PART(), PART(memory_limit=1024)],
        "Setting memory limit on CPU virtual devices is currently not supported",
    ),
    "GPU without limit": (
        GPU[0],
        [PART()],
        "Setting memory limit is required for GPU virtual devices",
    ),
    "GPU, second part": (
        GPU[0],
        [PART(memory_limit=1024), PART(experimental_priority=1)],
        "Setting memory limit is required for GPU virtual devices",
    ),
}


@pytest.mark.parametrize("initialised", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("device", "parts", "message"), UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_unsupported_split_is_refused(sim, device, parts, message, initialised):
    """Section 2.3, check 2: it precedes those of the state."""
    sim("1xT4")
    if initialised:
        config.list_logical_devices()
    with pytest.raises(ValueError, match="virtual") as caught:
        config.set_logical_device_configuration(device, parts)
    assert first_line(caught.value) == message


def test_none_resets_no_split():
    """Section 2.3: the documentation is wrong."""
    with pytest.raises(TypeError) as caught:
        config.set_logical_device_configuration(CPU, None)
    assert first_line(caught.value) == "'NoneType' object is not iterable"


def test_empty_split_is_accepted():
    """Section 2.3: `[]`; with no CPU left, initialisation fails as in TensorFlow 2.21."""
    config.set_logical_device_configuration(CPU, [])
    assert config.get_logical_device_configuration(CPU) == []
    with pytest.raises(tf.errors.NotFoundError) as caught:
        config.list_logical_devices()
    assert first_line(caught.value) == "No CPU devices are available in this process"


def test_split_makes_logical_devices(sim):
    """Sections 2.3 and 2.6: one logical device for each part."""
    sim("2xT4")
    config.set_logical_device_configuration(CPU, [PART()] * 2)
    config.set_logical_device_configuration(GPU[0], [PART(memory_limit=1024)] * 3)
    assert names(config.list_logical_devices()) == [
        "/device:CPU:0",
        "/device:CPU:1",
        "/device:GPU:0",
        "/device:GPU:1",
        "/device:GPU:2",
        "/device:GPU:3",
    ]


def test_same_split_always_allowed(sim):
    """Section 2.3, check 3: also after initialisation."""
    sim("1xT4")
    config.set_logical_device_configuration(GPU[0], [PART(memory_limit=1024)])
    config.list_logical_devices()
    config.set_logical_device_configuration(GPU[0], [PART(memory_limit=1024)])
    assert len(config.list_logical_devices("GPU")) == 1


@pytest.mark.parametrize("device", [CPU, GPU[0]], ids=["CPU", "GPU"])
@pytest.mark.parametrize("n_before", [0, 1])
def test_split_freezes_when_initialised(sim, device, n_before):
    """Section 2.3, check 4: even into one part, if there was no split."""
    sim("1xT4")
    part = PART() if device is CPU else PART(memory_limit=1024)
    if n_before:
        config.set_logical_device_configuration(device, [part] * n_before)
    config.list_logical_devices()
    with pytest.raises(RuntimeError) as caught:
        config.set_logical_device_configuration(device, [part] * (n_before + 1))
    assert first_line(caught.value) == (
        "Virtual devices cannot be modified after being initialized"
    )


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("experimental_priority", "priority must be specified for all virtual devices"),
        (
            "experimental_device_ordinal",
            "device_ordinals must be specified for all virtual devices",
        ),
    ],
)
def test_all_parts_or_none(sim, field, message):
    """Section 2.3: raised when the configuration is computed, not when it is set."""
    sim("1xT4")
    parts = [PART(memory_limit=1024, **{field: 0}), PART(memory_limit=1024)]
    config.set_logical_device_configuration(GPU[0], parts)
    with pytest.raises(ValueError, match="specified for all") as caught:
        config.list_logical_devices()
    assert first_line(caught.value) == message


def test_split_is_none_until_set(sim):
    """Section 2.3: None, or the very list that was given."""
    sim("1xT4")
    assert config.get_logical_device_configuration(GPU[0]) is None
    parts = [PART(memory_limit=1024)]
    config.set_logical_device_configuration(GPU[0], parts)
    assert config.get_logical_device_configuration(GPU[0]) is parts
    assert config.get_logical_device_configuration(CPU) is None
