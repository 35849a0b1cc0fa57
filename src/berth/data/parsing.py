"""Parsing of examples: `tf.io.parse_example` and `tf.io.parse_single_example`.

Features of a fixed length, and sequences that are padded to the longest of a batch, become
dense tensors. A feature of any length would be a sparse tensor, which berth does not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from berth.data.example import Example, Feature
from berth.data.file_ops import performed
from berth.dtypes import DType, as_dtype, float32, int64, string
from berth.errors import InvalidArgumentError
from berth.front.graph_scope import convert_to_tensor, name_scope
from berth.ops.arrays.array import reshape
from berth.ops.builder import apply_list
from berth.ops.opdef import (
    NOT_DIFFERENTIABLE,
    Attrs,
    OpDef,
    OutputType,
    Typed,
    host_only,
)
from berth.ops.shape import TensorShape, bracketed
from berth.ops.types import Tensor, TensorLike
from berth.proto.wire import DecodeError
from berth.public import public, public_v1, public_v2

_LISTS: dict[str, tuple[DType, str]] = {
    "bytes_list": (string, "string"),
    "float_list": (float32, "float"),
    "int64_list": (int64, "int64"),
}


@public("io.FixedLenFeature")
@public_v1("FixedLenFeature")
class FixedLenFeature(NamedTuple):
    """A feature of a fixed shape."""

    shape: Any
    dtype: Any
    default_value: Any = None


@public("io.FixedLenSequenceFeature")
@public_v1("FixedLenSequenceFeature")
class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of elements of a shape, padded to the longest of a batch."""

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class _Wanted(NamedTuple):
    """One feature, as the operation knows it."""

    key: str
    dtype: DType
    dims: tuple[int, ...]
    is_sequence: bool
    has_default: bool


# --- the operation --------------------------------------------------------------------------


def _dense_types(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    batch = inputs[0].dims
    if batch is None:
        return tuple((wanted.dtype, None) for wanted in attrs["features"])
    return tuple(
        (wanted.dtype, (*batch, *([None] if wanted.is_sequence else ()), *wanted.dims))
        for wanted in attrs["features"]
    )


def _padded_types(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    """Types of features of which some are sequences: the examples say how long."""
    if inputs[0].value is None:
        return _dense_types(inputs, attrs)
    defaults = [0 if each.value is None else each.value for each in inputs[1:]]
    columns = _parse([inputs[0].value, *defaults], attrs)
    return tuple(
        (wanted.dtype, column.shape)
        for wanted, column in zip(attrs["features"], columns, strict=True)
    )


def _parse(inputs: Sequence[Any], attrs: Attrs) -> list[Any]:
    """Parse a serialized example, or each of a vector of them."""
    serialized, *defaults = inputs
    is_batch = serialized.ndim > 0
    examples = [_read(text, is_batch) for text in serialized.reshape(-1)]
    columns = []
    for wanted, default in zip(attrs["features"], defaults, strict=True):
        rows = [
            _values(example, wanted, default, index if is_batch else None)
            for index, example in enumerate(examples)
        ]
        column = _padded(rows, wanted, default) if wanted.is_sequence else np.array(rows)
        shape = column.shape[1:] if rows else _empty_shape(wanted)
        typed = column.astype(wanted.dtype.np_dtype).reshape(len(rows), *shape)
        columns.append(typed if is_batch else typed[0, ...])
    return columns


def _empty_shape(wanted: _Wanted) -> tuple[int, ...]:
    return (0, *wanted.dims) if wanted.is_sequence else wanted.dims


def _read(text: bytes, is_batch: bool) -> Example:
    try:
        return Example.FromString(text)
    except DecodeError:
        start = (
            "Could not parse example input, value: "
            if not is_batch
            else ("Error parsing example: Could not parse example input, value: ")
        )
        raise InvalidArgumentError(None, None, f"{start}{text!r}") from None


def _values(example: Example, wanted: _Wanted, default: Any, index: int | None) -> Any:
    """Return the elements of a feature; its default if the example does not have it."""
    feature = example.features.feature.get(wanted.key)
    kind = feature.WhichOneof("kind") if feature is not None else None
    if feature is None or kind is None:
        if wanted.is_sequence:
            return np.empty((0, *wanted.dims), wanted.dtype.np_dtype)
        if wanted.has_default:
            return default
        name = "Name: <unknown>, " if index is not None else ""
        raise InvalidArgumentError(
            None,
            None,
            f"{name}Feature: {wanted.key} (data type: {wanted.dtype.type_string}) is required "
            "but could not be found.",
        )
    return _shaped(feature, kind, wanted, index)


def _shaped(feature: Feature, kind: str, wanted: _Wanted, index: int | None) -> Any:
    found, type_name = _LISTS[kind]
    where = f"Key: {wanted.key}."
    if index is not None:
        where = f"Name: <unknown>, Key: {wanted.key}, Index: {index}."
    if found is not wanted.dtype:
        expected = wanted.dtype.type_string
        message = (
            f"Data types don't match. Data type: {type_name} but expected type: {expected}"
        )
        raise InvalidArgumentError(None, None, f"{where}  {message}")
    values = list(getattr(feature, kind).value)
    size = prod(wanted.dims)
    if len(values) != size and not (wanted.is_sequence and size and not len(values) % size):
        message = f"Number of {type_name} values != expected.  Values size: {len(values)} but"
        raise InvalidArgumentError(
            None, None, f"{where}  {message} output shape: {bracketed(wanted.dims)}"
        )
    array = np.empty(len(values), wanted.dtype.np_dtype)
    array[:] = values
    return array.reshape((-1, *wanted.dims) if wanted.is_sequence else wanted.dims)


def _padded(rows: list[Any], wanted: _Wanted, default: Any) -> Any:
    """Put sequences below each other, filled up to the longest with the default."""
    longest = max((len(row) for row in rows), default=0)
    padded = np.empty((len(rows), longest, *wanted.dims), wanted.dtype.np_dtype)
    padded[...] = default
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return padded


PARSE_EXAMPLE = OpDef(
    "ParseExampleV2",
    "serialized:string dense_defaults:Any*",
    _dense_types,
    kernels=host_only(performed(_parse)),
    gradient=NOT_DIFFERENTIABLE,
)
PARSE_SEQUENCES = OpDef(
    "ParseExample",
    "serialized:string dense_defaults:Any*",
    _padded_types,
    kernels=host_only(performed(_parse)),
    shape_inputs=(0,),
    gradient=NOT_DIFFERENTIABLE,
)
"""The same, where the shapes of the outputs depend on the examples."""


# --- functions ------------------------------------------------------------------------------


@public_v2("io.parse_single_example")
def parse_single_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    example_names: Any = None,
    name: str | None = None,
) -> dict[str, Tensor]:
    """Parse one serialized `tf.train.Example` into a dictionary of tensors."""
    return _parsed(serialized, features, name, "ParseSingleExample", rank=0)


@public_v1("parse_single_example", "io.parse_single_example")
def parse_single_example_v1(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: Any = None,
) -> dict[str, Tensor]:
    """Parse one serialized `tf.train.Example` into a dictionary of tensors."""
    return parse_single_example(serialized, features, example_names, name)


@public_v2("io.parse_example")
def parse_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    example_names: Any = None,
    name: str | None = None,
) -> dict[str, Tensor]:
    """Parse a vector of serialized `tf.train.Example` into a dictionary of tensors."""
    return _parsed(serialized, features, name, "ParseExample", rank=None)


@public_v1("parse_example", "io.parse_example")
def parse_example_v1(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: Any = None,
) -> dict[str, Tensor]:
    """Parse a vector of serialized `tf.train.Example` into a dictionary of tensors."""
    return parse_example(serialized, features, example_names, name)


def _parsed(
    serialized: Any,
    features: Mapping[str, Any],
    name: str | None,
    default: str,
    rank: int | None,
) -> dict[str, Tensor]:
    if not features:
        raise ValueError("Invalid argument: features cannot be empty.")
    keys = sorted(features)
    wanted = tuple(_wanted(key, features[key]) for key in keys)
    with name_scope(name, default, [serialized]):
        texts = convert_to_tensor(serialized, string)
        if rank is not None and texts.shape.rank not in (None, rank):
            raise ValueError("Input serialized must be a scalar")
        defaults = [_default(each, features[each.key]) for each in wanted]
        op = PARSE_SEQUENCES if any(each.is_sequence for each in wanted) else PARSE_EXAMPLE
        made = apply_list(op, (texts, *defaults), {"features": wanted}, op.name)
    outputs = made if isinstance(made, list | tuple) else [made]
    return dict(zip(keys, outputs, strict=True))


def _wanted(key: str, feature: Any) -> _Wanted:
    if not isinstance(feature, FixedLenFeature | FixedLenSequenceFeature):
        raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key {key!r}")
    dtype, shape = as_dtype(feature.dtype), TensorShape(feature.shape)
    if dtype not in (float32, int64, string):
        raise InvalidArgumentError(
            None,
            None,
            f"Value for attr 'Tdense' of {dtype.type_string} is not in the list of allowed "
            "values: float, int64, string",
        )
    if not shape.is_fully_defined():
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. Consider using "
            f"FixedLenSequenceFeature. Received feature={feature}."
        )
    is_sequence = isinstance(feature, FixedLenSequenceFeature)
    if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
        raise ValueError(
            "Unsupported: FixedLenSequenceFeature requires allow_missing to be True. "
            f"Received feature={feature}."
        )
    dims = tuple(int(size) for size in shape.as_list() if size is not None)
    return _Wanted(key, dtype, dims, is_sequence, feature.default_value is not None)


def _default(wanted: _Wanted, feature: Any) -> Any:
    given = feature.default_value
    if given is None:
        empty: Any = b"" if wanted.dtype is string else 0
        shape = () if wanted.is_sequence else wanted.dims
        filled = np.empty(shape, wanted.dtype.np_dtype)
        filled[...] = empty
        return convert_to_tensor(filled, wanted.dtype)
    tensor = convert_to_tensor(given, wanted.dtype)
    return tensor if wanted.is_sequence else reshape(tensor, wanted.dims)
