"""Doing one operation at once, on arrays that are there: what eager programs do.

Every device has one stream for such work (`Device.stream`), so what a program writes down
is done in that order. Memory that an operation took may be used again as soon as nobody
holds it: whatever uses it next comes later in the same stream. Copies between GPUs, which
two streams take part in, make both wait.
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
from berth.dtypes import DType, string
from berth.errors import ResourceExhaustedError
from berth.memory.buffer import Holder
from berth.ops.opdef import Attrs, Kernel, Launch, OpDef, OutputType, Parts
from berth.ops.shape import Known
from berth.plan.layout import LARGE
from berth.run.fp_errors import ignore_fp_errors
from berth.run.parts import over_pool
from berth.run.threads import Pool


def new_array(
    device: Device,
    dims: Known,
    dtype: DType,
    holder: Callable[[], Holder],
    devices: Sequence[Device] = (),
) -> Array:
    """Make memory on a device for what somebody will hold.

    Large arrays of the host come from its arena too: memory that was used before is there
    at once, and pages that are new to the process cost more to touch than most work.
    """
    if device.is_host:
        nbytes = dtype.itemsize * math.prod(dims)
        if nbytes < LARGE or dtype is string:
            return np.empty(dims, dtype.np_dtype)
        buffer = device.try_allocate(nbytes, holder())
        if buffer is None:
            return _empty_on_host(device, dims, dtype)
    else:
        buffer = allocate_tensor(device, holder(), dims, dtype.np_dtype, elsewhere=devices)
    return device.view(buffer, dims, dtype.np_dtype)


def _empty_on_host(device: Device, dims: Known, dtype: DType) -> Array:
    """Ask NumPy for memory; say as TensorFlow does if there is not so much."""
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


def compute(
    op: OpDef,
    kernel: Kernel,
    device: Device,
    inputs: Sequence[Any],
    attrs: Attrs,
    types: Sequence[OutputType],
    *,
    typed_inputs: Sequence[Any],
    pool: Pool,
    state: Any = None,
    devices: Sequence[Device] = (),
) -> list[Array]:
    """Do one operation on a device; return its outputs.

    `inputs` are arrays of that device, of the host where the operation wants it so. What the
    kernel divides is done by the threads of the pool.
    """
    if op.is_alias:
        return [inputs[0].reshape(types[0][1])]
    xp = device.hardware.backend.xp
    holder = partial(_held_by, op.name)
    outputs = [new_array(device, dims, dtype, holder, devices) for dtype, dims in types]  # type: ignore[arg-type]
    scratch: list[Array] = []
    if kernel.scratch is not None:
        scratch = [
            new_array(device, dims, dtype, holder, devices)  # type: ignore[arg-type]
            for dtype, dims in kernel.scratch(typed_inputs, types, attrs, pool.n_threads)
        ]
    launch = Launch(xp, inputs, outputs, attrs, scratch, state, pool.n_threads)
    bound = kernel.bind(launch)
    call = over_pool(bound, pool) if isinstance(bound, Parts) else bound
    if call is not None:
        if device.is_host:
            ignore_fp_errors(*call)
        else:
            device.stream.launch(partial(ignore_fp_errors, *call))
    return outputs


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
