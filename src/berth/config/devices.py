"""``tf.config``: functions to list, select and split devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.devices.device import LogicalDevice, LogicalDeviceConfiguration
from berth.devices.physical import PhysicalDevice
from berth.front.context import context
from berth.front.memory_report import MemoryReport
from berth.front.memory_report import memory_report as _memory_report
from berth.public import public


@public("config.list_physical_devices", "config.experimental.list_physical_devices")
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the machine's devices, of one type if it is given. Opens none."""
    return _of_type(context().devices.physical(), device_type)


@public("config.list_logical_devices", "config.experimental.list_logical_devices")
def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Initialise the devices, and list the logical ones, which operations run on."""
    logical = [device.logical for device in context().open().opened]
    return _of_type(logical, device_type)


@public("config.get_visible_devices", "config.experimental.get_visible_devices")
def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the physical devices that this program may use."""
    return _of_type(context().devices.visible(), device_type)


@public("config.set_visible_devices", "config.experimental.set_visible_devices")
def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Choose the physical devices that this program may use: all, or those of one type."""
    context().devices.set_visible(devices, device_type)


@public(
    "config.get_logical_device_configuration",
    "config.experimental.get_virtual_device_configuration",
)
def get_logical_device_configuration(
    device: PhysicalDevice,
) -> Sequence[LogicalDeviceConfiguration] | None:
    """Return how a physical device is split, or None if it is not."""
    return context().devices.split(device)


@public(
    "config.set_logical_device_configuration",
    "config.experimental.set_virtual_device_configuration",
)
def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration]
) -> None:
    """Split a physical device into logical ones, each with its own memory limit."""
    context().devices.set_split(device, logical_devices)


@public("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """Tell whether soft placement is on for eager operations and functions."""
    soft = context().switches.soft_placement
    return True if soft is None else soft


@public("config.set_soft_device_placement")
def set_soft_device_placement(enabled: bool) -> None:
    """Switch soft placement: operations may run on another device than the requested."""
    program = context()
    program.log_override("BERTH_SOFT_PLACEMENT", enabled, "set_soft_device_placement(False)")
    program.switches.soft_placement = enabled


@public("config.memory_report")
def memory_report() -> MemoryReport:
    """Report each GPU's memory limit: requested, granted, and what set it."""
    return _memory_report(context().devices)


def _of_type(devices: list[Any], device_type: str | None) -> list[Any]:
    if device_type is None:
        return devices
    return [device for device in devices if device.device_type == device_type]
