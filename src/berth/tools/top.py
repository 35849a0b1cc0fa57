"""``berth top``: who holds the memory of which GPU, as nvidia-smi would show it.

The data is a list of machines with cards and processes, wherever it comes from: the
ledgers of simulated machines now, NVML for real GPUs later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from berth.backends.base import ProcessInfo
from berth.backends.ledger import list_ledgers
from berth.backends.ledger_notes import Holder, process_on_card
from berth.backends.machine import Machine
from berth.errors import MachineSpecError
from berth.units import format_bytes

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class CardUse:
    """A GPU and the processes on it."""

    model: str
    pci_bus_id: str
    total_bytes: int
    used_bytes: int
    processes: list[ProcessInfo]


@dataclass(frozen=True, slots=True)
class MachineUse:
    """A machine and its GPUs."""

    name: str
    simulated: bool
    cards: list[CardUse]

    def as_json(self) -> dict[str, Any]:
        data = asdict(self)
        for card, shown in zip(self.cards, data["cards"], strict=True):
            shown["processes"] = [process._asdict() for process in card.processes]
        return data


def simulated_machines(
    directory: str | None, warn: Callable[[Exception], None], only: Machine | None = None
) -> list[MachineUse]:
    """Look at the simulated machines that processes of this user have open.

    Those whose ledgers cannot be read are left out, and `warn` is called with the error. With
    `only`, it is that machine alone, whether or not it is in use.
    """
    found = []
    for info in list_ledgers(directory, warn):
        try:
            machine = Machine.parse(info.machine)
            if info.holders and only in (None, machine):
                found.append(_machine_use(machine, info.holders))
        except MachineSpecError as error:  # of another version, with other cards
            warn(error)
    if only is not None and not found:
        found = [_machine_use(only, ())]
    return found


def _machine_use(machine: Machine, holders: Sequence[Holder]) -> MachineUse:
    cards = []
    for slot, card in enumerate(machine.cards):
        found = [process_on_card(holder, slot) for holder in holders]
        processes = [process for process in found if process is not None]
        used = sum(process.nbytes for process in processes)
        model = card.profile.model
        cards.append(CardUse(model, card.pci_bus_id, card.memory_bytes, used, processes))
    return MachineUse(machine.name, simulated=True, cards=cards)


def draw(machines: Sequence[MachineUse]) -> Iterator[RenderableType]:
    """Draw the machines for a terminal."""
    if not machines:
        yield "No simulated GPU is in use. (Real GPUs are not shown yet: use nvidia-smi.)"
    for machine in machines:
        yield f"Simulated machine: {machine.name}\n"
        yield _table(machine)
        yield ""


def _table(machine: MachineUse) -> RenderableType:
    from rich.table import Table  # noqa: PLC0415 - the library must not import rich

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("GPU", no_wrap=True)
    table.add_column("used", justify="right", no_wrap=True)
    table.add_column("limit", justify="right", no_wrap=True)
    table.add_column("since", no_wrap=True)
    table.add_column("process", overflow="fold")
    for index, card in enumerate(machine.cards):
        total = format_bytes(card.total_bytes)
        share = f"{100 * card.used_bytes / card.total_bytes:.0f} %"
        table.add_row(
            str(index),
            format_bytes(card.used_bytes),
            f"of {total}",
            share,
            f"{card.model}  {card.pci_bus_id}",
            style="bold",
        )
        for process in card.processes:
            limit = "" if process.limit_bytes is None else format_bytes(process.limit_bytes)
            table.add_row(
                "",
                format_bytes(process.nbytes),
                limit + (" +" if process.growth else ""),
                time.strftime("%H:%M:%S", time.localtime(process.since)),
                f"{process.pid}  {process.user}  {process.command}",
            )
    return table
