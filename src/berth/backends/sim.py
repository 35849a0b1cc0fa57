"""Simulated GPUs: real values in private, bounded memories.

NumPy computes; the driver's part (which GPUs a process sees, in which order) is played
by `driver`. Each process that uses a card occupies its context on it, as with CUDA, so
less than the total can be reserved.
"""

from __future__ import annotations

import threading

from berth.backends.base import HiddenDevice, PlatformIndex, Stream
from berth.backends.driver import device_order, select
from berth.backends.in_process import InProcessBackend
from berth.backends.machine import Machine
from berth.backends.streams import ImmediateStream, LazyStream


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
        lazy: bool = False,
    ) -> None:
        speeds = [card.profile.peak_flops for card in machine.cards]
        cards = [machine.cards[i] for i in device_order(device_order_by, speeds)]
        selection = select(visible_devices, [card.uuid for card in cards])
        self._cards = [cards[index] for index in selection.indices]
        self._stream_lock = threading.RLock() if lazy else None
        self.machine = machine.name
        super().__init__(
            [card.info for card in self._cards],
            [
                HiddenDevice(card.info, selection.reason)
                for card in machine.cards
                if card not in self._cards
            ],
        )

    def capacity(self, device: PlatformIndex) -> int:
        card = self._cards[device]
        return card.memory_bytes - card.context_bytes

    def stream(self, device: PlatformIndex) -> Stream:
        if self._stream_lock is None:
            return ImmediateStream(device)
        return LazyStream(device, self._stream_lock)
