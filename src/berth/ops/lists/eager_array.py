"""TensorArrays of eager programs: Python lists of tensors, changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.dtypes import DType, int32
from berth.errors import InvalidArgumentError, OutOfRangeError
from berth.ops.arrays.array import constant
from berth.ops.arrays.filling import zeros
from berth.ops.arrays.joining import concat, split, stack, unstack
from berth.ops.compose import convert, convert_like
from berth.ops.shape import TensorShape, bracketed


class EagerArray:
    """The elements of an array, and what may be done with them."""

    handle = None

    def __init__(
        self,
        dtype: DType,
        size: Any,
        dynamic_size: bool,
        clear_after_read: bool,
        infer_shape: bool,
        element_shape: TensorShape,
    ) -> None:
        if size is None:
            raise ValueError(
                "Size must be declared for TensorArrays when eager execution is enabled."
            )
        self.dtype, self.dynamic_size, self.infer_shape = dtype, dynamic_size, infer_shape
        self.element_shape = element_shape
        self._clears = clear_after_read
        self._items: list[Any] = [None] * int(size)
        self._cleared: set[int] = set()
        self.flow = constant(0, int32)

    def read(self, index: Any, name: str | None) -> Any:
        """Return an element, which is cleared unless that was not wanted."""
        position = int(index)
        if position < 0:
            message = f"Reading from negative indices (index {position}) is not allowed."
            raise OutOfRangeError(None, None, message)
        if position >= len(self._items):
            message = (
                f"Tried to read from index {position} but array size is: {len(self._items)} "
            )
            raise OutOfRangeError(None, None, message)
        if self._items[position] is None and position in self._cleared:
            raise InvalidArgumentError(
                None,
                None,
                f"Could not read index {position} twice because it was cleared after a "
                "previous read (perhaps try setting clear_after_read = false?)",
            )
        item = self._item(position)
        if self._clears:
            self._items[position] = None
            self._cleared.add(position)
        return item

    def _item(self, position: int) -> Any:
        """Return an element; zeros if it was never written."""
        item = self._items[position]
        if item is None:
            item = self._items[position] = zeros(self.element_shape, self.dtype)
        return item

    def _all(self) -> list[Any]:
        return [self._item(position) for position in range(len(self._items))]

    def write(self, index: Any, value: Any, name: str | None) -> None:
        """Replace an element."""
        self._write(int(index), convert_like(value, self.dtype))

    def _write(self, position: int, tensor: Any) -> None:
        size = len(self._items)
        if position < 0:
            message = f"Writing to negative indices (index {position}) is not allowed."
            raise OutOfRangeError(None, None, message)
        if position >= size and not self.dynamic_size:
            message = (
                f"Tried to write to index {position} but array is not resizeable and size is: "
                f"{size} "
            )
            raise OutOfRangeError(None, None, message)
        if tensor.dtype.base_dtype is not self.dtype:
            message = (
                f"TensorArray dtype is {self.dtype.name} but Op is trying to write dtype "
                f"{tensor.dtype.name} "
            )
            raise InvalidArgumentError(None, None, message)
        if not self.element_shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"Incompatible shape for value ({tensor.shape}), expected "
                f"({self.element_shape})"
            )
        if self.infer_shape:
            self.element_shape = self.element_shape.merge_with(tensor.shape)
        self._items += [None] * (position + 1 - size)
        self._items[position] = tensor

    def stack(self, name: str | None) -> Any:
        """Return the elements as one tensor."""
        if not self._items and self.element_shape.is_fully_defined():
            return zeros([0, *self.element_shape.as_list()], self.dtype)
        return stack(self._all()) if self._items else convert([])

    def gather(self, indices: Any, name: str | None) -> Any:
        """Return some elements as one tensor."""
        rows = [self._item(position) for position in _numbers(indices)]
        return stack(rows) if rows else convert([])

    def concat(self, name: str | None) -> Any:
        """Return the elements joined along their first axis."""
        parts = self._all()
        for position, part in enumerate(parts):
            if not part.dims:
                message = (
                    f"Concat saw a scalar shape at index {position} but requires at least "
                    "vectors."
                )
                raise InvalidArgumentError(None, None, message)
        return concat(parts, 0)

    def unstack(self, value: Any, name: str | None) -> None:
        """Make the rows of a tensor the elements."""
        rows = unstack(convert_like(value, self.dtype))
        if len(rows) > len(self._items) and not self.dynamic_size:
            raise ValueError(
                f"Cannot unstack {len(rows)} tensors into a TensorArray of static size "
                f"{len(self._items)} "
            )
        self._items = list(rows)

    def scatter(self, indices: Any, value: Any, name: str | None) -> None:
        """Write the rows of a tensor to some elements."""
        rows = unstack(convert_like(value, self.dtype))
        for position, row in zip(_numbers(indices), rows, strict=False):
            self._write(position, row)

    def split(self, value: Any, lengths: Any, name: str | None) -> None:
        """Make parts of a tensor the elements."""
        tensor: Any = convert_like(value, self.dtype)
        sizes = _numbers(lengths)
        if sum(sizes) != tensor.dims[0]:
            raise InvalidArgumentError(
                None,
                None,
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{sum(sizes)} and value's shape is: {bracketed(tensor.dims)} ",
            )
        self._items = list(split(tensor, sizes))

    def size(self, name: str | None) -> Any:
        """Return the number of elements."""
        return constant(len(self._items), int32)

    def close(self, name: str | None) -> None:
        """Drop the elements."""
        self._items = []


def _numbers(values: Any) -> Sequence[int]:
    tensor: Any = convert(values)
    return [int(number) for number in tensor.value.reshape(-1)]
