"""ConfigProto and GPUOptions: what a program asks of a Session's devices."""

from __future__ import annotations

from collections.abc import Iterable

from berth.backends.kinds import ACCELERATOR_TYPES
from berth.devices.full_name import parse_full_name
from berth.devices.numbering import DeviceOptions, VirtualDevices
from berth.errors import InvalidArgumentError
from berth.proto.fields import (
    bool_field,
    double_field,
    int32_field,
    int64_field,
    map_field,
    message_field,
    repeated_field,
    string_field,
)
from berth.proto.kinds import FLOAT, INT32, STRING
from berth.proto.message import Message
from berth.public import public_v1


class _VirtualDevices(Message):
    memory_limit_mb = repeated_field(1, FLOAT)
    priority = repeated_field(2, INT32)
    device_ordinal = repeated_field(3, INT32)


class _Experimental(Message):
    VirtualDevices = _VirtualDevices
    virtual_devices = repeated_field(1, _VirtualDevices)
    num_virtual_devices_per_gpu = int32_field(15)
    gpu_system_memory_size_in_mb = int32_field(16)
    internal_fragmentation_fraction = double_field(10)


@public_v1("GPUOptions")
class GPUOptions(Message):
    """Which GPUs, and how much of their memory.

    >>> GPUOptions(allow_growth=True, visible_device_list="1,0")
    allow_growth: true
    visible_device_list: "1,0"
    <BLANKLINE>
    """

    Experimental = _Experimental
    per_process_gpu_memory_fraction = double_field(1)
    allow_growth = bool_field(4)
    visible_device_list = string_field(5)
    experimental = message_field(9, _Experimental)


@public_v1("GraphOptions")
class GraphOptions(Message):
    """How graphs are placed and run."""

    place_pruned_graph = bool_field(6)
    infer_shapes = bool_field(5)


@public_v1("ConfigProto")
class ConfigProto(Message):
    """The options of a Session.

    >>> config = ConfigProto(device_count={"GPU": 1})
    >>> config.gpu_options.per_process_gpu_memory_fraction = 0.4
    >>> config
    device_count {
      key: "GPU"
      value: 1
    }
    gpu_options {
      per_process_gpu_memory_fraction: 0.4
    }
    <BLANKLINE>
    """

    device_count = map_field(1, STRING, INT32)
    intra_op_parallelism_threads = int32_field(2)
    inter_op_parallelism_threads = int32_field(5)
    use_per_session_threads = bool_field(9)
    device_filters = repeated_field(4, STRING)
    gpu_options = message_field(6, GPUOptions)
    allow_soft_placement = bool_field(7)
    log_device_placement = bool_field(8)
    graph_options = message_field(10, GraphOptions)
    operation_timeout_in_ms = int64_field(11)


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
