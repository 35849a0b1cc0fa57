"""Stages that depend on what was there before: groups by a key, unique elements, choices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from berth.data.element_function import BoundElementFunction
from berth.data.pipeline import UNKNOWN, Pipeline
from berth.data.structure import Element
from berth.data.transformations import Stage
from berth.data.windows import Elements
from berth.errors import InvalidArgumentError


class GroupByWindow(Stage):
    """Elements of the same key, so many at a time, as a function combines them."""

    kind = "GroupByWindowDataset"

    def __init__(
        self,
        parent: Pipeline,
        *,
        key: BoundElementFunction,
        size: BoundElementFunction,
        reduce: BoundElementFunction,
        label: str,
    ) -> None:
        super().__init__(parent)
        self._key, self._size, self._reduce = key, size, reduce
        for function in (key, size, reduce):
            function.label = label

    def iterate(self) -> Iterator[Element]:
        groups: dict[int, list[Element]] = {}
        sizes: dict[int, int] = {}
        for element in self._parent.iterate():
            key = int(self._key(element)[0])
            group = groups.setdefault(key, [])
            if not group:
                sizes[key] = self._window_size(key)
            group.append(element)
            if len(group) == sizes[key]:
                yield from self._combined(key, groups.pop(key))
        for key in sorted(groups):
            yield from self._combined(key, groups[key])

    def _window_size(self, key: int) -> int:
        size = int(self._size((np.int64(key),))[0])
        if size < 1:
            raise InvalidArgumentError(
                None, None, f"Window size must be greater than zero, but got {size}."
            )
        return size

    def _combined(self, key: int, group: list[Element]) -> Iterator[Element]:
        [pipeline] = self._reduce((np.int64(key), Elements(group)))
        found: Iterator[Element] = pipeline.iterate()
        return found

    def cardinality(self) -> int:
        return UNKNOWN


class Unique(Stage):
    """Each element once, where it comes first."""

    kind = "UniqueDataset"

    def iterate(self) -> Iterator[Element]:
        seen = set()
        for element in self._parent.iterate():
            value = np.asarray(element[0])
            key = value.item() if value.ndim == 0 else (value.shape, tuple(value.flat))
            if key not in seen:
                seen.add(key)
                yield element

    def cardinality(self) -> int:
        return UNKNOWN


class DirectedInterleave(Pipeline):
    """The next element of that input which another pipeline chooses."""

    kind = "DirectedInterleaveDataset"

    def __init__(self, selector: Pipeline, *inputs: Pipeline, stops: bool) -> None:
        self._selector = selector
        self._inputs = inputs
        self._stops = stops

    def iterate(self) -> Iterator[Element]:
        left: list[Iterator[Element] | None] = [each.iterate() for each in self._inputs]
        for (choice,) in self._selector.iterate():
            if not 0 <= choice < len(left):
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Selector index out of range: {choice} >= {len(left)}",
                )
            chosen = left[choice]
            if chosen is None:
                continue
            element = next(chosen, None)
            if element is not None:
                yield element
                continue
            left[choice] = None
            if self._stops or not any(left):
                return

    def cardinality(self) -> int:
        return UNKNOWN
