"""Structures of dataset elements: tuples and dicts of tensors, and the specs of them.

Inside of a pipeline an element is a tuple of its leaves: host arrays or NumPy scalars. The
structure is the same for all elements, so that it is kept once, as a structure of specs.
Unlike elsewhere in TensorFlow, a list is no structure here: it is converted to a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from berth.dtypes import DType, string
from berth.graph.nest import flatten, is_nested, pack_sequence_as
from berth.ops.compose import as_tensor, convert, is_tensor
from berth.ops.convert import to_array
from berth.ops.operators import Tensor
from berth.ops.shape import Dims, TensorShape, generalize
from berth.ops.type_spec import TensorSpec
from berth.public import public, public_v1

Element = tuple[Any, ...]
"""The leaves of an element, in order."""


@public("data.DatasetSpec")
class DatasetSpec:
    """The spec of a dataset that is itself part of an element, as in `Dataset.window`."""

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self.element_spec = element_spec
        self.dataset_shape = TensorShape(dataset_shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec) and self.element_spec == other.element_spec

    def __hash__(self) -> int:
        return hash(tuple(flatten(self.element_spec)))

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}, {self.dataset_shape!r})"


class NoneTensorSpec:
    """The spec of None, which an element may contain."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoneTensorSpec)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "NoneTensorSpec()"


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to the leaves of a structure of tuples and dicts.

    >>> map_leaves(len, {"a": [1, 2], "b": ("x", [1])})
    {'a': 2, 'b': (1, 1)}
    """
    if isinstance(value, list) or not is_nested(value):
        return function(value)
    if isinstance(value, Mapping):
        mapped = {key: map_leaves(function, part) for key, part in value.items()}
        return mapped if type(value) is dict else pack_sequence_as(value, flatten(mapped))
    parts = [map_leaves(function, part) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def is_unpacked(spec: Any) -> bool:
    """Tell whether a function gets the parts of an element as arguments of its own."""
    return type(spec) is tuple


def spec_of(value: Any) -> Any:
    """Return the spec of a leaf: a tensor, an array, or something that has a spec."""
    if value is None:
        return NoneTensorSpec()
    if isinstance(value, np.ndarray):
        return TensorSpec(value.shape, string if value.dtype == object else value.dtype)
    if is_tensor(value):
        return TensorSpec(TensorShape(value.dims), value.dtype.base_dtype)
    return value._spec


def as_input(value: Any, dtype: DType | None = None, name: str | None = None) -> Any:
    """Return a value as an input of a dataset: a tensor as it is, all else as an array."""
    value = as_tensor(value)
    if is_tensor(value) or _holds_tensors(value):
        return convert(value, dtype, name)
    try:
        array = to_array(value, dtype)
    except TypeError:
        kind = dtype.name if dtype is not None else None
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {kind}") from None
    is_shared = isinstance(value, np.ndarray) and np.may_share_memory(array, value)
    return array.copy() if is_shared else array


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(is_tensor(part) or _holds_tensors(part) for part in value)
    return False


def packer(spec: Any) -> Callable[[Sequence[Any]], Any]:
    """Return what packs leaves into a structure; quick for the common ones."""
    if not is_nested(spec):
        return _first
    if type(spec) is tuple and not any(map(is_nested, spec)):
        return tuple
    is_flat = type(spec) is dict and not any(map(is_nested, spec.values()))
    if is_flat and list(spec) == sorted(spec):
        keys = tuple(spec)
        return lambda leaves: dict(zip(keys, leaves, strict=True))
    return lambda leaves: pack_sequence_as(spec, leaves)


def _first(leaves: Sequence[Any]) -> Any:
    return leaves[0]


def with_dims(spec: Any, change: Callable[[Dims], Dims]) -> Any:
    """Return a structure of specs in which the dimensions of each tensor are changed."""

    def changed(leaf: Any) -> Any:
        if isinstance(leaf, TensorSpec):
            return TensorSpec(TensorShape(change(leaf.dims)), leaf.dtype)
        return leaf

    return map_leaves(changed, spec)


def common_spec(first: Any, second: Any) -> Any:
    """Return the most specific spec of both; TypeError if they are of different types."""
    mine, theirs = flatten(first), flatten(second)
    is_alike = len(mine) == len(theirs) and _skeleton(first) == _skeleton(second)
    if not is_alike or any(not _has_same_type(a, b) for a, b in zip(mine, theirs, strict=True)):
        raise TypeError(f"Incompatible dataset elements:\n  {first} vs.   {second}")
    leaves = [_common_leaf(a, b) for a, b in zip(mine, theirs, strict=True)]
    return packer(first)(leaves)


def _skeleton(spec: Any) -> Any:
    return map_leaves(lambda leaf: None, spec)


def _has_same_type(first: Any, second: Any) -> bool:
    if isinstance(first, TensorSpec) and isinstance(second, TensorSpec):
        return first.dtype is second.dtype
    return type(first) is type(second)


def _common_leaf(first: Any, second: Any) -> Any:
    if not isinstance(first, TensorSpec):
        return first
    return TensorSpec(TensorShape(generalize(first.dims, second.dims)), first.dtype)


@public_v1("data.get_output_types")
def get_output_types(dataset_or_iterator: Any) -> Any:
    """Return the types of the components of an element."""
    return map_leaves(lambda leaf: leaf.dtype, dataset_or_iterator.element_spec)


@public_v1("data.get_output_shapes")
def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Return the shapes of the components of an element."""
    return map_leaves(lambda leaf: leaf.shape, dataset_or_iterator.element_spec)


@public_v1("data.get_output_classes")
def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Return the classes of the components of an element."""
    return map_leaves(lambda leaf: Tensor, dataset_or_iterator.element_spec)
