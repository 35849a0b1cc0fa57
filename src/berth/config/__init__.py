"""``tf.config``: list devices, select them, limit their memory.

    physical  what the machine has, less what CUDA_VISIBLE_DEVICES hides
    visible   the physical devices that this program may use
    logical   what operations run on: a visible device, or a part of one

All of it is settled when the devices are opened: by `list_logical_devices`, a memory
query, a ``tf.device`` block, or the first operation.
"""

from berth.config import experimental, optimizer, threading

# --- written by dev/make_api.py: make api
# isort: split
from berth.config.devices import (
    get_logical_device_configuration,
    get_soft_device_placement,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    memory_report,
    set_logical_device_configuration,
    set_soft_device_placement,
    set_visible_devices,
)
from berth.devices.device import LogicalDevice, LogicalDeviceConfiguration
from berth.devices.physical import PhysicalDevice

__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "get_logical_device_configuration",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "memory_report",
    "set_logical_device_configuration",
    "set_soft_device_placement",
    "set_visible_devices",
]
# --- end

__all__ += ["experimental", "optimizer", "threading"]
