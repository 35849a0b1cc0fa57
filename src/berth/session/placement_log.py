"""`log_device_placement`: the log of placements, and warnings of soft placement."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from berth.callsite import call_site
from berth.devices.device import Device
from berth.errors import BerthWarning, explain
from berth.graph.expect import current_expectation
from berth.graph.operation import Operation
from berth.lru import LRUCache
from berth.plan.placement_errors import check_expectations
from berth.plan.plan import Request
from berth.plan.walk import document_order
from berth.run.engine import Engine

_log = logging.getLogger("berth")
MAX_REQUESTS = 256


class PlacementLog:
    """The placement log of one session: each operation is logged once."""

    def __init__(self, devices: Sequence[Device], is_on: bool, *, as_tf2: bool = False) -> None:
        self._is_on = is_on
        self._as_tf2 = as_tf2
        """Whether the lines are those of TensorFlow 2: of the whole graph, with its types."""
        self._printed: Any = None
        self._devices = devices
        self._is_warned = False
        self._logged: set[Operation] = set()
        self._requests: LRUCache[Any, bool] = LRUCache("logged placements", MAX_REQUESTS)
        if is_on:
            _print(device_mapping(devices, with_capability=as_tf2))

    def is_watched(self) -> bool:
        """Tell whether each run has to be looked at: something is expected of it."""
        return current_expectation() is not None

    def log(self, engine: Engine, request: Request) -> None:
        """Log the placements of a request, if it is new; check expectations."""
        expectation = current_expectation()
        key = request.fetches, request.targets
        is_logged = self._requests.get(key) is not None
        if is_logged and expectation is None:
            return
        placement: Any = engine.placement
        is_expected = expectation is not None or engine.graph.has_expectations
        if not (self._is_on or is_expected or placement.moved or placement.messages):
            self._requests[key] = True
            return
        ops = document_order([*(t.op for t in request.fetches), *request.targets])
        ops = [op for op in ops if op in placement.devices]
        check_expectations(placement, ops, expectation)
        if is_logged:
            return
        self._requests[key] = True
        new = [op for op in ops if op not in self._logged]
        self._logged.update(new)
        for level, text in placement.messages:
            if self._is_on or level >= logging.WARNING:
                _log.log(level, text)
        placement.messages.clear()
        if self._is_on and self._as_tf2:
            self._print_all(placement)
        elif self._is_on:
            for op in new:
                _print(f"{op.name}: {log_name(placement.devices[op])}\n")
        self._warn_of_moves(placement, new)

    def _print_all(self, placement: Any) -> None:
        """Print the whole graph when it is placed, and again when it has grown."""
        if placement is not self._printed:
            self._printed = placement
            _print("".join(f"{line}\n" for line in placement.lines()))

    def _warn_of_moves(self, placement: Any, ops: Sequence[Operation]) -> None:
        here = set(ops)
        moved = [op for op in placement.moved if op in here]
        if not moved:
            return
        if all(device.is_host for device in self._devices):
            self._warn_of_missing_devices(moved)
            return
        lines = [
            f"{op.name} ({op.type}) at {op.where.place}: asked for {op.device}, runs on "
            f"{placement.devices[op].short_name}"
            for op in moved
        ]
        more = [f"and {len(lines) - 10} more"] if len(lines) > 10 else []
        warnings.warn(
            explain(
                f"Soft placement moved {len(moved)} operation{'s' * (len(moved) > 1)}; "
                "berth.why() tells the reason of each.",
                *lines[:10],
                *more,
            ),
            BerthWarning,
            stacklevel=call_site().frames_up + 1,
        )

    def _warn_of_missing_devices(self, moved: Sequence[Operation]) -> None:
        """Warn once, and in one line: with CPUs alone each request says the same."""
        if self._is_warned:
            return
        self._is_warned = True
        asked = ", ".join(sorted({op.device for op in moved}))
        warnings.warn(
            f"Soft placement runs operations on the CPU, since there is no {asked} here; "
            "berth.why() tells the reason of each.",
            BerthWarning,
            stacklevel=call_site().frames_up + 1,
        )


def device_mapping(devices: Sequence[Device], *, with_capability: bool = False) -> str:
    """Write the device mapping that begins a placement log.

    TensorFlow 1's ends with the PCI bus; TensorFlow 2's has the compute capability too.
    """
    lines = [
        f"{device.name} -> {device.hardware.description if with_capability else described}\n"
        for device in devices
        if (described := _described(device))
    ]
    if not lines:
        return "Device mapping: no known devices.\n"
    return "Device mapping:\n" + "".join(lines)


def _described(device: Device) -> str:
    """Describe a GPU as TensorFlow 1's device mapping does: it ends with the PCI bus."""
    return device.hardware.description.partition(", compute capability")[0]


def log_name(device: Device) -> str:
    """Write a device's name as TensorFlow 1's log does: ``…/cpu:0``, ``…/device:GPU:0``."""
    if device.is_host:
        return device.name.replace("/device:CPU:", "/cpu:")
    return device.name


def _print(text: str) -> None:
    """Write to where print() does, which a notebook shows too."""
    sys.stdout.write(text)
    sys.stdout.flush()
