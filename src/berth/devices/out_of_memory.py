"""Out-of-memory errors: the figures, and advice that was checked.

Two moments: a tensor does not fit into its device's arena (`tensor_does_not_fit`), and a
program that would take nearly all of a card finds it taken (`card_is_taken`).

Invariant: each piece of advice was checked against the state it speaks of, before it was
given.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from berth.backends.base import ProcessInfo
from berth.devices.device import Device
from berth.errors import OutOfMemoryError, ResourceExhaustedError, explain
from berth.memory.buffer import Buffer, Holder
from berth.memory.chunks import Chunk, rounded
from berth.memory.dump import human_bytes, out_of_memory_log
from berth.memory.limits import default_limit
from berth.memory.trial import could_extend, could_fit_without, fits_fresh_arena
from berth.units import format_bytes

_log = logging.getLogger("berth.memory")
MiB = 2**20
_N_HOLDERS = 4
_N_TRIED = 5_000
"""With more tensors than this, trying other limits would take too long."""
_TYPE_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "half",
}
"""How TensorFlow writes types; the others under their own names."""


def allocate_tensor(
    device: Device,
    holder: Holder,
    shape: tuple[int, ...],
    dtype: Any,
    *,
    elsewhere: Sequence[Device] = (),
) -> Buffer:
    """Allocate a tensor, or raise OutOfMemoryError. Nothing else changes if it does."""
    dtype = np.dtype(dtype)
    nbytes = dtype.itemsize * math.prod(shape)
    buffer = device.try_allocate(nbytes, holder)
    if buffer is None:
        raise _logged(
            tensor_does_not_fit(device, holder, shape, dtype.name, nbytes, elsewhere=elsewhere)
        )
    return buffer


def _logged(error: OutOfMemoryError) -> OutOfMemoryError:
    _log.info(error.dump)
    return error


def tensor_does_not_fit(
    device: Device,
    holder: Holder,
    shape: tuple[int, ...],
    dtype: str,
    nbytes: int,
    *,
    elsewhere: Sequence[Device] = (),
    request: str = "",
) -> OutOfMemoryError:
    """Make the error for a tensor that its device cannot hold.

    `request` says what asks for the bytes, if it is not the tensor alone.
    """
    first_line = (
        f"OOM when allocating tensor with shape[{','.join(map(str, shape))}] and type "
        f"{_TYPE_NAMES.get(dtype, dtype)} on {device.name} by allocator {device.arena.name}"
    )
    lacks_backing = device.lacks_backing(nbytes)
    details = [
        request or f"{holder} asks for {_both(nbytes)}.",
        *(_backing(device) if lacks_backing else ()),
        _state(device),
        *(() if lacks_backing else _fragmentation(device, nbytes)),
        *_largest_holders(device),
        *(process_line(process) for process in other_processes(device)),
        *(() if lacks_backing else _advice(device, nbytes, elsewhere)),
    ]
    arena = device.arena
    return OutOfMemoryError(
        explain(first_line, *details),
        requested_bytes=nbytes,
        limit_bytes=arena.limit_bytes,
        in_use_bytes=arena.stats.in_use_bytes,
        reserved_bytes=arena.reserved_bytes,
        largest_free_bytes=arena.largest_free_bytes(),
        holders=[(str(chunk.holder), chunk.size) for chunk in arena.holders()],
        processes=other_processes(device),
        dump=out_of_memory_log(arena, nbytes, holder.op or holder.name),
        may_fit_later=not lacks_backing and _may_fit_later(device, nbytes),
    )


def workspace_does_not_fit(
    device: Device,
    holder: Holder,
    shape: tuple[int, ...],
    dtype: Any,
    *,
    workspace_bytes: int,
    elsewhere: Sequence[Device] = (),
) -> OutOfMemoryError:
    """Make the error for a run whose tensors do not fit; the largest is named first."""
    return _logged(
        tensor_does_not_fit(
            device,
            holder,
            shape,
            np.dtype(dtype).name,
            workspace_bytes,
            elsewhere=elsewhere,
            request="The tensors that this run needs at once ask for "
            f"{_both(workspace_bytes)}; the largest is {holder}.",
        )
    )


def is_taken(device: Device) -> bool:
    """Tell whether a program that wants nearly all of a card finds most of it held."""
    wants_all = device.limit.is_default and not device.growth
    return wants_all and other_use(device) * 2 > device.hardware.info.memory_bytes


def card_is_taken(device: Device, alternatives: Sequence[Device]) -> ResourceExhaustedError:
    """Make the error for a card that other processes hold, most of it or all."""
    info, others = device.hardware.info, other_processes(device)
    wanted = _wanted_bytes(device)
    first_line = (
        f"failed to allocate {human_bytes(wanted)} ({wanted} bytes) from device: "
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    )
    held = sum(process.nbytes for process in others)
    why = ", and a program that sets no memory options takes nearly all of a card"
    free = [other for other in alternatives if other_use(other) == 0]
    details = [
        f"{device.short_name} ({info.model}, {info.pci_bus_id}): other processes hold "
        f"{format_bytes(held)} of {format_bytes(info.memory_bytes)}"
        f"{why if device.limit.is_default else ''}.",
        *(process_line(process) for process in others),
        *(
            f"{other.short_name} is free: CUDA_VISIBLE_DEVICES={other.hardware.info.uuid[:12]} "
            "uses it alone."
            for other in free[:2]
        ),
        "Wait until the others end, or let all of them share the card, each with "
        "set_memory_growth(), a memory_limit or per_process_gpu_memory_fraction.",
    ]
    return ResourceExhaustedError(None, None, explain(first_line, *details))


def _wanted_bytes(device: Device) -> int:
    """Return what a device would take if no other process used its card."""
    if not device.limit.is_default:
        return device.limit.nbytes
    free = _card_free(device) + other_use(device)
    return default_limit(free, device.hardware.info.compute_capability).nbytes


def other_processes(device: Device) -> list[ProcessInfo]:
    """List the other processes on a device's hardware, the largest first."""
    hardware = device.hardware
    found = [p for p in hardware.backend.processes(hardware.platform) if p.pid != os.getpid()]
    return sorted(found, key=lambda process: -process.nbytes)


def other_use(device: Device) -> int:
    """Return how many bytes of a device's hardware other processes hold."""
    return sum(process.nbytes for process in other_processes(device))


def _both(nbytes: int) -> str:
    return f"{format_bytes(nbytes)} ({nbytes:,} bytes)"


def _state(device: Device) -> str:
    arena = device.arena
    source = device.limit.source if device.kind.has_limit else "all the computer has"
    text = (
        f"{device.short_name} may hold {format_bytes(arena.limit_bytes)} ({source}): "
        f"{format_bytes(arena.stats.in_use_bytes)} are in use, "
        f"{format_bytes(_free_bytes(device))} are free (largest free block: "
        f"{format_bytes(arena.largest_free_bytes())})."
    )
    if arena.reserved_bytes < arena.limit_bytes & -256:
        text += f" Its card has {format_bytes(_card_free(device))} more."
    return text


def _backing(device: Device) -> Iterator[str]:
    """Say that the computer's own memory is too small, and not the simulated card's."""
    backing = device.hardware.backend.backing()
    assert backing is not None
    yield (
        f"It is this computer's memory that is too small, and not that of {device.short_name}, "
        f"which is simulated in it: {format_bytes(backing.free)} of "
        f"{format_bytes(backing.total)} are available."
    )


def _free_bytes(device: Device) -> int:
    """Count what the arena has and does not use."""
    return device.arena.reserved_bytes - device.arena.stats.in_use_bytes


def _fragmentation(device: Device, nbytes: int) -> Iterator[str]:
    size = rounded(nbytes)
    if device.arena.largest_free_bytes() < size <= _free_bytes(device):
        yield "The cause is fragmentation: enough is free, but not in one piece."


def _largest_holders(device: Device) -> Iterator[str]:
    held: dict[str, list[int]] = {}
    for chunk in device.arena.holders():
        held.setdefault(str(chunk.holder), []).append(chunk.size)
    largest = sorted(held.items(), key=lambda item: -sum(item[1]))
    shown = [_share(holder, sizes) for holder, sizes in largest[:_N_HOLDERS]]
    more = len(largest) - len(shown)
    if shown:
        yield "Held by: " + ", ".join(shown) + (f", and {more} more." if more else ".")


def _share(holder: str, sizes: Sequence[int]) -> str:
    """Say what a line of the program holds, in one tensor or in many."""
    many = f" in {len(sizes)} tensors" if len(sizes) > 1 else ""
    return f"{holder} {format_bytes(sum(sizes))}{many}"


def process_line(process: ProcessInfo) -> str:
    """Say what a process holds, and since when."""
    since = time.strftime("%H:%M:%S", time.localtime(process.since))
    return (
        f"pid {process.pid} ({process.command[:60]}) holds {format_bytes(process.nbytes)} "
        f"since {since}."
    )


def _advice(device: Device, nbytes: int, elsewhere: Sequence[Device]) -> Iterator[str]:
    yield from _raise_limit(device, nbytes)
    yield from _end_process(device, nbytes)
    yield from _free_holder(device, nbytes)
    for other in sorted(elsewhere, key=lambda other: other.is_host):
        if other is not device and _has_room(other, nbytes):
            yield f"It fits on {other.short_name}."
            break


def _has_room(device: Device, nbytes: int) -> bool:
    size, arena = rounded(nbytes), device.arena
    return arena.largest_free_bytes() >= size or could_extend(arena, size, _card_free(device))


def _may_fit_later(device: Device, nbytes: int) -> bool:
    """Tell whether it would fit if no run, idle or going on, held a workspace."""

    def is_workspace(chunk: Chunk) -> bool:
        return isinstance(chunk.holder, Holder) and chunk.holder.is_workspace

    return could_fit_without(device.arena, rounded(nbytes), _card_free(device), is_workspace)


def _card_free(device: Device) -> int:
    return device.hardware.backend.memory(device.hardware.platform).free


def _raise_limit(device: Device, nbytes: int) -> Iterator[str]:
    """Look for the least limit, in MiB, under which the same tensors and this one fit."""
    arena = device.arena
    low = arena.limit_bytes // MiB
    high = (_card_free(device) + arena.reserved_bytes) // MiB
    held = arena.holders()
    if (
        len(held) > _N_TRIED
        or high <= low
        or not fits_fresh_arena(arena, held, nbytes, high * MiB)
    ):
        return
    while high - low > 1:  # `high` was tried, and suffices
        middle = (low + high) // 2
        if fits_fresh_arena(arena, held, nbytes, middle * MiB):
            high = middle
        else:
            low = middle
    yield f"What is held now and this would fit together under a limit of {high} MiB."


def _end_process(device: Device, nbytes: int) -> Iterator[str]:
    size, free = rounded(nbytes), _card_free(device)
    for process in other_processes(device):
        if could_extend(device.arena, size, free + process.nbytes):
            yield f"It fits if pid {process.pid} ends."
            break


def _free_holder(device: Device, nbytes: int) -> Iterator[str]:
    """Find the smallest holder whose end would leave a piece large enough."""
    size = rounded(nbytes)
    enough = [chunk for chunk in device.arena.holders() if _piece_without(chunk) >= size]
    if enough:
        smallest = enough[-1]
        yield f"It fits if {smallest.holder} is freed."


def _piece_without(chunk: Chunk) -> int:
    neighbours = [c for c in (chunk.prev, chunk.next) if c is not None and not c.in_use]
    return chunk.size + sum(c.size for c in neighbours)
