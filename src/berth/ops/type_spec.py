"""Type specs: `tf.TypeSpec`, `tf.TensorSpec`, and composite tensors, made of several tensors.

A *composite tensor* (a sparse or ragged tensor, the slices of a gradient) is one value for
users and several tensors for operations: its *components*. Its type spec takes it apart and
puts it together again: so functions, loops, sessions and datasets, which know tensors only,
pass it on. None of them knows a class of composites by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth import ops  # whose tensors need what needs this module
from berth.dtypes import DType, as_dtype
from berth.ops.builder import CompositeInput
from berth.ops.compose import convert, is_tensor
from berth.ops.opdef import Attrs, OpDef
from berth.ops.shape import Dims, TensorShape, generalize
from berth.public import public


@public("TypeSpec")
class TypeSpec:
    """The type of a value that a function takes or returns: a tensor, or one made of several.

    A class of specs defines `value_type`, `_serialize` (what is known before there is a value),
    `_component_specs`, `_to_components` and `_from_components`.
    """

    __slots__ = ()

    @property
    def value_type(self) -> Any:
        """The Python type of the values."""
        raise NotImplementedError(f"{type(self).__name__}.value_type")

    def _serialize(self) -> tuple[Any, ...]:
        """Return the arguments that make an equal spec."""
        raise NotImplementedError(f"{type(self).__name__}._serialize()")

    @property
    def _component_specs(self) -> Any:
        """A structure of the specs of the components."""
        raise NotImplementedError(f"{type(self).__name__}._component_specs()")

    def _to_components(self, value: Any) -> Any:
        """Return the components of a value, in the structure of their specs."""
        raise NotImplementedError(f"{type(self).__name__}._to_components()")

    def _from_components(self, components: Any) -> Any:
        """Make a value of its components."""
        raise NotImplementedError(f"{type(self).__name__}._from_components()")

    def _from_arrays(self, arrays: Sequence[Any]) -> Any:
        """Make what a session returns for a value, of arrays for its components, in order."""
        return self._from_components(list(arrays))

    def _to_arrays(self, value: Any) -> Sequence[Any]:
        """Return what is fed for the components, of what the user feeds for a value."""
        return list(value)

    def _with_shape(self, shape: TensorShape) -> Any:
        """Return the spec of values of the same kind that have a shape."""
        raise NotImplementedError(f"{type(self).__name__}._with_shape()")

    # --- relations ------------------------------------------------------------------------

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Tell whether a value, or the values of another spec, can be of this type."""
        if not isinstance(spec_or_value, TypeSpec):
            try:
                spec_or_value = type_spec_from_value(spec_or_value)
            except TypeError:
                return False
        return type(self) is type(spec_or_value) and all(
            map(_is_compatible, self._serialize(), spec_or_value._serialize())
        )

    def is_subtype_of(self, other: Any) -> bool:
        """Tell whether every value of this type is of the other, too."""
        return type(self) is type(other) and all(
            map(_is_within, self._serialize(), other._serialize())
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        """Return the most specific type that all values are of; None if there is none."""
        found = self._serialize()
        for other in others:
            if type(other) is not type(self):
                return None
            pairs = list(zip(found, other._serialize(), strict=True))
            if any(not isinstance(a, TensorShape) and a != b for a, b in pairs):
                return None
            found = tuple(
                _common_shape(a, b) if isinstance(a, TensorShape) else a for a, b in pairs
            )
        return self._deserialize(found)

    def most_specific_compatible_type(self, other: Any) -> Any:
        """Return the most specific type that is compatible with both; else ValueError."""
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return found

    @classmethod
    def _deserialize(cls, arguments: Sequence[Any]) -> Any:
        return cls(*arguments)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        assert isinstance(other, TypeSpec)
        return _key(self._serialize()) == _key(other._serialize())

    def __hash__(self) -> int:
        return hash((type(self), _key(self._serialize())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._serialize()


def _key(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Return what two specs are compared by: an unknown shape is equal to itself here."""
    return tuple(a.dims_or_none if isinstance(a, TensorShape) else a for a in arguments)


def _is_compatible(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, TensorShape | DType | TypeSpec):
        return mine.is_compatible_with(theirs)
    return bool(mine == theirs)


def _common_shape(mine: TensorShape, theirs: TensorShape) -> TensorShape:
    return TensorShape(generalize(mine.dims_or_none, theirs.dims_or_none))


def _is_within(mine: Any, theirs: Any) -> bool:
    if not isinstance(mine, TensorShape):
        return bool(mine == theirs)
    dims, more = mine.dims_or_none, theirs.dims_or_none
    if dims is None or more is None or len(dims) != len(more):
        return more is None
    return all(b is None or a == b for a, b in zip(dims, more, strict=True))


@public("TensorSpec")
class TensorSpec(TypeSpec):
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

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Return the type and shape of another spec, under a name."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @property
    def value_type(self) -> Any:
        return ops.operators.Tensor

    @property
    def dims(self) -> Dims:
        return self.shape.dims_or_none

    def _serialize(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.name

    @property
    def _component_specs(self) -> Any:
        return self

    def _to_components(self, value: Any) -> Any:
        return convert(value, self.dtype)

    def _from_components(self, components: Any) -> Any:
        return components

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Tell whether a tensor, or another spec, is of this type and shape."""
        if not hasattr(spec_or_tensor, "dims"):
            return super().is_compatible_with(spec_or_tensor)
        is_alike = spec_or_tensor.dtype.base_dtype is self.dtype
        return is_alike and self.shape.is_compatible_with(TensorShape(spec_or_tensor.dims))

    def is_subtype_of(self, other: Any) -> bool:
        """Tell whether every value of this type is of the other, too."""
        is_tensor_spec = isinstance(other, TensorSpec) and self.dtype is other.dtype
        return is_tensor_spec and _is_within(self.shape, other.shape)

    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        """Return the most specific type that all values are of; None if there is none."""
        found = self.shape
        for other in others:
            if not isinstance(other, TensorSpec) or other.dtype is not self.dtype:
                return None
            found = _common_shape(found, other.shape)
        names = {self.name, *(other.name for other in others)}
        return TensorSpec(found, self.dtype, self.name if len(names) == 1 else None)

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


class CompositeTensor:
    """A value that is made of several tensors, which its type spec takes apart."""

    is_tensor = False
    """Whether `tf.is_tensor` is true of it."""

    @property
    def _type_spec(self) -> TypeSpec:
        raise NotImplementedError(f"{type(self).__name__}._type_spec()")

    def _map_values(self, function: Callable[[Any], Any]) -> Any:
        """Apply a function to the values, and to nothing that says where they are."""
        raise TypeError(f"{type(self).__name__} has no values of its own.")

    def _apply(self, op: OpDef, inputs: Sequence[Any], attrs: Attrs, name: str | None) -> Any:
        """Apply an operation that has this value among its inputs, if that means something."""
        raise CompositeInput(self)

    def _gradient_component(self) -> Any:
        """Return the component that gradients are of."""
        raise ValueError(
            f"Type {type(self).__name__} is not supported as a gradient source or gradient "
            "target."
        )

    def _with_gradient(self, grad: Any) -> Any:
        """Return the gradient of the value, of that of its component."""
        raise NotImplementedError(f"{type(self).__name__}._with_gradient()")


def map_components(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to the tensors that a composite tensor is made of."""
    if not isinstance(value, CompositeTensor):
        return function(value)
    spec = value._type_spec
    components = [map_components(function, part) for part in spec._to_components(value)]
    return spec._from_components(components)


_converters: dict[type, Callable[[Any], Any]] = {}
"""What makes the specs of values that are no tensors and no composites, by their class."""


def register_converter(kind: type, converter: Callable[[Any], Any]) -> None:
    """Register what makes the type spec of a value of a class."""
    _converters[kind] = converter


@public("type_spec_from_value")
def type_spec_from_value(value: Any) -> Any:
    """Type spec of a value: of a tensor, a composite, or what can be converted to a tensor.

    >>> type_spec_from_value([1, 2])
    TensorSpec(shape=(2,), dtype=tf.int32, name=None)
    """
    if is_tensor(value):
        return TensorSpec(TensorShape(value.dims), value.dtype.base_dtype)
    if isinstance(value, CompositeTensor) or hasattr(value, "_type_spec"):
        return value._type_spec
    converter = _converters.get(type(value))
    if converter is not None:
        return converter(value)
    try:
        tensor = convert(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"Could not build a TypeSpec for {value!r} of unsupported type {type(value)}."
        ) from None
    return TensorSpec(tensor.shape, tensor.dtype)
