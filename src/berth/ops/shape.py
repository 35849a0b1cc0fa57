"""Static shapes, known in full or in part: `TensorShape`, merging and broadcasting.

Inside berth a shape is *dims*: a tuple with None for each size that is not known, or None
if not even the rank is. `TensorShape` is the class that users see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, SupportsIndex, TypeAlias, TypeGuard, cast, overload

from berth.public import public

Dims: TypeAlias = tuple[int | None, ...] | None
Known: TypeAlias = tuple[int, ...]


def is_known(dims: Dims) -> TypeGuard[tuple[int, ...]]:
    """Tell whether every size is known."""
    return dims is not None and None not in dims


def merge(a: Dims, b: Dims) -> Dims:
    """Combine what two shapes of one tensor say; ValueError if they disagree.

    >>> merge((None, 3), (2, None))
    (2, 3)
    """
    if a is None or b is None:
        return b if a is None else a
    if len(a) != len(b) or any(
        x != y and None not in (x, y) for x, y in zip(a, b, strict=True)
    ):
        raise ValueError(f"Shapes {text(a)} and {text(b)} are not compatible")
    return tuple(y if x is None else x for x, y in zip(a, b, strict=True))


def generalize(a: Dims, b: Dims) -> Dims:
    """Return the dimensions that are true of two shapes.

    >>> generalize((2, 3), (2, 4))
    (2, None)
    """
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def broadcast(a: Dims, b: Dims) -> Dims:
    """Combine the shapes of two operands as NumPy does; ValueError if it cannot.

    >>> broadcast((2, 1), (3,)), broadcast((None, 3), (1,))
    ((2, 3), (None, 3))
    """
    if b in (a, ()):
        return a
    if a is None or b is None:
        return None
    if a == ():
        return b
    rank = max(len(a), len(b))
    left = (1,) * (rank - len(a)) + a
    right = (1,) * (rank - len(b)) + b
    return tuple(_common(x, y, a, b) for x, y in zip(left, right, strict=True))


def _common(x: int | None, y: int | None, a: Dims, b: Dims) -> int | None:
    if x in (1, y):
        return y
    if y == 1:
        return x
    if x is None or y is None:
        return y if x is None else x
    raise ValueError(f"Incompatible shapes: {bracketed(a)} vs. {bracketed(b)}")


def text(dims: Dims) -> str:
    """Write a shape as TensorFlow's Python does: ``(2, None)``, ``<unknown>``.

    >>> text((2, None)), text((3,)), text(None)
    ('(2, None)', '(3,)', '<unknown>')
    """
    return "<unknown>" if dims is None else str(dims)


def bracketed(dims: Dims) -> str:
    """Write a shape as TensorFlow's runtime does: ``[2,?]``.

    >>> bracketed((2, None)), bracketed(()), bracketed(None)
    ('[2,?]', '[]', '?')
    """
    if dims is None:
        return "?"
    return f"[{','.join('?' if size is None else str(size) for size in dims)}]"


def read_dims(value: Any) -> Dims:
    """Read what users write for a shape: None, an int, a list, a TensorShape, an array.

    >>> read_dims([2, None]), read_dims(3), read_dims(None), read_dims([-1])
    ((2, None), (3,), None, (None,))
    """
    if value is None:
        return None
    if isinstance(value, TensorShape):
        return value.dims_or_none
    if hasattr(value, "__index__") and not getattr(value, "ndim", 0):
        return (_size(value),)
    return tuple(_size(size) for size in value)


def _size(value: Any) -> int | None:
    if value is None or isinstance(value, UnknownDimension):
        return None
    if not hasattr(value, "__index__"):
        raise TypeError(f"Dimension value must be integer or None, got value {value!r}")
    size = int(value)
    if size < -1:
        raise ValueError(f"Dimension {size} must be >= 0")
    return None if size == -1 else size


class Dimension(int):
    """A known size of a shape in TensorFlow 1: an int with a `value`."""

    @property
    def value(self) -> int:
        return int(self)

    def __repr__(self) -> str:
        return f"Dimension({int(self)})"

    def __str__(self) -> str:
        return str(int(self))


class UnknownDimension:
    """An unknown size of a shape in TensorFlow 1: its `value` is None, and it equals None."""

    value = None

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, UnknownDimension)

    def __hash__(self) -> int:
        return hash(None)

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "Dimension(None)"

    def __str__(self) -> str:
        return "?"


def _dimension(size: int | None) -> Dimension | UnknownDimension:
    return UnknownDimension() if size is None else Dimension(size)


class _Style:
    """Whether sizes are Dimension objects (TensorFlow 1), or int and None (TensorFlow 2)."""

    has_dimensions = False


def set_sizes_as_dimensions(has_dimensions: bool) -> None:
    """Choose the elements of a TensorShape: Dimension objects, or int and None."""
    _Style.has_dimensions = has_dimensions


@public("TensorShape")
class TensorShape:
    """The shape of a tensor, as far as it is known.

    Indexing and iterating give int, or None for an unknown size; in TensorFlow 1 programs,
    Dimension objects.

    >>> shape = TensorShape([None, 3])
    >>> shape, shape.rank, shape.is_fully_defined(), shape[1], shape[0]
    (TensorShape([None, 3]), 2, False, 3, None)
    """

    __slots__ = ("dims_or_none",)

    def __init__(self, dims: Any) -> None:
        self.dims_or_none = read_dims(dims)

    @property
    def rank(self) -> int | None:
        """The number of dimensions; None if it is not known."""
        return None if self.dims_or_none is None else len(self.dims_or_none)

    ndims = rank

    @property
    def dims(self) -> list[Dimension | UnknownDimension] | None:
        """The sizes as Dimension objects; None if the rank is not known."""
        if self.dims_or_none is None:
            return None
        return [_dimension(size) for size in self.dims_or_none]

    @property
    def _dims(self) -> Dims:
        """The sizes as a tuple of int and None, under the name that Keras reads."""
        return self.dims_or_none

    def as_list(self) -> list[int | None]:
        """Return the sizes as int or None; ValueError if the rank is not known."""
        if self.dims_or_none is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self.dims_or_none)

    def num_elements(self) -> int | None:
        """Return how many elements there are, if that is known."""
        if not is_known(self.dims_or_none):
            return None
        total = 1
        for size in self.dims_or_none or ():
            total *= size or 0
        return total

    def is_fully_defined(self) -> bool:
        """Tell whether every size is known."""
        return is_known(self.dims_or_none)

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless every size is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def merge_with(self, other: Any) -> TensorShape:
        """Combine two shapes of one tensor; ValueError if they disagree."""
        return TensorShape(merge(self.dims_or_none, read_dims(other)))

    def is_compatible_with(self, other: Any) -> bool:
        """Tell whether one tensor could have both shapes."""
        try:
            merge(self.dims_or_none, read_dims(other))
        except ValueError:
            return False
        return True

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError unless one tensor could have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def concatenate(self, other: Any) -> TensorShape:
        """Return this shape followed by another."""
        a, b = self.dims_or_none, read_dims(other)
        return TensorShape(None if a is None or b is None else a + b)

    def with_rank(self, rank: int) -> TensorShape:
        """Return this shape as one of that rank; ValueError if it has another."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")
        return self.merge_with([None] * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return this shape; ValueError if its rank is known to be less."""
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return this shape; ValueError if its rank is known to be more."""
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """Return what two shapes have in common: sizes in which they differ are unknown."""
        mine, others = self.dims_or_none, read_dims(other)
        if mine is None or others is None or len(mine) != len(others):
            return TensorShape(None)
        pairs = zip(mine, others, strict=True)
        return TensorShape([x if x == y else None for x, y in pairs])

    def is_subtype_of(self, other: Any) -> bool:
        """Tell whether every tensor of this shape has the other shape, too."""
        mine, others = self.dims_or_none, read_dims(other)
        if others is None or mine is None:
            return others is None
        pairs = zip(mine, others, strict=False)
        return len(mine) == len(others) and all(y in (None, x) for x, y in pairs)

    def __len__(self) -> int:
        if self.dims_or_none is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self.dims_or_none)

    def __bool__(self) -> bool:
        return self.dims_or_none is not None

    def __iter__(self) -> Iterator[int | None]:
        if self.dims_or_none is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._sizes(self.dims_or_none))

    @overload
    def __getitem__(self, key: SupportsIndex) -> int | None: ...
    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
    def __getitem__(self, key: SupportsIndex | slice) -> int | TensorShape | None:
        dims = self.dims_or_none
        if isinstance(key, slice):
            return TensorShape(_part_of_unknown(key) if dims is None else dims[key])
        return self._sizes((None,))[0] if dims is None else self._sizes(dims)[key]

    @staticmethod
    def _sizes(dims: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """Return sizes as the program sees them, by its version of TensorFlow."""
        if not _Style.has_dimensions:
            return dims
        return cast("tuple[int | None, ...]", tuple(_dimension(size) for size in dims))

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __eq__(self, other: object) -> bool:
        try:
            return self.dims_or_none == read_dims(other)
        except (TypeError, ValueError):
            return False

    def __hash__(self) -> int:
        return hash(self.dims_or_none)

    def __repr__(self) -> str:
        return f"TensorShape({None if self.dims_or_none is None else list(self)})"

    def __str__(self) -> str:
        return text(self.dims_or_none)


def _part_of_unknown(key: slice) -> Dims:
    """Return the dims of a slice of a shape of unknown rank: its rank, if that is certain."""
    if key.step is not None:
        raise ValueError("Steps are not yet handled")
    start: int = key.start or 0
    stop: int | None = key.stop
    if stop is None or start < 0 or stop < 0:
        return None
    return (None,) * (stop - start)
