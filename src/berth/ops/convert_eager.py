"""Conversion of Python values to arrays in eager mode, by TensorFlow's rules.

They allow more than those of graphs: arrays are cast to whatever is asked for, integers wrap
around. Their error messages differ too.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from berth.dtypes import DType, int32, int64, string
from berth.ops.convert import to_array

_INT64 = np.iinfo(np.int64)
_SCALARS = (bool, int, float, complex, str, bytes, np.generic)


def to_array_eager(value: Any, dtype: DType | None = None) -> np.ndarray[Any, Any]:
    """Convert a value to a host array; TypeError or ValueError if it cannot be converted.

    >>> from berth.dtypes import uint8
    >>> to_array_eager(np.array([1.5, 300.0]), uint8).tolist()
    [1, 44]
    >>> to_array_eager(300, uint8).tolist()
    44
    """
    is_typed = isinstance(value, np.ndarray | np.generic)
    if is_typed and dtype is not None and value.dtype.kind not in "OSU":
        return _cast(np.asarray(value), dtype.base_dtype)
    try:
        return to_array(value, dtype)
    except (TypeError, ValueError, OverflowError):
        if is_typed:
            raise _unsupported_element(np.asarray(value)) from None
        return _leniently(value, dtype)


def _cast(array: np.ndarray[Any, Any], wanted: DType) -> np.ndarray[Any, Any]:
    if wanted is string:
        raise _unsupported_element(array)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is imaginary goes without a word
        return array.astype(wanted.np_dtype)


def _unsupported_element(array: np.ndarray[Any, Any]) -> ValueError:
    elements = array.reshape(-1).tolist()
    other = next((e for e in elements if not isinstance(e, str | bytes)), "")
    return ValueError(
        "Failed to convert a NumPy array to a Tensor (Unsupported object type "
        f"{type(other).__name__})."
    )


def _leniently(value: Any, dtype: DType | None) -> np.ndarray[Any, Any]:
    """Convert values that graphs refuse; raise TensorFlow's errors if impossible."""
    kinds = _check_sequence(value)
    wanted = None if dtype is None else dtype.base_dtype
    if wanted is not None and kinds <= {bool, int}:
        if wanted.is_floating:
            return np.array(value, wanted.np_dtype)
        if wanted in (int32, int64) or (wanted.is_integer and bool not in kinds):
            return _wrapped(value, wanted)
    if wanted is None:
        _wrapped(value, int64)
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {wanted.type_string}")


def _wrapped(value: Any, wanted: DType) -> np.ndarray[Any, Any]:
    """Wrap integers that the type cannot hold: only their last bits are kept."""
    try:
        numbers = np.array(value, np.int64)
    except OverflowError:
        raise ValueError(
            "Can't convert Python sequence with out-of-range integer to Tensor."
        ) from None
    return numbers.astype(wanted.np_dtype)


def _check_sequence(value: Any) -> set[type]:
    """Raise ValueError for lists that are no tensor; return the types of what is in them."""
    first, sizes = value, []
    while isinstance(first, list | tuple) and first:
        sizes.append(len(first))
        first = first[0]
    if not isinstance(first, _SCALARS):
        raise ValueError(
            f"Attempt to convert a value ({first!r}) with an unsupported type ({type(first)}) "
            "to a Tensor."
        )
    kinds = {type(leaf) for leaf in _leaves(value, sizes)}
    is_text = [issubclass(kind, str | bytes) for kind in kinds]
    if any(is_text) and not all(is_text):
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    return kinds


def _leaves(value: Any, sizes: list[int]) -> list[Any]:
    """List the elements of nested lists, which have to be of these sizes."""
    if not sizes:
        if isinstance(value, _SCALARS):
            return [value]
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    if not isinstance(value, list | tuple) or len(value) != sizes[0]:
        raise ValueError("Can't convert non-rectangular Python sequence to Tensor.")
    return [leaf for part in value for leaf in _leaves(part, sizes[1:])]
