"""Placement of eager operations: the device that an operation runs on.

It is the device of the variable that the operation takes, or the one that `tf.device` requests,
or the first that has a kernel for it, GPUs before the CPU.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from berth.callsite import mark_caller
from berth.devices.device import Device
from berth.devices.full_name import parse_full_name
from berth.dtypes import DType, float32
from berth.errors import InvalidArgumentError, explain
from berth.graph.expect import Expectation, current_expectation
from berth.lru import LRUCache
from berth.ops.arrays.array import CONST
from berth.ops.opdef import Attrs, Kernel, OpDef
from berth.ops.state.variables import HANDLE
from berth.ops.widening import kernel_for
from berth.plan.candidates import Candidates, by_priority

if TYPE_CHECKING:
    from berth.front.context import Context

MAX_CHOICES = 1024
"""How many choices of a device are cached."""
_log = logging.getLogger("berth")


def log_execution(name: str, device: Device) -> None:
    """Log the device of an operation."""
    log_line(f"Executing op {name} in device {device.name}")


def log_line(text: str) -> None:
    """Log a line about placement: by `logging` if the program set it up, or on stderr."""
    if _log.isEnabledFor(logging.INFO) and _log.hasHandlers():
        _log.info(text)
    else:
        print(text, file=sys.stderr)


class Choice(NamedTuple):
    """A device, and its kernel for an operation."""

    device: Device
    kernel: Kernel
    is_soft: bool = False
    """Whether soft placement chose it, since the requested device cannot run the operation."""


def choose_device(
    op: OpDef,
    dtype: DType | None,
    wanted: str,
    devices: Sequence[Device],
    *,
    soft: bool,
) -> Choice:
    """Choose the device for an operation: the requested one, or the first that can run it."""
    candidates = Candidates(devices, soft)
    types = op.device_types(dtype) & candidates.types
    if op is CONST and _is_other_host(wanted, devices[0]):
        raise InvalidArgumentError(None, None, f"{wanted} unknown device.")
    request = candidates.read(wanted)
    if request is None:
        raise InvalidArgumentError(None, None, _malformed(op, wanted))
    found = candidates.find(request, types)
    if not found.devices:
        name = str(request)
        raise InvalidArgumentError(None, None, _no_device(op, name, types, devices, soft))
    return _choice(op, found.devices[0], dtype, is_soft=found.is_soft)


def _choice(op: OpDef, device: Device, dtype: DType | None, *, is_soft: bool = False) -> Choice:
    kernel = kernel_for(op, device.device_type, dtype)
    assert kernel is not None, f"{op.name} has no kernel for {device.device_type}"
    return Choice(device, kernel, is_soft)


def soft_placement_message(
    op_name: str, wanted: str, device: Device, devices: Sequence[Device]
) -> str:
    """Write what to log, once, where an operation does not run on the requested device."""
    asked = wanted.partition("/device:")[2] or wanted
    request = parse_full_name(wanted)
    if request is not None and any(request.matches(each.full_name) for each in devices):
        return (
            f"{op_name} has no kernel for {asked}: soft placement runs it on "
            f"{device.short_name}."
        )
    names = ", ".join(each.short_name for each in devices)
    return (
        f"There is no {asked}: soft placement runs operations that ask for it on the devices "
        f"that there are ({names}). tf.config.set_soft_device_placement(False) forbids it."
    )


def _is_other_host(wanted: str, host: Device) -> bool:
    """Tell whether a name is of the first CPU, and not of this process's.

    TensorFlow copies a constant there, by the name as it is, and places it by rules elsewhere.
    """
    return wanted.endswith(host.logical.name) and wanted != host.name


def _malformed(op: OpDef, wanted: str) -> str:
    name = "_EagerConst" if op is CONST else op.name
    return explain(
        f"Malformed device specification '{wanted}' in eager op: Name: {name}",
        "Names look like '/gpu:0', '/device:GPU:0' or '/job:localhost/task:0/cpu:0'.",
    )


def _no_device(
    op: OpDef, wanted: str, types: frozenset[str], devices: Sequence[Device], soft: bool
) -> str:
    names = ", ".join(device.name for device in devices)
    kinds = ", ".join(by_priority(types))
    suffix = "" if op is CONST else f" [Op:{op.name}] name: "
    if not wanted:
        return (
            f"No supported device found in available devices [{names}]. "
            f"enable_soft_placement={int(soft)}. Supported devices types [{kinds}].{suffix}"
        )
    return (
        f"Could not satisfy device specification '{wanted}'. "
        f"enable_soft_placement={int(soft)}. Supported device types [{kinds}]. All available "
        f"devices [{names}].{suffix}"
    )


def _unexpected_device(
    expectation: Expectation, op: OpDef, device: Device, asked: str
) -> InvalidArgumentError:
    """Make the error for an operation on another device than `expect_device` demands."""
    reason = "that is the first of the devices that can run it"
    if op.access is not None:
        reason = "its variable is there"
    elif asked:
        reason = "soft placement moved it"
    text = explain(
        "An operation is not on the expected device",
        f"{op.name} at {mark_caller().place} runs on {device.short_name}",
        f"  asked for: {asked or 'nothing'}",
        f"  because: {reason}",
        f"  but expected on: {expectation.written}, by expect_device('{expectation.written}') "
        f"at {expectation.where.place}",
    )
    return InvalidArgumentError(None, None, text)


class Placer:
    """Chooses among the opened devices of a program."""

    def __init__(self, program: Context, devices: Sequence[Device]) -> None:
        self._program = program
        self._scope = program.eager_scope
        self._switches = program.switches
        self._devices = devices
        self._choices: LRUCache[Any, Choice] = LRUCache("eager placement", MAX_CHOICES)

    @property
    def host(self) -> Device:
        return self._devices[0]

    def choose(self, op: OpDef, tensors: Sequence[Any], attrs: Attrs) -> Choice:
        """Choose the device for an operation on tensors."""
        if op.access is not None:
            return _choice(op, tensors[0].place, None)
        dtype = attrs.get("dtype")
        if dtype is None and op.type_position is not None and tensors:
            dtype = tensors[op.type_position].dtype
        return self._choose(op, dtype)

    def _choose(self, op: OpDef, dtype: DType | None) -> Choice:
        wanted, soft = self._scope.device_name, self._switches.soft_placement
        key = (op, dtype, wanted, soft)
        choice = self._choices.get(key)
        if choice is None:
            is_soft = soft is None or soft
            choice = choose_device(op, dtype, wanted, self._devices, soft=is_soft)
            self._choices[key] = choice
            if choice.is_soft:
                self._program.log_once(
                    soft_placement_message(op.name, wanted, choice.device, self._devices)
                )
        return choice

    @property
    def has_request(self) -> bool:
        """Whether `tf.device` requests a device here."""
        return bool(self._scope.device_name)

    def device_for(self, dtype: DType = float32) -> Device:
        """Return the device that a constant of a type would be on now."""
        return self._choose(CONST, dtype).device

    def device_for_variable(self, dtype: DType, name: str) -> Device:
        """Return the device that a variable made now would be on."""
        try:
            device = self._choose(HANDLE, dtype).device
        except InvalidArgumentError as error:
            raise InvalidArgumentError(None, None, f"{error.message}{name}/") from None
        if self._switches.log_placement:
            log_execution("VarHandleOp", device)
            log_execution("AssignVariableOp", device)
        return device

    def find(self, device_type: str, index: int) -> Device:
        """Return a device by type and index; RuntimeError if there is none."""
        for device in self._devices:
            if device.device_type == device_type and device.index == index:
                return device
        raise RuntimeError(f"{device_type}:{index} unknown device.")

    def check_expected(self, op: OpDef, device: Device) -> None:
        """Raise if an operation is on another device than `expect_device` demands, unasked."""
        expectation = current_expectation()
        if expectation is None or expectation.devices.matches(device.full_name):
            return
        asked = self._scope.device_name
        request = parse_full_name(asked) if asked else None
        if request is None or not request.matches(device.full_name):
            raise _unexpected_device(expectation, op, device, asked)
