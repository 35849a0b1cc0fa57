"""From platform to logical indices: which GPU is GPU:0 (TensorFlow's BaseGPUDeviceFactory).

A request (`DeviceOptions`, made from a ConfigProto or from ``tf.config``'s settings) and
the usable GPUs go in; the logical GPUs, in order, come out. Pure, and the only place
that knows the rules, so that Sessions and eager programs number alike.

Invariant: the answer names usable GPUs only, and says the same each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from berth.backends.base import PlatformIndex
from berth.errors import InvalidArgumentError, UnknownError, explain

PRIORITIES = (-1, 0)
"""The highest and the lowest stream priority of a simulated GPU; lower numbers win."""


class VirtualDevices(NamedTuple):
    """How one GPU is split. No limits at all: one logical device, all its memory."""

    memory_limit_mb: tuple[float, ...] = ()
    priority: tuple[int, ...] = ()
    device_ordinal: tuple[int, ...] = ()


class DeviceOptions(NamedTuple):
    """What a program asks of its devices, in TensorFlow's terms."""

    device_count: Mapping[str, int] = MappingProxyType({})
    visible_device_list: str = ""
    virtual_devices: tuple[VirtualDevices, ...] = ()
    n_virtual_devices_per_gpu: int = 0
    memory_fraction: float = 0.0
    system_memory_mb: int = 0
    """What to leave to the system on each GPU, in place of the default."""
    allow_growth: bool | None = None
    """None: not set."""
    is_growth_asked: bool = True
    """Whether the program set `allow_growth` itself, and should know if it has no effect."""
    fragmentation_fraction: float = 0.0
    """What part of the limit is worth splitting off a chunk; 0 for the default."""
    allocator_type: str = ""
    """Which allocator: BFC, which there is, or another, which is an error."""
    other_types: Mapping[str, DeviceOptions] = MappingProxyType({})
    """What is asked of accelerators of a type that is not listed first, if it differs."""

    def of_type(self, device_type: str) -> DeviceOptions:
        """Return what is asked of the accelerators of one type."""
        return self.other_types.get(device_type, self)


class LogicalGpu(NamedTuple):
    """One logical GPU before it has a number: its place in the list is its number."""

    platform: PlatformIndex
    memory_limit_mb: float | None = None
    """None: as much as the options allow."""
    n_sharing: int = 1
    """Into how many equal parts the GPU is split, if no limit is given."""
    priority: int = 0


def number_gpus(
    options: DeviceOptions,
    n_platform: int,
    usable: Sequence[PlatformIndex],
    device_type: str = "GPU",
) -> list[LogicalGpu]:
    """Return the logical GPUs that a request gets, in the order of their numbers.

    Accelerators of another type are numbered by the same rules.
    """
    if n_platform == 0:
        return []  # nothing is read where there is no GPU, so nothing can be wrong
    n_wanted = options.device_count.get(device_type)
    listed: list[PlatformIndex] = []
    if n_wanted != 0:
        listed = parse_visible_device_list(options.visible_device_list, n_platform)
    gpus = [index for index in listed if index in usable]
    n_used = len(gpus) if n_wanted is None else min(max(n_wanted, 0), len(gpus))
    if not options.virtual_devices:
        return _undivided(gpus[:n_used], options.n_virtual_devices_per_gpu)
    _check_virtual_devices(options, n_used, listed, gpus)
    return _divided(gpus, options)


def parse_visible_device_list(text: str, n_platform: int) -> list[PlatformIndex]:
    """Read GPUOptions.visible_device_list; empty means all, in order."""
    if not text:
        return [PlatformIndex(index) for index in range(n_platform)]
    indices: list[PlatformIndex] = []
    for entry in text.split(","):
        if not _is_index(entry):
            raise _invalid(
                f"Could not parse entry in 'visible_device_list': '{entry}'.",
                f"The list is '{text}': platform numbers with commas between, like '0,2'.",
            )
        index = int(entry)
        if not 0 <= index < n_platform:
            raise _invalid(
                f"'visible_device_list' listed an invalid Device id '{index}' but "
                f"visible device count is {n_platform}",
                "Its numbers count the GPUs that CUDA_VISIBLE_DEVICES left, from 0.",
            )
        indices.append(PlatformIndex(index))
    if len(set(indices)) < len(indices):
        raise _invalid(f"visible_device_list contained a duplicate entry: {text}")
    return indices


def _is_index(entry: str) -> bool:
    digits = entry.strip(" ").removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= 9


def _undivided(gpus: Sequence[PlatformIndex], n_each: int) -> list[LogicalGpu]:
    n_each = max(n_each, 1)
    return [LogicalGpu(gpu, n_sharing=n_each) for gpu in gpus for _ in range(n_each)]


def _divided(gpus: Sequence[PlatformIndex], options: DeviceOptions) -> list[LogicalGpu]:
    numbered: list[tuple[int, LogicalGpu]] = []
    for gpu, division in zip(gpus, options.virtual_devices, strict=True):
        if not division.memory_limit_mb:
            undivided = _undivided([gpu], options.n_virtual_devices_per_gpu)
            numbered += [(0, logical) for logical in undivided]
        for part, limit in enumerate(division.memory_limit_mb):
            ordinal = division.device_ordinal[part] if division.device_ordinal else 0
            priority = division.priority[part] if division.priority else 0
            numbered.append((ordinal, LogicalGpu(gpu, limit, priority=priority)))
    numbered.sort(key=lambda pair: pair[0])  # stable: ties stay in their order
    return [logical for _, logical in numbered]


def _check_virtual_devices(
    options: DeviceOptions,
    n_used: int,
    listed: Sequence[PlatformIndex],
    gpus: Sequence[PlatformIndex],
) -> None:
    divisions = options.virtual_devices
    if options.memory_fraction > 0:
        raise _invalid(
            "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set."
        )
    if n_used < len(divisions):
        raise _not_enough(n_used, len(divisions))
    if options.visible_device_list and len(listed) != len(divisions):
        raise _invalid(
            "The number of GPUs in visible_device_list doesn't match the number of "
            "elements in the virtual_devices list. #GPUs in visible_device_list: "
            f"{len(listed)} virtual_devices.size(): {len(divisions)}"
        )
    if len(gpus) != len(divisions):
        raise UnknownError(
            None,
            None,
            "The number of valid GPUs doesn't match the number of elements in the "
            f"virtual_devices list. #valid GPUs: {len(gpus)} virtual_devices.size(): "
            f"{len(divisions)}",
        )
    _check_ordinals(divisions)
    _check_priorities(divisions, gpus)


def _check_ordinals(divisions: Sequence[VirtualDevices]) -> None:
    for gpu, division in enumerate(divisions):
        if bool(division.device_ordinal) != bool(divisions[0].device_ordinal):
            raise _invalid(
                "Device ordinals must be set for all virtual devices or none. But the "
                f"device_ordinal is specified for {gpu} while previous devices didn't have "
                "any set."
            )
    for gpu, division in enumerate(divisions):
        if divisions[0].device_ordinal:
            _check_sizes(gpu, division, "device_ordinal", "ordinals")


def _check_priorities(
    divisions: Sequence[VirtualDevices], gpus: Sequence[PlatformIndex]
) -> None:
    highest, lowest = PRIORITIES
    for number, division in enumerate(divisions):
        if divisions[0].priority:
            _check_sizes(number, division, "priority", "priorities")
        elif division.priority:
            raise _invalid(
                "Priority must be set for all virtual devices or none. But the priority is "
                f"specified for {number} while previous devices didn't have any set."
            )
        for priority in division.priority:
            if not highest <= priority <= lowest:
                # What TensorFlow calls the virtual device is the number of its GPU's
                # entry, and its GPU# is the platform's number.
                raise _invalid(
                    f"Priority {priority} is outside the range of supported priorities "
                    f"[{highest},{lowest}] for virtual device {number} on GPU# "
                    f"{gpus[number]}"
                )


def _check_sizes(gpu: int, division: VirtualDevices, name: str, plural: str) -> None:
    n_limits, n_set = len(division.memory_limit_mb), len(getattr(division, name))
    if n_limits != n_set:
        raise _invalid(
            f"Number of virtual device {plural} specified doesn't match with number of "
            f"memory_limit_mb specified for GPU# {gpu} memory_limit_mb size: {n_limits} "
            f"and {name} size: {n_set}"
        )


def _not_enough(n_used: int, n_divisions: int) -> UnknownError:
    return UnknownError(
        None,
        None,
        "Not enough GPUs to create virtual devices. num_gpus_to_use: "
        f"{n_used} #virtual_devices: {n_divisions}",
    )


def _invalid(first_line: str, *details: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, explain(first_line, *details))
