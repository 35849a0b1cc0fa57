"""Section 2.3: tf.test's questions about GPUs, and device_lib."""

from __future__ import annotations

import pytest

import berth as tf
from tests.parity.config_devices import names

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


def test_each_local_cpu_is_new():
    """Section 7.5: a new incarnation for each call."""
    first, second = (tf.device_lib.list_local_devices()[0] for _ in range(2))
    assert first.incarnation != 0
    assert first.incarnation != second.incarnation
