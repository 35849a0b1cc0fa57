"""Simulated GPUs: real values in bounded memories that processes share.

NumPy computes; the driver's part (which GPUs a process sees, in which order) is played
by `driver`, and the memory that other processes hold is in the `ledger`. Each process
that reserves memory of a card occupies its context on it, as with CUDA, so less than the
total can be reserved.

Listing the devices touches nothing. The ledger is opened with the first question about
memory, and left when the backend is closed or collected.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from berth.backends.base import (
    HiddenDevice,
    MemoryInfo,
    PlatformIndex,
    ProcessInfo,
    Region,
    Stream,
)
from berth.backends.driver import device_order, select
from berth.backends.host_memory import available_bytes, total_bytes
from berth.backends.in_process import InProcessBackend
from berth.backends.ledger import Ledger
from berth.backends.ledger_notes import process_on_card
from berth.backends.machine import Machine
from berth.backends.streams import ImmediateStream, LazyStream
from berth.errors import DeviceMemoryError
from berth.finalizers import Finalizer


class SimBackend(InProcessBackend):
    """The GPUs of one simulated machine, as one process sees them.

    With `lazy`, streams put work off for as long as CUDA's might: a tool for finding
    code that forgets to wait.
    """

    name = "sim"

    def __init__(
        self,
        machine: Machine,
        *,
        visible_devices: str | None = None,
        device_order_by: str | None = None,
        ledger_directory: str | Path | None = None,
        parent_pid: int | None = None,
        lazy: bool = False,
    ) -> None:
        speeds = [card.profile.peak_flops for card in machine.cards]
        order = device_order(device_order_by, speeds)
        selection = select(visible_devices, [machine.cards[slot].uuid for slot in order])
        self._numbers = selection.indices
        self._slots = [order[index] for index in selection.indices]
        self._cards = [machine.cards[slot] for slot in self._slots]
        self._simulated = machine
        self._directory = ledger_directory
        self._parent_pid = parent_pid
        self._ledger: Ledger | None = None
        self._ledger_lock = threading.Lock()
        self._stream_lock = threading.RLock() if lazy else None
        self.machine = machine.name
        super().__init__(
            [card.info for card in self._cards],
            [
                HiddenDevice(card.info, selection.reason)
                for slot, card in enumerate(machine.cards)
                if slot not in self._slots
            ],
        )

    def backing(self) -> MemoryInfo | None:
        """Ask for this computer's memory, which holds that of simulated cards."""
        total = total_bytes()
        return MemoryInfo(available_bytes(total), total)

    def memory(self, device: PlatformIndex) -> MemoryInfo:
        """Tell what this process could reserve: its own context is as good as taken."""
        card, slot = self._cards[device], self._slots[device]
        ledger = self._open_ledger()
        context = 0 if ledger.is_attached(slot) else card.context_bytes
        return MemoryInfo(max(ledger.free(slot) - context, 0), card.memory_bytes)

    def processes(self, device: PlatformIndex) -> Sequence[ProcessInfo]:
        slot, found = self._slots[device], []
        for holder in self._open_ledger().holders(slot):
            process = process_on_card(holder, slot)
            if process is not None and holder.pid == self._parent_pid:  # what it claims is ours
                nbytes = process.nbytes - holder.cards[slot].claimed_bytes
                process = process._replace(nbytes=nbytes) if nbytes else None
            if process is not None:
                found.append(process)
        return found

    def announce(self, device: PlatformIndex, limit_bytes: int, *, growth: bool) -> None:
        slot = self._slots[device]
        ledger = self._open_ledger()
        ledger.describe(slot, limit_bytes=limit_bytes or None, growth=growth)
        self._settle(ledger, growth)

    def _settle(self, ledger: Ledger, growth: bool) -> None:
        """Return what is left of all claims: the program has what it takes at once.

        Where memory grows, the context keeps a place on each card until there is more.
        """
        for slot in range(len(ledger.capacities)):
            if not ledger.claimed(slot):
                continue
            if growth and slot in self._slots:
                ledger.attach(slot, self._cards[self._slots.index(slot)].context_bytes)
            ledger.settle(slot)

    def claim(
        self, n_devices: int, wanted: Callable[[PlatformIndex, int], int]
    ) -> list[PlatformIndex]:
        """Claim memory of the devices with the most free memory, in one step (`Ledger.claim`).

        `wanted` tells how much of a device with so many free bytes to claim, 0 for none of it.
        Room for this process's context is claimed with it, and at most the whole card. Fewer
        devices than asked for, and no claim, if there are not so many.
        """
        here = {slot: PlatformIndex(index) for index, slot in enumerate(self._slots)}

        def wanted_of_card(slot: int, free: int) -> int:
            card = self._cards[here[slot]]
            nbytes = wanted(here[slot], max(free - card.context_bytes, 0))
            return min(nbytes + card.context_bytes, card.memory_bytes) if nbytes else 0

        claimed = self._open_ledger().claim(n_devices, wanted_of_card, self._slots)
        return [here[slot] for slot in claimed]

    def claimed(self, device: PlatformIndex) -> int:
        """Return how many bytes of a device are claimed and not taken yet."""
        return self._open_ledger().claimed(self._slots[device])

    def visible_number(self, device: PlatformIndex) -> int:
        """Return the number by which CUDA_VISIBLE_DEVICES names a device."""
        return self._numbers[device]

    def stream(self, device: PlatformIndex) -> Stream:
        if self._stream_lock is None:
            return ImmediateStream(device)
        return LazyStream(device, self._stream_lock)

    def close(self) -> None:
        super().close()
        with self._ledger_lock:
            if self._ledger is not None:
                self._ledger.close()
                self._leave.detach()
                self._ledger = None

    def _charge(self, region: Region) -> None:
        ledger, slot = self._open_ledger(), self._slots[region.device]
        try:
            ledger.attach(slot, self._cards[region.device].context_bytes)
            ledger.reserve(slot, region.nbytes, region)
        except DeviceMemoryError:
            memory = self.memory(region.device)
            name = self._describe(region.device)
            raise DeviceMemoryError(name, region.nbytes, *memory) from None

    def _refund(self, region: Region) -> None:
        if self._ledger is not None:
            self._ledger.release(self._slots[region.device], region.nbytes, region)

    def _open_ledger(self) -> Ledger:
        with self._ledger_lock:
            if self._ledger is None:
                self._ledger = Ledger.open(self._simulated, self._directory, self._parent_pid)
                # The ledger itself ends with the process, after the last finalizer.
                self._leave = Finalizer(
                    self, _leave, self._ledger, self._mappings, self._slots, [self._ledger]
                )
            return self._ledger


def _leave(
    ledger: Ledger, regions: Mapping[Region, object], slots: list[int], open_: list[Ledger]
) -> None:
    """Return what a backend held that was not closed."""
    for region in list(regions):
        ledger.release(slots[region.device], region.nbytes, region)
    if open_:
        open_.pop().close()
