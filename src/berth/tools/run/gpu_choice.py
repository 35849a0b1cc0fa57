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
from berth.units import format_bytes, parse_share


class Choice:
    """Some of the visible GPUs; a claim of their memory lasts as long as this does."""

    def __init__(self, gpus: Sequence[PlatformIndex], claimed_bytes: int = 0) -> None:
        self.gpus = gpus
        self.claimed_bytes = claimed_bytes
        self.backend: SimBackend | None = None


def choose(text: str, devices: Devices, env: Mapping[str, str]) -> Choice:
    """Read ``--gpus``; ValueError if it cannot be had."""
    backend = devices.gpu_backend
    n_gpus = len(backend.devices()) if backend is not None else 0
    if text == "none":
        return Choice(())
    if text == "0":
        raise ValueError(
            "--gpus 0 could mean two things: write --gpus 0, for the GPU with that number, or "
            "--gpus none for no GPU."
        )
    if not n_gpus:
        raise ValueError(
            explain(
                f"--gpus {text}: this program would see no GPU.",
                "`berth devices` says why; --sim 2xT4 gives it two simulated ones.",
            )
        )
    if "," in text:
        return Choice(_read_list(text, n_gpus))
    if not text.isdecimal():
        raise ValueError(
            f"--gpus {text}: write numbers of GPUs with commas between (0,2), or how many."
        )
    if int(text) > n_gpus:
        raise ValueError(f"--gpus {text}: this program would see {n_gpus} in all.")
    assert isinstance(backend, SimBackend), "the one backend that there is"
    return _claim(int(text), backend, env)


def _read_list(text: str, n_gpus: int) -> list[PlatformIndex]:
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    gpus = []
    for entry in entries:
        if not entry.isdecimal() or int(entry) >= n_gpus:
            raise ValueError(
                f"--gpus {text}: {entry} is none of the {n_gpus} GPUs that this program would "
                f"see; they are numbered from 0 to {n_gpus - 1}."
            )
        gpus.append(PlatformIndex(int(entry)))
    if len(set(gpus)) < len(gpus) or not gpus:
        raise ValueError(f"--gpus {text}: name each GPU once, and at least one.")
    return gpus


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
        raise ValueError(_not_to_be_had(n_gpus, len(gpus), backend))
    choice = Choice(gpus, min(backend.claimed(gpu) for gpu in gpus))
    choice.backend = backend
    return choice


def _not_to_be_had(n_wanted: int, n_good: int, backend: SimBackend) -> str:
    lines = []
    for gpu, info in enumerate(backend.devices()):
        free, total = backend.memory(PlatformIndex(gpu))
        lines.append(
            f"GPU:{gpu} ({info.model}): {format_bytes(free)} of {format_bytes(total)} free"
        )
        lines += [f"  {process_line(p)}" for p in backend.processes(PlatformIndex(gpu))]
    return explain(
        f"--gpus {n_wanted}: {n_good} of the {len(backend.devices())} GPUs here have room "
        "enough.",
        *lines,
        "Ask for fewer, for less memory each (--memory 1GiB, --growth), or wait.",
    )
