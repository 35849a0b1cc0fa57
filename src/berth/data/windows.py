"""Windows: consecutive elements as datasets of their own."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

from berth.data.pipeline import Pipeline
from berth.data.structure import Element
from berth.data.transformations import Stage
from berth.errors import InvalidArgumentError


class Elements(Pipeline):
    """Elements that are there already: a window of another pipeline."""

    kind = "WindowDataset"

    def __init__(self, elements: list[Element]) -> None:
        self._elements = elements

    def iterate(self) -> Iterator[Element]:
        return iter(self._elements)

    def cardinality(self) -> int:
        return len(self._elements)


class Window(Stage):
    """Consecutive elements, each part of them as a dataset of its own."""

    kind = "WindowDataset"

    def __init__(
        self, parent: Pipeline, size: Any, shift: Any, stride: Any, *, drop_remainder: bool
    ) -> None:
        super().__init__(parent)
        self._size, self._shift, self._stride = int(size), int(shift), int(stride)
        self._drops = drop_remainder
        for name, value in (("size", size), ("shift", shift), ("stride", stride)):
            if int(value) < 1:
                raise InvalidArgumentError(
                    None, None, f"Window {name} must be greater than zero."
                )

    def iterate(self) -> Iterator[Element]:
        return _Windows(self._parent.iterate(), self)

    @property
    def steps(self) -> tuple[int, int, int, bool]:
        """How many elements a window has, what comes between, and what is dropped."""
        return self._size, self._shift, self._stride, self._drops

    def cardinality(self) -> int:
        before = self._parent.cardinality()
        if before < 0:
            return before
        if not self._drops:
            return -(-before // self._shift)
        reach = (self._size - 1) * self._stride
        return max(0, -(-(before - reach) // self._shift))


class _Windows:
    def __init__(self, elements: Iterator[Element], window: Window) -> None:
        self._elements = elements
        self._size, self._shift, self._stride, self._drops = window.steps
        self._buffer: deque[Element] = deque()
        self._n_to_skip = 0

    def __iter__(self) -> _Windows:
        return self

    def __next__(self) -> Element:
        for _ in islice(self._elements, self._n_to_skip):
            pass
        self._n_to_skip = 0
        reach = (self._size - 1) * self._stride + 1
        buffer = self._buffer
        buffer.extend(islice(self._elements, reach - len(buffer)))
        is_whole = len(buffer) == reach
        if not buffer or (self._drops and not is_whole):
            raise StopIteration
        found = list(islice(buffer, 0, None, self._stride))[: self._size]
        for _ in range(min(self._shift, len(buffer))):
            buffer.popleft()
        self._n_to_skip = max(0, self._shift - reach)
        return tuple([Elements([(leaf,) for leaf in column]) for column in zip(*found)])  # noqa: B905
