"""The protocol of berth.backends.base over CuPy: the proof that it fits CUDA.

Written against CuPy 14's own names, so that `CupyBackend(cupy)` is meant for the real
module too. It has only ever run on fake_cupy, for want of a GPU.

Invariants:
  1. `_regions` holds exactly the regions reserved and not released. It changes by
     single, atomic operations of a set, so `release` needs no lock (rule 3 of `base`).
  2. FunctionalOps for memory and on streams are made with their device current. CUDA asks this
     of some, and may start a context on device 0 for the others.
  3. A host array is referred to until its copy has happened: CUDA is given its address
     only, and the caller may drop the array (`_InFlight`).
"""

from __future__ import annotations

import math
import platform
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from berth.backends.base import (
    Array,
    DeviceInfo,
    Event,
    HiddenDevice,
    MemoryInfo,
    PlatformIndex,
    ProcessInfo,
    Region,
    Stream,
)
from berth.backends.streams import check_copy
from berth.errors import DeviceMemoryError

# CuPy does not name CUDA's status codes.
SUCCESS, OUT_OF_MEMORY, NOT_READY = 0, 2, 600


class CupyBackend:
    """The GPUs that CUDA shows to this process."""

    name = "cuda"

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy
        self.machine = platform.node()
        self._cuda = cupy.cuda
        runtime = cupy.cuda.runtime
        self._devices = [_info(runtime, i) for i in range(runtime.getDeviceCount())]
        self._regions: set[Region] = set()
        self._in_flight = _InFlight()

    def devices(self) -> Sequence[DeviceInfo]:
        return self._devices

    def hidden(self) -> Sequence[HiddenDevice]:
        return ()  # CUDA does not list them; NVML would

    def backing(self) -> None:
        return None

    def memory(self, device: PlatformIndex) -> MemoryInfo:
        with self._cuda.Device(device):
            free, _ = self._cuda.runtime.memGetInfo()
        return MemoryInfo(free, self._devices[device].memory_bytes)

    def processes(self, device: PlatformIndex) -> Sequence[ProcessInfo]:
        return ()  # NVML's to tell

    def announce(self, device: PlatformIndex, limit_bytes: int, *, growth: bool) -> None:
        pass  # no other process is told

    def close(self) -> None:
        for region in list(self._regions):
            self.release(region)

    def reserve(self, device: PlatformIndex, nbytes: int) -> Region:
        if nbytes <= 0:
            raise ValueError(f"Cannot reserve {nbytes} bytes: ask for one at least.")
        try:
            with self._cuda.Device(device):
                address = self._cuda.runtime.malloc(nbytes)
        except (self._cuda.runtime.CUDARuntimeError, OverflowError) as error:
            if getattr(error, "status", OUT_OF_MEMORY) != OUT_OF_MEMORY:
                raise
            memory = self.memory(device)
            raise DeviceMemoryError(self._describe(device), nbytes, *memory) from error
        region = Region(device, address, nbytes)
        self._regions.add(region)
        return region

    def release(self, region: Region) -> None:
        try:
            self._regions.remove(region)
        except KeyError:
            raise ValueError(f"{region} is not reserved: it was released before.") from None
        with self._cuda.Device(region.device):
            self._cuda.runtime.free(region.address)

    def view(
        self,
        device: PlatformIndex,
        address: int,
        shape: tuple[int, ...],
        dtype: Any,
        *,
        owner: object = None,
    ) -> Array:
        dtype = np.dtype(dtype)
        nbytes = dtype.itemsize * math.prod(shape)
        if not any(
            region.device == device and 0 <= address - region.address <= region.nbytes - nbytes
            for region in self._regions.copy()
        ):
            raise ValueError(
                f"No region of {self._describe(device)} holds the {nbytes:,} bytes at "
                f"{address:#x}."
            )
        memory = self._cuda.UnownedMemory(address, nbytes, owner, device)
        return self.xp.ndarray(shape, dtype, self._cuda.MemoryPointer(memory, 0))

    def stream(self, device: PlatformIndex) -> Stream:
        return CupyStream(self._cuda, device, self._in_flight)

    def _describe(self, device: PlatformIndex) -> str:
        return f"GPU:{device} ({self._devices[device].model})"


def _info(runtime: Any, device: int) -> DeviceInfo:
    properties = runtime.getDeviceProperties(device)
    # CuPy reads the uuid as a C string: from its first zero byte on, it is lost.
    uuid_bytes = properties["uuid"][:16].ljust(16, b"\0")
    return DeviceInfo(
        "GPU",
        properties["name"].decode(),
        properties["totalGlobalMem"],
        pci_bus_id=runtime.deviceGetPCIBusId(device),
        uuid=f"GPU-{uuid.UUID(bytes=uuid_bytes)}",
        compute_capability=(properties["major"], properties["minor"]),
        multiprocessors=properties["multiProcessorCount"],
    )


class CupyEvent:
    """A CUDA event, recorded once."""

    def __init__(self, runtime: Any, event: Any) -> None:
        self._runtime = runtime
        self.event = event

    def done(self) -> bool:
        # CuPy's own `done` takes an error for "not yet", and polling would not end.
        status = self._runtime.eventQuery(self.event.ptr)
        if status not in (SUCCESS, NOT_READY):
            raise self._runtime.CUDARuntimeError(status)
        return bool(status == SUCCESS)

    def synchronize(self) -> None:
        self.event.synchronize()


class _InFlight:
    """The host arrays of copies that may not have happened yet.

    They belong to no stream: an event may outlive the stream whose copies it marks. A
    deque's ends are atomic, so threads need no lock here.
    """

    def __init__(self) -> None:
        self._copies: deque[tuple[Event, Array]] = deque()

    def add(self, event: Event, array: Array) -> None:
        self._copies.append((event, array))
        self.forget_done(2)  # faster than they come in

    def forget_done(self, at_most: int | None = None) -> None:
        for _ in range(len(self._copies) if at_most is None else at_most):
            try:
                event, array = self._copies.popleft()
            except IndexError:  # the rest are in other threads' hands
                return
            if not event.done():
                self._copies.append((event, array))


class CupyStream:
    """A CUDA stream that does not wait for the null stream, nor the null stream for it."""

    def __init__(self, cuda: Any, device: PlatformIndex, in_flight: _InFlight) -> None:
        self.device = device
        self._cuda, self._in_flight = cuda, in_flight
        with cuda.Device(device):
            self._stream = cuda.Stream(non_blocking=True)

    def launch(self, work: Callable[[], None]) -> None:
        with self._cuda.Device(self.device):
            # Not `with self._stream`: that would forget what the thread had in `use`.
            previous = self._cuda.get_current_stream()
            self._stream.use()
            try:
                work()
            finally:
                previous.use()

    def upload(self, target: Array, source: Array) -> None:
        check_copy(target, source)
        with self._cuda.Device(self.device):
            address = source.ctypes.data
            target.data.copy_from_host_async(address, source.nbytes, self._stream)
        self._in_flight.add(self.record(), source)

    def download(self, target: Array, source: Array) -> None:
        check_copy(target, source)
        if not target.flags.writeable:
            raise ValueError("Cannot copy into a host array that is read-only.")
        with self._cuda.Device(self.device):
            address = target.ctypes.data
            source.data.copy_to_host_async(address, source.nbytes, self._stream)
        self._in_flight.add(self.record(), target)

    def transfer(self, target: Array, source: Array) -> None:
        check_copy(target, source)
        with self._cuda.Device(self.device):
            target.data.copy_from_device_async(source.data, source.nbytes, self._stream)

    def record(self) -> CupyEvent:
        with self._cuda.Device(self.device):  # an event serves the device it is made on
            event = self._stream.record(self._cuda.Event(disable_timing=True))
        return CupyEvent(self._cuda.runtime, event)

    def wait(self, event: Event) -> None:
        if not isinstance(event, CupyEvent):  # another backend's: CUDA cannot wait for it
            event.synchronize()
            return
        with self._cuda.Device(self.device):
            self._stream.wait_event(event.event)

    def synchronize(self) -> None:
        with self._cuda.Device(self.device):
            self._stream.synchronize()
        self._in_flight.forget_done()
