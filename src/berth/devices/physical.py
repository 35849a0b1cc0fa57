"""Physical devices: what the drivers show, less what TensorFlow will not use (§3.4).

The first of three numberings: the machine's cards → *platform* indices, as the driver
numbers what CUDA_VISIBLE_DEVICES left → logical indices (`numbering`). A physical device
is named by its platform index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from berth.backends.base import Backend, DeviceInfo, PlatformIndex

_MIN_CAPABILITY = (3, 5)
_DEFAULT_MIN_MULTIPROCESSORS = 8


class PhysicalDevice(NamedTuple):
    """A device of this machine, as ``tf.config`` names it."""

    name: str
    device_type: str


@dataclass(frozen=True, slots=True)
class Hardware:
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


@dataclass(frozen=True, slots=True)
class IgnoredGpu:
    """A GPU that the driver shows and TensorFlow does not use."""

    hardware: Hardware
    message: str


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
        message = _why_ignored(gpu, least)
        if message:
            ignored.append(IgnoredGpu(gpu, message))
        else:
            usable.append(gpu)
    return usable, ignored, complaint


def _least_multiprocessors(
    gpus: Sequence[Hardware], setting: str | None
) -> tuple[int, str]:
    most = max((gpu.info.multiprocessors for gpu in gpus), default=0)
    default = min(most, _DEFAULT_MIN_MULTIPROCESSORS)
    if not setting:
        return default, ""
    if setting.isascii() and setting.isdigit():
        return int(setting[:9]), ""
    return default, (
        f"Invalid minimum GPU multiprocessor count: [{setting}]. "
        f"Using the default value: {default}"
    )


def _why_ignored(gpu: Hardware, least_multiprocessors: int) -> str:
    capability = gpu.info.compute_capability or (0, 0)
    if capability < _MIN_CAPABILITY:
        return (
            f"Ignoring visible gpu device ({gpu.description}) with Cuda compute "
            f"capability {capability[0]}.{capability[1]}. The minimum required Cuda "
            f"capability is {_MIN_CAPABILITY[0]}.{_MIN_CAPABILITY[1]}."
        )
    if gpu.info.multiprocessors < least_multiprocessors:
        return (
            f"Ignoring visible gpu device ({gpu.description}) with core count: "
            f"{gpu.info.multiprocessors}. The minimum required count is "
            f"{least_multiprocessors}. You can adjust this requirement with the env var "
            "TF_MIN_GPU_MULTIPROCESSOR_COUNT."
        )
    return ""
