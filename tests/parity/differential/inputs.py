"""What cases are made of: expressions, and inputs that are the same on both sides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20
CASES = Path(__file__).with_name("cases")
Array = np.ndarray[Any, np.dtype[Any]]


def read_cases(path: Path) -> Iterator[str]:
    """Read the expressions of a file in ``cases/``.

    Each line is one. ``tf.<sin|cos>(...)`` stands for several: it is called with what is in
    the indented lines below it, under each of its names.
    """
    calls: list[str] = []
    for line in path.read_text().splitlines():
        if line.startswith("    "):
            yield from (call.replace("(...)", f"({line.strip()})") for call in calls)
        elif line and not line.startswith("#"):
            names = re.search(r"<([\w.|]+)>", line)
            calls = (
                [line.replace(names[0], n) for n in names[1].split("|")] if names else [line]
            )
            yield from (call for call in calls if "(...)" not in call)


def cases_for(mode: str) -> list[str]:
    """List the expressions that a mode evaluates."""
    paths = sorted(CASES.glob("*.txt"))
    wanted = [path for path in paths if path.name.startswith("v1") == (mode == "session")]
    return list(dict.fromkeys(case for path in wanted for case in read_cases(path)))


class Inputs:
    """The functions that make a case's inputs: ``f32(2, 3)`` gives the same on both sides.

    An array depends on its place among the inputs and on nothing else. What a case gets in
    its place, a tensor or a placeholder, is up to `make`.
    """

    def __init__(self, make: Callable[[int, Array], Any]) -> None:
        self.arrays: list[Array] = []
        self._make = make

    def names(self) -> dict[str, Any]:
        """Return the functions by the names that cases know them by."""
        floats = {"f16": "float16", "f32": "float32", "f64": "float64"}
        integers = {"i8": "int8", "u8": "uint8", "i16": "int16", "i32": "int32", "i64": "int64"}
        complexes = {"c64": "complex64", "c128": "complex128"}
        return {
            **{name: partial(self._floats, dtype) for name, dtype in floats.items()},
            **{name: partial(self._integers, dtype) for name, dtype in integers.items()},
            **{name: partial(self._complexes, dtype) for name, dtype in complexes.items()},
            "b": self._bools,
            "of": self._of,
        }

    def _random(self) -> np.random.Generator:
        return np.random.default_rng([SEED, len(self.arrays)])

    def _add(self, array: Array) -> Any:
        self.arrays.append(array)
        return self._make(len(self.arrays) - 1, array)

    def _floats(
        self, dtype: str, *shape: int, low: float | None = None, high: float | None = None
    ) -> Any:
        """Make an input of normal numbers, or of even ones between two bounds."""
        random = self._random()
        if low is None or high is None:
            return self._add(random.standard_normal(shape).astype(dtype))
        return self._add(random.uniform(low, high, shape).astype(dtype))

    def _integers(self, dtype: str, *shape: int, low: int | None = None, high: int = 6) -> Any:
        """Make an input of integers, from `low` and below `high`."""
        least = (0 if dtype.startswith("u") else -5) if low is None else low
        return self._add(self._random().integers(least, high, shape).astype(dtype))

    def _complexes(self, dtype: str, *shape: int) -> Any:
        random = self._random()
        parts = random.standard_normal((2, *shape))
        return self._add((parts[0] + 1j * parts[1]).astype(dtype))

    def _bools(self, *shape: int) -> Any:
        return self._add(self._random().integers(0, 2, shape).astype(bool))

    def _of(self, values: Any, dtype: str = "float32") -> Any:
        """Make an input of values that the case gives."""
        return self._add(np.array(values, object if dtype == "string" else dtype))
