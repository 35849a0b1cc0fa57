"""Sections 2.1 (objects), 2.2 (states) and 2.3 (the functions of tf.config)."""

from __future__ import annotations

import pytest

import berth as tf
from berth.compat import v1
from tests.parity.programs import first_line, run

config = tf.config
experimental = tf.config.experimental
threading = tf.config.threading

CPU = config.PhysicalDevice("/physical_device:CPU:0", "CPU")
GPU = [config.PhysicalDevice(f"/physical_device:GPU:{index}", "GPU") for index in range(4)]
PART = config.LogicalDeviceConfiguration


def names(devices):
    return [device.name for device in devices]


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


# --- 2.3 The switches ---

SWITCHES = {
    "soft placement": (
        config.set_soft_device_placement,
        config.get_soft_device_placement,
        True,
    ),
    "log placement": (
        tf.debugging.set_log_device_placement,
        tf.debugging.get_log_device_placement,
        False,
    ),
}


@pytest.mark.parametrize("initialised", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("write", "read", "default"), SWITCHES.values(), ids=SWITCHES)
def test_switch_may_always_change(write, read, default, initialised):
    """Section 2.3: eager defaults; changed at any time."""
    if initialised:
        config.list_logical_devices()
    assert read() is default
    write(not default)
    assert read() is not default
    write(default)
    assert read() is default


THREADS = {
    "Intra": (
        threading.set_intra_op_parallelism_threads,
        threading.get_intra_op_parallelism_threads,
    ),
    "Inter": (
        threading.set_inter_op_parallelism_threads,
        threading.get_inter_op_parallelism_threads,
    ),
}


@pytest.mark.parametrize(("write", "read"), THREADS.values(), ids=THREADS)
def test_thread_numbers_are_kept(write, read):
    """Section 2.3: 0 when unset; the same number is accepted after initialisation."""
    assert read() == 0
    write(3)
    assert read() == 3
    config.list_logical_devices()
    write(3)
    assert read() == 3


@pytest.mark.parametrize("number", [4, 0])
@pytest.mark.parametrize("name", THREADS)
@pytest.mark.parametrize("before", [3, None], ids=["set", "unset"])
def test_thread_numbers_freeze(name, before, number):
    """Section 2.3: a different value; what is unset differs from 0 (TensorFlow 2.21)."""
    write, read = THREADS[name]
    if before is not None:
        write(before)
    config.list_logical_devices()
    with pytest.raises(RuntimeError) as caught:
        write(number)
    assert first_line(caught.value) == (
        f"{name} op parallelism cannot be modified after initialization."
    )
    assert read() == (before or 0)


@pytest.mark.parametrize("initialised", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("policy", "stored"),
    [
        (None, "silent"),
        ("silent", "silent"),
        ("silent_for_int32", "silent_for_int32"),
        ("warn", "warn"),
        ("explicit", "explicit"),
    ],
)
def test_device_policy_is_stored(policy, stored, initialised):
    """Section 2.3: 'silent' by default."""
    assert experimental.get_device_policy() == "silent"
    if initialised:
        config.list_logical_devices()
    experimental.set_device_policy("warn")
    experimental.set_device_policy(policy)
    assert experimental.get_device_policy() == stored


def test_device_policy_must_be_known():
    """Section 2.3."""
    with pytest.raises(ValueError, match="device_policy") as caught:
        experimental.set_device_policy("xx")
    assert first_line(caught.value) == (
        "Invalid argument `device_policy`: 'xx'. Please refer to "
        "https://www.tensorflow.org/api_docs/python/tf/config/experimental/set_device_policy "
        "for valid `device_policy` arguments."
    )


def test_device_policy_belongs_to_thread(in_thread):
    """Section 2.3: thread-local."""
    config.list_logical_devices()
    experimental.set_device_policy("warn")
    assert in_thread(experimental.get_device_policy) == "silent"
    assert experimental.get_device_policy() == "warn"


def test_early_policy_is_for_all(in_thread):
    """Section 2.3: before initialisation it sets the default (TensorFlow 2.21)."""
    experimental.set_device_policy("warn")
    config.list_logical_devices()
    assert in_thread(experimental.get_device_policy) == "warn"


# --- 2.3 ConfigProto import ---


def adopt(**fields):
    """Start eager execution with a configuration; return the visible GPUs."""
    v1.enable_eager_execution(v1.ConfigProto(**fields))
    return config.get_visible_devices("GPU")


def test_config_without_cpu_hides_it():
    """Section 2.3, ConfigProto import."""
    adopt(device_count={"CPU": 0})
    assert config.get_visible_devices() == []
    with pytest.raises(tf.errors.NotFoundError) as caught:
        config.list_logical_devices()
    assert first_line(caught.value) == "No CPU devices are available in this process"


@pytest.mark.parametrize(("n", "split"), [(1, None), (3, [PART()] * 3)])
def test_config_splits_the_cpu(n, split):
    """Section 2.3, ConfigProto import."""
    adopt(device_count={"CPU": n})
    assert config.get_logical_device_configuration(CPU) == split
    assert len(config.list_logical_devices("CPU")) == n


@pytest.mark.parametrize(
    ("count", "listed", "visible"),
    [
        ({}, "", GPU[:3]),
        ({}, "1", [GPU[1]]),
        ({}, "2,0", [GPU[2], GPU[0]]),
        ({"GPU": 2}, "", GPU[:2]),
        ({"GPU": 1}, "2,0", [GPU[2]]),
        ({"GPU": 0}, "", []),
        ({"GPU": 9}, "", GPU[:3]),
    ],
    ids=str,
)
def test_config_keeps_first_gpus(sim, count, listed, visible):
    """Section 2.3, ConfigProto import: the first k of the list."""
    sim("3xT4")
    options = v1.GPUOptions(visible_device_list=listed)
    assert adopt(device_count=count, gpu_options=options) == visible


@pytest.mark.parametrize(("listed", "shown"), [("7", "7"), ("0,2", "2")])
def test_config_lists_existing_gpus(sim, listed, shown):
    """Section 2.3, ConfigProto import."""
    sim("2xT4")
    with pytest.raises(ValueError, match="Invalid visible") as caught:
        adopt(gpu_options=v1.GPUOptions(visible_device_list=listed))
    assert first_line(caught.value) == f"Invalid visible device index: {shown}"


def test_config_list_needs_gpus():
    """Section 3.3: with no GPU the list is never read."""
    assert adopt(gpu_options=v1.GPUOptions(visible_device_list="7")) == []


def test_config_sets_the_switches():
    """Section 2.3, ConfigProto import, as TensorFlow 2.21 does it."""
    adopt(
        log_device_placement=True,
        intra_op_parallelism_threads=3,
        inter_op_parallelism_threads=2,
    )
    assert tf.debugging.get_log_device_placement() is True
    assert threading.get_intra_op_parallelism_threads() == 3
    assert threading.get_inter_op_parallelism_threads() == 2


# --- 2.3 tf.test, device_lib ---


@pytest.mark.parametrize(
    ("machine", "minimum", "available"),
    [
        (None, None, False),
        (None, (0, 0), False),
        ("1xT4", None, True),
        ("1xT4", (7, 5), True),
        ("1xT4", (7, 6), False),
        ("1xT4", (8, 0), False),
        ("1xK20m", (3, 5), True),
        ("1xK20m,1xT4", (7, 0), True),
    ],
)
def test_gpu_is_available(sim, machine, minimum, available):
    """Section 2.3: some GPU with the compute capability asked for."""
    sim(machine)
    assert tf.test.is_gpu_available(min_cuda_compute_capability=minimum) is available


def test_cuda_only_is_ignored(sim):
    """Section 2.3."""
    sim("1xT4")
    assert tf.test.is_gpu_available(cuda_only=True) is True


@pytest.mark.parametrize(("machine", "name"), [(None, ""), ("2xT4", "/device:GPU:0")])
def test_first_gpu_is_named(sim, machine, name):
    """Section 2.3."""
    sim(machine)
    assert tf.test.gpu_device_name() == name


def test_local_devices_start_with_cpu(sim):
    """Section 2.3: names without a job, in the order CPU, GPUs."""
    sim("2xT4")
    assert names(tf.device_lib.list_local_devices()) == [
        "/device:CPU:0",
        "/device:GPU:0",
        "/device:GPU:1",
    ]


def test_local_gpu_describes_itself(sim):
    """Sections 2.3 and 7.5: the text that is_gpu_available reads."""
    sim("1xT4")
    cpu, gpu = tf.device_lib.list_local_devices()
    assert cpu.physical_device_desc == ""
    pci_bus_id = gpu.physical_device_desc.split(", ")[2]
    assert gpu.physical_device_desc == (
        f"device: 0, name: Tesla T4, {pci_bus_id}, compute capability: 7.5"
    )
    assert pci_bus_id.startswith("pci bus id: 0000:")


def test_local_cpu_prints_as_text():
    """Section 7.5: the text form of a CPU's attributes."""
    (cpu,) = tf.device_lib.list_local_devices()
    assert str(cpu) == (
        'name: "/device:CPU:0"\ndevice_type: "CPU"\nmemory_limit: 268435456\n'
        f"locality {{\n}}\nincarnation: {cpu.incarnation}\nxla_global_id: -1\n"
    )


def test_local_cpu_is_made_anew():
    """Section 7.5: a new incarnation for each call."""
    first, second = (tf.device_lib.list_local_devices()[0] for _ in range(2))
    assert first.incarnation != 0
    assert first.incarnation != second.incarnation


# --- 2.3 Deprecations ---


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("get_memory_usage", "tf.config.experimental.get_memory_usage('GPU:0')"),
        ("is_gpu_available", "tf.test.is_gpu_available()"),
    ],
)
def test_deprecated_call_warns_once(name, call):
    """Section 2.3: logged by the first call in a process."""
    printed = run(
        f"""
import logging, sys
logging.basicConfig(stream=sys.stdout, level="WARNING", format="%(message)s")
import berth as tf
for _ in range(2):
    {call}
""",
        BERTH_SIM="1xT4",
    )
    assert printed.count(name) == 1
    assert "deprecated" in printed
