"""``tf.config.memory_report``: the memory limit of each device, and what set it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from berth.devices.device import Device
from berth.devices.devices import Devices
from berth.devices.out_of_memory import is_taken, other_processes, process_line
from berth.memory.trial import could_extend
from berth.units import format_bytes


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """The memory of one logical device."""

    name: str
    limit_bytes: int
    source: str
    growth: bool
    reserved_bytes: int
    in_use_bytes: int
    largest_tensor_bytes: int
    """The largest tensor that would fit now."""
    refused_because: str = ""
    """Why the device could not be opened now, if it could not."""


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """The memory of all logical GPUs. ``print`` it, or use the rows."""

    devices: list[DeviceMemory]
    is_open: bool

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if not self.devices:
            yield "No GPU: `berth devices` says why."
        for row in self.devices:
            how = "grows as needed" if row.growth else "taken at once"
            yield f"{row.name}: limit {format_bytes(row.limit_bytes)} ({row.source}), {how}"
            if row.refused_because:
                yield f"    but it would be refused now: {row.refused_because}"
            if self.is_open:
                yield (
                    f"    reserved {format_bytes(row.reserved_bytes)}, in use "
                    f"{format_bytes(row.in_use_bytes)}, room for a tensor of "
                    f"{row.largest_tensor_bytes:,} bytes"
                )
        if self.devices and not self.is_open:
            yield "Nothing is taken yet: the devices are not open."


def memory_report(devices: Devices) -> MemoryReport:
    """Report on the GPUs that tf.config or a session opened, or else on those that would be."""
    opened = devices.opened or devices.maker.made()
    is_open = bool(opened)
    logical = opened or devices.maker.plan(devices.options())
    rows = [_row(d, is_open=is_open) for d in logical if d.kind.has_limit]
    return MemoryReport(rows, is_open)


def _row(device: Device, *, is_open: bool) -> DeviceMemory:
    arena = device.arena
    return DeviceMemory(
        name=device.short_name,
        limit_bytes=arena.limit_bytes,
        source=device.limit.source,
        growth=device.growth,
        reserved_bytes=arena.reserved_bytes,
        in_use_bytes=arena.stats.in_use_bytes,
        largest_tensor_bytes=_largest_tensor(device),
        refused_because="" if is_open else _why_refused(device),
    )


def _why_refused(device: Device) -> str:
    if not is_taken(device):
        return ""
    return " ".join(process_line(process) for process in other_processes(device))


def _largest_tensor(device: Device) -> int:
    """Find the largest request, in units of 256 bytes, that would be met now."""
    arena, hardware = device.arena, device.hardware
    on_card = hardware.backend.memory(hardware.platform).free
    low, high = 0, arena.limit_bytes // 256 + 1
    while high - low > 1:
        middle = (low + high) // 2
        if could_extend(arena, middle * 256, on_card):
            low = middle
        else:
            high = middle
    return max(arena.largest_free_bytes(), low * 256)
