"""What a ConfigProto asks of a Session's devices."""

from __future__ import annotations

from collections.abc import Iterable

from berth.backends.kinds import ACCELERATOR_TYPES
from berth.devices.full_name import parse_full_name
from berth.devices.numbering import DeviceOptions, VirtualDevices
from berth.errors import InvalidArgumentError
from berth.proto.config import ConfigProto


def device_options(config: ConfigProto) -> DeviceOptions:
    """Say what a ConfigProto asks of the devices."""
    gpu = config.gpu_options
    return DeviceOptions(
        device_count={**config.device_count, **_filtered_out(config.device_filters)},
        visible_device_list=gpu.visible_device_list,
        virtual_devices=tuple(
            VirtualDevices(tuple(v.memory_limit_mb), tuple(v.priority), tuple(v.device_ordinal))
            for v in gpu.experimental.virtual_devices
        ),
        n_virtual_devices_per_gpu=gpu.experimental.num_virtual_devices_per_gpu,
        memory_fraction=gpu.per_process_gpu_memory_fraction,
        system_memory_mb=gpu.experimental.gpu_system_memory_size_in_mb,
        allow_growth=gpu.allow_growth if gpu.is_set("allow_growth") else None,
        fragmentation_fraction=gpu.experimental.internal_fragmentation_fraction,
        allocator_type=gpu.allocator_type,
    )


def _filtered_out(filters: Iterable[str]) -> dict[str, int]:
    """Say which types of devices filters leave out, as counts. There is always a CPU."""
    types = set()
    for text in filters:
        name = parse_full_name(text)
        if name is None:
            raise InvalidArgumentError(None, None, f"Invalid device filter: {text}")
        types.add(name.type)
    if not types or None in types:
        return {}
    return {each: 0 for each in ACCELERATOR_TYPES if each not in types}
