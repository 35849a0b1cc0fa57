"""Iterators of TensorFlow 1: their next element is an operation that a session runs."""

from __future__ import annotations

from typing import Any

from berth.data.creation import spec_of_types
from berth.data.dataset import Dataset
from berth.data.graph_iteration import component_attrs, next_of_handle
from berth.data.iterator_ops import (
    FROM_STRING,
    ITERATOR,
    MAKE_ITERATOR,
    ONE_SHOT_ITERATOR,
    TO_STRING,
    Token,
)
from berth.data.iterators import OwnedIterator
from berth.data.optionals import Optional
from berth.data.structure import get_output_classes, get_output_shapes, get_output_types
from berth.dtypes import string
from berth.graph.nest import flatten
from berth.ops.builder import apply, apply_op
from berth.ops.compose import convert, is_eager
from berth.ops.opdef import Source
from berth.ops.random.seeded import get_seed
from berth.public import public_v1


@public_v1("data.Iterator")
class Iterator:
    """An iterator over a dataset, in graphs."""

    def __init__(self, iterator_resource: Any, initializer: Any, element_spec: Any) -> None:
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self._element_spec = element_spec
        self._string_handle: Any = None

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """Make an iterator without a dataset, for elements of these types and shapes."""
        spec = spec_of_types(output_types, output_shapes)
        return Iterator(_handle(spec, shared_name), None, spec)

    @staticmethod
    def from_string_handle(
        string_handle: Any,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> Iterator:
        """Make an iterator that is another one, whose string handle each run feeds."""
        spec = spec_of_types(output_types, output_shapes)
        text = convert(string_handle, string, "string_handle")
        found = apply(FROM_STRING, (text,), component_attrs(spec), "IteratorFromStringHandleV2")
        return Iterator(found, None, spec)

    @property
    def initializer(self) -> Any:
        """The operation that starts it again."""
        if self._initializer is None:
            raise ValueError(
                "The iterator does not have an initializer. This means it was likely created "
                "using `tf.data.Dataset.make_one_shot_iterator()`. For an initializable "
                "iterator, use `tf.data.Dataset.make_initializable_iterator()` instead."
            )
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Any:
        """Return an operation that begins with a dataset."""
        expected, found = get_output_types(self), get_output_types(dataset)
        if flatten(expected) != flatten(found):
            raise TypeError(
                f"Expected output types {expected!r} but got dataset with output types "
                f"{found!r}."
            )
        shapes, theirs = get_output_shapes(self), get_output_shapes(dataset)
        pairs = zip(flatten(shapes), flatten(theirs), strict=True)
        if not all(mine.is_compatible_with(their) for mine, their in pairs):
            raise TypeError(
                f"Expected output shapes compatible with {shapes!r} but got dataset with "
                f"output shapes {theirs!r}."
            )
        return _initializer(self._iterator_resource, dataset, name or "make_initializer")

    def get_next(self, name: str | None = None) -> Any:
        """Return the tensors of the next element; OutOfRangeError in a run at the end."""
        return next_of_handle(self._iterator_resource, self._element_spec, name)

    def get_next_as_optional(self) -> Optional:
        """Return the next element, or the end, as an optional."""
        return Optional.next_of(self._iterator_resource, self._element_spec)

    def string_handle(self, name: str | None = None) -> Any:
        """Return a string tensor that stands for this iterator."""
        if name is not None or self._string_handle is None:
            made = apply(
                TO_STRING, (self._iterator_resource,), {}, name or "IteratorToStringHandle"
            )
            if name is not None:
                return made
            self._string_handle = made
        return self._string_handle

    @property
    def element_spec(self) -> Any:
        """The specs of an element."""
        return self._element_spec

    output_types = property(get_output_types, doc="The types of the components of an element.")
    output_shapes = property(get_output_shapes, doc="The shapes of those components.")
    output_classes = property(get_output_classes, doc="The classes of those components.")


def _handle(spec: Any, shared_name: str | None) -> Any:
    attrs = {"shared_name": shared_name or "", "container": "", **component_attrs(spec)}
    return apply(ITERATOR, (), attrs, "IteratorV2")


def _initializer(handle: Any, dataset: Any, name: str) -> Any:
    node = dataset._node
    attrs = {"dataset": Token.of(node, f"{node.kind}:{node.number}")}
    return apply_op(MAKE_ITERATOR, (handle, *node.symbols), attrs, name)


@public_v1("data.make_initializable_iterator")
def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """Make an iterator that begins when its `initializer` is run."""
    if is_eager():
        raise RuntimeError(
            "`tf.compat.v1.data.make_initializable_iterator()` is not supported in eager mode. "
            "Use Python-style iteration instead."
        )
    _check_dataset(dataset)
    spec = dataset.element_spec
    handle = _handle(spec, shared_name)
    return Iterator(handle, _initializer(handle, dataset, "MakeIterator"), spec)


@public_v1("data.make_one_shot_iterator")
def make_one_shot_iterator(dataset: Any) -> Iterator | OwnedIterator:
    """Make an iterator that needs no initialization, and goes over the dataset once."""
    _check_dataset(dataset)
    if is_eager():
        eager: OwnedIterator = iter(dataset)
        return eager
    node = dataset._node
    for symbol in node.symbols:
        _check_constant(symbol.op, set())
    get_seed(None)  # TensorFlow takes one here, and later datasets have the next
    spec = dataset.element_spec
    token = Token.of(node, f"{node.kind}:{node.number}")
    attrs = {"dataset_factory": token, "shared_name": "", "container": ""}
    attrs |= component_attrs(spec)
    return Iterator(apply(ONE_SHOT_ITERATOR, (), attrs, "OneShotIterator"), None, spec)


def _check_dataset(dataset: Any) -> None:
    if not isinstance(dataset, Dataset):
        raise TypeError(
            f"The `dataset` argument must be a `tf.data.Dataset`. Got {type(dataset)}."
        )


def _check_constant(op: Any, seen: set[Any]) -> None:
    """Raise ValueError unless what an operation gives is the same in every run."""
    if op in seen:
        return
    seen.add(op)
    if op.definition.source is Source.PLACEHOLDER:
        kind = "placeholder"
    elif op.definition.is_stateful:
        kind = "stateful node"
    else:
        for tensor in op.inputs:
            _check_constant(tensor.op, seen)
        return
    raise ValueError(f"Cannot capture a {kind} (name:{op.name}, type:{op.type}) by value.")
