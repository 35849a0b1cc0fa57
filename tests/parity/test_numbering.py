"""From GPUs to /device:GPU:k: sections 2.4, 2.5, 3.2, 3.3 and 3.5."""

from __future__ import annotations

import pytest

import berth as tf
from berth.compat import v1
from berth.devices.numbering import DeviceOptions, VirtualDevices, number_gpus
from berth.front.context import context
from tests.parity.programs import first_line

MiB = 2**20
GPU = [tf.config.PhysicalDevice(f"/physical_device:GPU:{index}", "GPU") for index in range(8)]
CPU = tf.config.PhysicalDevice("/physical_device:CPU:0", "CPU")
PART = tf.config.LogicalDeviceConfiguration


def session_config(*, visible="", virtual=(), n_each=0, fraction=0.0, count=None):
    """A ConfigProto; `virtual` has the fields of one VirtualDevices for each GPU."""
    config = v1.ConfigProto(device_count=count or {})
    config.gpu_options.visible_device_list = visible
    config.gpu_options.per_process_gpu_memory_fraction = fraction
    config.gpu_options.experimental.num_virtual_devices_per_gpu = n_each
    for fields in virtual:
        config.gpu_options.experimental.virtual_devices.add(**fields)
    return config


def local_gpus(**fields):
    """The GPUs of a session with such a configuration, in the order of their numbers."""
    devices = tf.device_lib.list_local_devices(session_config(**fields))
    gpus = [device for device in devices if device.device_type == "GPU"]
    assert [gpu.name for gpu in gpus] == [f"/device:GPU:{k}" for k in range(len(gpus))]
    return gpus


def platform_id(device):
    """N in `device: N, name: ...`."""
    return int(device.physical_device_desc.split(",")[0].removeprefix("device: "))


def platforms(**fields):
    return [platform_id(gpu) for gpu in local_gpus(**fields)]


# --- 2.4 Config -> ConfigProto ---


def visible(*gpus):
    tf.config.set_visible_devices(list(gpus), "GPU")


def split(device, *limits):
    parts = [PART(memory_limit=limit) for limit in limits]
    tf.config.set_logical_device_configuration(device, parts)


def test_all_devices_are_counted(sim):
    """Section 2.4: nothing configured."""
    sim("3xT4")
    options = context().devices.options()
    assert options.device_count == {"CPU": 1, "GPU": 3}
    assert options.visible_device_list == "0,1,2"
    assert options.virtual_devices == ()
    assert options.allow_growth is None


@pytest.mark.parametrize(
    ("gpus", "listed"),
    [([GPU[2]], "2"), ([GPU[2], GPU[0]], "0,2"), ([GPU[1], GPU[2]], "1,2"), ([], "")],
    ids=["one", "backwards", "two", "none"],
)
def test_visible_gpus_keep_physical_order(sim, gpus, listed):
    """Section 2.4: the user's order does not reorder."""
    sim("3xT4")
    visible(*gpus)
    options = context().devices.options()
    assert options.visible_device_list == listed
    assert options.device_count == {"CPU": 1, "GPU": len(gpus)}


def test_split_devices_count_parts(sim):
    """Section 2.4: one message for each visible GPU, empty for the unsplit."""
    sim("3xT4")
    visible(GPU[2], GPU[1])
    split(GPU[2], 1024, 2048, 512)
    tf.config.set_logical_device_configuration(CPU, [PART(), PART()])
    options = context().devices.options()
    assert options.device_count == {"CPU": 2, "GPU": 4}
    assert options.visible_device_list == "1,2"
    assert [list(each.memory_limit_mb) for each in options.virtual_devices] == [
        [],
        [1024, 2048, 512],
    ]


def test_hidden_split_sends_message(sim):
    """Section 2.4: if any logical configuration exists, also that of a hidden GPU."""
    sim("2xT4")
    split(GPU[1], 1024)
    visible(GPU[0])
    options = context().devices.options()
    assert options.virtual_devices == (VirtualDevices(),)
    assert options.device_count == {"CPU": 1, "GPU": 1}


@pytest.mark.parametrize(("growth", "allowed"), [(None, None), (False, False), (True, True)])
def test_common_growth_is_allowed(sim, growth, allowed):
    """Section 2.4: the common flag of the visible GPUs."""
    sim("2xT4")
    if growth is not None:
        for gpu in GPU[:2]:
            tf.config.experimental.set_memory_growth(gpu, growth)
    assert context().devices.options().allow_growth is allowed


def test_split_ignores_growth_flag(sim):
    """Sections 2.3 and 2.4: allow_growth stays false."""
    sim("2xT4")
    tf.config.experimental.set_memory_growth(GPU[0], True)
    split(GPU[1], 1024)
    assert context().devices.options().allow_growth is False


# --- 2.5 Numbering of logical GPUs ---

# A configuration (limits and ordinals for each GPU); the GPU and limit of each number.
NUMBERED = {
    "proto docs": (
        {"visible": "1,0", "virtual": [([1, 2], []), ([3, 4], [])]},
        [(1, 1), (1, 2), (0, 3), (0, 4)],
    ),
    "proto docs, ordinals": (
        {"visible": "1,0", "virtual": [([1, 2], [10, 20]), ([3, 4], [10, 20])]},
        [(1, 1), (0, 3), (1, 2), (0, 4)],
    ),
    "ordinals backwards": (
        {"visible": "0,1", "virtual": [([1, 2], [20, 10]), ([3, 4], [20, 10])]},
        [(0, 2), (1, 4), (0, 1), (1, 3)],
    ),
    "ordinal ties": (
        {"visible": "0,1", "virtual": [([1, 2], [5, 5]), ([3, 4], [5, 5])]},
        [(0, 1), (0, 2), (1, 3), (1, 4)],
    ),
    "negative ordinal": (
        {"visible": "0,1", "virtual": [([1, 2], [0, 0]), ([3, 4], [0, -1])]},
        [(1, 4), (0, 1), (0, 2), (1, 3)],
    ),
    "uneven": (
        {"visible": "0,1", "virtual": [([1], []), ([2, 3, 4], [])]},
        [(0, 1), (1, 2), (1, 3), (1, 4)],
    ),
    "all in order": (
        {"visible": "", "virtual": [([1, 2], []), ([3], [])]},
        [(0, 1), (0, 2), (1, 3)],
    ),
}


@pytest.mark.parametrize(("fields", "numbered"), NUMBERED.values(), ids=NUMBERED)
def test_gpu_parts_are_numbered(fields, numbered):
    """Section 2.5: concatenated, then sorted by ordinal."""
    options = DeviceOptions(
        visible_device_list=fields["visible"],
        virtual_devices=tuple(
            VirtualDevices(memory_limit_mb=tuple(limits), device_ordinal=tuple(ordinals))
            for limits, ordinals in fields["virtual"]
        ),
    )
    gpus = number_gpus(options, 2, [0, 1])
    assert [(gpu.platform, gpu.memory_limit_mb) for gpu in gpus] == numbered


@pytest.mark.parametrize(("fields", "numbered"), NUMBERED.values(), ids=NUMBERED)
def test_session_numbers_gpu_parts(sim, fields, numbered):
    """Section 2.5, for the devices that a session makes."""
    sim("2xT4")
    virtual = [
        {"memory_limit_mb": [1000 * limit for limit in limits], "device_ordinal": ordinals}
        for limits, ordinals in fields["virtual"]
    ]
    gpus = local_gpus(visible=fields["visible"], virtual=virtual)
    assert [(platform_id(gpu), gpu.memory_limit / MiB / 1000) for gpu in gpus] == numbered


@pytest.mark.parametrize(
    ("first", "second", "numbered"),
    [
        ([(1024, None), (2048, None)], [(3072, None)], [1024, 2048, 3072]),
        ([(1024, 10), (2048, 30)], [(3072, 20)], [1024, 3072, 2048]),
    ],
    ids=["in order", "by ordinal"],
)
def test_config_numbers_gpu_parts(sim, first, second, numbered):
    """Section 2.5, through set_logical_device_configuration."""
    sim("2xT4")
    for gpu, parts in zip(GPU, (first, second), strict=False):
        tf.config.set_logical_device_configuration(
            gpu, [PART(limit, None, ordinal) for limit, ordinal in parts]
        )
    options = context().devices.options()
    assert [gpu.memory_limit_mb for gpu in number_gpus(options, 2, [0, 1])] == numbered
    assert len(tf.config.list_logical_devices("GPU")) == len(numbered)


def test_unsplit_gpu_is_whole(sim):
    """Section 2.5: an empty message is one device with all memory."""
    sim("2xT4")
    whole = local_gpus()[0].memory_limit
    sim("2xT4")
    gpus = local_gpus(virtual=[{}, {"memory_limit_mb": [1024, 2048]}])
    assert [(platform_id(gpu), gpu.memory_limit) for gpu in gpus] == [
        (0, whole),
        (1, 1024 * MiB),
        (1, 2048 * MiB),
    ]


@pytest.mark.parametrize(("limit", "mib"), [(1024, 1024), (1024.9, 1024), (100.5, 100), (1, 1)])
def test_memory_limit_is_truncated(sim, limit, mib):
    """Section 2.5: to whole MiB, before it becomes bytes."""
    sim("1xT4")
    (gpu,) = local_gpus(virtual=[{"memory_limit_mb": [limit]}])
    assert gpu.memory_limit == mib * MiB


@pytest.mark.parametrize("n", [2, 3, 4])
def test_even_parts_share_limit(sim, n):
    """Section 2.5: num_virtual_devices_per_gpu gives each part limit // n."""
    sim("2xT4")
    whole = local_gpus()[0].memory_limit
    sim("2xT4")
    gpus = local_gpus(n_each=n)
    assert [platform_id(gpu) for gpu in gpus] == [0] * n + [1] * n
    assert {gpu.memory_limit for gpu in gpus} == {whole // n}


@pytest.mark.parametrize("n", [0, 1])
def test_one_part_is_whole(sim, n):
    """Section 2.5: n > 1 splits, others do not."""
    sim("2xT4")
    assert platforms(n_each=n) == [0, 1]


def test_even_parts_yield_to_limits(sim):
    """Section 2.5: only when no memory limits are given."""
    sim("1xT4")
    gpus = local_gpus(n_each=3, virtual=[{"memory_limit_mb": [1024, 2048]}])
    assert [gpu.memory_limit for gpu in gpus] == [1024 * MiB, 2048 * MiB]


def test_even_parts_fill_empty_message(sim):
    """Section 2.5: "no memory limits" is meant for each GPU by itself."""
    sim("2xT4")
    gpus = local_gpus(n_each=2, virtual=[{}, {"memory_limit_mb": [1024]}])
    assert [platform_id(gpu) for gpu in gpus] == [0, 0, 1]


InvalidArgument = tf.errors.InvalidArgumentError
Unknown = tf.errors.UnknownError
ONE = {"memory_limit_mb": [1024]}
TWO = {"memory_limit_mb": [1024, 1024]}

# Section 2.5, the validation errors, on a machine with two GPUs.
INVALID = {
    "memory fraction": (
        {"virtual": [ONE, ONE], "fraction": 0.5},
        InvalidArgument,
        "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.",
    ),
    "not enough GPUs": (
        {"virtual": [ONE], "count": {"GPU": 0}},
        Unknown,
        "Not enough GPUs to create virtual devices. num_gpus_to_use: 0 #virtual_devices: 1",
    ),
    "too many parts": (
        {"virtual": [ONE, ONE, ONE]},
        Unknown,
        "Not enough GPUs to create virtual devices. num_gpus_to_use: 2 #virtual_devices: 3",
    ),
    "list and parts": (
        {"virtual": [ONE], "visible": "0,1"},
        InvalidArgument,
        "The number of GPUs in visible_device_list doesn't match the number of elements in the virtual_devices list. #GPUs in visible_device_list: 2 virtual_devices.size(): 1",
    ),
    "GPUs and parts": (
        {"virtual": [ONE]},
        Unknown,
        "The number of valid GPUs doesn't match the number of elements in the virtual_devices list. #valid GPUs: 2 virtual_devices.size(): 1",
    ),
    "late ordinals": (
        {"virtual": [ONE, ONE | {"device_ordinal": [0]}]},
        InvalidArgument,
        "Device ordinals must be set for all virtual devices or none. But the device_ordinal is specified for 1 while previous devices didn't have any set.",
    ),
    "early ordinals": (
        {"virtual": [ONE | {"device_ordinal": [0]}, ONE]},
        InvalidArgument,
        "Device ordinals must be set for all virtual devices or none. But the device_ordinal is specified for 1 while previous devices didn't have any set.",
    ),
    "few ordinals": (
        {"virtual": [TWO | {"device_ordinal": [0]}, TWO | {"device_ordinal": [0, 1]}]},
        InvalidArgument,
        "Number of virtual device ordinals specified doesn't match with number of memory_limit_mb specified for GPU# 0 memory_limit_mb size: 2 and device_ordinal size: 1",
    ),
    "late priorities": (
        {"virtual": [ONE, ONE | {"priority": [0]}]},
        InvalidArgument,
        "Priority must be set for all virtual devices or none. But the priority is specified for 1 while previous devices didn't have any set.",
    ),
    "early priorities": (
        {"virtual": [TWO | {"priority": [0, 0]}, TWO]},
        InvalidArgument,
        "Number of virtual device priorities specified doesn't match with number of memory_limit_mb specified for GPU# 1 memory_limit_mb size: 2 and priority size: 0",
    ),
    "few priorities": (
        {"virtual": [TWO | {"priority": [0]}, TWO | {"priority": [0, 0]}]},
        InvalidArgument,
        "Number of virtual device priorities specified doesn't match with number of memory_limit_mb specified for GPU# 0 memory_limit_mb size: 2 and priority size: 1",
    ),
    "priority out of range": (
        {"virtual": [TWO | {"priority": [-9999, 0]}, TWO | {"priority": [0, 0]}]},
        InvalidArgument,
        "Priority -9999 is outside the range of supported priorities [-1,0] for virtual device 0 on GPU# 0",
    ),
    "second message": (
        {
            "virtual": [TWO | {"priority": [0, -1]}, TWO | {"priority": [0, 1]}],
            "visible": "1,0",
        },
        InvalidArgument,
        "Priority 1 is outside the range of supported priorities [-1,0] for virtual device 1 on GPU# 0",
    ),
}


@pytest.mark.parametrize(("fields", "kind", "message"), INVALID.values(), ids=INVALID)
def test_invalid_parts_are_refused(sim, fields, kind, message):
    """Section 2.5, the validation errors.

    In the last of them, TensorFlow's "virtual device" is the number of the message (one
    for each GPU), not of the part in it, and "GPU#" is the platform id.
    """
    sim("2xT4")
    with pytest.raises(kind) as caught:
        local_gpus(**fields)
    assert first_line(caught.value) == message


def test_context_validates_priorities(sim):
    """Section 2.5: raised also when the eager runtime initialises."""
    sim("1xT4")
    parts = [PART(memory_limit=1024, experimental_priority=priority) for priority in (0, 7)]
    tf.config.set_logical_device_configuration(GPU[0], parts)
    with pytest.raises(InvalidArgument) as caught:
        tf.config.list_logical_devices()
    assert first_line(caught.value) == (
        "Priority 7 is outside the range of supported priorities [-1,0] for virtual device 0 on GPU# 0"
    )


def test_priorities_belong_to_parts():
    """Section 2.5: one for each memory limit; 0 where none is given."""
    parts = (VirtualDevices((1, 2), priority=(-1, 0)), VirtualDevices((3,), priority=(-1,)))
    gpus = number_gpus(DeviceOptions(virtual_devices=parts), 2, [0, 1])
    assert [gpu.priority for gpu in gpus] == [-1, 0, -1]
    assert [gpu.priority for gpu in number_gpus(DeviceOptions(), 2, [0, 1])] == [0, 0]


# --- 3.2 Three id spaces ---


def test_description_has_platform_id(sim):
    """Section 3.2: physical GPU 3 -> platform id 1 -> /device:GPU:0."""
    program = sim("4xT4", CUDA_VISIBLE_DEVICES="0,3")
    buses = [info.pci_bus_id for info in program.devices.gpu_backend.devices()]
    assert tf.config.list_physical_devices("GPU") == GPU[:2]
    (gpu,) = local_gpus(visible="1")
    assert gpu.name == "/device:GPU:0"
    assert gpu.physical_device_desc == (
        f"device: 1, name: Tesla T4, pci bus id: {buses[1]}, compute capability: 7.5"
    )


def test_three_id_spaces_compose(sim):
    """Section 3.2: the bus id tells which of the machine's GPUs each number is."""
    machine = [info.pci_bus_id for info in sim("4xT4").devices.gpu_backend.devices()]
    sim("4xT4", CUDA_VISIBLE_DEVICES="3,1,2")
    descriptions = [gpu.physical_device_desc for gpu in local_gpus(visible="2,0")]
    found = [text.split("pci bus id: ")[1].split(",")[0] for text in descriptions]
    assert found == [machine[2], machine[3]]


# --- 3.3 GPUOptions.visible_device_list ---


@pytest.mark.parametrize(
    ("listed", "numbered"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        ("0", [0]),
        ("5,3", [5, 3]),
        ("1,0", [1, 0]),
        ("3,1,2,0", [3, 1, 2, 0]),
    ],
    ids=repr,
)
def test_numbers_follow_visible_list(sim, listed, numbered):
    """Section 3.3: TF ids follow the order of the list."""
    sim("6xT4")
    assert platforms(visible=listed) == numbered
    options = DeviceOptions(visible_device_list=listed)
    assert [gpu.platform for gpu in number_gpus(options, 6, range(6))] == numbered


# Section 3.3, the errors, on a machine with two GPUs.
BAD_LISTS = {
    "abc": "Could not parse entry in 'visible_device_list': 'abc'.",
    "0,abc": "Could not parse entry in 'visible_device_list': 'abc'.",
    "100": "'visible_device_list' listed an invalid Device id '100' but visible device count is 2",
    "0,2": "'visible_device_list' listed an invalid Device id '2' but visible device count is 2",
    "-1": "'visible_device_list' listed an invalid Device id '-1' but visible device count is 2",
    "0,0": "visible_device_list contained a duplicate entry: 0,0",
    "1,0,1": "visible_device_list contained a duplicate entry: 1,0,1",
}


@pytest.mark.parametrize(("listed", "message"), BAD_LISTS.items(), ids=BAD_LISTS)
def test_bad_visible_list_is_refused(sim, listed, message):
    """Section 3.3, the errors."""
    sim("2xT4")
    with pytest.raises(InvalidArgument) as caught:
        local_gpus(visible=listed)
    assert first_line(caught.value) == message


@pytest.mark.parametrize("listed", BAD_LISTS)
def test_visible_list_needs_gpus(listed):
    """Section 3.3: with zero GPUs the list is never parsed."""
    assert local_gpus(visible=listed) == []


def test_number_keeps_its_gpu(sim):
    """Section 3.3: a process maps a TF id to one platform id."""
    sim("2xT4")
    assert platforms(visible="0") == [0]
    with pytest.raises(tf.errors.AlreadyExistsError) as caught:
        local_gpus(visible="1")
    assert first_line(caught.value) == (
        "TensorFlow device (GPU:0) is being mapped to multiple devices (1 now, and 0 previously), which is not supported. This may be the result of providing different GPU configurations (ConfigProto.gpu_options, for example different visible_device_list) when creating multiple Sessions in the same process. This is not currently supported, see https://github.com/tensorflow/tensorflow/issues/19083"
    )


def test_context_and_sessions_share_numbers(sim):
    """Section 3.3: the mapping is that of the process."""
    sim("2xT4")
    visible(GPU[1])
    tf.config.list_logical_devices()
    with pytest.raises(tf.errors.AlreadyExistsError) as caught:
        local_gpus()
    assert first_line(caught.value).startswith(
        "TensorFlow device (GPU:0) is being mapped to multiple devices (0 now, and 1 previously)"
    )


def test_same_numbers_may_repeat(sim):
    """Section 3.3: an equal mapping, or a shorter or longer one, is no conflict."""
    sim("3xT4")
    for listed in ("2,0", "2,0", "2", "2,0,1"):
        assert platforms(visible=listed) == [int(index) for index in listed.split(",")]


# --- 3.5 ConfigProto.device_count ---


@pytest.mark.parametrize(
    ("count", "listed", "numbered"),
    [
        ({}, "", [0, 1, 2]),
        ({"GPU": 0}, "", []),
        ({"GPU": 0}, "abc", []),
        ({"GPU": 0}, "9", []),
        ({"GPU": 1}, "", [0]),
        ({"GPU": 2}, "", [0, 1]),
        ({"GPU": 2}, "2,0,1", [2, 0]),
        ({"GPU": 9}, "", [0, 1, 2]),
    ],
    ids=str,
)
def test_count_keeps_first_gpus(sim, count, listed, numbered):
    """Section 3.5: the first k of the list; clipped silently; 0 parses nothing."""
    sim("3xT4")
    assert platforms(count=count, visible=listed) == numbered


def test_count_takes_valid_gpus(sim):
    """Sections 3.4 and 3.5: the first k *valid* GPUs of the list."""
    sim(
        "1xK20m,2xT4",
        CUDA_DEVICE_ORDER="PCI_BUS_ID",
        TF_MIN_GPU_MULTIPROCESSOR_COUNT="20",
    )
    assert platforms(count={"GPU": 1}) == [1]


@pytest.mark.parametrize(
    ("listed", "numbered"), [("", [1, 3]), ("3,2,1,0", [3, 1]), ("0,1", [1])]
)
def test_unusable_gpus_get_no_number(listed, numbered):
    """Sections 3.4 and 3.5: the filter comes before numbering."""
    options = DeviceOptions(visible_device_list=listed)
    assert [gpu.platform for gpu in number_gpus(options, 4, [1, 3])] == numbered


@pytest.mark.parametrize("n", [1, 2, 5])
def test_count_makes_virtual_cpus(n):
    """Section 3.5: CPU:0..n-1, each of nominal size (section 2.6)."""
    devices = tf.device_lib.list_local_devices(session_config(count={"CPU": n}))
    assert [device.name for device in devices] == [f"/device:CPU:{k}" for k in range(n)]
    assert {device.memory_limit for device in devices} == {256 * MiB}


def test_count_zero_leaves_no_cpu():
    """Section 3.5."""
    with pytest.raises(tf.errors.NotFoundError) as caught:
        tf.device_lib.list_local_devices(session_config(count={"CPU": 0}))
    assert first_line(caught.value) == "No CPU devices are available in this process"


@pytest.mark.parametrize(
    ("enabled", "names"),
    [
        ("CPU", ["/device:CPU:0"]),
        ("CPU,GPU", ["/device:CPU:0", "/device:GPU:0"]),
    ],
)
def test_environment_enables_device_types(sim, enabled, names):
    """Section 3.5: TF_ENABLED_DEVICE_TYPES disables the other factories."""
    sim("1xT4", TF_ENABLED_DEVICE_TYPES=enabled)
    assert [device.name for device in tf.device_lib.list_local_devices()] == names


def test_gpus_share_nothing_unless_split():
    assert [gpu.n_sharing for gpu in number_gpus(DeviceOptions(), 2, [0, 1])] == [1, 1]


def test_negative_count_gives_no_gpu():
    assert number_gpus(DeviceOptions(device_count={"GPU": -1}), 2, [0, 1]) == []
