"""``berth devices``: every device of the machine, and what this program would get of it.

Built as data first (what ``--json`` prints), then drawn. Nothing is opened: the limits
are what a program that starts now would get.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from berth.backends.base import DeviceInfo
from berth.backends.cuda import unavailable_reason
from berth.backends.kinds import kind_of
from berth.devices.device import Device
from berth.devices.devices import Devices

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class LogicalRow:
    """A logical device on a physical one."""

    name: str
    limit_bytes: int | None
    limit_source: str
    growth: bool


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A device of the machine."""

    name: str | None
    """The physical device's name, or None if the driver does not show it."""
    device_type: str
    model: str
    simulated: bool
    memory_total_bytes: int
    memory_free_bytes: int | None = None
    pci_bus_id: str = ""
    uuid: str = ""
    compute_capability: str = ""
    hidden_because: str = ""
    logical: list[LogicalRow] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """The data of ``berth devices``."""

    simulated_machine: str | None
    devices: list[DeviceRow]
    cuda: str
    """Why real GPUs are not used."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def report(devices: Devices) -> DeviceReport:
    """Describe a program's devices as they would be opened now."""
    logical = devices.maker.plan(devices.options())
    backend = devices.gpu_backend
    return DeviceReport(
        simulated_machine=backend.machine if backend and backend.name == "sim" else None,
        devices=[*_shown_rows(devices, logical), *_hidden_rows(devices)],
        cuda="not asked, since the GPUs are simulated" if backend else unavailable_reason(),
    )


def _shown_rows(devices: Devices, logical: list[Device]) -> Iterator[DeviceRow]:
    for physical in devices.physical():
        hardware = devices.hardware(physical)
        yield DeviceRow(
            name=physical.name,
            memory_free_bytes=hardware.backend.memory(hardware.platform).free,
            logical=[_logical_row(d) for d in logical if d.hardware is hardware],
            **_info(hardware.info),
        )


def _hidden_rows(devices: Devices) -> Iterator[DeviceRow]:
    for gpu in devices.ignored:
        info = gpu.hardware.info
        yield DeviceRow(name=None, hidden_because=gpu.reason, **_info(info))
    for hidden in devices.hidden():
        yield DeviceRow(name=None, hidden_because=hidden.reason, **_info(hidden.info))


def _info(info: DeviceInfo) -> dict[str, Any]:
    capability = info.compute_capability
    return {
        "device_type": info.device_type,
        "model": info.model,
        "simulated": info.simulated,
        "memory_total_bytes": info.memory_bytes,
        "pci_bus_id": info.pci_bus_id,
        "uuid": info.uuid,
        "compute_capability": f"{capability[0]}.{capability[1]}" if capability else "",
    }


def _logical_row(device: Device) -> LogicalRow:
    is_bounded = device.kind.has_limit
    return LogicalRow(
        name=device.logical.name,
        limit_bytes=device.limit.nbytes if is_bounded else None,
        limit_source=device.limit.source,
        growth=device.growth,
    )


def draw(devices: DeviceReport) -> Iterator[RenderableType]:
    """Draw a report for a terminal of 80 columns or more."""
    if devices.simulated_machine:
        yield f"Simulated machine: {devices.simulated_machine}\n"
    yield _table(devices)
    yield from _notes(devices)


def _table(devices: DeviceReport) -> RenderableType:
    from rich.table import Table  # noqa: PLC0415 - the library must not import rich

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("device", no_wrap=True)
    table.add_column("model", overflow="fold", min_width=8)
    table.add_column("PCI bus id", no_wrap=True)
    table.add_column("free / total", justify="right", no_wrap=True)
    table.add_column("logical", no_wrap=True)
    table.add_column("limit", justify="right", no_wrap=True)
    table.add_column("growth", no_wrap=True)
    for row in devices.devices:
        cells = [
            row.name.removeprefix("/physical_device:") if row.name else "-",
            row.model.removeprefix("NVIDIA ").removeprefix("GeForce "),
            row.pci_bus_id,
            _free_of_total(row),
        ]
        if not row.logical:
            table.add_row(*cells, "hidden", style="dim")
        for logical in row.logical:
            is_bounded = logical.limit_bytes is not None
            table.add_row(
                *cells,
                logical.name.removeprefix("/device:"),
                _gib(logical.limit_bytes) + " GiB" if is_bounded else "none",
                ("yes" if logical.growth else "no") if is_bounded else "",
            )
            cells = [""] * len(cells)  # further parts of the same device
    return table


def _free_of_total(row: DeviceRow) -> str:
    return f"{_gib(row.memory_free_bytes)} / {_gib(row.memory_total_bytes)} GiB"


def _gib(nbytes: int | None) -> str:
    """Write GiB with a decimal, or two where one would say little."""
    if nbytes is None:
        return "-"
    gib = nbytes / 2**30
    return f"{gib:.1f}" if gib >= 10 else f"{gib:.2f}"


def _notes(devices: DeviceReport) -> Iterator[str]:
    gpus = [row for row in devices.devices if not kind_of(row.device_type).is_host]
    limits: dict[str, list[str]] = {}
    for row in gpus:
        for part in row.logical:
            name = part.name.removeprefix("/device:")
            limits.setdefault(part.limit_source, []).append(name)
    yield ""
    for source, names in limits.items():
        yield f"Limit of {device_ranges(names)}: {source}."
    yield from _hidden_notes(gpus)
    if not gpus:
        yield "No GPU: this machine has none that berth can use."
        yield f"CUDA: {devices.cuda}."
        yield "To simulate some: berth devices --sim 4xT4"
        yield "For a program of yours: BERTH_SIM=4xT4 python program.py"


def why_hidden(devices: Devices) -> list[str]:
    """Say which GPUs of the machine a program does not see, and why."""
    return list(_hidden_notes(_hidden_rows(devices)))


def _hidden_notes(gpus: Iterable[DeviceRow]) -> Iterator[str]:
    hidden: dict[str, list[str]] = {}
    for row in gpus:
        if row.hidden_because:
            hidden.setdefault(row.hidden_because, []).append(row.pci_bus_id)
    for reason, bus_ids in hidden.items():
        yield f"Hidden {', '.join(bus_ids)}: {reason}."


def device_ranges(names: Iterable[str]) -> str:
    """List devices by short names, and write those with consecutive indices as a range.

    >>> device_ranges(["GPU:0", "GPU:1", "GPU:2", "GPU:5"])
    'GPU:0-2, GPU:5'
    """
    runs: list[tuple[str, int, int]] = []
    for name in names:
        device_type, _, index = name.partition(":")
        if runs and runs[-1][0] == device_type and int(index) == runs[-1][2] + 1:
            runs[-1] = device_type, runs[-1][1], int(index)
        else:
            runs.append((device_type, int(index), int(index)))
    return ", ".join(
        f"{device_type}:{first}-{last}" if last > first else f"{device_type}:{first}"
        for device_type, first, last in runs
    )
