"""Physical devices: what the drivers list, less the GPUs that TensorFlow ignores.

The first of three numberings: the machine's cards → *platform* indices, as the driver
numbers what CUDA_VISIBLE_DEVICES left → logical indices (`numbering`). A physical device
is named by its platform index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from berth.backends.base import Backend, DeviceInfo, PlatformIndex
from berth.public import public
from berth.units import parse_count

_MIN_CAPABILITY = (3, 5)
_DEFAULT_MIN_MULTIPROCESSORS = 8


@public("config.PhysicalDevice")
class PhysicalDevice(NamedTuple):
    """A device of this machine, as ``tf.config`` names it."""

    name: str
    device_type: str


class Hardware(NamedTuple):
    """A physical device together with what it stands for."""

    device: PhysicalDevice
    backend: Backend
    platform: PlatformIndex
    info: DeviceInfo

    @property
    def description(self) -> str:
        """TensorFlow's one-line description of a GPU; nothing for a CPU."""
        if self.info.compute_capability is None:
            return ""
        major, minor = self.info.compute_capability
        return (
            f"device: {self.platform}, name: {self.info.model}, "
            f"pci bus id: {self.info.pci_bus_id}, compute capability: {major}.{minor}"
        )


class IgnoredGpu(NamedTuple):
    """A GPU that the driver shows and TensorFlow does not use."""

    hardware: Hardware
    reason: str
    """Why, in a few words."""
    message: str
    """Why, in TensorFlow's words."""


def list_hardware(backend: Backend) -> list[Hardware]:
    """List a backend's devices under their physical names."""
    return [
        Hardware(
            PhysicalDevice(f"/physical_device:{info.device_type}:{i}", info.device_type),
            backend,
            PlatformIndex(i),
            info,
        )
        for i, info in enumerate(backend.devices())
    ]


def split_usable(
    gpus: Sequence[Hardware], min_multiprocessors: str | None
) -> tuple[list[Hardware], list[IgnoredGpu], str]:
    """Part the GPUs worth using from the rest; return a message about a bad setting.

    `min_multiprocessors` is the text of TF_MIN_GPU_MULTIPROCESSOR_COUNT.
    """
    least, complaint = _least_multiprocessors(gpus, min_multiprocessors)
    usable, ignored = [], []
    for gpu in gpus:
        fault = _fault(gpu, least)
        if fault is None:
            usable.append(gpu)
        else:
            ignored.append(fault)
    return usable, ignored, complaint


def _least_multiprocessors(gpus: Sequence[Hardware], setting: str | None) -> tuple[int, str]:
    most = max((gpu.info.multiprocessors for gpu in gpus), default=0)
    default = min(most, _DEFAULT_MIN_MULTIPROCESSORS)
    if not setting:
        return default, ""
    if setting.isascii() and setting.isdigit():
        return parse_count(setting), ""
    return default, (
        f"Invalid minimum GPU multiprocessor count: [{setting}]. "
        f"Using the default value: {default}"
    )


def _fault(gpu: Hardware, least_multiprocessors: int) -> IgnoredGpu | None:
    """Say what makes a GPU not worth using, if anything does."""
    if gpu.info.compute_capability is None:
        return None  # it is not a CUDA device: TensorFlow's rules are not about it
    major, minor = gpu.info.compute_capability
    if (major, minor) < _MIN_CAPABILITY:
        least = f"{_MIN_CAPABILITY[0]}.{_MIN_CAPABILITY[1]}"
        return IgnoredGpu(
            gpu,
            f"its compute capability is {major}.{minor}, less than {least}",
            f"Ignoring visible gpu device ({gpu.description}) with Cuda compute capability "
            f"{major}.{minor}. The minimum required Cuda capability is {least}.",
        )
    n_multiprocessors = gpu.info.multiprocessors
    if n_multiprocessors < least_multiprocessors:
        return IgnoredGpu(
            gpu,
            f"it has {n_multiprocessors} multiprocessors, fewer than "
            f"{least_multiprocessors} (TF_MIN_GPU_MULTIPROCESSOR_COUNT)",
            f"Ignoring visible gpu device ({gpu.description}) with core count: "
            f"{n_multiprocessors}. The minimum required count is {least_multiprocessors}. "
            "You can adjust this requirement with the env var TF_MIN_GPU_MULTIPROCESSOR_COUNT.",
        )
    return None
