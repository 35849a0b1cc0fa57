"""Session state: variables, constants, and the state of operations between runs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from berth.backends.base import Array
from berth.devices.device import Device
from berth.devices.out_of_memory import allocate_tensor
from berth.dtypes import DType, as_dtype, resource
from berth.errors import FailedPreconditionError
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.memory.buffer import Holder
from berth.ops.shape import Known
from berth.run.host_calls import HostObjects


class VariableSlot:
    """One variable's memory on its device."""

    __slots__ = ("array", "device", "is_initialized", "op")

    def __init__(self, op: Operation, device: Device, array: Array) -> None:
        self.op = op
        self.device = device
        self.array = array
        self.is_initialized = False


class SessionState:
    """The memory that outlives a session's runs."""

    moves = False
    """Whether a variable's memory may be elsewhere in the next run."""

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices = devices
        self._lock = threading.RLock()
        self._variables: dict[str, VariableSlot] = {}
        self._constants: dict[tuple[SymbolicTensor, int], Array] = {}
        self._memories: dict[Operation, dict[str, Any]] = {}
        self.objects = HostObjects()
        """What the handles of queues, readers and iterators stand for."""
        self._is_closed = False

    def variable(self, op: Operation, device: int, dims: Known, dtype: DType) -> VariableSlot:
        """Return a variable's slot, made on first use."""
        with self._lock:
            slot = self._variables.get(op.name)
            if slot is None:
                array = self._allocate(op, device, dims, dtype)
                slot = VariableSlot(op, self._devices[device], array)
                if not self._is_closed:
                    self._variables[op.name] = slot
            return slot

    def constant(self, tensor: SymbolicTensor, device: int) -> Array:
        """Return a constant's array on a device, made on first use."""
        with self._lock:
            array = self._constants.get((tensor, device))
            if array is None:
                array = self.make_constant(tensor.op, device, tensor.op.attrs["value"])
                if not self._is_closed:
                    self._constants[tensor, device] = array
            return array

    def make_constant(self, op: Operation, device: int, value: Any) -> Array:
        """Put a value on a device; the host has it already."""
        target = self._devices[device]
        host = np.ascontiguousarray(value).reshape(value.shape)
        if target.is_host:
            return host
        array = self._allocate(op, device, host.shape, as_dtype(host.dtype))
        stream = target.hardware.backend.stream(target.hardware.platform)
        stream.upload(array, host)
        stream.synchronize()
        return array

    def memory_of(self, op: Operation) -> dict[str, Any]:
        """Return what an operation remembers from run to run: a dict of its own."""
        with self._lock:
            return self._memories.setdefault(op, {})

    def restart(self) -> None:
        """Let operations start over: random ones with their first values."""
        with self._lock:
            for memory in self._memories.values():
                if "restart" in memory:
                    memory["restart"]()

    def _allocate(self, op: Operation, device: int, dims: Known, dtype: DType) -> Array:
        if dtype.is_object:
            return np.empty(dims, object)
        target = self._devices[device]
        holder = Holder(op.name, op.type, op.where)
        buffer = allocate_tensor(target, holder, dims, dtype.np_dtype, elsewhere=self._devices)
        return target.view(buffer, dims, dtype.np_dtype)

    def close(self) -> None:
        """Drop everything and free its memory; runs that go on keep nothing here."""
        with self._lock:
            self._is_closed = True
            self._variables.clear()
            self._constants.clear()
            self._memories.clear()
        self.objects.close()


def uninitialized(op: Operation) -> FailedPreconditionError:
    """Make the error for a variable that is used before it has a value."""
    if op.outputs[0].dtype is resource:  # a variable that is passed on by its handle
        message = (
            f"Could not find variable {op.name}. This could mean that the variable has been "
            "deleted. In TF1, it can also mean the variable is uninitialized."
        )
    else:
        message = f"Attempting to use uninitialized value {op.name}"
    return FailedPreconditionError(None, op, message)
