"""Random numbers one at a time, as TensorFlow's kernels draw them: ``SimplePhilox``."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from berth.ops.random import philox

_N_WORDS = 256
_LOW20, _LOW23 = (1 << 20) - 1, (1 << 23) - 1
_DOUBLE, _FLOAT = struct.Struct("<Q"), struct.Struct("<I")
_AS_DOUBLE, _AS_FLOAT = struct.Struct("<d"), struct.Struct("<f")


class SimplePhilox:
    """Draws from a position of a generator on, a word of 32 bits after the other."""

    def __init__(self, generator: philox.Generator) -> None:
        self._generator = generator
        self._words: list[int] = []
        self._scratch = np.empty(philox.scratch_size(_N_WORDS, np.dtype(np.uint32)), np.uint64)

    def rand32(self) -> int:
        """Return a random integer of 32 bits."""
        if not self._words:
            words = np.empty(_N_WORDS, np.uint32)
            philox.fill_bits(np, self._generator, words, self._scratch)
            self._generator = self._generator.skip(_N_WORDS // 4)
            self._words = words[::-1].tolist()
        return self._words.pop()

    def rand64(self) -> int:
        """Return a random integer of 64 bits."""
        return self.rand32() | self.rand32() << 32

    def rand_float(self) -> float:
        """Return a number from [0, 1) in single precision."""
        bits = 127 << 23 | self.rand32() & _LOW23
        return float(_AS_FLOAT.unpack(_FLOAT.pack(bits))[0]) - 1.0

    def rand_double(self) -> float:
        """Return a number from [0, 1) in double precision."""
        bits = 1023 << 52 | (self.rand32() & _LOW20) << 32 | self.rand32()
        return float(_AS_DOUBLE.unpack(_DOUBLE.pack(bits))[0]) - 1.0

    def uniform(self, n: int) -> int:
        """Return an integer from [0, n), of 32 bits."""
        return self._below(n, self.rand32, 1 << 32)

    def uniform64(self, n: int) -> int:
        """Return an integer from [0, n), of 64 bits."""
        return self._below(n, self.rand64, 1 << 64)

    def _below(self, n: int, draw: Callable[[], int], n_values: int) -> int:
        if n & (n - 1) == 0:
            return draw() & (n - 1)
        n_uneven = (n_values - 1) % n + 1  # values that would make some results likelier
        value = draw()
        while value < n_uneven:
            value = draw()
        return value % n
