"""What became of the GPUs' memory in a program that has ended: ``berth run --report``."""

from __future__ import annotations

import sys

from berth.devices.devices import Devices
from berth.units import format_bytes


def show(devices: Devices, program: str) -> None:
    """Print a table to stderr: what each GPU could hold, and what it did hold."""
    from rich.console import Console  # noqa: PLC0415 - only people need it
    from rich.table import Table  # noqa: PLC0415

    console = Console(file=sys.stderr, highlight=False, markup=False)
    gpus = sorted(
        (device for device in devices.all() if device.device_type == "GPU"),
        key=lambda device: device.index,
    )
    if not gpus:
        console.print(f"{program} opened no GPU.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("device", no_wrap=True)
    table.add_column("model")
    for column in ("limit", "reserved", "most in use", "in use at the end"):
        table.add_column(column, justify="right", no_wrap=True)
    for gpu in gpus:
        arena, stats = gpu.arena, gpu.arena.stats
        sizes = (
            arena.limit_bytes,
            arena.reserved_bytes,
            stats.peak_bytes,
            stats.in_use_bytes,
        )
        table.add_row(gpu.short_name, gpu.hardware.info.model, *map(format_bytes, sizes))
    console.print(table)
