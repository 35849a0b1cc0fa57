"""Where an operation of an eager program runs (§6.7), and how its inputs get there.

It runs on the device of the variable it takes, or on the one that `tf.device` asks for, or on
the first that has a kernel for it, GPUs before the CPU. What it takes from elsewhere is copied
there, as the device policy allows.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from berth.callsite import mark_caller
from berth.devices.device import Device
from berth.devices.full_name import parse_full_name
from berth.dtypes import DType, float32, int32
from berth.eager.tensor import EagerTensor
from berth.errors import InvalidArgumentError, explain
from berth.graph.expect import Expectation, current_expectation
from berth.ops.arrays.array import CONST, IDENTITY
from berth.ops.convert import dtype_of
from berth.ops.opdef import Attrs, OpDef
from berth.plan.candidates import Candidates, by_priority
from berth.run.launch import to_device

if TYPE_CHECKING:
    from berth.front.context import Context

KNOWN_ON_HOST = 1024
"""Up to so many bytes, what came from the host is kept there too: it may be a shape."""
_log = logging.getLogger("berth")


def log_execution(name: str, device: Device) -> None:
    """Tell that an operation runs on a device: in the program's log, if it has set one up."""
    text = f"Executing op {name} in device {device.name}"
    if _log.isEnabledFor(logging.INFO) and _log.hasHandlers():
        _log.info(text)
    else:
        print(text, file=sys.stderr)


class Choice(NamedTuple):
    """A device, and how it runs the operation."""

    device: Device
    kernel: Any
    is_soft: bool = False
    """Whether soft placement chose it, since the device that was asked for cannot run it."""


def choose_device(
    op: OpDef,
    dtype: DType | None,
    wanted: str,
    devices: Sequence[Device],
    *,
    soft: bool,
) -> Choice:
    """Choose the device for an operation: what `tf.device` asks for, or what can run it."""
    candidates = Candidates(devices, soft)
    types = op.device_types(dtype) & candidates.types
    request = candidates.read(wanted)
    found = candidates.find(request, types) if request is not None else None
    if found is None or not found.devices:
        raise InvalidArgumentError(None, None, _complaint(op, wanted, types, devices, soft))
    device = found.devices[0]
    return Choice(device, op.kernel(device.device_type, dtype), found.is_soft)


def soft_placement_message(
    op_name: str, wanted: str, device: Device, devices: Sequence[Device]
) -> str:
    """Write what to log, once, where an operation does not run on the device it asks for."""
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


def _complaint(
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


def check_policy(policy: str, op: OpDef, position: int, tensor: Any, device: Device) -> None:
    """Complain or warn, as the device policy says, of an input that is elsewhere."""
    is_fine = policy == "silent" or op is IDENTITY
    if is_fine or (policy == "silent_for_int32" and tensor.dtype is int32):
        return
    found = (
        f"input #{position} was expected to be on {device.name} but is actually on "
        f"{tensor.device} (operation running on {device.name})"
    )
    if policy == "warn":
        _log.warning(
            f"before computing {op.name} {found}. This triggers a copy which can be a "
            "performance bottleneck."
        )
        return
    raise InvalidArgumentError(
        None,
        None,
        f"Tensors on conflicting devices: cannot compute {op.name} as {found} Tensors can be "
        "copied explicitly using: `with tf.device(device_name): x = tf.identity(x)` or "
        "transparently copied by using "
        "tf.config.experimental.set_device_policy('silent'). Copying tensors between devices "
        f"may slow down your model [Op:{op.name}] name: ",
    )


def not_expected(
    expectation: Expectation, op: OpDef, device: Device, asked: str
) -> InvalidArgumentError:
    """Make the error for an operation that `expect_device` demands elsewhere."""
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


class Placing:
    """The devices of a program, and the way tensors take between them."""

    def __init__(self, program: Context) -> None:
        self._program = program
        self._scope = program.eager_scope
        self._switches = program.switches
        self._choices: dict[Any, Choice] = {}
        self._devices: tuple[Device, ...] = ()
        self._pool = program.pool

    def _forget(self) -> None:
        """Keep nothing of devices that are gone."""
        self._choices = {}
        self._pool = self._program.pool

    def _look_for_devices(self) -> None:
        opened = self._program.opened()
        if opened is not self._devices:  # they were closed, and others opened
            self._devices = opened
            self._forget()

    def _host(self) -> Device:
        return (self._devices or self._program.opened())[0]

    def _choose(self, op: OpDef, tensors: Sequence[Any], attrs: Attrs) -> Choice:
        """Decide where an operation runs."""
        self._look_for_devices()
        if op.access is not None:
            variable = tensors[0].place
            return Choice(variable, op.kernel(variable.device_type, None))
        dtype = attrs.get("dtype")
        if dtype is None and op.type_position is not None and tensors:
            dtype = tensors[op.type_position].dtype
        soft = self._switches.soft_placement
        key = (op, dtype, self._scope.device_name, soft)
        choice = self._choices.get(key)
        if choice is None:
            choice = choose_device(
                op,
                dtype,
                self._scope.device_name,
                self._devices,
                soft=soft is None or soft,
            )
            self._choices[key] = choice
            if choice.is_soft:
                self._program.log_once(
                    soft_placement_message(
                        op.name, self._scope.device_name, choice.device, self._devices
                    )
                )
        return choice

    def _check_expected(self, op: OpDef, device: Device) -> None:
        """Raise if an operation is elsewhere than `expect_device` demands, and unasked."""
        expectation = current_expectation()
        if expectation is None or expectation.devices.matches(device.full_name):
            return
        asked = self._scope.device_name
        request = parse_full_name(asked) if asked else None
        if request is None or not request.matches(device.full_name):
            raise not_expected(expectation, op, device, asked)

    def _gathered(
        self, op: OpDef, tensors: Sequence[Any], device: Device, first: int = 0
    ) -> list[Any]:
        """Return the arrays of an operation's inputs, the `first` and later, where it runs."""
        hosts = op.host_positions(first + len(tensors))
        return [
            tensor.value
            if position in hosts
            else tensor.array
            if tensor.place is device
            else self._brought(tensor, device, op, position)
            for position, tensor in enumerate(tensors, first)
        ]

    def _brought(self, tensor: EagerTensor, device: Device, op: OpDef, position: int) -> Any:
        """Copy a tensor's array to the device of an operation, if the policy allows it."""
        policy = self._scope.device_policy or self._switches.device_policy
        check_policy(policy, op, position, tensor, device)
        self._check_alive(tensor)
        return to_device(
            tensor.place, device, tensor.array, tensor.dtype, op.name, self._devices
        )

    def _check_alive(self, held: Any) -> None:
        """Raise RuntimeError for what is on a device that is there no more."""
        if held.place not in self._devices and not held.place.is_host:
            raise RuntimeError(
                f"A tensor or variable on {held.place.short_name} cannot be used any more: its "
                "devices went by berth.reset()."
            )

    def device_here(self) -> Device:
        """Return the device that operations run on now, unless they cannot."""
        return self._choose(CONST, (), {"dtype": float32}).device

    def at_home(self, tensor: EagerTensor, name: str) -> EagerTensor:
        """Return a tensor on the device where a variable made now would be."""
        try:
            device = self._choose(CONST, (), {"dtype": tensor.dtype}).device
        except InvalidArgumentError as error:
            message = f"{error.message} [Op:VarHandleOp] name: {name}/"
            raise InvalidArgumentError(None, None, message) from None
        if self._switches.log_placement:
            log_execution("VarHandleOp", device)
            log_execution("AssignVariableOp", device)
        if tensor.place is device:
            return tensor
        array = to_device(
            tensor.place, device, tensor.array, tensor.dtype, "VarHandleOp", self._devices
        )
        return EagerTensor(array, device, tensor.dtype)

    def moved(self, tensor: EagerTensor, kind: str, index: int) -> EagerTensor:
        """Return a tensor's copy on a device."""
        for device in self._program.opened():
            if device.device_type == kind and device.index == index:
                array = to_device(
                    tensor.place, device, tensor.array, tensor.dtype, "Copy", self._devices
                )
                copy = EagerTensor(array, device, tensor.dtype)
                return copy
        raise RuntimeError(f"{kind}:{index} unknown device.")

    def has_choice(self) -> bool:
        """Tell whether there is more than one device to compute on."""
        return len(self._devices) > 1

    def _new_constant(self, array: np.ndarray[Any, Any]) -> EagerTensor:
        """Return an array as a tensor, on the device that is asked for here."""
        device = self._choose(CONST, (), {"dtype": dtype_of(array)}).device
        if self._switches.log_placement:
            log_execution("_EagerConst", device)
        return self._constant(array, device)

    def _constant(self, array: np.ndarray[Any, Any], device: Device) -> EagerTensor:
        dtype = dtype_of(array)
        known = array if array.nbytes <= KNOWN_ON_HOST else None
        if not device.is_host:
            copy = to_device(self._host(), device, array, dtype, "Const", self._devices)
            return EagerTensor(copy, device, dtype, host=known)
        return EagerTensor(array, device, dtype)
