"""Iterators of eager programs, and optionals: an element, or the end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from berth.data.graph_iteration import GraphIterator, component_attrs
from berth.data.iterator_ops import ANONYMOUS_ITERATOR, Token
from berth.data.pipeline import Node, Pipeline
from berth.data.structure import (
    DatasetSpec,
    Element,
    NoneTensorSpec,
    OptionalSpec,
    map_leaves,
    packer,
)
from berth.eager.tensor import EagerTensor
from berth.errors import InvalidArgumentError, OutOfRangeError
from berth.front.context import context
from berth.graph.nest import flatten
from berth.ops.arrays.array import constant
from berth.ops.builder import apply
from berth.ops.compose import is_eager
from berth.ops.type_spec import TensorSpec
from berth.public import public, public_v2


class Surface:
    """Makes what the user sees of elements: structures of tensors and datasets."""

    def __init__(self, spec: Any, make_dataset: Callable[[Node], Any]) -> None:
        self.spec = spec
        self._leaves = flatten(spec)
        self._dtypes = [getattr(leaf, "dtype", None) for leaf in self._leaves]
        self._is_plain = all(isinstance(leaf, TensorSpec) for leaf in self._leaves)
        self._pack = packer(spec)
        self._make_dataset = make_dataset

    def tensors(self, element: Element) -> Any:
        """Return the structure of an element."""
        host = context().opened()[0]
        if self._is_plain:
            return self._pack(
                [
                    EagerTensor(np.asarray(leaf), host, dtype)  # type: ignore[arg-type]
                    if type(leaf) is not EagerTensor
                    else leaf
                    for leaf, dtype in zip(element, self._dtypes, strict=True)
                ]
            )
        left = iter(element)
        return self._pack([self._leaf(spec, left, host) for spec in self._leaves])

    def _leaf(self, spec: Any, left: Iterator[Any], host: Any) -> Any:
        if isinstance(spec, NoneTensorSpec):
            return None
        value = next(left)
        if isinstance(spec, DatasetSpec):
            return self._make_dataset(Node(lambda: value, spec.element_spec))
        if isinstance(value, EagerTensor):
            return value
        return EagerTensor(np.asarray(value), host, spec.dtype)

    def arrays(self, element: Element) -> Any:
        """Return the structure of an element, with NumPy's arrays and scalars."""
        return map_leaves(_as_numpy, self.tensors(element))


def _as_numpy(leaf: Any) -> Any:
    return leaf.numpy() if isinstance(leaf, EagerTensor) else leaf


@public_v2("data.Iterator")
class OwnedIterator:
    """An iterator over a dataset."""

    def __init__(self, pipeline: Pipeline, surface: Surface) -> None:
        self._surface = surface
        self._elements = pipeline.iterate()
        self._ahead: list[Element] = []
        """The element that `has_next` has read, for the next call."""
        self._lock = threading.RLock()

    @property
    def element_spec(self) -> Any:
        """The specs of an element."""
        return self._surface.spec

    def __iter__(self) -> OwnedIterator:
        return self

    def __next__(self) -> Any:
        if not is_eager():  # a function that is traced: each call reads an element
            return self._next_in_graph()
        with self._lock:
            element = self._ahead.pop() if self._ahead else next(self._elements)
        return self._surface.tensors(element)

    def next_element(self) -> Element | None:
        """Return the next element, or None at the end, for a function that reads it."""
        with self._lock:
            return self._ahead.pop() if self._ahead else next(self._elements, None)

    def has_next(self) -> bool:
        """Tell whether there is another element, for a loop of a function."""
        with self._lock:
            if not self._ahead:
                self._ahead.extend(islice(self._elements, 1))
            return bool(self._ahead)

    def _in_graph(self) -> GraphIterator:
        """Return it as a traced function reads it, in each call."""
        spec = self.element_spec
        attrs = {"iterator": Token.of(self, "AnonymousIterator"), **component_attrs(spec)}
        return GraphIterator(apply(ANONYMOUS_ITERATOR, (), attrs), spec)

    def _next_in_graph(self) -> Any:
        return self._in_graph().get_next()

    def _autograph_for(self, loop: Any, body: Any, more: Any) -> None:
        self._in_graph()._autograph_for(loop, body, more)

    def _autograph_builtin(self, name: str) -> Any:
        return self._in_graph()._autograph_builtin(name)

    def next(self) -> Any:
        """Return the next element; StopIteration at the end."""
        return next(self)

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element; OutOfRangeError at the end."""
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError(
                None, None, "End of sequence [Op:IteratorGetNext] name: "
            ) from None

    def get_next_as_optional(self) -> Optional:
        """Return the next element, or the end, as an optional."""
        try:
            return Optional(self.element_spec, next(self))
        except StopIteration:
            return Optional(self.element_spec)


class NumpyIterator:
    """An iterator over a dataset that gives NumPy's arrays and scalars."""

    def __init__(self, pipeline: Pipeline, surface: Surface) -> None:
        self._surface = surface
        self._elements = pipeline.iterate()
        self._lock = threading.RLock()

    def __iter__(self) -> NumpyIterator:
        return self

    def __next__(self) -> Any:
        with self._lock:
            element = next(self._elements)
        return self._surface.arrays(element)

    def next(self) -> Any:
        """Return the next element; StopIteration at the end."""
        return next(self)


_NOTHING = object()


@public("data.experimental.Optional")
@public_v2("experimental.Optional")
class Optional:
    """An element of a dataset, or nothing.

    >>> Optional.from_value(3).get_value()
    3
    """

    def __init__(self, element_spec: Any, value: Any = _NOTHING) -> None:
        self._element_spec = element_spec
        self._value = value

    @property
    def element_spec(self) -> Any:
        """The specs of its value."""
        return self._element_spec

    @property
    def _spec(self) -> OptionalSpec:
        return OptionalSpec(self._element_spec)

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Return an optional without a value."""
        return Optional(element_spec)

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Return an optional with a value."""
        spec = map_leaves(
            lambda leaf: TensorSpec(np.shape(leaf), getattr(leaf, "dtype", None) or type(leaf)),
            value,
        )
        return Optional(spec, value)

    def has_value(self, name: str | None = None) -> Any:
        """Tell whether it has a value, as a tensor."""
        return constant(self._value is not _NOTHING)

    def get_value(self, name: str | None = None) -> Any:
        """Return the value; InvalidArgumentError if there is none."""
        if self._value is _NOTHING:
            raise InvalidArgumentError(
                None, None, "The given optional does not have a value. [Op:OptionalGetValue]"
            )
        return self._value

    def __repr__(self) -> str:
        shown = "" if self._value is _NOTHING else f"{self._value!r}"
        return f"tf.experimental.Optional({shown})"
