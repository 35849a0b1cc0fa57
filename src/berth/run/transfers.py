"""Transfers of arrays between devices, and to the caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from berth.backends.base import Array, Stream
from berth.devices.device import Device
from berth.graph.operation import Operation
from berth.memory.buffer import Holder
from berth.plan.structure import ArrayType, Value
from berth.run.launch import new_array


def result_array(
    device: Device, op: Operation, array_type: ArrayType, devices: Sequence[Device]
) -> Array:
    """Make memory for a result of an operation that the caller will keep."""
    holder = partial(Holder, op.name, op.type, op.where)
    return new_array(device, array_type.dims, array_type.dtype, holder, devices)


def return_own(array_of: Callable[[Value], Array], value: Value) -> Any:
    """Return an array that was made for the caller."""
    return array_of(value)


def return_copy(array_of: Callable[[Value], Array], value: Value) -> Any:
    """Return a copy of an array that the plan keeps."""
    array = array_of(value)
    return array[()] if array.ndim == 0 else array.copy()


def copy_out(
    stream: Stream,
    make_target: Callable[[], Array],
    xp: Any,
    array_of: Callable[[Value], Array],
    value: Value,
) -> Array:
    """Return a copy, on the same device, of an array that the plan keeps."""
    target = make_target()
    stream.launch(partial(xp.copyto, target, array_of(value)))
    stream.synchronize()
    return target


def fetch_from(stream: Stream, array: Array, make_host: Callable[[], Array]) -> Any:
    """Return a device's array, copied to the host."""
    host = make_host()
    stream.download(host, array)
    stream.synchronize()
    return host[()] if host.ndim == 0 else host


def upload(stream: Stream, target: Array, source: Callable[[], Array]) -> None:
    """Copy from the host to the stream's device."""
    stream.upload(target, source())


def download(stream: Stream, target: Array, source: Callable[[], Array]) -> None:
    """Copy from the stream's device to the host, which may read it at once."""
    stream.download(target, source())
    stream.synchronize()


def transfer(stream: Stream, target: Array, source: Callable[[], Array]) -> None:
    """Copy from another device to the stream's."""
    stream.transfer(target, source())


def wait(stream: Stream, other: Stream) -> None:
    """Let a stream go on when another has done what it has now."""
    stream.wait(other.record())
