"""What every side begins with: the cases' names, and the same numbers from one seed.

Images are (batch, rows, columns, channels), filters (rows, columns, channels, features), as
TensorFlow has them: who wants them otherwise turns them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

CONVOLUTION = "conv2d 5x5 and its gradients"
CIFAR = "CIFAR-10 training step, batch 128"
ELEMENTWISE = "6 elementwise ops, 4M floats"
ADDITION = "a + b, 2 floats, eager"
SCALING = "a * 2.0, 2 floats, eager"
MATMUL = "function call, matmul 8x8"
PERCEPTRON = "training step of a small MLP, eager"

PAIRS = [1.0, 2.0], [3.0, 4.0]
BATCH = 128
N_FLOATS = 4_000_000
N_STEPS = 4
"""How many losses must agree before anything is timed."""
CIFAR_RATE = 0.1
MLP_RATE = 0.05
DECAY = 0.004
DECAYED = ("local3_w", "local4_w")
NORM_RADIUS, NORM_BIAS, NORM_ALPHA, NORM_BETA = 4, 1.0, 0.001 / 9, 0.75

Array = Any
Arrays = dict[str, Array]


class Prepared(NamedTuple):
    """A case that is ready: ways to do it once, and numbers that all sides must agree on."""

    calls: Sequence[Callable[[], Any]]
    found: Sequence[float]


Case = Callable[[], Prepared]
Cases = Mapping[str, Case]


def normal(seed: int, *dims: int, scale: float = 1.0) -> Array:
    values = np.random.default_rng(seed).standard_normal(dims, np.float32)
    return values * np.float32(scale)


def convolution() -> tuple[Array, Array, Array]:
    """Return images, a filter, and the gradient of what comes out."""
    images = normal(1, BATCH, 12, 12, 64)
    return images, normal(2, 5, 5, 64, 64, scale=0.05), normal(3, BATCH, 12, 12, 64)


def floats() -> Array:
    return normal(4, N_FLOATS)


def matrices() -> tuple[Array, Array]:
    return normal(5, 8, 8), normal(6, 8, 8)


def cifar_batch() -> tuple[Array, Array]:
    return normal(7, BATCH, 24, 24, 3), np.arange(BATCH, dtype=np.int32) % 10


def cifar_parameters() -> Arrays:
    """Return parameters for the CIFAR-10 tutorial's model (§10), plainly normal at first."""
    return {
        "conv1_w": normal(8, 5, 5, 3, 64, scale=0.05),
        "conv1_b": _filled(64, 0.0),
        "conv2_w": normal(9, 5, 5, 64, 64, scale=0.05),
        "conv2_b": _filled(64, 0.1),
        "local3_w": normal(10, 2304, 384, scale=0.04),
        "local3_b": _filled(384, 0.1),
        "local4_w": normal(11, 384, 192, scale=0.04),
        "local4_b": _filled(192, 0.1),
        "softmax_w": normal(12, 192, 10, scale=1 / 192),
        "softmax_b": _filled(10, 0.0),
    }


def mlp_batch() -> tuple[Array, Array]:
    return normal(13, 4, 8), normal(14, 4, 4)


def mlp_parameters() -> list[Array]:
    """Return weights and biases of two layers, 8 to 16 to 4."""
    hidden = normal(15, 8, 16, scale=0.3), _filled(16, 0.0)
    return [*hidden, normal(16, 16, 4, scale=0.3), _filled(4, 0.0)]


def by_numpy() -> dict[str, list[float]]:
    """Return what is to be found where NumPy can say it in a line."""
    a, b = matrices()
    return {
        ELEMENTWISE: sample(np.sqrt(np.abs((floats() * 2 + 1) - 0.5)) * 3),
        ADDITION: sample(np.add(*PAIRS)),
        SCALING: sample(np.multiply(PAIRS[0], 2)),
        MATMUL: sample(a @ b),
    }


def _filled(n: int, value: float) -> Array:
    return np.full([n], value, np.float32)


def sample(*arrays: Array) -> list[float]:
    """Return a few elements of each array, spread over all of it."""
    flat = [np.ravel(np.asarray(array)) for array in arrays]
    return [float(each) for array in flat for each in array[:: max(1, array.size // 5)]]
