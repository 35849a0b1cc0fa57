"""Sections 2.1 (objects), 2.2 (states) and 2.3: the devices that tf.config lists and shows."""

from __future__ import annotations

import pytest

import berth as tf
from tests.parity.config_devices import CPU, GPU, PART, names
from tests.parity.programs import first_line

config = tf.config
experimental = tf.config.experimental
threading = tf.config.threading


# --- 2.1 Objects and reprs ---


def test_devices_are_named_tuples():
    """Section 2.1: the reprs, and the order of the fields."""
    assert repr(GPU[0]) == ("PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')")
    assert repr(config.LogicalDevice("/device:GPU:0", "GPU")) == (
        "LogicalDevice(name='/device:GPU:0', device_type='GPU')"
    )
    assert tuple(GPU[0]) == ("/physical_device:GPU:0", "GPU")
    assert tuple(config.LogicalDevice("/device:GPU:0", "GPU")) == ("/device:GPU:0", "GPU")


def test_configuration_is_three_fields():
    """Section 2.1: a namedtuple, all None."""
    assert repr(PART()) == (
        "LogicalDeviceConfiguration(memory_limit=None, experimental_priority=None, "
        "experimental_device_ordinal=None)"
    )
    assert tuple(PART(1024, 1, 2)) == (1024, 1, 2)


def test_listed_devices_have_reprs(sim):
    """Section 2.1: what a program prints."""
    sim("1xT4")
    assert repr(config.list_physical_devices("GPU")) == (
        "[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]"
    )
    assert repr(config.list_logical_devices("GPU")) == (
        "[LogicalDevice(name='/device:GPU:0', device_type='GPU')]"
    )


def test_virtual_configuration_is_same_class():
    """Section 2.1."""
    assert experimental.VirtualDeviceConfiguration is PART


def test_equal_device_is_accepted(sim):
    """Section 2.1: equality is by value."""
    sim("2xT4")
    config.set_visible_devices(config.PhysicalDevice("/physical_device:GPU:1", "GPU"), "GPU")
    assert config.get_visible_devices() == [CPU, GPU[1]]


def test_deprecated_aliases_do_same(sim):
    """Section 2.1, the aliases under tf.config.experimental."""
    sim("2xT4")
    assert experimental.list_physical_devices() == [CPU, *GPU[:2]]
    experimental.set_visible_devices(GPU[1], "GPU")
    assert experimental.get_visible_devices("GPU") == [GPU[1]]
    assert config.get_visible_devices("GPU") == [GPU[1]]
    parts = [PART(memory_limit=1024), PART(memory_limit=2048)]
    experimental.set_virtual_device_configuration(GPU[1], parts)
    assert experimental.get_virtual_device_configuration(GPU[1]) == parts
    assert config.get_logical_device_configuration(GPU[1]) == parts
    assert names(experimental.list_logical_devices("GPU")) == [
        "/device:GPU:0",
        "/device:GPU:1",
    ]


# --- 2.2 States ---

INITIALISES = {
    "list_logical_devices": config.list_logical_devices,
    "list_logical_devices(GPU)": lambda: config.list_logical_devices("GPU"),
    "tf.device": lambda: tf.device("/cpu:0").__enter__(),
    "get_memory_info": lambda: experimental.get_memory_info("GPU:0"),
    "reset_memory_stats": lambda: experimental.reset_memory_stats("GPU:0"),
}

LEAVES_ALONE = {
    "list_physical_devices": config.list_physical_devices,
    "get_visible_devices": config.get_visible_devices,
    "set_visible_devices": lambda: config.set_visible_devices(GPU[1], "GPU"),
    "set_memory_growth": lambda: experimental.set_memory_growth(GPU[0], True),
    "get_memory_growth": lambda: experimental.get_memory_growth(GPU[0]),
    "set_logical": lambda: config.set_logical_device_configuration(CPU, [PART()] * 2),
    "get_logical": lambda: config.get_logical_device_configuration(CPU),
    "get_device_details": lambda: experimental.get_device_details(
        config.list_physical_devices()[0]
    ),
    "set_soft_placement": lambda: config.set_soft_device_placement(False),
    "get_soft_placement": config.get_soft_device_placement,
    "set_intra_threads": lambda: threading.set_intra_op_parallelism_threads(2),
    "get_inter_threads": threading.get_inter_op_parallelism_threads,
    "set_log_placement": lambda: tf.debugging.set_log_device_placement(True),
    "gpu_device_name": tf.test.gpu_device_name,
    "list_local_devices": tf.device_lib.list_local_devices,
}


@pytest.mark.parametrize("trigger", INITIALISES.values(), ids=INITIALISES)
@pytest.mark.usefixtures("eager")
def test_call_initialises_the_runtime(sim, trigger):
    """Section 2.2: the triggers, in a program of TensorFlow 2."""
    sim("2xT4")
    trigger()
    with pytest.raises(RuntimeError) as caught:
        config.set_visible_devices([], "GPU")
    assert first_line(caught.value) == (
        "Visible devices cannot be modified after being initialized"
    )


@pytest.mark.parametrize("call", LEAVES_ALONE.values(), ids=LEAVES_ALONE)
def test_call_leaves_runtime_alone(sim, call):
    """Section 2.2: what does not trigger; sections 2.3 and 2.6 for the listing calls."""
    sim("2xT4")
    call()
    config.set_visible_devices([], "GPU")
    assert config.get_visible_devices() == [CPU]


def test_cpu_is_listed_first(sim):
    """Section 2.2: exactly one physical CPU, then the GPUs by platform id."""
    assert config.list_physical_devices() == [CPU]
    sim("3xT4")
    assert config.list_physical_devices() == [CPU, *GPU[:3]]


# --- 2.3 list_physical_devices, list_logical_devices, get_visible_devices ---


@pytest.mark.parametrize(
    ("device_type", "listed"),
    [
        (None, [CPU, *GPU[:2]]),
        ("CPU", [CPU]),
        ("GPU", GPU[:2]),
        ("gpu", []),
        ("XPU", []),
        ("", []),
        (3, []),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "list_devices", [config.list_physical_devices, config.get_visible_devices]
)
def test_physical_devices_of_type(sim, list_devices, device_type, listed):
    """Section 2.3: exact type, no errors; all are visible by default."""
    sim("2xT4")
    assert list_devices(device_type) == listed


@pytest.mark.parametrize(
    ("device_type", "listed"),
    [
        (None, ["/device:CPU:0", "/device:GPU:0", "/device:GPU:1"]),
        ("CPU", ["/device:CPU:0"]),
        ("GPU", ["/device:GPU:0", "/device:GPU:1"]),
        ("gpu", []),
    ],
)
def test_logical_devices_of_type(sim, device_type, listed):
    """Section 2.3: filtered by exact type."""
    sim("2xT4")
    assert names(config.list_logical_devices(device_type)) == listed


@pytest.mark.parametrize(
    "list_devices",
    [
        config.list_physical_devices,
        config.get_visible_devices,
        config.list_logical_devices,
    ],
)
def test_each_list_is_fresh(sim, list_devices):
    """Section 2.3: changing a returned list changes nothing."""
    sim("1xT4")
    list_devices().clear()
    assert len(list_devices()) == 2


# --- 2.3 set_visible_devices ---

VISIBLE = {
    "one device": ((GPU[1], "GPU"), [CPU, GPU[1]]),
    "list": (([GPU[1], GPU[2]], "GPU"), [CPU, GPU[1], GPU[2]]),
    "user's order": (([GPU[2], GPU[0]], "GPU"), [CPU, GPU[2], GPU[0]]),
    "none of a type": (([], "GPU"), [CPU]),
    "no type": (([GPU[1]],), [GPU[1]]),
    "no type, one device": ((CPU,), [CPU]),
    "no type, empty": (([],), []),
    "others come first": (([CPU], "CPU"), [*GPU[:3], CPU]),
    "no CPU": (([], "CPU"), GPU[:3]),
}


@pytest.mark.parametrize(("arguments", "visible"), VISIBLE.values(), ids=VISIBLE)
def test_visible_devices_are_replaced(sim, arguments, visible):
    """Section 2.3: all of them, or those of one type."""
    sim("3xT4")
    config.set_visible_devices(*arguments)
    assert config.get_visible_devices() == visible


UNRECOGNIZED = {
    "absent GPU": ((GPU[3], "GPU"), repr(GPU[3])),
    "text": (("GPU:0", "GPU"), "'GPU:0'"),
    "text, no type": (("GPU:0",), "'GPU:0'"),
    "tuple": (((GPU[0],), "GPU"), repr((GPU[0],))),
    "other type": ((CPU, "GPU"), repr(CPU)),
    "None": ((None,), "None"),
    "second of list": (([GPU[0], GPU[3]], "GPU"), repr(GPU[3])),
}


@pytest.mark.parametrize(("arguments", "shown"), UNRECOGNIZED.values(), ids=UNRECOGNIZED)
def test_visible_device_must_be_physical(sim, arguments, shown):
    """Section 2.3: the message shows the repr; nothing was changed."""
    sim("2xT4")
    with pytest.raises(ValueError, match="Unrecognized") as caught:
        config.set_visible_devices(*arguments)
    assert first_line(caught.value) == f"Unrecognized device: {shown}"
    assert config.get_visible_devices() == [CPU, *GPU[:2]]


def test_same_visible_devices_always_allowed(sim):
    """Section 2.3: a no-op even after initialisation."""
    sim("2xT4")
    config.set_visible_devices(GPU[1], "GPU")
    config.list_logical_devices()
    config.set_visible_devices([GPU[1]], "GPU")
    assert config.get_visible_devices() == [CPU, GPU[1]]


def test_visible_devices_freeze_when_initialised(sim):
    """Section 2.3."""
    sim("2xT4")
    config.list_logical_devices()
    with pytest.raises(RuntimeError) as caught:
        config.set_visible_devices(GPU[0], "GPU")
    assert first_line(caught.value) == (
        "Visible devices cannot be modified after being initialized"
    )
    assert config.get_visible_devices() == [CPU, *GPU[:2]]


@pytest.mark.parametrize("arguments", [([],), ([], "CPU"), ([GPU[0]],)], ids=str)
def test_some_cpu_must_be_visible(sim, arguments):
    """Section 2.3: raised when the runtime initialises."""
    sim("1xT4")
    config.set_visible_devices(*arguments)
    with pytest.raises(tf.errors.NotFoundError) as caught:
        config.list_logical_devices()
    assert first_line(caught.value) == "No CPU devices are available in this process"


def test_hidden_gpus_get_no_device(sim):
    """Sections 2.2 and 2.3: logical devices are those of the visible ones."""
    sim("3xT4")
    config.set_visible_devices([], "GPU")
    assert names(config.list_logical_devices()) == ["/device:CPU:0"]
    assert config.list_physical_devices("GPU") == GPU[:3]


# --- 2.3 get_device_details ---


def test_details_need_physical_device():
    """Section 2.3: the value is shown as text."""
    with pytest.raises(ValueError, match="PhysicalDevice") as caught:
        experimental.get_device_details("CPU:0")
    assert first_line(caught.value) == (
        "device must be a tf.config.PhysicalDevice, but got: CPU:0"
    )


@pytest.mark.parametrize(
    ("listed", "device"), [(False, CPU), (True, GPU[0])], ids=["never listed", "absent"]
)
def test_details_need_listed_device(listed, device):
    """Section 2.3: also when list_physical_devices was never called."""
    if listed:
        config.list_physical_devices()
    with pytest.raises(ValueError, match="obtained from") as caught:
        experimental.get_device_details(device)
    assert first_line(caught.value) == (
        "The PhysicalDevice must be one obtained from calling "
        f"`tf.config.list_physical_devices`, but got: {device!r}"
    )


def test_cpu_has_no_details():
    """Section 2.3."""
    (cpu,) = config.list_physical_devices()
    assert experimental.get_device_details(cpu) == {}


@pytest.mark.parametrize(
    ("machine", "name", "capability"),
    [
        ("1xT4", "Tesla T4", (7, 5)),
        ("1xV100-16GB", "Tesla V100-SXM2-16GB", (7, 0)),
        ("1xTesla K20m", "Tesla K20m", (3, 5)),
    ],
)
def test_details_name_the_gpu(sim, machine, name, capability):
    """Section 2.3; beside TensorFlow's two entries a simulated GPU may have its own."""
    sim(machine)
    details = experimental.get_device_details(config.list_physical_devices("GPU")[0])
    assert details["device_name"] == name
    assert details["compute_capability"] == capability
