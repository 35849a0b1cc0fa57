"""The backend protocol, which host, sim and CUDA implement.

The lowest layer. A backend lists devices, reserves regions of their memory,
makes arrays over those regions, copies, and orders work on streams. It has no
notion of tensors, arenas or TensorFlow names.

The model is CUDA's, since the others can follow CUDA's rules and not the reverse:

  1. An address is an integer that means something on its own device only.
  2. A region belongs to its caller until `release`. A failed `reserve`
     changes nothing.
  3. `release` may be called from any thread and from a finalizer, even one that the
     garbage collector runs in the middle of `reserve`. So it takes no lock.
  4. An array made by `view` is used only by work on its own device. Everything else
     crosses by `upload`, `download` or `transfer`.
  5. Work on one stream happens in the order it was given. Nothing else is ordered,
     unless by `wait`. Its effects may be seen after `synchronize`, not before. Until
     then the arrays of a copy must be left alone. The backend keeps host arrays alive
     that long; device memory is the caller's, who releases it after the work is done.
  6. `launch` makes the stream (and its device) current for the calling thread while
     the work issues its calls: kernels written against `xp` need not name either.
  7. An error in work comes out of `launch` or, later, of `synchronize`. The stream
     can be used again after it, unless the device itself was lost: then every later
     call raises.
  8. Copies are of C-contiguous arrays: hardware copies ranges of bytes.

tests/contracts holds every backend to these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NewType, Protocol

PlatformIndex = NewType("PlatformIndex", int)
"""A device as its driver numbers it, after CUDA_VISIBLE_DEVICES: 0, 1, 2, …"""

Array = Any
"""An ndarray of the backend's `xp`: NumPy's, or CuPy's."""


class DeviceInfo(NamedTuple):
    """What a driver reports of one device."""

    device_type: str
    """CPU or GPU."""
    model: str
    memory_bytes: int
    pci_bus_id: str = ""
    uuid: str = ""
    compute_capability: tuple[int, int] | None = None
    multiprocessors: int = 0
    numa_node: int = 0
    simulated: bool = False


class HiddenDevice(NamedTuple):
    """A device of the machine that the driver does not show to this process."""

    info: DeviceInfo
    reason: str


class MemoryInfo(NamedTuple):
    """About how many bytes could be reserved now, and bytes in all.

    Drivers hand out whole pages, and other processes take their share at any time.
    """

    free: int
    total: int


class ProcessInfo(NamedTuple):
    """A process that holds memory of a device."""

    pid: int
    user: str
    command: str
    since: float
    """When it began, in seconds since 1970."""
    nbytes: int
    limit_bytes: int | None = None
    growth: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A range of one device's memory, reserved."""

    device: PlatformIndex
    address: int
    nbytes: int


class Event(Protocol):
    """A point in a stream's work."""

    def done(self) -> bool:
        """Tell, without waiting, whether all work before this point has happened."""
        ...

    def synchronize(self) -> None:
        """Wait until all work before this point has happened."""
        ...


class Stream(Protocol):
    """An ordered queue of work on one device."""

    @property
    def device(self) -> PlatformIndex: ...

    def launch(self, work: Callable[[], None]) -> None:
        """Issue the device calls that `work` makes."""
        ...

    def upload(self, target: Array, source: Array) -> None:
        """Copy a host array into an array of this device, of one shape and dtype."""
        ...

    def download(self, target: Array, source: Array) -> None:
        """Copy an array of this device into a host array, of one shape and dtype."""
        ...

    def transfer(self, target: Array, source: Array) -> None:
        """Copy an array of any device of the backend into one of this device."""
        ...

    def record(self) -> Event:
        """Mark the point that the work given so far reaches."""
        ...

    def wait(self, event: Event) -> None:
        """Hold later work on this stream until an event of this backend has happened."""
        ...

    def synchronize(self) -> None:
        """Wait until all work given so far has happened."""
        ...


class Backend(Protocol):
    """One kind of hardware: a driver with its devices."""

    @property
    def name(self) -> str:
        """The word users choose it by: host, sim or cuda."""
        ...

    @property
    def machine(self) -> str:
        """What the devices are part of, in a few words for people."""
        ...

    @property
    def xp(self) -> Any:
        """The array module whose functions run on this backend's arrays."""
        ...

    def devices(self) -> Sequence[DeviceInfo]:
        """List the devices this process may use; a position is a PlatformIndex."""
        ...

    def hidden(self) -> Sequence[HiddenDevice]:
        """List the machine's other devices, each with the reason, if the driver tells."""
        ...

    def memory(self, device: PlatformIndex) -> MemoryInfo:
        """Ask how much memory the device has, and how much of it is free now."""
        ...

    def backing(self) -> MemoryInfo | None:
        """Ask for the memory that holds the devices' own, if they are simulated; else None."""
        ...

    def processes(self, device: PlatformIndex) -> Sequence[ProcessInfo]:
        """List the processes that hold memory of a device, if the driver tells."""
        ...

    def announce(self, device: PlatformIndex, limit_bytes: int, *, growth: bool) -> None:
        """Publish to other processes, where possible, how much this one may come to use."""
        ...

    def reserve(self, device: PlatformIndex, nbytes: int) -> Region:
        """Take a region, aligned to 256 bytes or better, or raise DeviceMemoryError."""
        ...

    def release(self, region: Region) -> None:
        """Release a region. ValueError if it is not a reserved one."""
        ...

    def view(
        self,
        device: PlatformIndex,
        address: int,
        shape: tuple[int, ...],
        dtype: Any,
        *,
        owner: object = None,
    ) -> Array:
        """Make an array over reserved memory, which it does not own.

        The owner is kept alive as long as any array over this view is. ValueError if
        the range is not inside one region.
        """
        ...

    def stream(self, device: PlatformIndex) -> Stream:
        """Make a new stream on a device."""
        ...

    def close(self) -> None:
        """Release everything. A second call does nothing."""
        ...
