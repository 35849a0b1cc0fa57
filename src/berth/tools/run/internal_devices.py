"""TensorFlow's ``python.framework.device`` and ``python.distribute.device_util``.

Names of devices, completed: in a graph by what is asked for there, in an eager program by the
devices of this process.
"""

from __future__ import annotations

from typing import Any

from berth.devices.device import LogicalDevice
from berth.devices.spec import DeviceSpecV2 as DeviceSpec
from berth.front.context import context
from berth.graph.default_graph import get_default_graph
from berth.graph.device_scopes import merge_device
from berth.graph.graph import Graph
from berth.ops import builder

__all__ = [
    "DeviceSpec",
    "canonical_name",
    "canonicalize",
    "check_valid",
    "current",
    "get_host_for_device",
    "is_device_spec",
    "local_devices_from_num_gpus",
    "merge_device",
    "resolve",
]


def check_valid(spec: str) -> None:
    """Raise ValueError if a name cannot be read."""
    DeviceSpec.from_string(spec)


def is_device_spec(obj: Any) -> bool:
    """Tell whether something is a `DeviceSpec`, of either API."""
    return isinstance(obj, DeviceSpec)


def canonical_name(device: str | DeviceSpec | None) -> str:
    """Return a name with its parts in order, spelled in full.

    >>> canonical_name("/gpu:1/job:ps")
    '/job:ps/device:GPU:1'
    """
    if device is None:
        return ""
    return _spec_of(device).to_string()


def canonicalize(d: str | LogicalDevice, default: str | None = None) -> str:
    """Complete a name: by a default, by this process in an eager program, by CPU:0."""
    result = DeviceSpec(replica=0, task=0, device_type="CPU", device_index=0)
    if _is_eager_program():
        result = result.replace(job="localhost")
    if default:
        result = result.make_merged_spec(_spec_of(default))
    named = d.name if isinstance(d, LogicalDevice) else d
    return result.make_merged_spec(_spec_of(named)).to_string()


def resolve(d: str | LogicalDevice) -> str:
    """Complete a name by the device that is asked for at this place."""
    return canonicalize(d, default=current())


def current() -> str:
    """Return the device that is asked for at this place; empty if none is."""
    if _is_eager_program():
        return context().eager_scope.device_name
    return get_default_graph().devices.wanted()


def get_host_for_device(device: str, device_index: int = 0) -> str:
    """Return the name of the CPU beside a device."""
    spec = _spec_of(device).replace(device_type="CPU", device_index=device_index)
    return spec.to_string()


def local_devices_from_num_gpus(num_gpus: int) -> tuple[str, ...]:
    """Return the names of so many GPUs, or the CPU's."""
    return tuple(f"/device:GPU:{k}" for k in range(num_gpus)) or ("/device:CPU:0",)


def _spec_of(device: str | DeviceSpec) -> DeviceSpec:
    return device if isinstance(device, DeviceSpec) else DeviceSpec.from_string(device)


def _is_eager_program() -> bool:
    """Tell whether this is an eager program, also in a function that is being traced."""
    graph: Any = builder.current()
    return not isinstance(graph, Graph) or bool(getattr(graph, "is_function", False))
