"""Conversion of Python values to arrays: an int is an int32, a float a float32.

An array of NumPy's keeps its type. A wanted type must be able to hold the value's kind:
no float becomes an integer unasked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from berth.dtypes import BY_NUMPY, DType, as_dtype, float32, string

_KINDS_INTO = {"f": "fiub", "i": "iu", "u": "iu", "b": "b", "c": "cfiub"}
"""The NumPy kinds of values that a type of each kind accepts."""


def to_array(value: Any, dtype: DType | None = None) -> np.ndarray[Any, Any]:
    """Convert a value to a host array; TypeError or ValueError if it cannot be converted.

    >>> to_array([1, 2]).dtype, to_array(1.5).dtype, to_array(np.float64(1)).dtype
    (dtype('int32'), dtype('float32'), dtype('float64'))
    """
    if value is None:
        raise ValueError("None values not supported.")
    kind = type(value)
    if kind is float and (dtype is None or dtype is float32):  # by far the commonest
        return np.array(value, np.float32)
    is_typed = isinstance(value, np.ndarray | np.generic)
    array = _read(value)
    if array.dtype.kind in "OSU":
        return _strings(array, value, dtype)
    if dtype is None:
        return array if is_typed else _narrowed(array)
    wanted = dtype.base_dtype
    is_fitting = _kind(array) in _KINDS_INTO.get(wanted.kind, "")
    if not is_fitting and (array.size or is_typed):
        raise _mismatch(value, array, wanted)
    return _fitting(value, array, wanted)


def _kind(array: np.ndarray[Any, Any]) -> str:
    """Return the kind of an array's elements; NumPy does not know bfloat16 for a float."""
    kind = array.dtype.kind
    return as_dtype(array.dtype).kind if kind == "V" else kind


def frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a read-only copy: the user may go on writing into the original."""
    own = np.array(array, order="C")
    own.flags.writeable = False
    return own


def dtype_of(array: np.ndarray[Any, Any]) -> DType:
    """Return the type of an array that `to_array` made."""
    return BY_NUMPY.get(array.dtype) or as_dtype(array.dtype)


def _read(value: Any) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"Can't convert non-rectangular Python sequence to Tensor: {value!r}"
        ) from error
    if array.dtype.kind in "SU" and not isinstance(value, np.ndarray):
        return np.array(value, object)  # NumPy's own texts lose what is 0 at their ends
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _narrowed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert Python's numbers to TensorFlow's default types, if they fit."""
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    return array


def _fitting(value: Any, array: np.ndarray[Any, Any], wanted: DType) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        converted = array.astype(wanted.np_dtype)
    if wanted.is_integer and not np.array_equal(converted, array):
        raise TypeError(
            f"Cannot convert {value!r} to a {wanted.name}: it does not fit into that type."
        )
    return converted


def _strings(
    array: np.ndarray[Any, Any], value: Any, dtype: DType | None
) -> np.ndarray[Any, Any]:
    texts = np.empty(array.shape, object)
    flat = texts.reshape(-1)
    for index, item in enumerate(array.reshape(-1).tolist()):
        if not isinstance(item, str | bytes):
            raise TypeError(f"Failed to convert elements of {value!r} to Tensor.")
        flat[index] = item.encode() if isinstance(item, str) else item
    if dtype is not None and dtype.base_dtype is not string:
        raise _mismatch(value, texts, dtype.base_dtype)
    return texts


def _mismatch(value: Any, array: np.ndarray[Any, Any], wanted: DType) -> TypeError:
    found = type(value).__name__
    if isinstance(value, np.ndarray | np.generic):
        found = array.dtype.name
    return TypeError(f"Expected {wanted.name}, got {value!r} of type '{found}' instead.")
