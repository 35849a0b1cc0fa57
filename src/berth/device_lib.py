"""``tensorflow.python.client.device_lib``: the devices with their attributes."""

from __future__ import annotations

from collections.abc import Sequence

from berth.devices.device import Device
from berth.front.context import context
from berth.front.options import device_options
from berth.proto.config import ConfigProto
from berth.proto.fields import (
    fixed64_field,
    int32_field,
    int64_field,
    message_field,
    repeated_field,
    string_field,
)
from berth.proto.message import Message
from berth.public import public_v2

# --- written by dev/make_api.py: make api
# isort: split

__all__ = [
    "DeviceAttributes",
    "list_local_devices",
]
# --- end


class InterconnectLink(Message):
    device_id = int32_field(1)
    type = string_field(2)
    strength = int32_field(3)


class LocalLinks(Message):
    link = repeated_field(1, InterconnectLink)


class DeviceLocality(Message):
    bus_id = int32_field(1)
    numa_node = int32_field(2)
    links = message_field(3, LocalLinks)


@public_v2("device_lib.DeviceAttributes")
class DeviceAttributes(Message):
    """One device, in TensorFlow's terms."""

    name = string_field(1)
    device_type = string_field(2)
    memory_limit = int64_field(4)
    locality = message_field(5, DeviceLocality)
    incarnation = fixed64_field(6)
    physical_device_desc = string_field(7)
    xla_global_id = int64_field(8)


@public_v2("device_lib.list_local_devices")
def list_local_devices(session_config: ConfigProto | None = None) -> list[DeviceAttributes]:
    """Make this process's devices, by these options, and describe them; CPU first."""
    devices = context().devices.maker.make(device_options(session_config or ConfigProto()))
    return [_describe(device, devices) for device in devices]


def _describe(device: Device, devices: Sequence[Device]) -> DeviceAttributes:
    return DeviceAttributes(
        name=device.logical.name,
        device_type=device.device_type,
        memory_limit=device.limit.nbytes,
        locality=_locality(device, devices),
        incarnation=device.incarnation,
        physical_device_desc=device.hardware.description,
        xla_global_id=-1,
    )


def _locality(gpu: Device, devices: Sequence[Device]) -> DeviceLocality:
    if gpu.is_host:
        return DeviceLocality()
    numa_node = gpu.hardware.info.numa_node
    locality = DeviceLocality(bus_id=numa_node + 1, numa_node=numa_node)
    for other in devices:
        if other is gpu or other.device_type != gpu.device_type:
            continue
        if other.hardware is gpu.hardware:
            kind, strength = "SAME_DEVICE", 1000
        else:
            kind, strength = "StreamExecutor", 1
        locality.links.link.add(device_id=other.index, type=kind, strength=strength)
    return locality
