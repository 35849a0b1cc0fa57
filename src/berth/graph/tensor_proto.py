"""Tensors as messages: `tf.make_tensor_proto` and `tf.make_ndarray`."""

from __future__ import annotations

from typing import Any

import numpy as np

from berth.dtypes import DType, as_dtype, string
from berth.ops.convert import to_array
from berth.proto.framework import TensorProto
from berth.public import public

_LISTS = {
    "float32": "float_val",
    "float64": "double_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "float16": "half_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
    "string": "string_val",
}
_SMALL_INTEGERS = "int_val"  # all integers of at most 32 bits


@public("make_tensor_proto")
def make_tensor_proto(
    values: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False
) -> TensorProto:
    """Return a TensorProto of the values; one value fills the whole shape.

    >>> make_tensor_proto([1.0, 2.0]).tensor_content.hex()
    '0000803f00000040'
    """
    array = to_array(values, None if dtype is None else as_dtype(dtype))
    kind = string if array.dtype == object else as_dtype(array.dtype)
    sizes = array.shape if shape is None else tuple(int(size) for size in shape)
    _check_shape(array, sizes, verify_shape)
    proto = TensorProto(dtype=kind.as_datatype_enum)
    proto.tensor_shape.SetInParent()
    for size in sizes:
        proto.tensor_shape.dim.add(size=size)
    if kind is string:
        proto.string_val.extend(array.reshape(-1).tolist())
    elif array.size > 1 and array.size == np.prod(sizes):
        proto.tensor_content = array.astype(array.dtype.newbyteorder("<")).tobytes()
    else:
        getattr(proto, _list_of(kind)).extend(_listed(array, kind))
    return proto


def _check_shape(array: Any, sizes: tuple[int, ...], verify: bool) -> None:
    n_wanted = int(np.prod(sizes))
    if verify and array.shape != sizes:
        raise TypeError(f"Expected Tensor's shape: {sizes}, got {array.shape}.")
    if array.size > n_wanted:
        message = f"Too many elements provided. Needed at most {n_wanted}, but received"
        raise ValueError(f"{message} {array.size}")


def _list_of(kind: DType) -> str:
    return _LISTS.get(kind.name, _SMALL_INTEGERS)


def _listed(array: Any, kind: DType) -> list[Any]:
    """Return the elements as a TensorProto lists them: complex ones as two, halves as bits."""
    flat = array.reshape(-1)
    if kind.kind == "c":
        return list(flat.view(kind.real_dtype.np_dtype).tolist())
    return list((flat.view(np.uint16) if kind.name == "float16" else flat).tolist())


@public("make_ndarray")
def make_ndarray(tensor: TensorProto) -> Any:
    """Return the value of a TensorProto as an array.

    >>> make_ndarray(make_tensor_proto(7, shape=[2])).tolist()
    [7, 7]
    """
    kind = as_dtype(tensor.dtype)
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.tensor_content:
        little = kind.np_dtype.newbyteorder("<")
        return np.frombuffer(tensor.tensor_content, little).astype(kind.np_dtype).reshape(sizes)
    values = list(getattr(tensor, _list_of(kind)))
    if kind.name == "float16":
        flat = np.array(values, np.uint16).view(np.float16)
    elif kind.kind == "c":
        flat = np.array(values, kind.real_dtype.np_dtype).view(kind.np_dtype)
    else:
        flat = np.array(values, kind.np_dtype)
    return _filled(flat, sizes)


def _filled(flat: Any, sizes: list[int]) -> Any:
    """Repeat the last element as often as the shape needs it; no elements are zeros."""
    n_missing = int(np.prod(sizes)) - flat.size
    if n_missing < 0:
        raise ValueError(f"{flat.size} elements do not fit in shape {tuple(sizes)}")
    if n_missing:
        last = flat[-1:] if flat.size else np.zeros(1, flat.dtype)
        flat = np.concatenate([flat, np.repeat(last, n_missing)])
    return flat.reshape(sizes)
