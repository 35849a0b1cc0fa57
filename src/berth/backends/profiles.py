"""The cards that can be simulated, with the figures their makers and drivers publish.

Sources:
  - memory: the total that CUDA's deviceQuery reports with current drivers, ECC in its
    factory state. It is less than the number on the box, and less than what newer
    versions of nvidia-smi show; it is what a program gets to see.
  - capability, multiprocessors: deviceQuery.
  - peak FP32 rate (boost clock, no tensor cores), memory bandwidth: NVIDIA's data
    sheets and product pages.
  - link: PCI Express, sixteen lanes, one direction: 8, 15.75, 31.5 or 63 GB/s for
    generations 2 to 5.
  - context: what a process occupies before it allocates anything. It grows with the
    number of multiprocessors; measured ones (llama.cpp #23604: 107 MiB with 34, 555
    with 188) are near 3 MiB each, which is used for every card. An estimate.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import NamedTuple

MiB = 2**20
_CONTEXT_BYTES_PER_MULTIPROCESSOR = 3 * MiB


class Profile(NamedTuple):
    """One model of GPU."""

    key: str
    """The short name people type."""
    model: str
    """The name CUDA reports."""
    memory_bytes: int
    compute_capability: tuple[int, int]
    multiprocessors: int
    peak_flops: float
    memory_bandwidth: float
    """Bytes a second."""
    link_bandwidth: float
    """Bytes a second between host and card, one direction."""
    first_bus: int
    """The PCI bus of the first such card in a machine."""

    @property
    def context_bytes(self) -> int:
        """Bytes that a process occupies on the card before it allocates anything."""
        return self.multiprocessors * _CONTEXT_BYTES_PER_MULTIPROCESSOR


# A K80 here is one of the card's two GPUs, since CUDA shows each as a device.
_TABLE = """
key         | model                      |    MiB | cap. | SMs | TFLOP/s | GB/s |  link
K20m        | Tesla K20m                 |   4743 |  3.5 |  13 |    3.52 |  208 |     8
K40c        | Tesla K40c                 |  11441 |  3.5 |  15 |    4.29 |  288 | 15.75
K80         | Tesla K80                  |  11441 |  3.7 |  13 |    4.37 |  240 | 15.75
P4          | Tesla P4                   |   7612 |  6.1 |  20 |     5.5 |  192 | 15.75
P40         | Tesla P40                  |  22919 |  6.1 |  30 |    11.8 |  347 | 15.75
P100        | Tesla P100-PCIE-16GB       |  16276 |  6.0 |  56 |     9.5 |  732 | 15.75
V100-16GB   | Tesla V100-SXM2-16GB       |  16144 |  7.0 |  80 |    15.7 |  900 | 15.75
V100-32GB   | Tesla V100-SXM2-32GB       |  32494 |  7.0 |  80 |    15.7 |  900 | 15.75
T4          | Tesla T4                   |  15095 |  7.5 |  40 |     8.1 |  320 | 15.75
A10         | NVIDIA A10                 |  22599 |  8.6 |  72 |    31.2 |  600 |  31.5
A10G        | NVIDIA A10G                |  22587 |  8.6 |  80 |    35.0 |  600 |  31.5
A100-40GB   | NVIDIA A100-SXM4-40GB      |  40441 |  8.0 | 108 |    19.5 | 1555 |  31.5
A100-80GB   | NVIDIA A100-SXM4-80GB      |  81158 |  8.0 | 108 |    19.5 | 2039 |  31.5
H100-80GB   | NVIDIA H100 80GB HBM3      |  81090 |  9.0 | 132 |    66.9 | 3352 |    63
H200        | NVIDIA H200                | 143156 |  9.0 | 132 |    66.9 | 4800 |    63
L4          | NVIDIA L4                  |  22563 |  8.9 |  58 |    30.3 |  300 |  31.5
L40S        | NVIDIA L40S                |  45373 |  8.9 | 142 |    91.6 |  864 |  31.5
RTX A6000   | NVIDIA RTX A6000           |  48676 |  8.6 |  84 |    38.7 |  768 |  31.5
GTX 1080 Ti | NVIDIA GeForce GTX 1080 Ti |  11177 |  6.1 |  28 |    11.3 |  484 | 15.75
RTX 2080 Ti | NVIDIA GeForce RTX 2080 Ti |  10989 |  7.5 |  68 |    13.4 |  616 | 15.75
RTX 3060    | NVIDIA GeForce RTX 3060    |  12004 |  8.6 |  28 |    12.7 |  360 |  31.5
RTX 3080    | NVIDIA GeForce RTX 3080    |   9987 |  8.6 |  68 |    29.8 |  760 |  31.5
RTX 3090    | NVIDIA GeForce RTX 3090    |  24250 |  8.6 |  82 |    35.6 |  936 |  31.5
RTX 4090    | NVIDIA GeForce RTX 4090    |  24210 |  8.9 | 128 |    82.6 | 1008 |  31.5
RTX 5090    | NVIDIA GeForce RTX 5090    |  32109 | 12.0 | 170 |   104.8 | 1792 |    63
"""

# As in TensorFlow's guides: K40c on bus 05; K20m on 02, 03, 83 and 84.
_FIRST_BUS = {"K40c": 0x05}


def _parse_row(row: str) -> Profile:
    cells = [cell.strip() for cell in row.split("|")]
    key, model, mib, capability, multiprocessors, tera_flops, memory, link = cells
    major, minor = capability.split(".")
    return Profile(
        key=key,
        model=model,
        memory_bytes=int(mib) * MiB,
        compute_capability=(int(major), int(minor)),
        multiprocessors=int(multiprocessors),
        peak_flops=float(tera_flops) * 1e12,
        memory_bandwidth=float(memory) * 1e9,
        link_bandwidth=float(link) * 1e9,
        first_bus=_FIRST_BUS.get(key, 0x02),
    )


PROFILES = tuple(_parse_row(row) for row in _TABLE.strip().splitlines()[1:])


def find_profiles(name: str) -> list[Profile]:
    """Find the profiles a name stands for: one, or several if it is ambiguous.

    Case, blanks, dashes and the maker's words do not matter, and the size may be left
    off: ``Tesla K20m``, ``k20m`` and ``v100`` (two sizes) are all understood.

    >>> [profile.key for profile in find_profiles("v100")]
    ['V100-16GB', 'V100-32GB']
    """
    wanted = _plain(name)
    return _BY_NAME.get(wanted) or _BY_NAME_WITHOUT_SIZE.get(wanted, [])


def nearest_profiles(name: str) -> list[Profile]:
    """Find the three profiles whose names are most like a text, nearest first."""
    close = get_close_matches(_plain(name), _BY_KEY, n=3, cutoff=0)
    return [_BY_KEY[text] for text in close]


def _without_size(key: str) -> str:
    return re.sub(r"-\d+GB$", "", key)


def _plain(name: str) -> str:
    words = re.split(r"[\s\-_]+", name.lower())
    return "".join(word for word in words if word not in ("nvidia", "tesla", "geforce"))


def _grouped(names: Callable[[Profile], set[str]]) -> dict[str, list[Profile]]:
    """Look profiles up by their names, of which several may share one."""
    found: dict[str, list[Profile]] = {}
    for profile in PROFILES:
        for name in names(profile):
            found.setdefault(name, []).append(profile)
    return found


_BY_KEY = {_plain(profile.key): profile for profile in PROFILES}
_BY_NAME = _grouped(lambda profile: {_plain(profile.key), _plain(profile.model)})
_BY_NAME_WITHOUT_SIZE = _grouped(lambda profile: {_plain(_without_size(profile.key))})
