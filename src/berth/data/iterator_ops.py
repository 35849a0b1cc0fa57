"""Operations of iterators: a handle, its initialization, the next element.

The object that a handle stands for belongs to the session (`berth.run.host_calls`). Pipelines
run in the thread that asks for an element, or in threads of their own where a stage says so.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from berth.data.pipeline import Node
from berth.data.queue_ops import handle_op, host_call_op, nothing
from berth.data.structure import Element
from berth.dtypes import bool_, resource, string
from berth.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from berth.finalizers import WeakValueDict
from berth.graph.operation import Operation
from berth.graph.tensor import scalar_object
from berth.ops.opdef import Attrs, OutputType, Typed
from berth.run.host_calls import HostObjects
from berth.session.session import Session

Inputs = Sequence[Any]
_by_handle: WeakValueDict[SessionIterator] = WeakValueDict()
"""The iterators of all sessions, by their string handles."""


class Token(str):
    """The text of an attribute in TensorFlow's graphs, and the thing that it stands for."""

    __slots__ = ("thing",)

    thing: Any

    @classmethod
    def of(cls, thing: Any, text: str) -> Token:
        """Make a token."""
        token = cls(text)
        token.thing = thing
        return token


class OptionalElement:
    """What the handle of an optional stands for: an element, or None."""

    __slots__ = ("element",)

    def __init__(self, element: Element | None) -> None:
        self.element = element


class SessionIterator:
    """An iterator of a session: where a pipeline is."""

    def __init__(self, name: str) -> None:
        self.handle = f"iterator:{name}".encode()
        self._elements: Iterator[Element] | None = None
        self._lock = threading.RLock()
        _by_handle[self.handle] = self

    def start(self, node: Node, values: Sequence[Any]) -> None:
        """Start again, with a dataset for these values of its inputs."""
        elements = node.bind(values).iterate()
        with self._lock:
            self._elements = elements

    def next_element(self) -> Element | None:
        """Return the next element, or None at the end."""
        with self._lock:
            if self._elements is None:
                raise FailedPreconditionError(
                    None,
                    None,
                    "GetNext() failed because the iterator has not been initialized. Ensure "
                    "that you have run the initializer operation for this iterator before "
                    "getting the next element.",
                )
            return next(self._elements, None)

    def check_shared(self, attrs: Attrs) -> None:
        """Accept other operations of the same name."""

    def end_of_session(self) -> None:
        """Drop the pipeline, and with it its threads."""
        self._elements = None


def _make_iterator_object(attrs: Attrs, name: str) -> SessionIterator:
    return SessionIterator(name)


def _make_one_shot(attrs: Attrs, name: str) -> SessionIterator:
    node: Node = attrs["dataset_factory"].thing
    made = SessionIterator(name)
    made.start(node, _constant_values(node.symbols))
    return made


def _constant_values(symbols: Sequence[Any]) -> list[Any]:
    """Compute tensors that depend on nothing outside of their graph."""
    if all(symbol.value is not None for symbol in symbols):
        return [symbol.value for symbol in symbols]
    with Session(graph=symbols[0].graph) as session:
        return [np.asarray(value) for value in session.run(list(symbols))]


def _of_program(attrs: Attrs, name: str) -> Any:
    return attrs["iterator"].thing


ITERATOR = handle_op("IteratorV2", _make_iterator_object, on_gpu=True)
ONE_SHOT_ITERATOR = handle_op("OneShotIterator", _make_one_shot)
ANONYMOUS_ITERATOR = handle_op("AnonymousIteratorV3", _of_program, on_gpu=True)


def _iterator(handle: Any, objects: HostObjects) -> Any:
    """Return the iterator of a handle, or the one that a string handle led to."""
    found = handle[()]
    return found if hasattr(found, "next_element") else objects.of(handle)


def _kept(value: Any, objects: HostObjects) -> Any:
    """Return an input for later: a copy (a run may write over it); of a handle, its object."""
    if value.shape == () and isinstance(value[()], Operation):
        return scalar_object(objects.of(value))
    return np.array(value)


def _initialize(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    values = [_kept(value, objects) for value in inputs[1:]]
    _iterator(inputs[0], objects).start(attrs["dataset"].thing, values)
    return ()


def _arrays(element: Element) -> list[Any]:
    return [np.asarray(leaf) for leaf in element]


def _get_next(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    element = _iterator(inputs[0], objects).next_element()
    if element is None:
        raise OutOfRangeError(None, None, "End of sequence")
    return _arrays(element)


def _components(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    kinds = zip(attrs["output_types"], attrs["output_shapes"], strict=True)
    return tuple((dtype, shape.dims_or_none) for dtype, shape in kinds)


def _iterate(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    values = [np.array(value) for value in inputs]
    return [scalar_object(attrs["dataset"].thing(values))]


def _has_next(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    return [np.array(_iterator(inputs[0], objects).has_next())]


def _to_string(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    return [scalar_object(_iterator(inputs[0], objects).handle)]


def _from_string(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    found = _by_handle.get(inputs[0][()])
    if found is None:
        raise InvalidArgumentError(
            None, None, "Could not parse string_handle as a valid ResourceHandle"
        )
    return [scalar_object(found)]


def _text(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((string, ()),)


def _one_resource(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((resource, ()),)


def _get_next_as_optional(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    return [scalar_object(OptionalElement(_iterator(inputs[0], objects).next_element()))]


def _has_value(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    return [np.array(inputs[0][()].element is not None)]


def _get_value(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    element = inputs[0][()].element
    if element is None:
        raise InvalidArgumentError(None, None, "The given optional does not have a value.")
    return _arrays(element)


def _from_value(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    # A run may write over its inputs.
    return [scalar_object(OptionalElement(tuple(np.array(value) for value in inputs)))]


def _no_value(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    return [scalar_object(OptionalElement(None))]


def _one_truth(inputs: Sequence[Typed], attrs: Attrs) -> Sequence[OutputType]:
    return ((bool_, ()),)


def _compute(inputs: Inputs, attrs: Attrs, objects: HostObjects) -> Sequence[Any]:
    values = [np.array(value) for value in inputs]
    computed: Sequence[Any] = attrs["dataset"].thing(values)
    return _arrays(tuple(computed))


_HANDLE = "iterator:resource"
MAKE_ITERATOR = host_call_op(
    "MakeIterator", f"{_HANDLE} dataset:Any*", _initialize, nothing, on_gpu=True
)
GET_NEXT = host_call_op("IteratorGetNext", _HANDLE, _get_next, _components, on_gpu=True)
ITERATE = host_call_op("AnonymousIterator", "dataset:Any*", _iterate, _one_resource)
HAS_NEXT = host_call_op("IteratorHasNext", _HANDLE, _has_next, _one_truth, on_gpu=True)
TO_STRING = host_call_op("IteratorToStringHandle", _HANDLE, _to_string, _text, on_gpu=True)
FROM_STRING = host_call_op(
    "IteratorFromStringHandleV2", "string_handle:string", _from_string, _one_resource
)
GET_NEXT_AS_OPTIONAL = host_call_op(
    "IteratorGetNextAsOptional", _HANDLE, _get_next_as_optional, _one_resource, on_gpu=True
)
HAS_VALUE = host_call_op(
    "OptionalHasValue", "optional:resource", _has_value, _one_truth, on_gpu=True
)
GET_VALUE = host_call_op(
    "OptionalGetValue", "optional:resource", _get_value, _components, on_gpu=True
)
OPTIONAL_FROM_VALUE = host_call_op(
    "OptionalFromValue", "components:Any*", _from_value, _one_resource, on_gpu=True
)
OPTIONAL_NONE = host_call_op("OptionalNone", "", _no_value, _one_resource, on_gpu=True)
REDUCE = host_call_op("ReduceDataset", "inputs:Any*", _compute, _components)
CARDINALITY = host_call_op("DatasetCardinality", "inputs:Any*", _compute, _components)
SINGLE_ELEMENT = host_call_op("DatasetToSingleElement", "inputs:Any*", _compute, _components)
