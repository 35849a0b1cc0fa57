"""The value of a list of tensors: immutable, and yet one element is replaced in a few steps.

A list is a tree of tuples, 32 children each, whose leaves are arrays of the host. A new list
shares all but the path to the element that was replaced; an empty part of the tree is None, and
costs nothing. So a loop that writes n elements takes time proportional to n, whatever else
still holds the lists of its iterations, and so does the sum of n gradients of one element each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from berth.dtypes import DType, string
from berth.errors import InvalidArgumentError
from berth.ops.shape import Dims, bracketed, is_known

_BITS = 5
_WIDTH = 1 << _BITS
_MASK = _WIDTH - 1


class ReadMarks:
    """What TensorFlow 1 remembers of an array in a run: its elements are read and written once.

    All lists that come of one `TensorArray` share it.
    """

    __slots__ = ("clears", "name", "read")

    def __init__(self, name: str, clears: bool) -> None:
        self.name = name
        self.clears = clears
        self.read: set[int] = set()


class ListValue:
    """A list of arrays of one type; elements that were never set are None."""

    __slots__ = ("_root", "_shift", "dims", "dtype", "length", "marks")

    def __init__(
        self, dtype: DType, dims: Dims, length: int, marks: ReadMarks | None = None
    ) -> None:
        self.dtype = dtype
        self.dims = dims
        """What is known of the elements' shape beforehand."""
        self.length = length
        self.marks = marks
        self._root: Any = None
        self._shift = 0
        while (_WIDTH << self._shift) < length:
            self._shift += _BITS

    @classmethod
    def of(
        cls, items: Sequence[Any], dtype: DType, dims: Dims, marks: ReadMarks | None = None
    ) -> ListValue:
        """Make a list of elements."""
        made = cls(dtype, dims, len(items), marks)
        level: list[Any] = list(items)
        for _ in range(made._shift // _BITS + 1):
            level = [
                tuple(level[k : k + _WIDTH]) + (None,) * (_WIDTH - len(level[k : k + _WIDTH]))
                for k in range(0, len(level), _WIDTH)
            ]
        made._root = level[0] if level else None
        return made

    def get(self, index: int) -> Any:
        """Return an element; None if it was never set."""
        node, shift = self._root, self._shift
        while node is not None and shift:
            node = node[(index >> shift) & _MASK]
            shift -= _BITS
        return None if node is None else node[index & _MASK]

    def items(self) -> list[Any]:
        """List the elements."""
        return list(_leaves(self._root, self._shift, self.length))

    def replaced(self, index: int, item: Any) -> ListValue:
        """Return the list with another element; it is as long as that takes."""
        made = self._like(max(self.length, index + 1))
        made._root = _with_item(self._grown(made._shift), made._shift, index, item)
        return made

    def added(self, other: ListValue) -> ListValue:
        """Return the sums of the elements of two lists; what was never set is zero."""
        length = max(self.length, other.length)
        made = self._like(length)
        mine, theirs = self._grown(made._shift), other._grown(made._shift)
        made._root = _merged(mine, theirs, made._shift, np.add)
        return made

    def resized(self, length: int) -> ListValue:
        """Return the list cut, or extended by elements that are not set."""
        if length >= self.length:
            made = self._like(length)
            made._root = self._grown(made._shift)
            return made
        return ListValue.of(self.items()[:length], self.dtype, self.dims, self.marks)

    def _like(self, length: int) -> ListValue:
        return ListValue(self.dtype, self.dims, length, self.marks)

    def _grown(self, shift: int) -> Any:
        """Return the tree, as deep as a longer list needs it."""
        root = self._root
        if root is not None:
            for _ in range((shift - self._shift) // _BITS):
                root = (root, *(None,) * (_WIDTH - 1))
        return root

    def clear_after_read(self, indices: Iterable[int]) -> None:
        """Note which elements were read, if that is to happen once."""
        if self.marks is not None and self.marks.clears:
            self.marks.read.update(indices)

    # --- shapes ---------------------------------------------------------------------------

    def element_dims(self, dims: Dims = None) -> Dims:
        """Return what is known of the elements' shape, by what is set as well."""
        for known in (self.dims, dims):
            if is_known(known):
                return known
        found = next((item.shape for item in self.items() if item is not None), None)
        return found if found is not None else self.dims if dims is None else dims

    def zeros(self, dims: Dims) -> Any:
        """Return the value of an element that was never set."""
        if self.dtype is string:
            return np.full(dims, b"", object)
        return np.zeros(dims, self.dtype.np_dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListValue) or self.dtype is not other.dtype:
            return False
        mine, theirs = self.items(), other.items()
        return len(mine) == len(theirs) and all(
            (a is None and b is None) or np.array_equal(a, b)
            for a, b in zip(mine, theirs, strict=True)
        )

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "<TensorList>"


def _leaves(node: Any, shift: int, length: int) -> Iterator[Any]:
    if node is None:
        for _ in range(length):
            yield None
        return
    if not shift:
        yield from node[:length]
        return
    size = 1 << shift
    for child in node:
        if length <= 0:
            return
        yield from _leaves(child, shift - _BITS, min(size, length))
        length -= size


def _with_item(node: Any, shift: int, index: int, item: Any) -> Any:
    children = [None] * _WIDTH if node is None else list(node)
    position = (index >> shift) & _MASK
    if shift:
        item = _with_item(children[position], shift - _BITS, index, item)
    children[position] = item
    return tuple(children)


def _merged(a: Any, b: Any, shift: int, add: Callable[[Any, Any], Any]) -> Any:
    if a is None or b is None:
        return a if b is None else b
    if shift < 0:
        return _sum(a, b, add)
    pairs = zip(a, b, strict=True)
    return tuple(_merged(x, y, shift - _BITS, add) for x, y in pairs)


def _sum(a: Any, b: Any, add: Callable[[Any, Any], Any]) -> Any:
    if a.shape != b.shape:
        raise InvalidArgumentError(
            None,
            None,
            "Trying to add two tensors with incompatible element shapes. One is "
            f"{bracketed(a.shape)}, the other {bracketed(b.shape)}",
        )
    return np.asarray(add(a, b))


def sum_lists(inputs: Sequence[Any], out: Any) -> None:
    """Kernel: the sum of lists, element by element; zeros that are no list add nothing."""
    values = [array[()] for array in inputs]
    first, *others = [value for value in values if isinstance(value, ListValue)] or values[:1]
    for other in others:
        first = first.added(other)
    out[()] = first


def zeros_like_list(array: Any, out: Any) -> None:
    """Kernel: a list as long, in which nothing is set."""
    value = array[()]
    out[()] = ListValue(value.dtype, value.element_dims(), value.length)
