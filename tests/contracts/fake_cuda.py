"""The GPUs under fake_cupy: their memory, their streams, and what threads have chosen.

Which of CUDA's behaviours are imitated, and which are not, is told in fake_cupy.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

PAGE_BYTES = CONTEXT_BYTES = 2 * 2**20

# An address: a high bit that no host address has, the device, the block, the offset.
DEVICE_SPACE, DEVICE_SHIFT, BLOCK_SHIFT = 1 << 60, 52, 32


class Status(IntEnum):
    cudaSuccess = 0
    cudaErrorInvalidValue = 1
    cudaErrorMemoryAllocation = 2
    cudaErrorInvalidDevice = 101
    cudaErrorInvalidResourceHandle = 400
    cudaErrorNotReady = 600
    cudaErrorIllegalAddress = 700


class CUDARuntimeError(RuntimeError):
    def __init__(self, status: int) -> None:
        super().__init__(Status(status).name)
        self.status = int(status)


class Memory:
    """The bytes of all devices, in blocks by address.

    Only `malloc` takes the lock: `free` may be called from a finalizer inside it.
    """

    def __init__(self, bytes_per_device: int) -> None:
        self.bytes_per_device = bytes_per_device
        self._blocks: dict[int, np.ndarray] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def free_bytes(self, device: int, asked: int = 0) -> int:
        """Tell what is free, or would be with that many bytes more taken."""
        blocks = self._blocks.copy().items()
        used = sum(block.nbytes for base, block in blocks if device_of(base) == device)
        pages = -(-(used + asked) // PAGE_BYTES)
        return self.bytes_per_device - CONTEXT_BYTES - pages * PAGE_BYTES

    def malloc(self, device: int, size: int) -> int:
        if not 0 <= size < 2**64:
            raise OverflowError("can't convert to size_t")
        with self._lock:
            if self.free_bytes(device, size) < 0:
                raise CUDARuntimeError(Status.cudaErrorMemoryAllocation)
            number = next(self._numbers)
            base = DEVICE_SPACE | device << DEVICE_SHIFT | number << BLOCK_SHIFT
            self._blocks[base] = np.full(size, 0xCD, np.uint8)
        return base

    def free(self, ptr: int) -> None:
        if self._blocks.pop(ptr, None) is None:
            raise CUDARuntimeError(Status.cudaErrorInvalidValue)

    def array_at(self, ptr: int, shape: Any, dtype: Any, strides: Any = None) -> Any:
        """Let NumPy at device memory, as only the work on a stream may."""
        base = ptr >> BLOCK_SHIFT << BLOCK_SHIFT
        try:
            array: Any = np.ndarray(shape, dtype, self._blocks[base], ptr - base, strides)
        except (KeyError, TypeError, ValueError):  # no such block, or beyond its end
            raise CUDARuntimeError(Status.cudaErrorIllegalAddress) from None
        return array


def device_of(ptr: int) -> int:
    return (ptr ^ DEVICE_SPACE) >> DEVICE_SHIFT


class Queue:
    """The work of one stream. One lock for all, since forcing one may force others."""

    def __init__(self, device: int, lock: threading.RLock) -> None:
        self.device, self.taken = device, 0
        self._pending: deque[Callable[[], Any]] = deque()
        self._lock = lock

    def add(self, work: Callable[[], Any]) -> None:
        with self._lock:
            self._pending.append(work)

    def mark(self) -> Mark:
        with self._lock:
            return Mark(self, self.taken + len(self._pending))

    def advance(self, step: int) -> None:
        with self._lock:
            while self.taken < step:
                self.taken += 1
                self._pending.popleft()()


class Mark(NamedTuple):
    """A point in a stream's work."""

    queue: Queue
    step: int

    def force(self) -> None:
        self.queue.advance(self.step)


class Current(threading.local):
    """What a thread has chosen. A new one has device 0 and null streams."""

    def __init__(self) -> None:
        self.device = 0
        self.devices_left: list[int] = []
        self.streams: dict[int, Any] = {}
        self.streams_entered: list[Any] = []


class Machine:
    """GPUs of one size, and this process's use of them."""

    def __init__(self, n_devices: int, bytes_per_device: int) -> None:
        self.memory = Memory(bytes_per_device)
        self.current = Current()
        self.lock = threading.RLock()
        self.null_queues = [Queue(device, self.lock) for device in range(n_devices)]
        self.handles = itertools.count(1)
        self.events: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.null_stream: Any = None

    def set_device(self, device: int) -> None:
        if not 0 <= device < len(self.null_queues):
            raise CUDARuntimeError(Status.cudaErrorInvalidDevice)
        self.current.device = device

    def current_stream(self, device_id: int = -1) -> Any:
        device = self.current.device if device_id == -1 else device_id
        return self.current.streams.get(device, self.null_stream)
