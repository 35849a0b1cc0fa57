"""``berth.expect_device``: raises an error for operations of a block on another device."""

from __future__ import annotations

import threading
from typing import NamedTuple

from berth.backends.kinds import DEVICE_TYPES
from berth.blocks import FunctionBlock, Stack, Use
from berth.callsite import Mark, mark_caller
from berth.devices.full_name import FullName, parse_full_name, parse_local_name
from berth.public import public_v2


class Expectation(NamedTuple):
    """The expected devices, and the line that expects them."""

    written: str
    devices: FullName
    where: Mark


class _Expectations(threading.local):
    def __init__(self) -> None:
        self.blocks: Stack[Expectation] = Stack()


_open = _Expectations()


def current_expectation() -> Expectation | None:
    """Return the innermost expectation of this thread."""
    blocks = _open.blocks
    return blocks.innermost if blocks else None


@public_v2("expect_device")
def expect_device(device: str) -> FunctionBlock[None]:
    """Turn any fallback to another device into an error: for tests.

    Operations that are made in this block, and those that run in it (in a session, in a
    function, or as they are written), must be placed on a device that the name means
    (``"GPU"``, ``"GPU:1"``, ``"/device:GPU:*"``), unless the program asks for another by name.
    """
    return FunctionBlock(_begin, device)


def _begin(use: Use, device: str) -> None:
    if not isinstance(device, str):
        raise TypeError(f"A device's name is a text like 'GPU', and not {device!r}.")
    name = _read(device)
    if name is None or name.type is None:
        raise ValueError(
            f"Cannot expect device '{device}': write a type like 'GPU', or a name like 'GPU:0'."
        )
    use.set(_open.blocks, Expectation(device, name, mark_caller()))


def expect_inside(use: Use, expectation: Expectation | None) -> None:
    """Hold a block of this thread to what another thread expects."""
    if expectation is not None:
        use.set(_open.blocks, expectation)


def _read(device: str) -> FullName | None:
    if device.upper() in DEVICE_TYPES:
        return FullName(type=device.upper())
    return parse_local_name(device.upper()) or parse_full_name(device)
