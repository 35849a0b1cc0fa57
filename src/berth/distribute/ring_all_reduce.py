"""Ring all-reduce, as NCCL does it: every device sums a part, and all get the parts.

Each tensor is divided into as many chunks as there are devices, and the devices form a ring. In
n - 1 steps each device adds the chunk that its neighbour passes on to its own, after which
every device has one whole sum; in n - 1 more steps the sums go round. So each link carries
2 (n - 1) / n of the tensor, however many devices there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.distribute.cross_device_ops import (
    CrossDeviceOps,
    ReductionToOneDevice,
    devices_of,
    divided,
)
from berth.distribute.replica_context import ReduceOp
from berth.distribute.values import Mirrored
from berth.front.device_scope import device
from berth.ops.arrays.array import identity, reshape
from berth.ops.arrays.indexed_slices import IndexedSlices
from berth.ops.arrays.joining import concat, split
from berth.public import public_v2


def chunk_sizes(n_elements: int, n_chunks: int) -> list[int]:
    """Divide elements into chunks that differ by one at most.

    >>> chunk_sizes(7, 3)
    [3, 2, 2]
    """
    least, n_larger = divmod(n_elements, n_chunks)
    return [least + (number < n_larger) for number in range(n_chunks)]


def ring_all_reduce(parts: Sequence[Any], devices: Sequence[str]) -> list[Any]:
    """Sum flat tensors, one on each device; return the sum on each device."""
    n_devices = len(devices)
    sizes = chunk_sizes(parts[0].dims[0], n_devices)
    chunks = []
    for name, part in zip(devices, parts, strict=True):
        with device(name):
            chunks.append(split(part, sizes))
    for step in range(n_devices - 1):  # reduce-scatter: chunk k ends up whole on device k - 1
        for to in range(n_devices):
            came_from = (to - 1) % n_devices
            number = (came_from - step) % n_devices
            with device(devices[to]):
                chunks[to][number] = chunks[to][number] + chunks[came_from][number]
    for step in range(n_devices - 1):  # all-gather: the whole sums go round
        for to in range(n_devices):
            came_from = (to - 1) % n_devices
            number = (came_from + 1 - step) % n_devices
            with device(devices[to]):
                chunks[to][number] = identity(chunks[came_from][number])
    sums = []
    for name, own in zip(devices, chunks, strict=True):
        with device(name):
            sums.append(concat(own, 0))
    return sums


class AllReduceCrossDeviceOps(CrossDeviceOps):
    """Reduction by all-reduce where the result goes to the devices that the values are on.

    Sparse gradients, tensors of unknown or small size, and results for other devices are
    reduced on one device.
    """

    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(
                f"NCCL all-reduce requires num_packs >= 0, but {num_packs} is specified"
            )
        self._num_packs = num_packs
        self._simple = ReductionToOneDevice()

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any
    ) -> Any:
        """Reduce a value; the result is on each of the destinations."""
        parts = per_replica_value.values
        devices = devices_of(destinations)
        if not _goes_round(parts, devices):
            return self._simple.reduce_implementation(
                reduce_op, per_replica_value, destinations, options
            )
        flat = []
        for name, part in zip(devices, parts, strict=True):
            with device(name):
                flat.append(reshape(part, [-1]))
        sums = ring_all_reduce(flat, devices)
        copies = []
        for name, part, each in zip(devices, parts, sums, strict=True):
            with device(name):
                whole = reshape(each, part.dims)
                is_mean = reduce_op is ReduceOp.MEAN
                copies.append(divided(whole, len(parts)) if is_mean else whole)
        return Mirrored(copies)


def _goes_round(parts: Sequence[Any], devices: Sequence[str]) -> bool:
    """Tell whether a ring of these devices can reduce these values, and is worth it."""
    if len(devices) != len(parts) or len(parts) < 2:
        return False
    if any(isinstance(part, IndexedSlices) for part in parts):
        return False
    dims = parts[0].dims
    if dims is None or None in dims or any(part.dims != dims for part in parts):
        return False
    return bool(parts[0].shape.num_elements() >= MIN_RING_ELEMENTS)


MIN_RING_ELEMENTS = 1024
"""Smaller tensors are quicker to send whole: a step of the ring costs more than a copy."""


@public_v2("distribute.NcclAllReduce")
class NcclAllReduce(AllReduceCrossDeviceOps):
    """All-reduce around a ring of GPUs, as NVIDIA's NCCL library does it."""


@public_v2("distribute.HierarchicalCopyAllReduce")
class HierarchicalCopyAllReduce(AllReduceCrossDeviceOps):
    """All-reduce for GPUs that are connected in a hierarchy; here it goes around a ring."""
