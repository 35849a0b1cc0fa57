"""Stages that compute elements by functions of the user: map, flat_map, interleave, scan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from berth.data.element_function import BoundElementFunction
from berth.data.pipeline import UNKNOWN, Pipeline
from berth.data.sources import Block, BlockPipeline, rows
from berth.data.structure import Element
from berth.data.transformations import Stage
from berth.errors import InvalidArgumentError


class Map(BlockPipeline):
    """What a function of the user makes of each element.

    Where that is the same bit for bit, it is computed for many elements at a time.
    """

    kind = "MapDataset"

    def __init__(self, parent: Pipeline, *, function: BoundElementFunction, label: str) -> None:
        self._parent = parent
        self._function = function
        function.label = label

    def iterate(self) -> Iterator[Element]:
        blocks = self.blocks()
        if blocks is not None:
            return rows(blocks)
        return map(self._function, self._parent.iterate())

    def blocks(self) -> Iterator[Block] | None:
        on_blocks = self._function.on_blocks()
        if on_blocks is None or not isinstance(self._parent, BlockPipeline):
            return None
        blocks = self._parent.blocks()
        return None if blocks is None else map(on_blocks, blocks)

    def cardinality(self) -> int:
        return self._parent.cardinality()


class FlatMap(Stage):
    """The elements of the datasets that a function of the user makes of each element."""

    kind = "FlatMapDataset"

    def __init__(self, parent: Pipeline, *, function: BoundElementFunction, label: str) -> None:
        super().__init__(parent)
        self._function = function
        function.label = label

    def iterate(self) -> Iterator[Element]:
        return _Flattened(map(self._function, self._parent.iterate()))

    def cardinality(self) -> int:
        return UNKNOWN if self._parent.cardinality() != 0 else 0


class _Flattened:
    def __init__(self, datasets: Iterator[Element]) -> None:
        self._datasets = datasets
        self._elements: Iterator[Element] = iter(())

    def __iter__(self) -> _Flattened:
        return self

    def __next__(self) -> Element:
        while True:
            for element in self._elements:
                return element
            [pipeline] = next(self._datasets)
            self._elements = pipeline.iterate()


class Interleave(Stage):
    """The elements of several datasets at a time, in turn."""

    kind = "InterleaveDataset"

    def __init__(
        self,
        parent: Pipeline,
        cycle_length: Any,
        block_length: Any,
        *,
        function: BoundElementFunction,
        label: str,
    ) -> None:
        super().__init__(parent)
        self._lengths = int(cycle_length), int(block_length)
        for name, length in zip(("cycle_length", "block_length"), self._lengths, strict=True):
            if length < 1:
                raise InvalidArgumentError(None, None, f"{name} must be greater than zero.")
        self._function = function
        function.label = label

    def iterate(self) -> Iterator[Element]:
        return _Interleaved(map(self._function, self._parent.iterate()), *self._lengths)

    def cardinality(self) -> int:
        return UNKNOWN if self._parent.cardinality() != 0 else 0


class _Interleaved:
    def __init__(self, datasets: Iterator[Element], cycle: int, block: int) -> None:
        self._datasets: Iterator[Element] | None = datasets
        self._open: list[Iterator[Element] | None] = [None] * cycle
        self._n_open = 0
        self._slot = 0
        self._n_taken = 0
        self._block = block

    def __iter__(self) -> _Interleaved:
        return self

    def __next__(self) -> Element:
        while self._datasets is not None or self._n_open:
            elements = self._open[self._slot]
            if elements is not None:
                for element in elements:
                    self._n_taken += 1
                    if self._n_taken == self._block:
                        self._advance()
                    return element
                self._open[self._slot] = None
                self._n_open -= 1
                self._advance()
            elif self._datasets is not None:
                self._open_next(self._datasets)
            else:
                self._advance()
        raise StopIteration

    def _open_next(self, datasets: Iterator[Element]) -> None:
        found = next(datasets, None)
        if found is None:
            self._datasets = None
        else:
            self._open[self._slot] = found[0].iterate()
            self._n_open += 1

    def _advance(self) -> None:
        self._slot = (self._slot + 1) % len(self._open)
        self._n_taken = 0


class Scan(Stage):
    """What a function makes of each element and the state that it returned before."""

    kind = "ScanDataset"

    def __init__(
        self,
        parent: Pipeline,
        *initial_state: Any,
        function: BoundElementFunction,
        label: str,
    ) -> None:
        super().__init__(parent)
        self._initial_state = initial_state
        self._function = function
        function.label = label

    def iterate(self) -> Iterator[Element]:
        return _Scanned(self._parent.iterate(), self._initial_state, self._function)


class _Scanned:
    def __init__(
        self, elements: Iterator[Element], state: Element, function: BoundElementFunction
    ) -> None:
        self._elements = elements
        self._state = state
        self._function = function

    def __iter__(self) -> _Scanned:
        return self

    def __next__(self) -> Element:
        found = self._function((*self._state, *next(self._elements)))
        n_state = len(self._state)
        self._state = found[:n_state]
        return found[n_state:]


class TakeWhile(Stage):
    """The elements up to the first that a function is false of."""

    kind = "TakeWhileDataset"

    def __init__(
        self, parent: Pipeline, *, predicate: BoundElementFunction, label: str
    ) -> None:
        super().__init__(parent)
        self._predicate = predicate
        predicate.label = label

    def iterate(self) -> Iterator[Element]:
        return _Taken(self._parent.iterate(), self._predicate)

    def cardinality(self) -> int:
        return UNKNOWN


class _Taken:
    def __init__(self, elements: Iterator[Element], predicate: BoundElementFunction) -> None:
        self._elements = elements
        self._predicate = predicate

    def __iter__(self) -> _Taken:
        return self

    def __next__(self) -> Element:
        element = next(self._elements)
        if bool(self._predicate(element)[0]):
            return element
        self._elements = iter(())
        raise StopIteration
