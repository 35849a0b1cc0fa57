"""Optionals: an element of a dataset, or nothing.

An eager program has the element in Python. In a graph an optional is a handle, one tensor
whatever the element is made of: so loops and conditionals pass it on, and a function may
return it.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from berth.data.graph_iteration import component_attrs, packed_outputs
from berth.data.iterator_ops import (
    GET_NEXT_AS_OPTIONAL,
    GET_VALUE,
    HAS_VALUE,
    OPTIONAL_FROM_VALUE,
    OPTIONAL_NONE,
    OptionalElement,
)
from berth.data.structure import map_leaves, packer
from berth.dtypes import resource
from berth.eager.tensor import EagerTensor
from berth.errors import InvalidArgumentError
from berth.front.context import context
from berth.graph.nest import flatten
from berth.graph.tensor import scalar_object
from berth.ops.arrays.array import constant
from berth.ops.builder import apply
from berth.ops.compose import convert, is_eager
from berth.ops.type_spec import CompositeTensor, TensorSpec, TypeSpec, type_spec_from_value
from berth.public import public, public_v2

_NOTHING = object()


def on_host(thing: Any) -> EagerTensor:
    """Return an object as the value of a handle, a tensor of the host."""
    return EagerTensor(scalar_object(thing), context().opened()[0], resource)


@public("OptionalSpec")
class OptionalSpec(TypeSpec):
    """The spec of an optional: an element, or nothing."""

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    @property
    def value_type(self) -> Any:
        return Optional

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)

    @property
    def _component_specs(self) -> Any:
        return [TensorSpec([], resource)]

    def _to_components(self, value: Any) -> Any:
        return [value.handle]

    def _from_components(self, components: Any) -> Any:
        return Optional.of_handle(components[0], self._element_spec)

    def most_specific_common_supertype(self, others: Any) -> Any:
        """Return the spec that is known of several; what their elements are may not be yet."""
        known = [self, *others]
        if any(type(other) is not OptionalSpec for other in known):
            return None
        specs = [each._element_spec for each in known if each._element_spec is not None]
        return OptionalSpec(specs[0] if specs else None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OptionalSpec) and self._element_spec == other._element_spec

    def __hash__(self) -> int:
        return hash(tuple(flatten(self._element_spec)))

    def __repr__(self) -> str:
        return f"OptionalSpec({self._element_spec!r}, TensorShape([]))"


@public("data.experimental.Optional")
@public_v2("experimental.Optional")
class Optional(CompositeTensor):
    """An element of a dataset, or nothing.

    >>> Optional.from_value(3).get_value()
    3
    """

    def __init__(self, element_spec: Any, value: Any = _NOTHING, *, handle: Any = None) -> None:
        self._element_spec = element_spec
        self._value = value
        self._handle = handle
        """The tensor that it is in a graph; None if it is known in Python."""

    @classmethod
    def of_handle(cls, handle: Any, element_spec: Any) -> Optional:
        """Return the optional of a handle: if that has a value, what it is."""
        if not isinstance(handle, EagerTensor):
            return cls(element_spec, handle=handle)
        held: OptionalElement = cast(Any, handle.value)[()]
        element = held.element
        if element is None:
            return cls(element_spec)
        return cls(element_spec, packer(element_spec)([convert(leaf) for leaf in element]))

    @classmethod
    def next_of(cls, handle: Any, spec: Any) -> Optional:
        """Return the next element of an iterator, in a graph."""
        attrs = component_attrs(spec)
        made = apply(GET_NEXT_AS_OPTIONAL, (handle,), attrs, "optional")
        return cls(spec, handle=made)

    @property
    def element_spec(self) -> Any:
        """The specs of its value."""
        return self._element_spec

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec(self._element_spec)

    @property
    def _spec(self) -> OptionalSpec:
        return self._type_spec

    @property
    def handle(self) -> Any:
        """The tensor that it is in a graph."""
        if self._handle is not None:
            return self._handle
        if self._value is _NOTHING:
            none = OptionalElement(None)
            return on_host(none) if is_eager() else apply(OPTIONAL_NONE, (), {})
        if is_eager():
            return on_host(OptionalElement(tuple(map(np.asarray, flatten(self._value)))))
        return Optional.from_value(self._value)._handle

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Return an optional without a value."""
        return Optional(element_spec)

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Return an optional with a value."""
        spec = map_leaves(type_spec_from_value, value)
        if is_eager():
            return Optional(spec, value)
        leaves = [convert(leaf) for leaf in flatten(value)]
        made = apply(OPTIONAL_FROM_VALUE, leaves, {"Toutput_types": [t.dtype for t in leaves]})
        return Optional(spec, handle=made)

    def has_value(self, name: str | None = None) -> Any:
        """Tell whether it has a value, as a tensor."""
        if self._handle is not None:
            return apply(HAS_VALUE, (self._handle,), {}, name or "OptionalHasValue")
        return constant(self._value is not _NOTHING)

    def get_value(self, name: str | None = None) -> Any:
        """Return the value; InvalidArgumentError if there is none."""
        if self._handle is not None:
            return packed_outputs(GET_VALUE, (self._handle,), self._element_spec, name)
        if self._value is _NOTHING:
            raise InvalidArgumentError(
                None, None, "The given optional does not have a value. [Op:OptionalGetValue]"
            )
        return self._value

    def __repr__(self) -> str:
        has_no_value = self._value is _NOTHING
        shown = "" if has_no_value else f"{self._value!r}"
        return f"tf.experimental.Optional({shown})"
