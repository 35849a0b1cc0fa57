"""Feed dictionaries: values for tensors, checked and converted to arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from berth.dtypes import DType, bool_, resource, string
from berth.graph.graph import Graph
from berth.graph.nest import flatten
from berth.graph.tensor import SymbolicTensor
from berth.ops.convert import to_array
from berth.ops.shape import Dims, text
from berth.ops.type_spec import CompositeTensor
from berth.plan.plan import Feed


def read_feeds(
    feed_dict: Mapping[Any, Any], graph: Graph
) -> tuple[tuple[Feed, ...], list[np.ndarray[Any, Any]]]:
    """Return the tensors that are fed, with the shapes of their values, and the values."""
    feeds, arrays = [], []
    for key, value in _pairs(feed_dict):
        is_ours = type(key) is SymbolicTensor and key.op.graph is graph
        tensor = key if is_ours else find_fed(key, graph)
        if not graph.is_feedable(tensor):
            raise ValueError(f"Tensor {tensor.name} may not be fed.")
        array = feed_array(tensor, value)
        feeds.append(Feed(tensor, array.shape))
        arrays.append(array)
    return tuple(feeds), arrays


def _pairs(feed_dict: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """List tensors with their values.

    A nested tuple of keys takes as many values, nested too; a composite tensor takes what its
    type spec makes values for its components of.
    """
    if not isinstance(feed_dict, Mapping):
        raise TypeError(
            "FlattenDictItems: 'dict' must be a dictionary or collection.Mapping type object, "
            f"instead of '{type(feed_dict).__name__}'.\n"
            "A feed_dict maps tensors, or their names, to values."
        )
    for key, value in feed_dict.items():
        if isinstance(key, CompositeTensor):
            keys, values = flatten(key, True), list(key._type_spec._to_arrays(value))
        elif not isinstance(key, tuple):
            yield key, value
            continue
        else:
            keys, values = flatten(key), flatten(value)
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but value had "
                f"{len(values)} elements. Key: {keys}, value: {values}."
            )
        yield from zip(keys, values, strict=True)


def find_fed(key: Any, graph: Graph) -> SymbolicTensor:
    """Return the tensor that a key of a feed_dict means."""
    try:
        tensor: SymbolicTensor = graph.as_graph_element(key, allow_operation=False)
    except (TypeError, ValueError, KeyError) as error:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {_reason(error)}") from None
    return tensor


def _reason(error: Exception) -> str:
    return str(error.args[0]) if error.args else str(error)


def feed_array(tensor: SymbolicTensor, value: Any) -> np.ndarray[Any, Any]:
    """Make an array of a value for a tensor; TypeError or ValueError if it cannot be one."""
    dtype = tensor.dtype.base_dtype
    if isinstance(value, SymbolicTensor) or hasattr(value, "as_tensor"):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists, numpy ndarrays, or TensorHandles. For reference, "
            f"the tensor object was {value} which was passed to the feed with key {tensor}."
        )
    if dtype is resource:
        raise ValueError(f"Tensor {tensor.name} may not be fed.")
    if isinstance(value, int) and not _is_exact(value, dtype):
        # The words are TensorFlow's, for a string as well.
        raise TypeError(
            f"Type of feed value {value} with type {type(value)} is not compatible with "
            f"Tensor type {dtype.as_numpy_dtype}. Try explicitly setting the type of the feed "
            "tensor to a larger type (e.g. int64)."
        )
    try:
        if dtype is string:
            array = to_array(value, string)
        else:
            if dtype.is_integer and isinstance(value, list | tuple):
                _check_bounds(np.asarray(value), dtype)
            array = np.asarray(value, dtype.np_dtype, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise type(error)(
            f"Cannot feed a value for Tensor {tensor.name}, which has dtype {dtype.name}: "
            f"{error}"
        ) from None
    dims = tensor.dims
    if dims != array.shape and not _is_compatible(array.shape, dims):
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, which has "
            f"shape {text(dims)}"
        )
    return array


def _is_exact(value: int, dtype: DType) -> bool:
    """Tell whether a type of elements has this integer among its values."""
    if dtype is bool_:
        return value in (0, 1)
    return dtype is not string and not (
        dtype.is_integer and not dtype.min <= value <= dtype.max
    )


def _check_bounds(array: np.ndarray[Any, Any], dtype: DType) -> None:
    """Raise OverflowError for integers that do not fit, as NumPy 2 does by itself."""
    if array.dtype.kind in "iu" and array.size:
        for number in (int(array.min()), int(array.max())):
            if not dtype.min <= number <= dtype.max:
                raise OverflowError(f"Python integer {number} out of bounds for {dtype.name}")


def _is_compatible(shape: tuple[int, ...], dims: Dims) -> bool:
    if dims is None:
        return True
    return len(shape) == len(dims) and all(
        wanted is None or size == wanted for size, wanted in zip(shape, dims, strict=True)
    )
