"""Seeds and generator states of the random operations of an eager program."""

from __future__ import annotations

from random import Random
from typing import Any

from berth.devices.device import Device
from berth.ops.opdef import Attrs, OpDef


class DrawnSeed(int):
    """A seed that was drawn for one call: no later call continues its numbers."""

    __slots__ = ()

    def __mod__(self, modulus: int) -> DrawnSeed:
        return DrawnSeed(int(self) % modulus)


class Generators:
    """The program's seed, and how far each random operation has drawn."""

    def __init__(self) -> None:
        self._seed: int | None = None
        self._seeds = Random()
        self._states: dict[Any, dict[str, Any]] = {}

    @property
    def seed(self) -> int | None:
        """The seed of the program: setting it starts all random operations over."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed
        self._seeds = Random(seed)
        self.clear()

    def draw_seed(self) -> int:
        """Return a seed for an operation that has none of its own, as TensorFlow draws it."""
        return DrawnSeed(self._seeds.randint(0, 2**31 - 1))

    def state_of(self, op: OpDef, attrs: Attrs, device: Device) -> dict[str, Any]:
        """Return what an operation keeps from call to call on a device."""
        if isinstance(attrs.get("seed2"), DrawnSeed):
            return {}
        key = (op, device, tuple(sorted((k, str(v)) for k, v in attrs.items())))
        return self._states.setdefault(key, {})

    def clear(self) -> None:
        """Start all random operations over: their devices are closed, or the seed changed."""
        self._states.clear()
