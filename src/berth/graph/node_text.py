"""Nodes as text, in the form of TensorFlow's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from berth.dtypes import DType, as_dtype
from berth.graph.node_def import input_names
from berth.graph.operation import Operation
from berth.ops.shape import TensorShape, bracketed

_N_VALUES = 3


def node_text(op: Operation, device: str | None = None) -> str:
    """Write a node as TensorFlow's errors do: ``b = Const[dtype=DT_FLOAT, …]()``.

    `device` replaces the requested device.
    """
    device = op.device if device is None else device
    attrs = [f"{name}={attr_text(value)}" for name, value in op.all_attrs().items()]
    if device:
        attrs.append(f'_device="{device}"')
    inputs = ", ".join(input_names(op))
    listed = f"[{', '.join(attrs)}]" if attrs else ""
    return f"{op.name} = {op.type}{listed}({inputs})"


def attrs_text(op: Operation) -> str:
    """Write a node's attributes: ``T=DT_FLOAT, transpose_a=false``."""
    return ", ".join(f"{name}={attr_text(value)}" for name, value in op.all_attrs().items())


def attr_text(value: Any) -> str:
    """Write one attribute's value as TensorFlow's runtime does."""
    for kind, write in _WRITERS.items():
        if isinstance(value, kind):
            return write(value)
    return str(value)


def _array_text(array: np.ndarray[Any, Any]) -> str:
    first = array.reshape(-1)[:_N_VALUES]
    values = " ".join(_element_text(item) for item in first.tolist())
    more = "..." if array.size > _N_VALUES else ""
    dtype = as_dtype(array.dtype).type_string
    return f"Tensor<type: {dtype} shape: {bracketed(array.shape)} values: {values}{more}>"


def _element_text(item: Any) -> str:
    if isinstance(item, bytes):
        return item.decode(errors="replace")
    return f"{item:g}" if isinstance(item, float) else str(item)


_WRITERS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: str(value).lower(),
    float: lambda value: f"{value:g}",
    str: lambda value: f'"{value}"',
    bytes: lambda value: f'"{value.decode(errors="replace")}"',
    list: lambda value: f"[{', '.join(attr_text(item) for item in value)}]",
    tuple: lambda value: f"[{', '.join(attr_text(item) for item in value)}]",
    DType: lambda value: value.enum_name,
    TensorShape: lambda value: bracketed(value.dims_or_none) if value else "<unknown>",
    np.ndarray: _array_text,
}
