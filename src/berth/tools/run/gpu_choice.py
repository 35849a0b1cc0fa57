"""Which GPUs a program gets: ``berth run --gpus``.

The choice is among the GPUs that a program would see here, and becomes CUDA_VISIBLE_DEVICES.
A list (``0,2``) names them by their numbers. A count takes those with the most free memory,
and claims it in the machine's ledger at once, so that of two programs that start together
neither gets what the other counted on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from berth.backends.base import PlatformIndex, ProcessInfo
from berth.backends.sim import SimBackend
from berth.devices.device import Device
from berth.devices.devices import Devices
from berth.devices.out_of_memory import other_processes, process_line
from berth.errors import explain
from berth.memory.limits import default_limit
from berth.tools.devices import device_ranges, why_hidden
from berth.units import format_bytes, parse_count, parse_share


class Choice:
    """Some of the visible GPUs; a claim of their memory lasts as long as this does."""

    def __init__(self, gpus: Sequence[PlatformIndex], claimed_bytes: int = 0) -> None:
        self.gpus = gpus
        self.claimed_bytes = claimed_bytes
        self.shared: dict[PlatformIndex, list[ProcessInfo]] = {}
        """The other processes on those of a count that are not free."""
        self.backend: SimBackend | None = None


class GpusTextError(ValueError):
    """What ``--gpus`` says means nothing."""


def choose(text: str, devices: Devices, env: Mapping[str, str]) -> Choice:
    """Read ``--gpus``, and choose. GpusTextError, or ValueError if it cannot be had."""
    if text == "none":
        return Choice(())
    numbers = _read_numbers(text)
    planned = devices.maker.plan(devices.options())
    backend = devices.gpu_backend
    gpus = {g.hardware.platform: g for g in planned if g.hardware.backend is backend}
    if not gpus:
        raise ValueError(_sees_no_gpu(text, devices))
    if "," in text:
        for number in numbers:
            if number not in gpus:
                raise ValueError(_no_such_gpu(text, number, devices, gpus))
        return Choice([PlatformIndex(number) for number in numbers])
    if numbers[0] > len(gpus):
        first_line = f"--gpus {text}: this program would see {len(gpus)} in all."
        raise ValueError(explain(first_line, *why_hidden(devices)))
    assert isinstance(backend, SimBackend), "the one backend that there is"
    return _claim(numbers[0], gpus, backend, env)


def _read_numbers(text: str) -> list[int]:
    """Read a list of numbers, or one number, which is a count."""
    entries = [entry.strip() for entry in text.split(",")]
    if len(entries) > 1 and not entries[-1]:
        entries.pop()  # the comma that makes a list of one
    if not all(entry.isascii() and entry.isdigit() for entry in entries):
        raise GpusTextError(
            f"--gpus {text!r}: write the numbers of GPUs with commas between (0,2 or just 1,), "
            "how many (2), or none."
        )
    numbers = [parse_count(entry) for entry in entries]
    if numbers == [0] and "," not in text:
        raise GpusTextError(
            "--gpus 0 could mean two things: write '--gpus 0,' with a comma for the GPU with "
            "that number, or '--gpus none' for no GPU."
        )
    if len(set(numbers)) < len(numbers):
        raise GpusTextError(f"--gpus {text}: name each GPU once.")
    return numbers


def _sees_no_gpu(text: str, devices: Devices) -> str:
    no_gpu = "This machine has none that berth can use: --sim 2xT4 gives it two simulated ones."
    first_line = f"--gpus {text}: this program would see no GPU."
    return explain(first_line, *(why_hidden(devices) or [no_gpu]))


def _no_such_gpu(
    text: str, number: int, devices: Devices, gpus: Iterable[PlatformIndex]
) -> str:
    seen = device_ranges(f"GPU:{gpu}" for gpu in gpus)
    return explain(
        f"--gpus {text}: there is no GPU {number}, this program would see {seen}.",
        *why_hidden(devices),
    )


def _claim(
    n_gpus: int,
    planned: Mapping[PlatformIndex, Device],
    backend: SimBackend,
    env: Mapping[str, str],
) -> Choice:
    """Take the GPUs with the most free memory, and what the program will want of it."""

    def wanted(gpu: PlatformIndex, free: int) -> int:
        if gpu not in planned:  # TensorFlow ignores it
            return 0
        device = planned[gpu]
        if device.growth:
            return 1 if free else 0  # it takes what it needs, when it does
        if not device.limit.is_default:
            return device.limit.nbytes
        info = device.hardware.info
        others_hold = info.memory_bytes - free
        if others_hold * 2 > info.memory_bytes:  # as `out_of_memory.is_taken` has it
            return 0
        return default_limit(free, info.compute_capability).nbytes

    gpus = backend.claim(n_gpus, wanted)
    if len(gpus) < n_gpus:
        memory = env.get("BERTH_MEMORY", "").strip()
        raise ValueError(_no_room(n_gpus, len(gpus), planned, backend, memory))
    choice = Choice(gpus, min(backend.claimed(gpu) for gpu in gpus))
    choice.backend = backend
    for gpu in gpus:
        others = other_processes(planned[gpu])
        if others:
            choice.shared[gpu] = others
    return choice


def _no_room(
    n_wanted: int,
    n_good: int,
    gpus: Mapping[PlatformIndex, Device],
    backend: SimBackend,
    memory: str,
) -> str:
    room = f"{memory} of its memory free" if memory else "room enough"
    if memory and isinstance(parse_share(memory), int):
        room = f"room for {memory}"
    few = f"only {n_good} of the {len(gpus)} GPUs" if n_good else "none of the GPUs"
    lines = []
    for gpu, device in gpus.items():
        model = device.hardware.info.model
        free, total = backend.memory(gpu)
        lines.append(f"GPU:{gpu} ({model}): {format_bytes(free)} of {format_bytes(total)} free")
        lines += [f"  {process_line(p)}" for p in backend.processes(gpu)]
    return explain(
        f"--gpus {n_wanted}: {few} here {'has' if n_good < 2 else 'have'} {room}.",
        *lines,
        "Ask for fewer, for less memory each (--memory 1GiB, --growth), or wait.",
    )
