"""Sources of elements: tensors, slices of tensors, ranges, generators of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from berth.data.pipeline import INFINITE, UNKNOWN, Pipeline
from berth.data.structure import Element
from berth.dtypes import string
from berth.errors import InvalidArgumentError, UnknownError
from berth.ops.convert import to_array
from berth.ops.type_spec import TensorSpec

BLOCK = 256
"""How many elements are computed at a time where that makes no difference."""

Block = tuple[Any, ...]
"""Elements below each other: the leaves of several, each with one more axis."""


class BlockPipeline(Pipeline):
    """A pipeline that can give elements by the block: nothing has to be computed for one."""

    def blocks(self) -> Iterator[Block] | None:
        """Return an iterator over blocks of elements, or None if that does not pay."""
        return None

    def iterate(self) -> Iterator[Element]:
        """Begin: return an iterator over the elements."""
        blocks = self.blocks()
        assert blocks is not None
        return rows(blocks)


def rows(blocks: Iterator[Block]) -> Iterator[Element]:
    """Iterate over the elements of blocks."""
    for block in blocks:
        yield from zip(*map(slices, block), strict=True)


def slices(leaf: Any) -> Iterable[Any]:
    """Iterate over the rows of an array; a text alone is an array without axes."""
    return map(as_text, leaf) if leaf.dtype == object and leaf.ndim == 1 else leaf


def as_text(item: Any) -> Any:
    """Return bytes as an array of no axes."""
    array = np.empty((), object)
    array[()] = item
    return array


class Tensors(Pipeline):
    """One element: all of the tensors."""

    kind = "TensorDataset"

    def __init__(self, *leaves: Any) -> None:
        self._leaves = leaves

    def iterate(self) -> Iterator[Element]:
        return iter((self._leaves,))

    def cardinality(self) -> int:
        return 1


class TensorSlices(BlockPipeline):
    """An element for each row of the tensors."""

    kind = "TensorSliceDataset"

    def __init__(self, *leaves: Any) -> None:
        self._leaves = leaves
        for leaf in leaves:
            if not leaf.ndim:
                raise InvalidArgumentError(
                    None, None, "All components must be at least 1-dimensional"
                )
            if len(leaf) != len(leaves[0]):
                raise InvalidArgumentError(
                    None,
                    None,
                    "All components must have the same size in the 0th dimension",
                )

    def iterate(self) -> Iterator[Element]:
        return zip(*map(slices, self._leaves), strict=True)

    def blocks(self) -> Iterator[Block] | None:
        if any(leaf[:1].size > 64 for leaf in self._leaves):
            return None
        starts = range(0, self.cardinality(), BLOCK)
        return (tuple(leaf[k : k + BLOCK] for leaf in self._leaves) for k in starts)

    def cardinality(self) -> int:
        return len(self._leaves[0])


class Range(BlockPipeline):
    """The numbers of a range."""

    kind = "RangeDataset"

    def __init__(self, start: Any, stop: Any, step: Any, *, dtype: Any) -> None:
        if not step:
            raise InvalidArgumentError(None, None, "step must be a non-zero integer.")
        self._range = range(int(start), int(stop), int(step))
        self._dtype = dtype

    def blocks(self) -> Iterator[Block]:
        return map(self._block, range(0, len(self._range), BLOCK))

    def _block(self, start: int) -> Block:
        part = self._range[start : start + BLOCK]
        return (np.arange(part.start, part.stop, part.step).astype(self._dtype),)

    def cardinality(self) -> int:
        return len(self._range)


class FromGenerator(Pipeline):
    """What a Python generator yields, converted to tensors and checked."""

    kind = "GeneratorDataset"

    def __init__(
        self, *arguments: Any, generator: Callable[..., Any], flatten: Any, specs: Sequence[Any]
    ) -> None:
        self._generator = generator
        self._arguments = arguments
        self._flatten = flatten
        self._specs = specs

    def iterate(self) -> Iterator[Element]:
        return _Generated(self)

    def start(self) -> Iterator[Any]:
        """Call the generator."""
        return iter(self._generator(*self._arguments))

    def convert(self, value: Any) -> Element:
        """Convert what was yielded to an element; TypeError if it is of another kind."""
        leaves = self._flatten(value)
        return tuple(_checked(v, s) for v, s in zip(leaves, self._specs, strict=True))

    def cardinality(self) -> int:
        return UNKNOWN


class _Generated:
    def __init__(self, source: FromGenerator) -> None:
        self._source = source
        self._values: Iterator[Any] | None = None

    def __iter__(self) -> _Generated:
        return self

    def __next__(self) -> Element:
        try:
            if self._values is None:
                self._values = self._source.start()
            value = next(self._values)
            return self._source.convert(value)
        except StopIteration:
            raise
        except Exception as error:
            is_refusal = isinstance(error, TypeError | ValueError)
            kind = InvalidArgumentError if is_refusal else UnknownError
            raise kind(None, None, f"{type(error).__name__}: {error}") from error


def _checked(value: Any, spec: TensorSpec) -> Any:
    """Convert a leaf that a generator yielded to an array of its spec."""
    if hasattr(value, "value") and hasattr(value, "dims"):
        value = value.value
    try:
        if spec.dtype is string:
            array = to_array(value, string)
        else:
            array = np.array(value).astype(spec.dtype.np_dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. "
            f"The expected type was {spec.dtype.name}, but the yielded element was {value}."
        ) from error
    if not spec.shape.is_compatible_with(array.shape):
        raise TypeError(
            f"`generator` yielded an element of shape {array.shape} where an element of shape "
            f"{spec.shape} was expected."
        )
    return array


class Random(Pipeline):
    """Pseudorandom integers without end."""

    kind = "RandomDataset"

    def __init__(self, words: Callable[[], Iterator[int]]) -> None:
        self._words = words

    def iterate(self) -> Iterator[Element]:
        return ((np.int64(word),) for word in self._words())

    def cardinality(self) -> int:
        return INFINITE
