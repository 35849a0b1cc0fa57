"""Operations on lists of tensors, under the names of TensorFlow's `TensorList…` operations.

A list is a scalar of type variant on the host. Its elements are in the host's memory, too: a
write copies one there, a read copies one from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from berth.dtypes import ALL, int32, int64, variant
from berth.errors import InvalidArgumentError, OpError
from berth.ops.lists import words
from berth.ops.lists.list_value import ListValue, ReadMarks
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    Call,
    Launch,
    OpDef,
    OutputType,
    Typed,
    host_only,
)
from berth.ops.shape import Dims, is_known


def _a_list(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((variant, ()),)


def _define(
    name: str,
    arguments: str,
    infer: Any,
    compute: Callable[..., None],
    sample: str,
    **facts: Any,
) -> OpDef:
    """Define an operation whose kernel is a function of inputs, outputs and attributes."""

    def bind(launch: Launch) -> Call:
        return compute, (*launch.inputs, *launch.outputs, launch.attrs)

    def infer_checked(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
        try:
            found: Sequence[OutputType] = infer(inputs, attrs)
        except OpError as error:  # a shape rule has no operation to name
            raise ValueError(error.message) from None
        return found

    types = {"T": ALL} if ":T" in arguments else {}
    return OpDef(
        name,
        arguments,
        infer_checked,
        types=types,
        kernels=host_only(bind),
        samples=[sample],
        **facts,
    )


# --- making lists ---------------------------------------------------------------------------


def _reserve(size: Any, out: Any, attrs: Attrs) -> None:
    dims, name = attrs["element_shape"].dims_or_none, attrs.get("array_name")
    marks = None if name is None else ReadMarks(name, attrs["clear_after_read"])
    out[()] = ListValue(attrs["element_dtype"], dims, int(size[()]), marks)


_FLOATS = "element_dtype=float32, element_shape=TensorShape([3])"
RESERVE = _define(
    "TensorListReserve",
    "num_elements:int32",
    _a_list,
    _reserve,
    f"at(2), {_FLOATS}",
    gradient=NOT_DIFFERENTIABLE,
)
ARRAY = _define(
    "TensorArrayV3",
    "size:int32",
    _a_list,
    _reserve,
    f"at(2), array_name='a', clear_after_read=True, {_FLOATS}",
    is_stateful=True,
    gradient=NOT_DIFFERENTIABLE,
)
"""An array of TensorFlow 1, which remembers in each run what was read."""


def _from_tensor(tensor: Any, out: Any, attrs: Attrs) -> None:
    rows = tensor.copy()
    out[()] = ListValue.of(_rows(rows), attrs["element_dtype"], rows.shape[1:])


def _rows(array: Any) -> list[Any]:
    return [array[k, ...] for k in range(len(array))]


FROM_TENSOR = _define(
    "TensorListFromTensor", "tensor:T", _a_list, _from_tensor, "f(2, 3), element_dtype=float32"
)


def _split(tensor: Any, lengths: Any, out: Any, attrs: Attrs) -> None:
    used = int(lengths.sum())
    if used != len(tensor):
        message = (
            f"Unused values in tensor. Length of tensor: {len(tensor)} Values used: {used}"
            if used < len(tensor)
            else f"Attempting to slice [{len(tensor)}, {used}] from tensor with length "
            f"{len(tensor)}"
        )
        raise InvalidArgumentError(None, None, message)
    parts = np.split(tensor.copy(), np.cumsum(lengths)[:-1])
    out[()] = ListValue.of(parts, attrs["element_dtype"], (None, *tensor.shape[1:]))


SPLIT = _define(
    "TensorListSplit",
    "tensor:T lengths:int64",
    _a_list,
    _split,
    "f(3, 2), np.array([1, 2]), element_dtype=float32",
)

# --- elements -------------------------------------------------------------------------------


def _set(handle: Any, index: Any, item: Any, out: Any, attrs: Attrs) -> None:
    value, position = handle[()], int(index[()])
    words.check_dtype(value, attrs["element_dtype"])
    words.check_write(value, position, attrs["resize"])
    words.check_shape(value, item.shape, position)
    out[()] = value.replaced(position, item.copy())


SET = _define(
    "TensorListSetItem",
    "input_handle:variant index:int32 item:T",
    _a_list,
    _set,
    "tensor_list(f(2, 3)), at(1), f(3), resize=False, element_dtype=float32",
)


def _dims_of_elements(inputs: Sequence[Typed], attrs: Attrs) -> Dims:
    """Return what is known of the shape of a list's elements."""
    dims: Dims = attrs["element_shape"].dims_or_none
    value = inputs[0].value
    if is_known(dims) or value is None:
        return dims
    found: Dims = value[()].element_dims(dims)
    return found


def _one_element(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims: Dims = attrs["element_shape"].dims_or_none
    value, index = inputs[0].value, inputs[1].value
    if value is not None and index is not None and not is_known(dims):
        item = _item(value[()], int(index[()]), attrs)
        dims = _dims_of_elements(inputs, attrs) if item is None else item.shape
        if not is_known(dims):
            raise words.unset(value[()], dims, int(index[()]))
    return ((attrs["element_dtype"], dims),)


def _item(value: ListValue, index: int, attrs: Attrs) -> Any:
    """Return an element to be read; None if it was never set."""
    words.check_dtype(value, attrs["element_dtype"])
    words.check_read(value, index)
    return value.get(index)


def _get(handle: Any, index: Any, out: Any, attrs: Attrs) -> None:
    value, position = handle[()], int(index[()])
    _fill(value, position, 0, _item(value, position, attrs), out)
    value.clear_after_read([position])


def _fill(value: ListValue, index: int, row: int, item: Any, out: Any) -> None:
    """Copy an element, zeros if it was never set, into an array."""
    if item is None:
        item = value.zeros(out.shape)
    elif item.shape != out.shape:
        raise words.differing(value, out.shape, item.shape, row)
    np.copyto(out, item)


GET = _define(
    "TensorListGetItem",
    "input_handle:variant index:int32",
    _one_element,
    _get,
    f"tensor_list(f(2, 3)), at(1), {_FLOATS}",
    shape_inputs=(0, 1),
)


def _length(handle: Any, out: Any, attrs: Attrs) -> None:
    out[()] = handle[()].length


LENGTH = _define(
    "TensorListLength",
    "input_handle:variant",
    lambda inputs, attrs: ((int32, ()),),
    _length,
    "tensor_list(f(2, 3))",
    gradient=NOT_DIFFERENTIABLE,
)


def _resize(handle: Any, size: Any, out: Any, attrs: Attrs) -> None:
    out[()] = handle[()].resized(int(size[()]))


RESIZE = _define(
    "TensorListResize",
    "input_handle:variant size:int32",
    _a_list,
    _resize,
    "tensor_list(f(2, 3)), at(3)",
)

# --- all elements, or some ------------------------------------------------------------------


def _all_elements(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims, length = _dims_of_elements(inputs, attrs), attrs["num_elements"]
    if inputs[0].value is not None:
        value = inputs[0].value[()]
        words.check_dtype(value, attrs["element_dtype"])
        words.check_length(value, length)
        length = value.length
        if not is_known(dims):
            raise words.unset(value, dims)
    return ((attrs["element_dtype"], None if dims is None else (length, *dims)),)


def _stack(handle: Any, out: Any, attrs: Attrs) -> None:
    value = handle[()]
    words.check_length(value, len(out))
    _fill_rows(value, range(value.length), out, attrs)


def _fill_rows(value: ListValue, indices: Sequence[int], out: Any, attrs: Attrs) -> None:
    for row, index in enumerate(indices):
        _fill(value, index, row, _item(value, index, attrs), out[row, ...])
    value.clear_after_read(indices)


STACK = _define(
    "TensorListStack",
    "input_handle:variant",
    _all_elements,
    _stack,
    f"tensor_list(f(2, 3)), num_elements=None, {_FLOATS}",
    shape_inputs=(0,),
)


def _some_elements(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims, count = _dims_of_elements(inputs, attrs), inputs[1].dims
    if inputs[0].value is not None and not is_known(dims):
        raise words.unset(inputs[0].value[()], dims)
    known = None if dims is None or count is None else (*count, *dims)
    return ((attrs["element_dtype"], known),)


def _gather(handle: Any, indices: Any, out: Any, attrs: Attrs) -> None:
    value, numbers = handle[()], indices.tolist()
    for index in numbers:
        if not 0 <= index < value.length and value.marks is None:
            message = f"Index {index} out o range; list only has {value.length} elements."
            raise InvalidArgumentError(None, None, message)
    _fill_rows(value, numbers, out, attrs)


GATHER = _define(
    "TensorListGather",
    "input_handle:variant indices:int32",
    _some_elements,
    _gather,
    f"tensor_list(f(2, 3)), i(1, 0), {_FLOATS}",
    shape_inputs=(0,),
)


def _scatter(handle: Any, tensor: Any, indices: Any, out: Any, attrs: Attrs) -> None:
    value = handle[()]
    words.check_dtype(value, attrs["element_dtype"])
    for index, item in zip(indices.tolist(), _rows(tensor.copy()), strict=False):
        words.check_write(value, index, attrs["resize"])
        words.check_shape(value, item.shape, index)
        known = value.get(index) if attrs["adds"] else None
        value = value.replaced(index, item if known is None else np.asarray(known + item))
    out[()] = value


SCATTER = _define(
    "TensorListScatterIntoExistingList",
    "input_handle:variant tensor:T indices:int32",
    _a_list,
    _scatter,
    "tensor_list(f(2, 3)), f(1, 3), i(1), resize=True, adds=False, element_dtype=float32",
)


def _joined(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    dims, dtype = attrs["element_shape"].dims_or_none, attrs["element_dtype"]
    if inputs[0].value is None:
        return (dtype, None if dims is None else (None, *dims[1:])), (int64, (None,))
    value = inputs[0].value[()]
    words.check_dtype(value, dtype)
    shapes = [_part(value, k, dims).shape for k in range(value.length)]
    inner = shapes[0][1:] if shapes else tuple(size or 0 for size in (dims or ())[1:])
    return (dtype, (sum(shape[0] for shape in shapes), *inner)), (int64, (len(shapes),))


def _part(value: ListValue, index: int, dims: Dims) -> Any:
    words.check_read(value, index)
    item = value.get(index)
    if item is None:
        if not is_known(dims):
            raise words.unset(value, dims)
        item = value.zeros(dims)
    if not item.ndim:
        message = f"Concat saw a scalar shape at index {index} but requires at least vectors."
        raise InvalidArgumentError(None, None, message)
    return item


def _concat(handle: Any, out: Any, lengths: Any, attrs: Attrs) -> None:
    value, dims = handle[()], attrs["element_shape"].dims_or_none
    parts = [_part(value, index, dims) for index in range(value.length)]
    lengths[...] = [len(part) for part in parts]
    if parts:
        np.concatenate(parts, out=out)
    value.clear_after_read(range(value.length))


CONCAT = _define(
    "TensorListConcatV2",
    "input_handle:variant",
    _joined,
    _concat,
    f"tensor_list(f(2, 3)), {_FLOATS}",
    shape_inputs=(0,),
)
