"""TensorArrays of graphs: a list of tensors, passed on from operation to operation.

In a graph for sessions an array has the rules of TensorFlow 1: an element is written once, and
read once unless `clear_after_read` is False.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from berth.dtypes import DType, int32, int64
from berth.ops.arrays import filling
from berth.ops.arrays.metadata import axis_size
from berth.ops.compose import convert, convert_like, is_eager_or_function
from berth.ops.flow.control import no_op
from berth.ops.lists import functions as lists
from berth.ops.shape import TensorShape

_numbers = count()
"""What makes the names of arrays in errors unique, as in TensorFlow 1."""


class Facts:
    """What is known of an array before it has a value; all its versions share it."""

    def __init__(
        self,
        dtype: DType,
        size: Any = None,
        dynamic_size: bool = False,
        infer_shape: bool = True,
        element_shape: TensorShape | None = None,
    ) -> None:
        self.dtype, self.dynamic_size, self.infer_shape = dtype, dynamic_size, infer_shape
        self.element_shape = element_shape or TensorShape(None)
        known = getattr(size, "value", size)
        self.size = None if known is None or dynamic_size else int(known)

    @property
    def dims(self) -> Any:
        return self.element_shape.dims_or_none

    def check(self, shape: TensorShape) -> None:
        """Raise ValueError for an element of another shape; note the shape."""
        if not shape.is_compatible_with(self.element_shape):
            raise ValueError(
                f"Inconsistent shapes: saw {shape} but expected {self.element_shape} "
            )
        if self.infer_shape:
            self.element_shape = self.element_shape.merge_with(shape)


def new_flow(facts: Facts, size: Any, clear_after_read: bool, name: str) -> Any:
    """Make the list of a new array."""
    if size is None:
        kind = "argument `flow`" if is_eager_or_function() else "handle"
        raise ValueError(f"Argument `size` must be provided if {kind} is not provided.")
    if is_eager_or_function():
        return lists.reserve(convert(size, int32), facts.dtype, facts.dims)
    attrs = {
        "element_dtype": facts.dtype,
        "element_shape": facts.element_shape,
        "array_name": f"{name}_{next(_numbers)}",
        "clear_after_read": clear_after_read,
    }
    return lists.make_array(convert(size, int32), attrs, name)


class FlowArray:
    """One version of an array: the list that an operation gives."""

    handle = None

    def __init__(self, facts: Facts, flow: Any) -> None:
        self.facts, self.flow = facts, flow

    def _next(self, flow: Any) -> FlowArray:
        return FlowArray(self.facts, flow)

    def read(self, index: Any, name: str | None) -> Any:
        """Return an element."""
        facts = self.facts
        return lists.get_item(self.flow, convert(index, int32), facts.dtype, facts.dims, name)

    def write(self, index: Any, value: Any, name: str | None) -> FlowArray:
        """Return the array with another element."""
        tensor = convert_like(value, self.facts.dtype)
        self.facts.check(TensorShape(tensor.dims))
        resizes = self.facts.dynamic_size
        return self._next(
            lists.set_item(self.flow, convert(index, int32), tensor, resizes, name)
        )

    def stack(self, name: str | None) -> Any:
        """Return the elements as one tensor."""
        facts = self.facts
        return lists.stack(self.flow, facts.dtype, facts.dims, facts.size, name)

    def gather(self, indices: Any, name: str | None) -> Any:
        """Return some elements as one tensor."""
        facts, numbers = self.facts, convert(indices, int32)
        return lists.gather(self.flow, numbers, facts.dtype, facts.dims, name)

    def concat(self, name: str | None) -> Any:
        """Return the elements joined along their first axis."""
        facts = self.facts
        dims = None if facts.dims is None else (None, *facts.dims[1:])
        return lists.concat(self.flow, facts.dtype, dims, name)[0]

    def unstack(self, value: Any, name: str | None) -> FlowArray:
        """Return the array of a tensor's rows."""
        tensor = convert_like(value, self.facts.dtype)
        if not is_eager_or_function():
            return self.scatter(filling.range(0, axis_size(tensor, 0)), tensor, name)
        self._check_rows(tensor)
        return self._next(lists.from_tensor(tensor, name))

    def _check_rows(self, tensor: Any) -> None:
        if tensor.dims is not None:
            self.facts.check(TensorShape(tensor.dims[1:]))

    def scatter(self, indices: Any, value: Any, name: str | None) -> FlowArray:
        """Return the array with the rows of a tensor in the places of some elements."""
        tensor = convert_like(value, self.facts.dtype)
        self._check_rows(tensor)
        resizes = self.facts.dynamic_size or is_eager_or_function()
        return self._next(
            lists.scatter(self.flow, tensor, convert(indices, int32), resizes, name=name)
        )

    def split(self, value: Any, lengths: Any, name: str | None) -> FlowArray:
        """Return the array of parts of a tensor."""
        tensor, sizes = convert_like(value, self.facts.dtype), convert(lengths, int64)
        return self._next(lists.split(tensor, sizes, name))

    def size(self, name: str | None) -> Any:
        """Return the number of elements."""
        if self.facts.size is not None:
            return convert(self.facts.size, int32)
        return lists.length(self.flow)

    def close(self, name: str | None) -> Any:
        """Do nothing: what a run no longer needs is freed."""
        return no_op(name)
