"""Stages that choose, join and repeat elements: take, skip, repeat, zip and others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from berth.data.pipeline import INFINITE, UNKNOWN, Pipeline
from berth.data.shuffling import Shuffle
from berth.data.sources import slices
from berth.data.structure import Element
from berth.errors import DataLossError, InvalidArgumentError, OpError
from berth.front.logger import get_logger


class Stage(Pipeline):
    """A pipeline with one before it, of as many elements."""

    def __init__(self, parent: Pipeline) -> None:
        self._parent = parent

    def cardinality(self) -> int:
        return self._parent.cardinality()


class Take(Stage):
    """The first elements."""

    kind = "TakeDataset"

    def __init__(self, parent: Pipeline, count: Any) -> None:
        super().__init__(parent)
        self._count = int(count)

    def iterate(self) -> Iterator[Element]:
        elements = self._parent.iterate()
        return elements if self._count < 0 else islice(elements, self._count)

    def cardinality(self) -> int:
        before = self._parent.cardinality()
        if self._count < 0 or before == UNKNOWN:
            return before
        return self._count if before == INFINITE else min(before, self._count)


class Skip(Stage):
    """All elements but the first ones."""

    kind = "SkipDataset"

    def __init__(self, parent: Pipeline, count: Any) -> None:
        super().__init__(parent)
        self._count = int(count)

    def iterate(self) -> Iterator[Element]:
        if self._count < 0:
            return iter(())
        return islice(self._parent.iterate(), self._count, None)

    def cardinality(self) -> int:
        before = self._parent.cardinality()
        if self._count < 0:
            return 0
        return before if before < 0 else max(0, before - self._count)


class Shard(Stage):
    """Every so-many-th element."""

    kind = "ShardDataset"

    def __init__(self, parent: Pipeline, num_shards: Any, index: Any) -> None:
        super().__init__(parent)
        self._num, self._index = int(num_shards), int(index)
        if self._num < 1:
            raise InvalidArgumentError(
                None,
                None,
                "Number of shards must be greater than zero (currently num_shards = "
                f"{self._num}).",
            )
        if not 0 <= self._index < self._num:
            raise InvalidArgumentError(
                None,
                None,
                f"Index must be between 0 and {self._num - 1} (currently index = "
                f"{self._index}).",
            )

    def iterate(self) -> Iterator[Element]:
        return islice(self._parent.iterate(), self._index, None, self._num)

    def cardinality(self) -> int:
        before = self._parent.cardinality()
        return before if before < 0 else len(range(self._index, before, self._num))


class Repeat(Stage):
    """All elements, again and again."""

    kind = "RepeatDataset"

    def __init__(self, parent: Pipeline, count: Any) -> None:
        super().__init__(parent)
        self._count = int(count)

    def iterate(self) -> Iterator[Element]:
        # A repeated shuffle is one stage in TensorFlow, which begins no iterator in vain.
        begins_in_vain = not isinstance(self._parent, Shuffle)
        return _Repeated(self._parent, self._count, begins_in_vain)

    def cardinality(self) -> int:
        before = self._parent.cardinality()
        if before == 0 or self._count == 0:
            return 0
        if self._count < 0 and before != UNKNOWN:
            return INFINITE
        return INFINITE if self._count < 0 else before if before < 0 else before * self._count


class _Repeated:
    def __init__(self, parent: Pipeline, count: int, begins_in_vain: bool) -> None:
        self._parent = parent
        self._left = count
        self._begins_in_vain = begins_in_vain
        self._elements = parent.iterate() if count else iter(())
        self._is_fresh = True

    def __iter__(self) -> _Repeated:
        return self

    def __next__(self) -> Element:
        for element in self._elements:
            self._is_fresh = False
            return element
        while self._left:
            if self._left < 0 and self._is_fresh:  # an input without elements
                break
            self._left -= self._left > 0
            if self._left or self._begins_in_vain:
                self._elements = self._parent.iterate()
            if not self._left:
                break
            self._is_fresh = True
            for element in self._elements:
                self._is_fresh = False
                return element
        self._left, self._elements = 0, iter(())
        raise StopIteration


class Concatenate(Pipeline):
    """The elements of one pipeline, then those of another."""

    kind = "ConcatenateDataset"

    def __init__(self, first: Pipeline, second: Pipeline) -> None:
        self._parts = (first, second)

    def iterate(self) -> Iterator[Element]:
        return _Concatenated(self._parts)

    def cardinality(self) -> int:
        sizes = [part.cardinality() for part in self._parts]
        if INFINITE in sizes:
            return INFINITE
        return UNKNOWN if UNKNOWN in sizes else sum(sizes)


class _Concatenated:
    def __init__(self, parts: tuple[Pipeline, ...]) -> None:
        self._elements = parts[0].iterate()
        self._rest = list(parts[1:])

    def __iter__(self) -> _Concatenated:
        return self

    def __next__(self) -> Element:
        while True:
            for element in self._elements:
                return element
            if not self._rest:
                raise StopIteration
            self._elements = self._rest.pop(0).iterate()


class Zip(Pipeline):
    """Elements of several pipelines, side by side."""

    kind = "ZipDataset"

    def __init__(self, *parents: Pipeline) -> None:
        self._parents = parents

    def iterate(self) -> Iterator[Element]:
        return map(_joined, zip(*[parent.iterate() for parent in self._parents], strict=False))

    def cardinality(self) -> int:
        sizes = [parent.cardinality() for parent in self._parents]
        finite = [size for size in sizes if size != INFINITE]
        if UNKNOWN in finite:
            return UNKNOWN
        return min(finite, default=INFINITE)


def _joined(elements: tuple[Element, ...]) -> Element:
    if len(elements) == 2:
        return elements[0] + elements[1]
    return tuple(leaf for element in elements for leaf in element)


class Filter(Stage):
    """The elements that a function of the user is true of."""

    kind = "FilterDataset"

    def __init__(
        self, parent: Pipeline, predicate: Callable[[Element], Element], *, label: str
    ) -> None:
        super().__init__(parent)
        self._predicate = predicate
        predicate.label = label  # type: ignore[attr-defined]

    def iterate(self) -> Iterator[Element]:
        return filter(self._is_wanted, self._parent.iterate())

    def _is_wanted(self, element: Element) -> bool:
        return bool(self._predicate(element)[0])

    def cardinality(self) -> int:
        return UNKNOWN if self._parent.cardinality() else 0


class Unbatch(Stage):
    """The rows of each element, as elements."""

    kind = "UnbatchDataset"

    def __init__(self, parent: Pipeline, *, n_rows: int | None) -> None:
        super().__init__(parent)
        self._n_rows = n_rows

    def iterate(self) -> Iterator[Element]:
        return _Unbatched(self._parent.iterate())

    def cardinality(self) -> int:
        before = self._parent.cardinality()
        if before < 0:
            return before
        return UNKNOWN if self._n_rows is None else before * self._n_rows


class _Unbatched:
    def __init__(self, elements: Iterator[Element]) -> None:
        self._elements = elements
        self._rows: Iterator[Element] = iter(())

    def __iter__(self) -> _Unbatched:
        return self

    def __next__(self) -> Element:
        while True:
            for row in self._rows:
                return row
            leaves = [np.asarray(leaf) for leaf in next(self._elements)]
            if len({len(leaf) for leaf in leaves}) > 1:
                raise InvalidArgumentError(
                    None,
                    None,
                    "Input element must have the same batch size in each component.",
                )
            self._rows = zip(*map(slices, leaves), strict=True)


class IgnoreErrors(Stage):
    """The elements that can be had without an error."""

    kind = "IgnoreErrorsDataset"

    def __init__(self, parent: Pipeline, *, log_warning: bool) -> None:
        super().__init__(parent)
        self._log_warning = log_warning

    def iterate(self) -> Iterator[Element]:
        return _WithoutErrors(self._parent.iterate(), self._log_warning)

    def cardinality(self) -> int:
        return UNKNOWN


class _WithoutErrors:
    def __init__(self, elements: Iterator[Element], log_warning: bool) -> None:
        self._elements = elements
        self._log_warning = log_warning

    def __iter__(self) -> _WithoutErrors:
        return self

    def __next__(self) -> Element:
        while True:
            try:
                return next(self._elements)
            except OpError as error:
                if self._log_warning:
                    get_logger().warning("Error raised with error message %s", error.message)


class AssertCardinality(Stage):
    """The same elements, of which there have to be so many."""

    kind = "AssertCardinalityDataset"

    def __init__(self, parent: Pipeline, cardinality: Any) -> None:
        super().__init__(parent)
        self._expected = int(cardinality)

    def iterate(self) -> Iterator[Element]:
        n_found = 0
        for element in self._parent.iterate():
            n_found += 1
            if 0 <= self._expected < n_found:
                raise self._mismatch("more", n_found)
            yield element
        if n_found < self._expected:
            raise self._mismatch("less", n_found)

    def _mismatch(self, how: str, n_found: int) -> DataLossError | InvalidArgumentError:
        shown = f"{n_found} elements" if how == "less" else f"at least {n_found} elements"
        return InvalidArgumentError(
            None,
            None,
            f"Input dataset was expected to contain {self._expected} elements but contained "
            f"{'only ' if how == 'less' else ''}{shown}.",
        )

    def cardinality(self) -> int:
        return self._expected
