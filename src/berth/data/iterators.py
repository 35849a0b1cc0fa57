"""Iterators of eager programs, which functions may take as arguments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from berth.data.graph_iteration import component_attrs
from berth.data.graph_iterator import GraphIterator, IteratorSpec
from berth.data.iterator_ops import ANONYMOUS_ITERATOR, Token
from berth.data.optionals import Optional, on_host
from berth.data.pipeline import Node, Pipeline, begin
from berth.data.structure import (
    DatasetSpec,
    Element,
    NoneTensorSpec,
    map_leaves,
    packer,
)
from berth.eager.tensor import EagerTensor
from berth.errors import OutOfRangeError
from berth.front.context import context
from berth.graph.nest import flatten
from berth.ops.builder import apply
from berth.ops.compose import is_eager
from berth.ops.type_spec import CompositeTensor, TensorSpec
from berth.public import public_v2


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
class OwnedIterator(CompositeTensor):
    """An iterator over a dataset."""

    def __init__(self, pipeline: Pipeline, surface: Surface) -> None:
        self._surface = surface
        self._elements = begin(pipeline)
        self._ahead: list[Element] = []
        """The element that `has_next` has read, for the next call."""
        self._lock = threading.RLock()

    @property
    def element_spec(self) -> Any:
        """The specs of an element."""
        return self._surface.spec

    @property
    def _type_spec(self) -> IteratorSpec:
        return IteratorSpec(self.element_spec)

    @property
    def handle(self) -> Any:
        """The tensor that it is in a function: an argument, or a handle of its own."""
        if is_eager():
            return on_host(self)
        attrs = component_attrs(self.element_spec)
        return apply(
            ANONYMOUS_ITERATOR, (), {"iterator": Token.of(self, "AnonymousIterator"), **attrs}
        )

    def __iter__(self) -> OwnedIterator:
        return self

    def __next__(self) -> Any:
        if not is_eager():  # a function that is traced: each call reads an element
            return self._in_graph().get_next()
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
        return GraphIterator(self.handle, self.element_spec)

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
        if not is_eager():
            return self._in_graph().get_next_as_optional()
        try:
            return Optional(self.element_spec, next(self))
        except StopIteration:
            return Optional(self.element_spec)


class NumpyIterator:
    """An iterator over a dataset that gives NumPy's arrays and scalars."""

    def __init__(self, pipeline: Pipeline, surface: Surface) -> None:
        self._surface = surface
        self._elements = begin(pipeline)
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
