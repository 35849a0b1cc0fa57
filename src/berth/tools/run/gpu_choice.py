"""Which GPUs a program gets: ``berth run --gpus``.

The choice is among the GPUs that are visible here, and becomes CUDA_VISIBLE_DEVICES. A list
(``0,2``) names them by their numbers. A count takes those with the most free memory, and
claims it in the machine's ledger at once, so that of two programs that start together
neither gets what the other counted on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from berth.backends.base import PlatformIndex
from berth.backends.sim import SimBackend
from berth.devices.devices import Devices
from berth.devices.out_of_memory import process_line
from berth.errors import explain
from berth.memory.limits import default_limit, wished_limit
from berth.units import format_bytes, parse_count, parse_share


class Choice:
    """Some of the visible GPUs; a claim of their memory lasts as long as this does."""

    def __init__(self, gpus: Sequence[PlatformIndex], claimed_bytes: int = 0) -> None:
        self.gpus = gpus
        self.claimed_bytes = claimed_bytes
        self.backend: SimBackend | None = None


class GpusTextError(ValueError):
    """What ``--gpus`` says means nothing."""


def choose(text: str, devices: Devices, env: Mapping[str, str]) -> Choice:
    """Read ``--gpus``, and choose. GpusTextError, or ValueError if it cannot be had."""
    if text == "none":
        return Choice(())
    numbers = _read_numbers(text)
    backend = devices.gpu_backend
    n_gpus = len(backend.devices()) if backend is not None else 0
    if not n_gpus:
        raise ValueError(
            explain(
                f"--gpus {text}: this program would see no GPU.",
                "`berth devices` says why; --sim 2xT4 gives it two simulated ones.",
            )
        )
    if "," in text:
        for number in numbers:
            if number >= n_gpus:
                raise ValueError(_no_such_gpu(text, number, n_gpus))
        return Choice([PlatformIndex(number) for number in numbers])
    if numbers[0] > n_gpus:
        raise ValueError(f"--gpus {text}: this program would see {n_gpus} in all.")
    assert isinstance(backend, SimBackend), "the one backend that there is"
    return _claim(numbers[0], backend, env)


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


def _no_such_gpu(text: str, number: int, n_gpus: int) -> str:
    known = "GPU 0" if n_gpus == 1 else f"GPUs 0 to {n_gpus - 1}"
    return f"--gpus {text}: there is no GPU {number}, this program would see {known}."


def _claim(n_gpus: int, backend: SimBackend, env: Mapping[str, str]) -> Choice:
    """Take the GPUs with the most free memory, and what the program will want of it."""
    infos = backend.devices()

    def wanted(gpu: PlatformIndex, free: int) -> int:
        info = infos[gpu]
        if env.get("BERTH_GROWTH", "") not in ("", "0"):
            return 1 if free else 0  # it takes what it needs, when it does
        if env.get("BERTH_MEMORY"):
            share = parse_share(env["BERTH_MEMORY"])
            return wished_limit(info.memory_bytes, share, "").nbytes
        others_hold = info.memory_bytes - free
        if others_hold * 2 > info.memory_bytes:  # as `out_of_memory.is_taken` has it
            return 0
        return default_limit(free, info.compute_capability).nbytes

    gpus = backend.claim(n_gpus, wanted)
    if len(gpus) < n_gpus:
        raise ValueError(_not_to_be_had(n_gpus, len(gpus), backend, env.get("BERTH_MEMORY")))
    choice = Choice(gpus, min(backend.claimed(gpu) for gpu in gpus))
    choice.backend = backend
    return choice


def _not_to_be_had(n_wanted: int, n_good: int, backend: SimBackend, memory: str | None) -> str:
    n_gpus, room = len(backend.devices()), f"room for {memory}" if memory else "room enough"
    few = f"only {n_good} of the {n_gpus} GPUs" if n_good else "none of the GPUs"
    lines = []
    for gpu, info in enumerate(backend.devices()):
        free, total = backend.memory(PlatformIndex(gpu))
        lines.append(
            f"GPU:{gpu} ({info.model}): {format_bytes(free)} of {format_bytes(total)} free"
        )
        lines += [f"  {process_line(p)}" for p in backend.processes(PlatformIndex(gpu))]
    return explain(
        f"--gpus {n_wanted}: {few} here {'has' if n_good < 2 else 'have'} {room}.",
        *lines,
        "Ask for fewer, for less memory each (--memory 1GiB, --growth), or wait.",
    )
