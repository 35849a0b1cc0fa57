"""Copies of eager tensors between devices, as the device policy allows them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from berth.devices.device import Device
from berth.dtypes import DType, int32
from berth.eager.tensor import EagerTensor
from berth.errors import InvalidArgumentError
from berth.ops.arrays.array import IDENTITY
from berth.ops.opdef import OpDef
from berth.run.launch import to_device

if TYPE_CHECKING:
    from berth.front.context import Context

_log = logging.getLogger("berth")


def check_policy(policy: str, op: OpDef, position: int, tensor: Any, device: Device) -> None:
    """Raise InvalidArgumentError or warn of an input's copy, as the device policy says."""
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


class Transfers:
    """Copies tensors between the opened devices of a program."""

    def __init__(self, program: Context, devices: Sequence[Device]) -> None:
        self._scope = program.eager_scope
        self._switches = program.switches
        self._devices = devices

    def gather(
        self, op: OpDef, tensors: Sequence[Any], device: Device, first: int = 0
    ) -> list[Any]:
        """Return the arrays of an operation's inputs, from the `first` on, where it runs."""
        if not op.host_inputs:
            hosts: frozenset[int] = op.host_inputs
        else:
            hosts = op.host_positions(first + len(tensors))
        return [
            tensor.value
            if position in hosts
            else tensor.array
            if tensor.place is device
            else self._input(tensor, device, op, position)
            for position, tensor in enumerate(tensors, first)
        ]

    def _input(self, tensor: EagerTensor, device: Device, op: OpDef, position: int) -> Any:
        """Copy an input to the device of its operation, if the policy allows it."""
        policy = self._scope.device_policy or self._switches.device_policy
        check_policy(policy, op, position, tensor, device)
        self.check_open(tensor)
        return self._copy(tensor, device, op.name)

    def _copy(self, tensor: EagerTensor, device: Device, holder: str) -> Any:
        return to_device(
            tensor.place, device, tensor.array, tensor.dtype, holder, self._devices
        )

    def upload(self, array: np.ndarray[Any, Any], dtype: DType, device: Device) -> Any:
        """Copy a constant from the host to a device."""
        return to_device(self._devices[0], device, array, dtype, "Const", self._devices)

    def check_open(self, held: Any) -> None:
        """Raise RuntimeError for a tensor or variable on a device that was closed."""
        if held.place not in self._devices and not held.place.is_host:
            raise held.place.gone()

    def copy_to(self, tensor: EagerTensor, device: Device, holder: str) -> EagerTensor:
        """Copy a tensor to a device; `holder` is the operation that the memory report names."""
        return EagerTensor(self._copy(tensor, device, holder), device, tensor.dtype)
