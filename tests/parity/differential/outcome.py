"""What came of a case, as JSON: tensors, Python's values, the structures they are in."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

Outcome = dict[str, Any]


def of_error(error: Exception) -> Outcome:
    return {"error": type(error).__name__, "message": str(error)}


def leaves(value: Any) -> Iterator[Any]:
    """Go through what is in a structure of results."""
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from leaves(value[key])
    elif isinstance(value, (list, tuple)) and not is_slices(value):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def is_slices(value: Any) -> bool:
    return type(value).__name__.startswith("IndexedSlices")


def describe(value: Any) -> Outcome:
    """Describe a result: structures by their parts, tensors by their elements."""
    if isinstance(value, Mapping):
        return {"keys": sorted(value), "items": [describe(value[key]) for key in sorted(value)]}
    if is_slices(value):
        values = np.asarray(value.values)
        dense = np.zeros([int(n) for n in np.asarray(value.dense_shape)], values.dtype)
        np.add.at(dense, np.asarray(value.indices), values)
        return _tensor(dense)
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        fields = list(getattr(value, "_fields", ()))
        return {"kind": kind, "fields": fields, "items": [describe(each) for each in value]}
    if hasattr(value, "numpy"):
        return {**_tensor(np.asarray(value.numpy())), "dtype": value.dtype.name}
    if isinstance(value, (np.ndarray, np.generic, bytes)):
        return _tensor(np.asarray(value, object if isinstance(value, bytes) else None))
    shown = f"shape {value.as_list()}" if hasattr(value, "as_list") else repr(value)
    return {"python": shown}


def _tensor(array: np.ndarray[Any, Any]) -> Outcome:
    name = "string" if array.dtype == object else array.dtype.name
    return {"dtype": name, "shape": list(array.shape), **_elements(array)}


def _elements(array: np.ndarray[Any, Any]) -> Outcome:
    if array.dtype.kind in "OSU":
        return {"texts": [bytes(each).hex() for each in array.ravel()]}
    return {
        "stored": array.dtype.str,
        "bytes": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode(),
    }


def array_of(outcome: Outcome) -> np.ndarray[Any, Any]:
    """Return the elements of a described tensor."""
    data = base64.b64decode(outcome["bytes"])
    array: np.ndarray[Any, Any] = np.frombuffer(data, str(outcome["stored"]))
    return np.reshape(array, tuple(outcome["shape"]))
