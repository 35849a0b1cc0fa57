"""What ``berth check`` found, as data, as sentences, and as an exit code.

Pure: findings in, words out. A device has one sentence; the verdict at the end answers the
question, and says no more than was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from berth.backends.base import DeviceInfo, ProcessInfo
from berth.backends.kinds import kind_of
from berth.tools.devices import DeviceReport, DeviceRow
from berth.units import format_bytes

ALL_WORK, SOME_FAIL, NO_GPU = 0, 1, 3
"""The exit codes. 2 is that of a wrong command, as for every command."""


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """What came of the small program, whose placement is shown."""

    output: str
    placements: dict[str, str] = field(default_factory=dict)
    """The device of each operation, by the operation's name."""
    error: str = ""
    """Why it failed, if it did."""

    @property
    def device(self) -> str:
        """Where the matmul ran, like GPU:0; nothing if it did not run."""
        return self.placements.get("MatMul", "").partition("/device:")[2]


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of the large matmul on one device, or why there was none."""

    problem: str = ""
    """What is wrong, in a word for programs; nothing if the device works."""
    because: str = ""
    """What is wrong, in words for people."""
    seconds: float | None = None
    """The shortest of several runs."""
    taken_by: list[ProcessInfo] = field(default_factory=list)
    """The other processes on a device whose memory does not suffice."""


@dataclass(frozen=True, slots=True)
class DeviceCheck:
    """A device of the machine, and whether it works."""

    name: str | None
    """What programs call it, like GPU:0; None if it is hidden from them."""
    device_type: str
    model: str
    simulated: bool
    pci_bus_id: str
    uuid: str
    finding: Finding
    times_cpu: float | None = None
    """Its speed, as a multiple of the CPU's; None where there is nothing to compare."""

    @property
    def is_host(self) -> bool:
        return kind_of(self.device_type).is_host

    @property
    def status(self) -> str:
        if self.name is None:
            return "hidden"
        return "fails" if self.finding.problem else "works"

    def as_json(self, size: int) -> dict[str, Any]:
        data = asdict(self)
        found = data.pop("finding")
        found["taken_by"] = [process._asdict() for process in self.finding.taken_by]
        return {**data, "status": self.status, **found, "sentence": sentence(self, size)}


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The results of ``berth check``."""

    simulated_machine: str | None
    size: int
    """How many rows and columns the large matrices had."""
    program: ProgramRun
    devices: list[DeviceCheck]
    no_gpu_because: str
    """Why the machine has no GPU at all; nothing if it has one, even a hidden one."""

    @property
    def exit_code(self) -> int:
        if self.program.error or self.with_status("fails"):
            return SOME_FAIL
        device_type = self.program.device.partition(":")[0]
        return NO_GPU if kind_of(device_type).is_host else ALL_WORK

    def with_status(self, status: str) -> list[DeviceCheck]:
        """List the devices that work, that fail, or that are hidden."""
        return [device for device in self.devices if device.status == status]

    def accelerators(self, status: str) -> list[DeviceCheck]:
        """List those with a status that are not the CPU."""
        return [device for device in self.with_status(status) if not device.is_host]

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": verdict(self),
            "exit_code": self.exit_code,
            "computes_on": self.program.device or None,
            "simulated_machine": self.simulated_machine,
            "no_gpu_because": self.no_gpu_because,
            "size": self.size,
            "program": asdict(self.program),
            "devices": [device.as_json(self.size) for device in self.devices],
        }


def describe(
    info: DeviceInfo | DeviceRow,
    name: str | None,
    finding: Finding,
    times_cpu: float | None = None,
) -> DeviceCheck:
    """Put what is known of a device and what was found together."""
    return DeviceCheck(
        name=name,
        device_type=info.device_type,
        model=info.model,
        simulated=info.simulated,
        pci_bus_id=info.pci_bus_id,
        uuid=info.uuid,
        finding=finding,
        times_cpu=times_cpu,
    )


def brief(listed: DeviceReport) -> Iterator[str]:
    """List the devices, a line for each."""
    if listed.simulated_machine:
        yield f"Simulated machine: {listed.simulated_machine}"
    for row in listed.devices:
        name = row.logical[0].name.removeprefix("/device:") if row.logical else "hidden"
        place = f" at {row.pci_bus_id}" if row.pci_bus_id else ""
        total = format_bytes(row.memory_total_bytes)
        free = row.memory_free_bytes
        memory = total if free is None else f"{format_bytes(free)} of {total} free"
        yield f"  {name:6}  {row.model}{place}, {memory}"


def sentence(device: DeviceCheck, size: int) -> str:
    """Say whether a device works, how fast, or what is wrong."""
    finding = device.finding
    if device.name is None:
        return f"The {device.model} at {device.pci_bus_id} is hidden: {finding.because}."
    kind = f"{device.model}, simulated" if device.simulated else device.model
    if finding.problem:
        return f"{device.name} ({kind}) does not work: {finding.because}."
    milliseconds = 1000 * (finding.seconds or 0)
    digits = ".3g" if milliseconds < 100 else ",.0f"
    return (
        f"{device.name} ({kind}) works: a {size}x{size} matmul came out right, "
        f"in {milliseconds:{digits}} ms{_compared(device)}."
    )


def _compared(device: DeviceCheck) -> str:
    if device.times_cpu is None:
        return ""
    if device.simulated:
        return f"; simulated, so its speed is the CPU's ({device.times_cpu:.2f} of it here)"
    digits = 0 if device.times_cpu >= 10 else 2
    return f", {device.times_cpu:.{digits}f} times the CPU's speed"


def verdict(report: CheckReport) -> str:
    """Answer the question: is it computing on the GPU?"""
    works, broken = report.accelerators("works"), report.with_status("fails")
    if report.exit_code == NO_GPU:
        why = "every GPU is hidden" if report.with_status("hidden") else "there is no GPU"
        return f"No, it computes on the CPU: {why}."
    if report.exit_code == ALL_WORK:
        kind = "a simulated GPU" if works[0].simulated else "the GPU"
        all_of_them = "both" if len(works) == 2 else f"all {len(works)}"
        more = f", and {all_of_them} GPUs work" if len(works) > 1 else ""
        return f"Yes, it computes on {kind}: {report.program.device}{more}."
    if not broken:
        return "No: each device works by itself, but the small program does not."
    answer = "No" if report.program.error or not works else "Only in part"
    names = _joined([str(device.name) for device in broken])
    advice = _use_the_rest(works) if report.accelerators("fails") else ""
    return f"{answer}: {names} {'does' if len(broken) == 1 else 'do'} not work.{advice}"


def _use_the_rest(works: Sequence[DeviceCheck]) -> str:
    """Tell how to use what works, and nothing else."""
    if not works:
        return ""
    uuids = ",".join(device.uuid[:12] for device in works)
    which = "the GPU that works" if len(works) == 1 else f"the {len(works)} GPUs that work"
    return f" CUDA_VISIBLE_DEVICES={uuids} leaves {which}."


def _joined(names: Sequence[str]) -> str:
    """Join names as a sentence does.

    >>> _joined(["GPU:0", "GPU:1", "GPU:3"])
    'GPU:0, GPU:1 and GPU:3'
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
