"""Every limit, asked for: what was requested, what came of it, and who said so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from berth.devices.device import Device
from berth.devices.devices import Devices
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


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """The memory of all logical GPUs. ``print`` it, or use the rows."""

    devices: list[DeviceMemory]
    is_open: bool

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if not self.devices:
            yield "No GPU."
        for row in self.devices:
            how = "grows as needed" if row.growth else "taken at once"
            yield f"{row.name}: limit {format_bytes(row.limit_bytes)} ({row.source}), {how}"
            if self.is_open:
                yield (
                    f"    reserved {format_bytes(row.reserved_bytes)}, in use "
                    f"{format_bytes(row.in_use_bytes)}, room for a tensor of "
                    f"{row.largest_tensor_bytes:,} bytes"
                )
        if self.devices and not self.is_open:
            yield "Nothing is taken yet: the devices are not open."


def memory_report(devices: Devices) -> MemoryReport:
    """Report on the opened GPUs or, if none is open, on those that would be."""
    logical = devices.opened or devices.maker.plan(devices.options())
    rows = [_row(device) for device in logical if device.device_type == "GPU"]
    return MemoryReport(rows, is_open=bool(devices.opened))


def _row(device: Device) -> DeviceMemory:
    arena = device.arena
    return DeviceMemory(
        name=device.short_name,
        limit_bytes=arena.limit_bytes,
        source=device.limit.source,
        growth=device.growth,
        reserved_bytes=arena.reserved_bytes,
        in_use_bytes=arena.stats.in_use_bytes,
        largest_tensor_bytes=_largest_tensor(device),
    )


def _largest_tensor(device: Device) -> int:
    arena, hardware = device.arena, device.hardware
    free_regions = sum(region.nbytes for region in arena.regions if region.is_free)
    within_limit = arena.limit_bytes - arena.reserved_bytes + free_regions
    on_card = hardware.backend.memory(hardware.platform).free + free_regions
    new_region = min(within_limit, on_card) & -256
    return max(arena.largest_free_bytes(), new_region)
