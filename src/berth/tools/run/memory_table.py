"""What became of the GPUs' memory in a program that has ended: ``berth run --report``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from berth.devices.devices import Devices
from berth.units import format_bytes

if TYPE_CHECKING:
    from rich.console import RenderableType


def draw(devices: Devices, program: str) -> Iterator[RenderableType]:
    """Draw what each GPU could hold, and what it did hold."""
    from rich.table import Table  # noqa: PLC0415 - the library must not import rich

    gpus = [device for device in devices.all() if not device.is_host]
    if not gpus:
        yield f"{program} opened no GPU."
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("device", no_wrap=True)
    table.add_column("model")
    for column in ("limit", "reserved", "most in use", "in use at the end"):
        table.add_column(column, justify="right", no_wrap=True)
    for gpu in sorted(gpus, key=lambda device: device.index):
        arena, stats = gpu.arena, gpu.arena.stats
        sizes = arena.limit_bytes, arena.reserved_bytes, stats.peak_bytes, stats.in_use_bytes
        table.add_row(gpu.short_name, gpu.hardware.info.model, *map(format_bytes, sizes))
    yield table
