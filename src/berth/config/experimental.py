"""``tf.config.experimental``: memory growth, memory queries, and older names."""

from __future__ import annotations

from typing import Any

from berth.devices.physical import PhysicalDevice
from berth.front.context import context
from berth.front.deprecation import warn_deprecated
from berth.public import public

# --- written by dev/make_api.py: make api
# isort: split
from berth.config.devices import (
    get_logical_device_configuration as get_virtual_device_configuration,
)
from berth.config.devices import (
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_visible_devices,
)
from berth.config.devices import (
    set_logical_device_configuration as set_virtual_device_configuration,
)
from berth.devices.device import LogicalDeviceConfiguration as VirtualDeviceConfiguration

__all__ = [
    "VirtualDeviceConfiguration",
    "get_device_details",
    "get_device_policy",
    "get_memory_growth",
    "get_memory_info",
    "get_memory_usage",
    "get_synchronous_execution",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "reset_memory_stats",
    "set_device_policy",
    "set_memory_growth",
    "set_synchronous_execution",
    "set_virtual_device_configuration",
    "set_visible_devices",
]
# --- end

_POLICIES = ("silent", "silent_for_int32", "warn", "explicit")


@public("config.experimental.get_memory_growth")
def get_memory_growth(device: PhysicalDevice) -> bool | None:
    """Return whether a GPU's memory grows as needed; None if that was not set."""
    return context().devices.growth(device)


@public("config.experimental.set_memory_growth")
def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Let a GPU's memory grow as needed, in place of taking nearly all at once."""
    context().devices.set_growth(device, enable)


@public("config.experimental.get_device_details")
def get_device_details(device: PhysicalDevice) -> dict[str, Any]:
    """Return a GPU's name and compute capability, and whether it is simulated."""
    if not isinstance(device, PhysicalDevice):
        raise ValueError(f"device must be a tf.config.PhysicalDevice, but got: {device}")
    if not context().has_listed_devices or device not in context().devices.physical():
        raise ValueError(
            "The PhysicalDevice must be one obtained from calling "
            f"`tf.config.list_physical_devices`, but got: {device}"
        )
    return context().devices.details(device)


@public("config.experimental.get_memory_info")
def get_memory_info(device: str) -> dict[str, int]:
    """Return the bytes that a device's tensors hold now, and held at most."""
    stats = context().open().find(device).arena.stats
    return {"current": stats.in_use_bytes, "peak": stats.peak_bytes}


@public("config.experimental.reset_memory_stats")
def reset_memory_stats(device: str) -> None:
    """Reset the peak to the current use."""
    context().open().find(device).arena.stats.clear()


@public("config.experimental.get_memory_usage")
def get_memory_usage(device: str) -> int:
    """Return the bytes that a device's tensors hold now (deprecated)."""
    warn_deprecated(
        "tf.config.experimental.get_memory_usage",
        "tf.config.experimental.get_memory_info(device)['current']",
    )
    return get_memory_info(device)["current"]


@public("config.experimental.get_synchronous_execution")
def get_synchronous_execution() -> bool:
    """Return what was set: berth computes operations when they are called, in either case."""
    return context().switches.is_synchronous


@public("config.experimental.set_synchronous_execution")
def set_synchronous_execution(enable: bool) -> None:
    """Keep the setting, which has no effect: an operation is over when its call returns."""
    context().switches.is_synchronous = bool(enable)


@public("config.experimental.get_device_policy")
def get_device_policy() -> str:
    """Return what happens when an operation's input is on another device."""
    return context().eager_scope.device_policy or context().switches.device_policy


@public("config.experimental.set_device_policy")
def set_device_policy(device_policy: str | None) -> None:
    """Choose what happens when an input is on another device.

    Said before the devices are opened it is for the program, afterwards for this thread.
    """
    if device_policy not in (None, *_POLICIES):
        raise ValueError(
            f"Invalid argument `device_policy`: {device_policy!r}. Please refer to "
            "https://www.tensorflow.org/api_docs/python/tf/config/experimental/"
            "set_device_policy for valid `device_policy` arguments."
        )
    if context().opened_by is None:
        context().switches.device_policy = device_policy or "silent"
    else:
        context().eager_scope.device_policy = device_policy or "silent"
