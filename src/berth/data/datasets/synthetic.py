"""Made-up data in place of a data set: ``berth run --synthetic-data``.

It has the shapes and types of the real one. Each class has a coarse pattern, and an image is
the pattern of its class with noise, so that a program can be seen to learn. It says nothing
about how well the program does on the real data; each time it is used, a line says so.
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from berth.front.context import context

_FIELD = 4
_NOISE = 64
Split = tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]


def is_requested() -> bool:
    """Tell whether programs get made-up data."""
    return context().default_of("BERTH_SYNTHETIC_DATA")


def make(title: str, shape: tuple[int, ...], n_train: int, n_test: int) -> tuple[Split, Split]:
    """Make training and test images of a shape, with ten classes, and print that."""
    print(
        f"berth: {title} is made up (--synthetic-data): {n_train} and {n_test} images of the "
        "right shape.",
        file=sys.stderr,
        flush=True,
    )
    random = np.random.default_rng(len(title))
    fields = [-(-size // _FIELD) for size in shape[:2]]
    coarse = random.integers(0, 256 - _NOISE, (10, *fields, *shape[2:]), np.uint8)
    patterns = coarse.repeat(_FIELD, axis=1).repeat(_FIELD, axis=2)
    patterns = patterns[:, : shape[0], : shape[1]]
    return _split(patterns, n_train, random), _split(patterns, n_test, random)


def _split(patterns: npt.NDArray[np.uint8], n: int, random: np.random.Generator) -> Split:
    labels = random.permutation(np.arange(n) % len(patterns)).astype(np.uint8)
    noise = random.integers(0, _NOISE, (n, *patterns.shape[1:]), np.uint8)
    noise += patterns[labels]
    return noise, labels
