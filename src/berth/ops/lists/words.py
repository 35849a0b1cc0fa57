"""Errors of lists of tensors, in TensorFlow's words for its lists, and for arrays of version 1.

A list with `ReadMarks` is an array of TensorFlow 1.
"""

from __future__ import annotations

from berth.dtypes import DType
from berth.errors import InvalidArgumentError, OpError, UnimplementedError
from berth.ops.lists.list_value import ListValue
from berth.ops.shape import Dims, bracketed, text


def _error(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


def check_dtype(value: ListValue, dtype: DType) -> None:
    """Raise an error unless the elements are of a type."""
    if value.dtype is dtype:
        return
    mine, theirs = value.dtype.type_string, dtype.type_string
    if value.marks is not None:
        raise _error(f"TensorArray dtype is {mine} but Op is trying to write dtype {theirs}.")
    raise _error(f"Invalid data types; op elements {theirs} but list elements {mine}")


def check_write(value: ListValue, index: int, resizes: bool) -> None:
    """Raise an error unless an element may be written."""
    is_inside = index >= 0 and (resizes or index < value.length)
    marks = value.marks
    if marks is None:
        if not is_inside:
            raise _error(
                f"Trying to modify element {index} in a list with {value.length} elements."
            )
        return
    if not is_inside:
        raise _error(
            f"TensorArray {marks.name}: Tried to write to index {index} but array is not "
            f"resizeable and size is: {value.length}"
        )
    if index < value.length and value.get(index) is not None:
        raise _error(
            f"TensorArray {marks.name}: Could not write to TensorArray index {index} because "
            "it has already been written to."
        )


def check_shape(value: ListValue, shape: tuple[int, ...], index: int) -> None:
    """Raise an error unless an element has a shape that the list takes."""
    if fits(shape, value.dims):
        return
    if value.marks is not None:
        raise _error(
            f"TensorArray {value.marks.name}: Could not write to TensorArray index {index} "
            f"because the value shape is {bracketed(shape)} which is incompatible with the "
            f"TensorArray's inferred element shape: {bracketed(value.dims)} (consider setting "
            "infer_shape=False)."
        )
    raise _error(
        "Tried to set a tensor with incompatible shape at a list index. Item element shape: "
        f"{bracketed(shape)} list shape: {bracketed(value.dims)}"
    )


def fits(shape: tuple[int, ...], dims: Dims) -> bool:
    """Tell whether a shape is one that dimensions, known in part, allow."""
    return dims is None or (
        len(shape) == len(dims)
        and all(b in (None, a) for a, b in zip(shape, dims, strict=True))
    )


def differing(
    value: ListValue, first: tuple[int, ...], other: tuple[int, ...], index: int
) -> OpError:
    """Return the error for elements of different shapes that are stacked."""
    if value.marks is not None:
        return _error(
            f"TensorArray has inconsistent shapes.  Index 0 has shape: {bracketed(first)} but "
            f"index {index} has shape: {bracketed(other)}"
        )
    return _error(
        "PartialTensorShape: Incompatible shapes during merge: "
        f"{bracketed(first)} vs. {bracketed(other)}"
    )


def check_read(value: ListValue, index: int) -> None:
    """Raise an error unless an element may be read; note that it was."""
    marks = value.marks
    if not 0 <= index < value.length:
        if marks is not None:
            raise _error(f"Tried to read from index {index} but array size is: {value.length}")
        raise _error(
            f"Trying to access element {index} in a list with {value.length} elements."
        )
    if marks is not None and index in marks.read:
        raise _error(
            f"TensorArray {marks.name}: Could not read index {index} twice because it was "
            "cleared after a previous read (perhaps try setting clear_after_read = false?)."
        )


def check_length(value: ListValue, length: int | None) -> None:
    """Raise an error unless a list is as long as it was said to be."""
    if length not in (None, value.length):
        raise _error(
            f"Operation expected a list with {length} elements but got a list with "
            f"{value.length} elements."
        )


def unset(value: ListValue, dims: Dims, index: int | None = None) -> OpError:
    """Return the error for elements that were never set, and have no known shape."""
    shown = "<unknown>" if dims is None else text(dims)
    if value.marks is not None and not value.length:
        return UnimplementedError(
            None,
            None,
            f"TensorArray has size zero, but element shape {shown} is not fully defined. "
            "Currently only static shapes are supported when packing zero-size TensorArrays.",
        )
    if value.marks is not None:
        return _error(
            f"TensorArray {value.marks.name}: Could not read from TensorArray index "
            f"{index or 0}.  Furthermore, the element shape is not fully defined: {shown}.  It "
            "is possible you are working with a resizeable TensorArray and stop_gradients is "
            "not allowing the gradients to be written.  If you set the full element_shape "
            "property on the forward TensorArray, the proper all-zeros tensor will be returned "
            "instead of incurring this error."
        )
    if index is not None:
        return _error(
            "Trying to read an uninitialized tensor but element_shape is not fully defined: "
            f"{shown} and no list element is set."
        )
    if not value.length:
        return _error(
            "Tried to stack elements of an empty list with non-fully-defined element_shape: "
            f"{shown}"
        )
    return _error(
        "Tried to stack list which only contains uninitialized tensors and has a "
        f"non-fully-defined element_shape: {shown}"
    )
