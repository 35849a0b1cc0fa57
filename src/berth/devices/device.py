"""Logical devices: the places where a program's operations run, each with its memory."""

from __future__ import annotations

import gc
import logging
import os
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from berth.backends.base import Array, Region, Stream
from berth.backends.kinds import kind_of
from berth.devices.full_name import LOCAL_HOST
from berth.devices.physical import Hardware
from berth.memory.arena import Arena, ArenaOptions
from berth.memory.buffer import Buffer, Holder
from berth.memory.limits import Limit
from berth.public import public

CPU_LIMIT = Limit(2**28, "nominal: memory of the CPU is not bounded")
_log = logging.getLogger("berth")


@public("config.LogicalDevice")
class LogicalDevice(NamedTuple):
    """A device of this program, as ``tf.config`` names it."""

    name: str
    device_type: str


@public("config.LogicalDeviceConfiguration", "config.experimental.VirtualDeviceConfiguration")
class LogicalDeviceConfiguration(NamedTuple):
    """What one logical device on a physical one is to be. Memory is in MB of 2^20."""

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


class HardwareSource:
    """Regions of one piece of hardware, for an arena."""

    def __init__(self, hardware: Hardware) -> None:
        self._hardware = hardware
        self._regions: dict[int, Region] = {}

    def reserve(self, nbytes: int) -> int:
        region = self._hardware.backend.reserve(self._hardware.platform, nbytes)
        self._regions[region.address] = region
        return region.address

    def release(self, address: int) -> None:
        region = self._regions.get(address)
        if region is not None:
            with suppress(ValueError):  # an earlier call was interrupted after it
                self._hardware.backend.release(region)
            self._regions.pop(address, None)


class _InvalidStream:
    """The stream of a device that belongs to the parent of this process."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        raise self._device.gone()


_LARGE = 2**28
"""From this size on it is asked whether the computer has the memory that a card simulates."""


class Device:
    """One logical device: a name, the hardware behind it, and its share of memory."""

    def __init__(
        self,
        index: int,
        hardware: Hardware,
        limit: Limit,
        *,
        growth: bool = False,
        priority: int = 0,
        collect_regions: bool = True,
        fragmentation_fraction: float = 0.0,
        scrub: bool = False,
    ) -> None:
        self.index = index
        self.hardware = hardware
        self.limit = limit
        self.growth = growth
        self.priority = priority
        self.device_type = hardware.info.device_type
        self.kind = kind_of(self.device_type)
        self.is_host = self.kind.is_host
        self.full_name = replace(LOCAL_HOST, type=self.device_type, index=index)
        self.name = str(self.full_name)
        self.short_name = f"{self.device_type}:{index}"
        self.logical = LogicalDevice(f"/device:{self.short_name}", self.device_type)
        self.incarnation = int.from_bytes(os.urandom(8), "big") // 2 + 1
        """A number that no other device has had, not even one of the same name."""
        self.arena = Arena(
            self.kind.allocator_name.format(index=index),
            HardwareSource(hardware),
            limit.nbytes if self.kind.has_limit else hardware.info.memory_bytes,
            ArenaOptions(
                growth=growth or not self.kind.has_limit,
                collect_regions=collect_regions,
                fragmentation_fraction=fragmentation_fraction,
                on_collect=_tell_of_collection,
            ),
        )
        self._most_used = 0
        """The most bytes that were in use, as far as large tensors know."""
        self.scrub = scrub
        """Whether freed memory is filled with NaN, to show use after free."""

    @property
    def gone_by(self) -> str:
        """What has made a device unusable that is no longer open."""
        reason = self.arena.closed_by
        return reason if isinstance(reason, str) else "berth.reset()"

    def gone(self) -> RuntimeError:
        """Make the error for what is used after its device is gone."""
        return RuntimeError(
            f"A tensor or variable on {self.short_name} cannot be used any more: its devices "
            f"went by {self.gone_by}."
        )

    def abandon(self, reason: str) -> None:
        """In a forked child: the memory and its contents are the parent's."""
        self.arena.abandon(reason)
        if not self.is_host:
            self.stream = _InvalidStream(self)

    @cached_property
    def stream(self) -> Stream:
        """The stream of operations that are done one by one."""
        return self.hardware.backend.stream(self.hardware.platform)

    def try_allocate(self, nbytes: int, holder: Holder) -> Buffer | None:
        """Return memory, or None if it cannot be had even after a collection of garbage."""
        if nbytes >= _LARGE:
            if self.lacks_backing(nbytes):
                gc.collect()
                if self.lacks_backing(nbytes):
                    return None
            self._most_used = max(self._most_used, self.arena.stats.in_use_bytes + nbytes)
        before_free = self._fill if self.scrub else None
        try:
            buffer = Buffer(self.arena, nbytes, holder, before_free)
            if not buffer.has_memory:
                # The only thing in this process that could still free memory by itself.
                gc.collect()
                buffer = Buffer(self.arena, nbytes, holder, before_free)
        except RuntimeError:
            if self.arena.closed_by is not None:  # by another thread
                raise self.gone() from None
            raise
        return buffer if buffer.has_memory else None

    def lacks_backing(self, nbytes: int) -> bool:
        """Tell whether the memory in which a simulated card's is kept is too small.

        It is taken when it is first written to, and by then it is too late for an error.
        """
        backing = self.hardware.backend.backing() if nbytes >= _LARGE else None
        stats = self.arena.stats
        written = max(stats.peak_bytes, self._most_used) - stats.in_use_bytes
        return backing is not None and nbytes - written > backing.free

    def view(self, buffer: Buffer, shape: tuple[int, ...], dtype: Any) -> Array:
        """Make an array over a buffer, which lives as long as the array does."""
        hardware = self.hardware
        if buffer.nbytes == 0:
            return hardware.backend.xp.empty(shape, dtype)
        try:
            array = hardware.backend.view(
                hardware.platform, buffer.address, shape, dtype, owner=buffer
            )
        except (RuntimeError, ValueError):  # the buffer's, or the backend's
            if self.arena.closed_by is None:
                raise
        # Last, for another thread may close the arena meanwhile, and open another there.
        if self.arena.closed_by is not None:
            raise self.gone()
        return array

    def _fill(self, address: int, nbytes: int) -> None:
        """Fill memory with ones in every bit: NaN as a float, -1 as an integer."""
        hardware = self.hardware
        stream = hardware.backend.stream(hardware.platform)
        array = hardware.backend.view(hardware.platform, address, (nbytes,), np.uint8)
        stream.launch(lambda: array.fill(0xFF))
        stream.synchronize()


def _tell_of_collection() -> None:
    _log.warning(
        "Garbage collection: deallocate free memory regions (i.e., allocations) so that we "
        "can re-allocate a larger region to avoid OOM due to memory fragmentation. If you "
        "see this message frequently, you are running near the threshold of the available "
        "device memory and re-allocation may incur great performance overhead. You may try "
        "smaller batch sizes to observe the performance impact. Set "
        "TF_ENABLE_GPU_GARBAGE_COLLECTION=false if you'd like to disable this feature."
    )
