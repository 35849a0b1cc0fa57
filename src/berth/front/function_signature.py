"""What a call of a function looks like: the key by which its trace is found again.

Tensors count by their type and shape. Everything else counts by its value: a function is
traced anew for another number, text or object. Arrays of NumPy become tensors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from berth.dtypes import DType, as_dtype
from berth.graph.nest import flatten, is_nested, pack_sequence_as
from berth.ops import compose
from berth.ops.compose import is_tensor
from berth.ops.shape import Dims, TensorShape


class TensorSpec:
    """The type and shape of a tensor.

    >>> TensorSpec([None, 3])
    TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, shape: Any, dtype: Any = "float32", name: str | None = None) -> None:
        self.shape = TensorShape(shape)
        self.dtype: DType = as_dtype(dtype)
        self.name = name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Return the type and shape of a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    @property
    def dims(self) -> Dims:
        return self.shape.dims_or_none

    def is_compatible_with(self, tensor: Any) -> bool:
        """Tell whether a tensor, or another spec, is of this type and shape."""
        is_alike = tensor.dtype.base_dtype is self.dtype
        return is_alike and self.shape.is_compatible_with(TensorShape(tensor.dims))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorSpec)
            and self.dtype is other.dtype
            and self.dims == other.dims
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self.dims))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


class Call(NamedTuple):
    """The arguments of one call."""

    structure: tuple[Any, dict[str, Any]]
    """Positional and named arguments, as the function gets them."""
    leaves: list[Any]
    """What is in them, in order; NumPy's arrays have become tensors."""
    key: Hashable

    @property
    def tensors(self) -> list[Any]:
        return [leaf for leaf in self.leaves if _is_tensor(leaf)]


class Signature:
    """The arguments of a Python function, and what they are asked to be."""

    def __init__(self, function: Callable[..., Any], specs: Sequence[Any] | None) -> None:
        self._name = getattr(function, "__name__", type(function).__name__)
        self._parameters = inspect.signature(function)
        self.specs = None if specs is None else tuple(specs)
        if self.specs is not None:
            for spec in flatten(self.specs):
                if not isinstance(spec, TensorSpec):
                    raise TypeError(
                        f"input_signature must hold TensorSpec objects, and not {spec!r}."
                    )

    def read(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> Call:
        """Read the arguments of a call; TypeError if they do not fit."""
        try:
            bound = self._parameters.bind(*arguments, **options)
        except TypeError as error:
            raise TypeError(f"{self._name}() {error}") from None
        bound.apply_defaults()
        structure: Any = (bound.args, bound.kwargs)
        if self.specs is not None:
            structure = self._as_asked(bound.args, bound.kwargs)
        leaves = [_leaf(value) for value in flatten(structure)]
        return Call(structure, leaves, (_shape_of(structure), tuple(map(_key, leaves))))

    def _as_asked(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """Turn arguments into tensors of the types that were asked for."""
        assert self.specs is not None
        given = (*arguments, *options.values())
        n_asked = len(self.specs)
        names = list(self._parameters.parameters)[n_asked:]
        defaults = [self._parameters.parameters[name].default for name in names]
        if len(given) < n_asked or any(
            value is not default
            for value, default in zip(given[n_asked:], defaults, strict=False)
        ):
            raise TypeError(
                f"{self._name}() takes {n_asked} tensors by its input_signature, and was given "
                f"{len(given)}."
            )
        asked = [self._as_spec(s, v) for s, v in zip(self.specs, given, strict=False)]
        return (*asked, *given[n_asked:]), {}

    def _as_spec(self, spec: Any, value: Any) -> Any:
        """Turn a value into tensors, in the structure and of the types that are asked for."""
        if is_nested(spec):
            if not is_nested(value) or len(value) != len(spec):
                raise TypeError(
                    f"Binding inputs to tf.function failed: {value!r} is not of the structure "
                    f"that the input_signature of {self._name}() asks for: {spec}"
                )
            keys = list(spec) if isinstance(spec, Mapping) else range(len(spec))
            return pack_sequence_as(
                spec,
                [
                    leaf
                    for key in keys
                    for leaf in flatten(self._as_spec(spec[key], value[key]))
                ],
            )
        if isinstance(value, TensorSpec):
            return value
        tensor = compose.convert(value, None if _is_tensor(value) else spec.dtype)
        if not spec.is_compatible_with(tensor):
            raise TypeError(
                f"Binding inputs to tf.function failed: a value of shape {tensor.shape} and "
                f"type {tensor.dtype.name} is not what the input_signature of {self._name}() "
                f"asks for: {spec}"
            )
        return tensor

    def symbols(self, call: Call, make: Callable[[Any, str], Any]) -> list[Any]:
        """Return a call's leaves with what `make` makes of each tensor."""
        specs = iter(flatten(self.specs) if self.specs is not None else ())
        names = iter(self._parameters.parameters)
        symbols = []
        for position, leaf in enumerate(call.leaves):
            spec = next(specs, None)
            name = next(names, f"input_{position}")
            if _is_tensor(leaf) or isinstance(leaf, TensorSpec):
                symbols.append(make(spec or leaf, name))
            else:
                symbols.append(leaf)
        return symbols


def _is_tensor(value: Any) -> bool:
    """Tell whether a value is a tensor. A variable is passed on as what it is."""
    return is_tensor(value) and not hasattr(value, "as_tensor")


def _leaf(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return compose.convert(value)
    return value


def _key(leaf: Any) -> Hashable:
    if _is_tensor(leaf) or isinstance(leaf, TensorSpec):
        return leaf.dtype.base_dtype, leaf.dims
    try:
        hash(leaf)
    except TypeError:
        return type(leaf), id(leaf)
    return type(leaf), leaf


def _shape_of(structure: Any) -> Hashable:
    """Return a key for how a structure is nested."""
    if not is_nested(structure):
        return None
    if isinstance(structure, Mapping):
        keys = sorted(structure, key=str)
        return type(structure), tuple((key, _shape_of(structure[key])) for key in keys)
    return type(structure), tuple(_shape_of(part) for part in structure)
