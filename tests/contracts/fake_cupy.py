"""A fake of the part of CuPy 14 that a CUDA backend needs, where there is no GPU.

It shows that code fits CuPy's names and CUDA's rules, not that it runs on a GPU. NumPy
computes. What it imitates is what bites:

  - Streams are lazy. Work happens when a `synchronize`, or a wait for an event, forces
    it, and not before. A query sees progress, but slowly.
  - The current device and the current stream belong to a thread. Work for which no caller
    chose a stream goes to the null stream, which no other stream here waits for.
    Leaving ``with stream:`` forgets an earlier ``stream.use()``, as in CuPy.
  - A kernel takes arrays of the current device only. A stream is used, and an event
    recorded, on the device it was made on only (copies and waits may cross).
  - Device addresses mean nothing to the host, and queued work holds raw pointers: it
    keeps no array alive. An address is never used twice, so touching freed memory is
    an error, and new memory holds rubbish.
  - Memory is bounded, counted in pages of 2 MiB, and the context has taken one of them.
    `runtime.malloc` raises CUDARuntimeError, status 2 (OutOfMemoryError is the pool's).
  - NumPy cannot read a device array. `getDeviceProperties` cuts the uuid at a zero byte.

What it does not: time, parallel execution, CuPy's memory pool (so every result needs
`out=`), blocking streams, peer access between kernels, errors that end a CUDA context.
It is harsher than CuPy in these: all host memory counts as pinned, `free` waits for no
work, and arrays cannot be iterated over. It is softer in one: the arguments of a kernel
are checked when it runs, not when it is launched.

test_cupy.py holds the names against CuPy's own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from tests.contracts.fake_cuda import (
    DEVICE_SPACE,
    CUDARuntimeError,
    Machine,
    Mark,
    Queue,
    Status,
    device_of,
)

POLLS_PER_STEP = 64

Located = Callable[[], np.ndarray]
"""Finds an array when the work happens: an address, which keeps nothing alive."""


class _OfMachine:
    """The classes below are made anew for each machine, by `make_fake_cupy`."""

    _machine: ClassVar[Machine]


class Device(_OfMachine):
    def __init__(self, device: int | None = None) -> None:
        self.id = self._machine.current.device if device is None else device

    def use(self) -> Device:
        self._machine.set_device(self.id)
        return self

    def __enter__(self) -> Device:
        self._machine.current.devices_left.append(self._machine.current.device)
        return self.use()

    def __exit__(self, *_: object) -> None:
        self._machine.set_device(self._machine.current.devices_left.pop())


class Event(_OfMachine):
    def __init__(self, block: bool = False, disable_timing: bool = False) -> None:
        self.ptr = next(self._machine.handles)
        self._machine.events[self.ptr] = self
        self._mark = Mark(self._machine.null_queues[self._machine.current.device], 0)
        self._polls = 0

    @property
    def done(self) -> bool:
        # The device is slow: only so many queries later is it one step further.
        self._polls += 1
        queue, step = self._mark
        if self._polls % POLLS_PER_STEP == 0:
            queue.advance(min(queue.taken + 1, step))
        return queue.taken >= step

    def record(self, stream: Stream | None = None) -> None:
        queue = (stream or self._machine.current_stream())._queue
        if queue.device != self._mark.queue.device:
            raise CUDARuntimeError(Status.cudaErrorInvalidResourceHandle)
        self._mark = queue.mark()

    def synchronize(self) -> None:
        self._mark.force()


class Stream(_OfMachine):
    null: ClassVar[Stream]

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        if not null and not non_blocking:
            raise NotImplementedError("a stream that waits for the null stream")
        self.ptr = 0 if null else next(self._machine.handles)
        self.device_id = -1 if null else self._machine.current.device
        self._own_queue = Queue(self.device_id, self._machine.lock)

    @property
    def _queue(self) -> Queue:
        null_queue = self._machine.null_queues[self._machine.current.device]
        return self._own_queue if self.ptr else null_queue

    def use(self) -> Stream:
        current = self._machine.current
        if self.device_id not in (-1, current.device):
            raise RuntimeError(
                f"The device that the stream is created on ({self.device_id}) does not "
                f"match with the current device ({current.device})"
            )
        current.streams[current.device] = self
        return self

    def __enter__(self) -> Stream:
        self._machine.current.streams_entered.append(self.use())
        return self

    def __exit__(self, *_: object) -> None:
        current = self._machine.current
        device = current.streams_entered.pop().device_id
        outer = [s for s in current.streams_entered if s.device_id == device]
        current.streams[device] = outer[-1] if outer else self._machine.null_stream

    def record(self, event: Event) -> Event:
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        self._queue.add(event._mark.force)  # as recorded now, whatever comes later

    def synchronize(self) -> None:
        self._queue.mark().force()


class UnownedMemory(_OfMachine):
    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1) -> None:
        self.ptr, self.size, self._owner = ptr, size, owner
        self.device_id = device_of(ptr) if device_id < 0 else device_id


class MemoryPointer(_OfMachine):
    def __init__(self, mem: UnownedMemory, offset: int) -> None:
        self.mem, self.ptr, self.device_id = mem, mem.ptr + offset, mem.device_id

    def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        self._copy(self._bytes(size), _host_bytes(mem, size), size, stream)

    def copy_to_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        self._copy(_host_bytes(mem, size), self._bytes(size), size, stream)

    def copy_from_device_async(self, src: Any, size: int, stream: Any = None) -> None:
        self._copy(self._bytes(size), src._bytes(size), size, stream)

    def _bytes(self, size: int) -> Located:
        return partial(self._machine.memory.array_at, self.ptr, (size,), np.uint8)

    def _copy(self, target: Located, source: Located, size: int, stream: Any) -> None:
        if size > 0:
            target(), source()  # a bad pointer is refused at once
            queue = (stream or self._machine.current_stream())._queue
            queue.add(lambda: np.copyto(target(), source()))


def _host_bytes(mem: int | ctypes.c_void_p, size: int) -> Located:
    address = (mem if isinstance(mem, int) else mem.value) or 0

    def locate() -> np.ndarray:
        if not 0 < address < DEVICE_SPACE:
            raise CUDARuntimeError(Status.cudaErrorInvalidValue)
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))

    return locate


class ndarray(_OfMachine):
    """Views only: whatever would need memory of its own is missing."""

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None
    ) -> None:
        if memptr is None:
            raise NotImplementedError("CuPy's memory pool")
        view = self._machine.memory.array_at(memptr.ptr, shape, dtype, strides)
        self.data, self.shape, self.dtype = memptr, view.shape, view.dtype
        self.strides, self.flags, self.nbytes = view.strides, view.flags, view.nbytes

    def __getitem__(self, index: Any) -> ndarray:
        key = index if isinstance(index, tuple) else (index,)
        return self._part(lambda view: view[key if Ellipsis in key else (*key, ...)])

    def reshape(self, *shape: Any) -> ndarray:
        return self._part(lambda view: view.reshape(*shape))

    def fill(self, value: Any) -> None:
        _launch(self._machine, lambda view: view.fill(value), self)

    def __iter__(self) -> Any:
        raise TypeError("Iterating over a device array would read it from the host.")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def _locate(self) -> Located:
        at = self.data.ptr, self.shape, self.dtype, self.strides
        return partial(self._machine.memory.array_at, *at)

    def _part(self, take: Callable[[np.ndarray], np.ndarray]) -> ndarray:
        view = self._locate()()
        part = take(view)
        if not np.may_share_memory(part, view) and part.size > 0:
            raise NotImplementedError("an index or a shape that copies")
        offset = self.data.ptr - self.data.mem.ptr + part.ctypes.data - view.ctypes.data
        pointer = type(self.data)(self.data.mem, offset)
        return type(self)(part.shape, part.dtype, pointer, part.strides)


def _launch(machine: Machine, kernel: Callable[..., Any], *operands: Any) -> None:
    """Put a kernel on the current stream of the current device."""
    located = [_operand(machine, operand) for operand in operands]
    machine.current_stream()._queue.add(lambda: kernel(*[get() for get in located]))


def _operand(machine: Machine, operand: Any) -> Callable[[], Any]:
    if isinstance(operand, np.ndarray):
        raise TypeError(f"Unsupported type {type(operand)}")
    if not isinstance(operand, ndarray):
        return lambda: operand
    if operand.data.device_id != machine.current.device:
        raise ValueError(
            f"The device where the array resides ({operand.data.device_id}) is different "
            f"from the current device ({machine.current.device}). Peer access is "
            "unavailable between these devices."
        )
    return operand._locate()


def _ufunc(machine: Machine, ufunc: np.ufunc) -> Callable[..., ndarray]:
    def call(*inputs: Any, out: ndarray) -> ndarray:
        _launch(machine, lambda *v: ufunc(*v[:-1], out=v[-1]), *inputs, out)
        return out

    return call


def _properties(machine: Machine, device: int) -> dict[str, Any]:
    uuid = bytes([0xB0 + device] * 8 + [0 if device else 1] * 8)
    return {
        "name": b"Fake T4",
        "totalGlobalMem": machine.memory.bytes_per_device,
        "major": 7,
        "minor": 5,
        "multiProcessorCount": 40,
        "uuid": uuid.split(b"\0")[0],
    }


def _event_query(machine: Machine, event: int) -> int:
    done = machine.events[event].done
    return int(Status.cudaSuccess if done else Status.cudaErrorNotReady)


def make_fake_cupy(n_devices: int = 1, bytes_per_device: int = 64 * 2**20) -> Any:
    """Make what ``import cupy`` would give, with GPUs of its own."""
    machine = Machine(n_devices, bytes_per_device)
    memory, current = machine.memory, machine.current
    classes = Device, Event, Stream, UnownedMemory, MemoryPointer, ndarray
    own = {c.__name__: type(c.__name__, (c,), {"_machine": machine}) for c in classes}
    array_class, stream_class = own.pop("ndarray"), own["Stream"]
    machine.null_stream = stream_class(null=True)
    stream_class.null = machine.null_stream  # type: ignore[attr-defined]
    runtime = SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError,
        getDeviceCount=lambda: n_devices,
        getDeviceProperties=partial(_properties, machine),
        deviceGetPCIBusId=lambda device: f"0000:{device + 1:02X}:00.0",
        malloc=lambda size: memory.malloc(current.device, size),
        free=memory.free,
        memGetInfo=lambda: (memory.free_bytes(current.device), bytes_per_device),
        eventQuery=partial(_event_query, machine),
    )
    get_stream = machine.current_stream
    return SimpleNamespace(
        cuda=SimpleNamespace(runtime=runtime, get_current_stream=get_stream, **own),
        ndarray=array_class,
        add=_ufunc(machine, np.add),
        multiply=_ufunc(machine, np.multiply),
    )
