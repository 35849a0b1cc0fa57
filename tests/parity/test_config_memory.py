"""Section 2.3: memory growth and memory statistics in tf.config."""

from __future__ import annotations

import pytest

import berth as tf
from tests.parity.config_devices import CPU, GPU, PART, names
from tests.parity.programs import first_line

config = tf.config
experimental = tf.config.experimental


# --- 2.3 set_memory_growth, get_memory_growth ---


@pytest.mark.parametrize("device", [GPU[3], "GPU:0", None], ids=str)
@pytest.mark.parametrize(
    "call",
    [
        lambda device: experimental.set_memory_growth(device, True),
        experimental.get_memory_growth,
        lambda device: config.set_logical_device_configuration(device, [PART()]),
        lambda device: config.set_logical_device_configuration(device, None),
        config.get_logical_device_configuration,
    ],
    ids=["set_growth", "get_growth", "set_logical", "set_logical(None)", "get_logical"],
)
def test_device_must_be_physical(sim, call, device):
    """Section 2.3: the first check of each function."""
    sim("1xT4")
    with pytest.raises(ValueError, match="Unrecognized") as caught:
        call(device)
    assert first_line(caught.value) == f"Unrecognized device: {device!r}"


def test_growth_excludes_a_split(sim):
    """Section 2.3, check 2."""
    sim("1xT4")
    config.set_logical_device_configuration(GPU[0], [PART(memory_limit=1024)])
    with pytest.raises(ValueError, match="memory growth") as caught:
        experimental.set_memory_growth(GPU[0], True)
    assert first_line(caught.value) == (
        "Cannot set memory growth on device when virtual devices configured"
    )


def test_split_is_checked_before_type():
    """Section 2.3: check 2 precedes check 3."""
    config.set_logical_device_configuration(CPU, [PART(), PART()])
    with pytest.raises(ValueError, match="memory growth") as caught:
        experimental.set_memory_growth(CPU, True)
    assert first_line(caught.value) == (
        "Cannot set memory growth on device when virtual devices configured"
    )


@pytest.mark.parametrize("initialised", [False, True])
def test_cpu_memory_cannot_grow(initialised):
    """Section 2.3, check 3: before those of the state."""
    if initialised:
        config.list_logical_devices()
    with pytest.raises(ValueError, match="memory growth") as caught:
        experimental.set_memory_growth(CPU, True)
    assert first_line(caught.value) == (
        "Cannot set memory growth on non-GPU and non-Pluggable devices"
    )


@pytest.mark.parametrize("enable", [True, False])
def test_same_growth_always_allowed(sim, enable):
    """Section 2.3, check 4: also after initialisation."""
    sim("1xT4")
    experimental.set_memory_growth(GPU[0], enable)
    config.list_logical_devices()
    experimental.set_memory_growth(GPU[0], enable)
    assert experimental.get_memory_growth(GPU[0]) is enable


@pytest.mark.parametrize(
    ("first", "second"), [(None, True), (None, False), (True, False), (False, True)]
)
def test_growth_freezes_when_initialised(sim, first, second):
    """Section 2.3, check 5: the initial None differs from both."""
    sim("1xT4")
    if first is not None:
        experimental.set_memory_growth(GPU[0], first)
    config.list_logical_devices()
    with pytest.raises(RuntimeError) as caught:
        experimental.set_memory_growth(GPU[0], second)
    assert first_line(caught.value) == (
        "Physical devices cannot be modified after being initialized"
    )
    assert experimental.get_memory_growth(GPU[0]) is first


def test_growth_is_kept_per_device(sim):
    """Section 2.3: stored for each device, None at first."""
    sim("3xT4")
    experimental.set_memory_growth(GPU[0], True)
    experimental.set_memory_growth(GPU[1], False)
    stored = [experimental.get_memory_growth(gpu) for gpu in GPU[:3]]
    assert stored == [True, False, None]


def test_growth_of_cpu_is_keyerror():
    """Section 2.3: get_memory_growth on a CPU."""
    with pytest.raises(KeyError) as caught:
        experimental.get_memory_growth(CPU)
    assert caught.value.args[0] == CPU


@pytest.mark.parametrize("growths", [[True], [True, False], [None, True], [False]], ids=str)
def test_growth_must_not_differ(sim, growths):
    """Section 2.3: None is a value of its own; raised at initialisation only."""
    sim("2xT4")
    for gpu, growth in zip(GPU, growths, strict=False):
        if growth is not None:
            experimental.set_memory_growth(gpu, growth)
    with pytest.raises(ValueError, match="differ") as caught:
        config.list_logical_devices()
    assert first_line(caught.value) == "Memory growth cannot differ between GPU devices"


def test_hidden_growth_may_differ(sim):
    """Section 2.3: hidden GPUs are ignored."""
    sim("2xT4")
    experimental.set_memory_growth(GPU[0], True)
    config.set_visible_devices(GPU[0], "GPU")
    assert names(config.list_logical_devices("GPU")) == ["/device:GPU:0"]


def test_split_makes_growth_moot(sim):
    """Section 2.3: with a logical configuration anywhere, growth may even differ."""
    sim("2xT4")
    experimental.set_memory_growth(GPU[0], True)
    config.set_logical_device_configuration(GPU[1], [PART(memory_limit=1024)])
    assert len(config.list_logical_devices("GPU")) == 2


# --- 2.3 get_memory_info, reset_memory_stats, get_memory_usage ---

MEMORY_CALLS = pytest.mark.parametrize(
    "call",
    [
        experimental.get_memory_info,
        experimental.reset_memory_stats,
        experimental.get_memory_usage,
    ],
)


@pytest.mark.parametrize(
    "device",
    [
        "GPU:0",
        "/gpu:0",
        "/GPU:0",
        "/device:GPU:0",
        "/device:GPU",
        "/device:GPU:*",
        "/job:localhost/replica:0/task:0/device:GPU:0",
        "/job:localhost/device:GPU:0",
    ],
)
def test_memory_info_is_two_numbers(sim, device):
    """Section 2.3: exactly `current` and `peak`; a full name or a local one."""
    sim("1xT4")
    info = experimental.get_memory_info(device)
    assert sorted(info) == ["current", "peak"]
    assert [type(nbytes) for nbytes in info.values()] == [int, int]
    assert info["current"] <= info["peak"]


@MEMORY_CALLS
@pytest.mark.parametrize("device", ["GPU", "GPU:", "GPU:CPU", "CPU:*", "junk", "/Gpu:0"])
def test_memory_device_must_be_readable(sim, call, device):
    """Section 2.3."""
    sim("1xT4")
    with pytest.raises(ValueError, match="Failed parsing") as caught:
        call(device)
    assert first_line(caught.value) == (
        f"Failed parsing device name: '{device}'. Note a valid device string should at "
        'least contain a device type and a device index, like "GPU:0".'
    )


@MEMORY_CALLS
@pytest.mark.parametrize(
    "device",
    [
        "GPU:1",
        "/device:GPU:1",
        "cpu:0",
        "gpu:0",
        "/device:gpu:0",
        "unknown_device:0",
        "/job:worker/device:GPU:0",
    ],
)
def test_memory_device_must_exist(sim, call, device):
    """Section 2.3: names are case-sensitive here, local ones too."""
    sim("1xT4")
    with pytest.raises(ValueError, match="No matching") as caught:
        call(device)
    assert first_line(caught.value) == f"No matching devices found for '{device}'"


@MEMORY_CALLS
@pytest.mark.parametrize(
    ("device", "first", "second"),
    [
        ("/device:CPU:*", "CPU:0", "CPU:1"),
        ("/device:GPU:*", "GPU:0", "GPU:1"),
        ("/device:GPU", "GPU:0", "GPU:1"),
        ("", "CPU:0", "CPU:1"),
        ("/job:localhost", "CPU:0", "CPU:1"),
        ("/device:*:1", "CPU:1", "GPU:1"),
    ],
)
def test_memory_device_must_be_one(sim, call, device, first, second):
    """Section 2.3: the first two that match are named in full."""
    sim("3xT4")
    config.set_logical_device_configuration(CPU, [PART()] * 2)
    with pytest.raises(ValueError, match="Multiple") as caught:
        call(device)
    prefix = "/job:localhost/replica:0/task:0/device:"
    assert first_line(caught.value) == (
        f"Multiple devices match the provided string '{device}': "
        f"'{prefix}{first}' and '{prefix}{second}'."
    )


def test_memory_stats_reset_returns_none(sim):
    """Section 2.3: afterwards the peak is the current number."""
    sim("1xT4")
    assert experimental.reset_memory_stats("GPU:0") is None
    info = experimental.get_memory_info("GPU:0")
    assert info["peak"] == info["current"]


def test_memory_usage_is_current(sim):
    """Section 2.3: the deprecated function."""
    sim("1xT4")
    usage = experimental.get_memory_usage("GPU:0")
    assert usage == experimental.get_memory_info("GPU:0")["current"]
