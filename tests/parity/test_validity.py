"""Section 3.4: the validity filter, which drops GPUs before they are numbered."""

from __future__ import annotations

import pytest

import berth as tf
from berth.backends.base import DeviceInfo
from berth.devices.physical import Hardware, split_usable
from berth.front.context import context


def gpus(*properties):
    """Hand-made GPUs, each of (compute capability, multiprocessors)."""
    return [
        Hardware(
            tf.config.PhysicalDevice(f"/physical_device:GPU:{index}", "GPU"),
            context().devices.gpu_backend,
            index,
            DeviceInfo(
                "GPU",
                "Quadro",
                2**32,
                pci_bus_id=f"0000:0{index + 1}:00.0",
                compute_capability=capability,
                multiprocessors=multiprocessors,
            ),
        )
        for index, (capability, multiprocessors) in enumerate(properties)
    ]


def kept(machine, setting=None):
    usable, _, _ = split_usable(machine, setting)
    return [hardware.platform for hardware in usable]


@pytest.mark.parametrize(
    ("capability", "usable"),
    [((2, 0), False), ((3, 0), False), ((3, 4), False), ((3, 5), True), ((9, 0), True)],
)
def test_old_gpus_are_dropped(capability, usable):
    """Section 3.4: a compute capability below 3.5."""
    assert kept(gpus((capability, 16))) == [0] * usable


@pytest.mark.parametrize(
    ("counts", "usable"),
    [
        ([16, 8, 7, 2], [0, 1]),
        ([9, 8, 7], [0, 1]),
        ([8, 7], [0]),
        ([4, 2], [0]),
        ([2, 4, 4], [1, 2]),
        ([2, 2], [0, 1]),
        ([1], [0]),
        ([], []),
    ],
    ids=str,
)
def test_small_gpus_are_dropped(counts, usable):
    """Section 3.4: the threshold is 8, or the most that is seen if that is at most 8."""
    assert kept(gpus(*[((7, 5), count) for count in counts])) == usable


@pytest.mark.parametrize(
    ("setting", "usable"),
    [
        (None, [0, 1]),
        ("", [0, 1]),
        ("8", [0, 1]),
        ("0", [0, 1, 2]),
        ("2", [0, 1, 2]),
        ("9", [0]),
        ("16", [0]),
        ("17", []),
        ("-1", [0, 1]),
        ("x", [0, 1]),
        ("9.5", [0, 1]),
    ],
    ids=repr,
)
def test_environment_sets_the_threshold(setting, usable):
    """Section 3.4: a bad value is as good as none."""
    assert kept(gpus(((7, 5), 16), ((7, 5), 8), ((7, 5), 2)), setting) == usable


@pytest.mark.parametrize("setting", ["x", "-1", "9.5"])
@pytest.mark.parametrize(("most", "default"), [(16, 8), (4, 4)])
def test_bad_threshold_is_reported(setting, most, default):
    """Section 3.4: the default is that of the machine."""
    _, _, message = split_usable(gpus(((7, 5), most)), setting)
    assert message.split("\n")[0] == (
        f"Invalid minimum GPU multiprocessor count: [{setting}]. "
        f"Using the default value: {default}"
    )


@pytest.mark.parametrize("setting", [None, "", "0", "20"], ids=repr)
def test_good_threshold_is_silent(setting):
    """Section 3.4."""
    assert not split_usable(gpus(((7, 5), 16)), setting)[2]


@pytest.mark.parametrize("multiprocessors", [16, 2])
def test_old_gpu_says_why(multiprocessors):
    """Section 3.4: the log line; the capability is looked at first."""
    machine = gpus(((7, 5), 16), ((3, 0), multiprocessors))
    (ignored,) = split_usable(machine, None)[1]
    assert ignored.message == (
        "Ignoring visible gpu device (device: 1, name: Quadro, pci bus id: 0000:02:00.0, compute capability: 3.0) with Cuda compute capability 3.0. The minimum required Cuda capability is 3.5."
    )


@pytest.mark.parametrize(("setting", "minimum"), [(None, 8), ("12", 12)])
def test_small_gpu_says_why(setting, minimum):
    """Section 3.4: the log line."""
    machine = gpus(((7, 5), 16), ((7, 5), 2))
    (ignored,) = split_usable(machine, setting)[1]
    assert ignored.message == (
        f"Ignoring visible gpu device (device: 1, name: Quadro, pci bus id: 0000:02:00.0, compute capability: 7.5) with core count: 2. The minimum required count is {minimum}. You can adjust this requirement with the env var TF_MIN_GPU_MULTIPROCESSOR_COUNT."
    )


def test_dropped_gpu_keeps_its_id(sim):
    """Sections 2.2 and 3.4: physical names have platform ids, logical ones do not."""
    program = sim(
        "1xK20m,2xT4",
        CUDA_DEVICE_ORDER="PCI_BUS_ID",
        TF_MIN_GPU_MULTIPROCESSOR_COUNT="20",
    )
    listed = tf.config.list_physical_devices("GPU")
    assert [device.name for device in listed] == [
        "/physical_device:GPU:1",
        "/physical_device:GPU:2",
    ]
    assert [device.name for device in tf.config.list_logical_devices("GPU")] == [
        "/device:GPU:0",
        "/device:GPU:1",
    ]
    (ignored,) = program.devices.ignored
    bus = program.devices.gpu_backend.devices()[0].pci_bus_id
    assert ignored.message == (
        f"Ignoring visible gpu device (device: 0, name: Tesla K20m, pci bus id: {bus}, compute capability: 3.5) with core count: 13. The minimum required count is 20. You can adjust this requirement with the env var TF_MIN_GPU_MULTIPROCESSOR_COUNT."
    )


def test_dropping_all_is_no_error(sim):
    """Section 3.4: a log line, no error."""
    program = sim("2xT4", TF_MIN_GPU_MULTIPROCESSOR_COUNT="1000")
    assert tf.config.list_physical_devices("GPU") == []
    assert tf.config.list_logical_devices("GPU") == []
    assert len(program.devices.ignored) == 2
