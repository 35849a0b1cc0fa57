"""Devices whose memory is this process's own: what host and sim have in common.

A region is an anonymous mapping, so its pages cost nothing until they are touched: an
80 GB card fits a laptop. An address is the real one, as CUDA's are.

Invariants:
  1. `_mappings` holds exactly the regions reserved and not released.
  2. The regions of one device never add up to more than it has.
  3. Only `reserve` takes the lock. `release` is one `dict.pop`, which is atomic, and a
     refund that waits for nothing, so a finalizer may call it at any moment (rule 3 of
     `base`).
  4. An exception at any moment, such as KeyboardInterrupt, leaves a region reserved and charged
     for, or neither.
"""

from __future__ import annotations

import mmap
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from berth.backends.base import (
    Array,
    DeviceInfo,
    HiddenDevice,
    MemoryInfo,
    PlatformIndex,
    ProcessInfo,
    Region,
    Stream,
)
from berth.backends.streams import ImmediateStream
from berth.errors import DeviceMemoryError

# Let the kernel promise more than the machine has: a simulated card may be larger.
# Python 3.10 does not name the flag; the number is Linux's, the only system to need it.
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if hasattr(mmap, "MAP_POPULATE") else 0)


class InProcessBackend:
    """A backend over anonymous memory and NumPy; subclasses name the devices."""

    name = ""
    machine = ""
    xp: ModuleType = np

    def __init__(
        self, devices: Sequence[DeviceInfo], hidden: Sequence[HiddenDevice] = ()
    ) -> None:
        self._devices = tuple(devices)
        self._hidden = tuple(hidden)
        self._lock = threading.Lock()
        self._mappings: dict[Region, mmap.mmap] = {}
        self._is_closed = False

    def devices(self) -> Sequence[DeviceInfo]:
        return self._devices

    def hidden(self) -> Sequence[HiddenDevice]:
        return self._hidden

    def reserved(self, device: PlatformIndex) -> int:
        """Return how many bytes are reserved on a device now."""
        # A copy, since a finalizer may release a region while we add.
        return sum(r.nbytes for r in self._mappings.copy() if r.device == device)

    def backing(self) -> MemoryInfo | None:
        """Return None: what it has is its own."""
        return None

    def memory(self, device: PlatformIndex) -> MemoryInfo:
        total = self._devices[device].memory_bytes
        return MemoryInfo(total - self.reserved(device), total)

    def processes(self, device: PlatformIndex) -> Sequence[ProcessInfo]:
        return ()

    def announce(self, device: PlatformIndex, limit_bytes: int, *, growth: bool) -> None:
        pass

    def reserve(self, device: PlatformIndex, nbytes: int) -> Region:
        if nbytes <= 0:
            raise ValueError(f"Cannot reserve {nbytes} bytes: ask for one at least.")
        with self._lock:
            if self._is_closed:
                raise RuntimeError(f"The {self.name} backend is closed.")
            try:
                mapping = _map(nbytes)  # costs nothing until it is touched
            except (OSError, ValueError, OverflowError) as error:
                memory = self.memory(device)
                raise DeviceMemoryError(self._describe(device), nbytes, *memory) from error
            region = Region(device, _address_of(mapping), nbytes)
            try:
                self._charge(region)
                self._mappings[region] = mapping
                return region
            except BaseException:
                self._mappings.pop(region, None)
                self._refund(region)
                raise

    def _charge(self, region: Region) -> None:
        """Raise DeviceMemoryError if the device has not so much free memory."""
        memory = self.memory(region.device)
        if region.nbytes > memory.free:
            raise DeviceMemoryError(self._describe(region.device), region.nbytes, *memory)

    def _refund(self, region: Region) -> None:
        """Undo a charge, if it was made, at any moment: finalizers come here."""

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
        for region in self._mappings.copy():
            self.release(region)

    def release(self, region: Region) -> None:
        if region not in self._mappings:
            raise ValueError(f"{region} is not reserved: it was released before.")
        try:
            # The mapping itself goes when the last array over it does.
            self._mappings.pop(region, None)
            self._refund(region)
        except BaseException:
            if region not in self._mappings:  # interrupted: finish it
                self._refund(region)
            raise

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
        nbytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        for region, mapping in self._mappings.copy().items():
            offset = address - region.address
            if region.device == device and 0 <= offset <= region.nbytes - nbytes:
                array: Array = np.ndarray(shape, dtype, mapping, offset)
                if owner is None:
                    return array
                owned: Array = np.asarray(_Owned(array, owner))
                # The interface of arrays has no word for bfloat16.
                return owned if owned.dtype is dtype else owned.view(dtype)
        raise ValueError(
            f"No region of {self._describe(device)} holds the {nbytes:,} bytes at {address:#x}."
        )

    def stream(self, device: PlatformIndex) -> Stream:
        return ImmediateStream(device)

    def _describe(self, device: PlatformIndex) -> str:
        info = self._devices[device]
        return f"{info.device_type}:{device} ({info.model})"


class _Owned:
    """Passes an array's memory on to a new array that keeps the owner alive."""

    def __init__(self, array: Array, owner: object) -> None:
        self.__array_interface__ = array.__array_interface__
        self._alive = (array, owner)


def _map(nbytes: int) -> mmap.mmap:
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows: always private, never reserved
        return mmap.mmap(-1, nbytes)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
    return mmap.mmap(-1, nbytes, flags=flags)


def _address_of(mapping: mmap.mmap) -> int:
    return int(np.frombuffer(mapping, np.uint8).ctypes.data)
