"""Eager launches: memory, calls and copies for operations that run one by one.

Every device has one stream for such work (`Device.stream`), so operations run in the order of
the program. Memory may be used again as soon as no array holds it: its next use comes later in
the same stream. Copies between GPUs, which two streams take part in, make both wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from berth.backends.base import Array
from berth.callsite import mark_caller
from berth.devices.device import Device
from berth.devices.out_of_memory import allocate_tensor
from berth.dtypes import DType
from berth.errors import ResourceExhaustedError
from berth.fp_errors import ignore_fp_errors
from berth.memory.buffer import Holder
from berth.ops.opdef import Call, Parts
from berth.ops.shape import Known
from berth.plan.layout import LARGE
from berth.run.parts import over_pool
from berth.run.threads import Pool


def is_small(device: Device, dtype: DType, dims: Known) -> bool:
    """Tell whether an array is on the host, in memory that NumPy allocates."""
    return device.is_host and (dtype.is_object or dtype.itemsize * math.prod(dims) < LARGE)


def new_array(
    device: Device,
    dims: Known,
    dtype: DType,
    holder: Callable[[], Holder],
    devices: Sequence[Device] = (),
) -> Array:
    """Allocate an array on a device; `holder` says for the memory report what holds it.

    Large arrays of the host come from its arena too: memory that was used before is there
    at once, and pages that are new to the process cost more to touch than most work.
    """
    if is_small(device, dtype, dims):
        return np.empty(dims, dtype.np_dtype)
    if device.is_host:
        buffer = device.try_allocate(dtype.itemsize * math.prod(dims), holder())
        if buffer is None:
            return _empty_on_host(device, dims, dtype)
    else:
        buffer = allocate_tensor(device, holder(), dims, dtype.np_dtype, elsewhere=devices)
    return device.view(buffer, dims, dtype.np_dtype)


def _empty_on_host(device: Device, dims: Known, dtype: DType) -> Array:
    """Allocate with NumPy; ResourceExhaustedError, as TensorFlow raises it, if that fails."""
    try:
        return np.empty(dims, dtype.np_dtype)
    except (MemoryError, ValueError):  # it does not fit, or no array could be so large
        shape = ",".join(map(str, dims))
        raise ResourceExhaustedError(
            None,
            None,
            f"OOM when allocating tensor with shape[{shape}] and type {dtype.type_string} on "
            f"{device.name} by allocator cpu",
        ) from None


class DeviceTarget:
    """A device as the `berth.ops.dispatch.Target` of one operation.

    What the operation allocates is held in its name. Work that its kernel divides is done by
    the threads of the pool.
    """

    __slots__ = ("_devices", "_holder", "_pool", "device", "n_threads", "xp")

    def __init__(
        self, device: Device, op_name: str, pool: Pool, devices: Sequence[Device] = ()
    ) -> None:
        self.device = device
        self.xp = device.hardware.backend.xp
        self.n_threads = pool.n_threads
        self._pool = pool
        self._devices = devices
        self._holder = partial(_held_by, op_name)

    def empty(self, dtype: DType, dims: Known) -> Array:
        """Allocate an array on the device."""
        return new_array(self.device, dims, dtype, self._holder, self._devices)

    def join(self, parts: Parts) -> Call:
        """Make one call of what a kernel divided."""
        return over_pool(parts, self._pool)

    def run(self, call: Call) -> None:
        """Make a call: at once on the host, in the device's stream elsewhere."""
        if self.device.is_host:
            ignore_fp_errors(*call)
        else:
            self.device.stream.launch(partial(ignore_fp_errors, *call))


class SmallTarget(DeviceTarget):
    """The host as the target of an operation whose arrays are all small: NumPy's own memory."""

    __slots__ = ()

    def empty(self, dtype: DType, dims: Known) -> Array:
        """Allocate a small array."""
        return np.empty(dims, dtype.np_dtype)

    def run(self, call: Call) -> None:
        """Make a call."""
        ignore_fp_errors(*call)


def _held_by(op: str) -> Holder:
    return Holder(op, op, mark_caller())


def to_host(device: Device, array: Array) -> np.ndarray[Any, Any]:
    """Return a device's array on the host, when all work before is done."""
    if device.is_host:
        return array  # type: ignore[no-any-return]
    host = np.empty(array.shape, array.dtype)
    device.stream.download(host, array)
    device.stream.synchronize()
    return host


def to_device(
    source: Device,
    target: Device,
    array: Array,
    dtype: DType,
    name: str,
    devices: Sequence[Device] = (),
) -> Array:
    """Copy an array from one device to another."""
    if target.is_host:
        return to_host(source, array)
    copy = new_array(target, array.shape, dtype, partial(_held_by, name), devices)
    if source.is_host:
        target.stream.upload(copy, np.ascontiguousarray(array).reshape(array.shape))
        return copy
    target.stream.wait(source.stream.record())
    target.stream.transfer(copy, array)
    # What comes later on the source may write over what is being copied.
    source.stream.wait(target.stream.record())
    return copy
