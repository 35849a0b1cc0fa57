"""Datasets of replicas: each element has a component on the device of every replica."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from berth.control_flow.cond import cond
from berth.data.optionals import Optional
from berth.distribute.values import PerReplicaSpec, per_replica
from berth.errors import OutOfRangeError
from berth.front.device_scope import device
from berth.graph.nest import map_structure
from berth.ops.arrays.array import identity
from berth.ops.arrays.filling import zeros
from berth.ops.arrays.metadata import shape
from berth.ops.compose import is_eager
from berth.ops.elementwise.arithmetic import minimum
from berth.ops.shape import TensorShape
from berth.ops.type_spec import CompositeTensor, TensorSpec, TypeSpec, map_components
from berth.public import public_v2
from berth.tensorflow_types import DatasetV2


class DistributedElements(Enum):
    """What a replica gets: a part of each element of a dataset, or every n-th element."""

    PARTS_OF_BATCH = "parts of batches"
    WHOLE_BATCHES = "whole batches"


@public_v2("distribute.DistributedDataset")
class DistributedDataset(DatasetV2):
    """A dataset whose elements have a component for each replica."""

    def __init__(
        self, dataset: Any, devices: Sequence[str], elements: DistributedElements
    ) -> None:
        self._dataset = dataset
        self._devices = tuple(devices)
        self._elements = elements

    @property
    def element_spec(self) -> Any:
        """The specs of an element."""
        return element_spec(self._dataset.element_spec, len(self._devices), self._elements)

    def __iter__(self) -> DistributedIterator:
        return DistributedIterator(iter(self._dataset), self._devices, self._elements)

    def cardinality(self) -> Any:
        """Return the number of elements."""
        n_elements = self._dataset.cardinality()
        if self._elements is DistributedElements.PARTS_OF_BATCH:
            return n_elements
        n_replicas = len(self._devices)
        n_known = int(n_elements)
        return n_elements if n_known < 0 else (n_elements + n_replicas - 1) // n_replicas

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """Combine the elements, one after the other, by a function."""
        state = initial_state
        for element in self:
            state = reduce_func(state, element)
        return state


def element_spec(spec: Any, n_replicas: int, elements: DistributedElements) -> Any:
    """Return the specs of distributed elements, of those of a dataset."""

    def of_leaf(leaf: Any) -> PerReplicaSpec:
        if elements is DistributedElements.WHOLE_BATCHES or not isinstance(leaf, TensorSpec):
            return PerReplicaSpec(*[leaf] * n_replicas)
        n_rows, *rest = leaf.dims or (None,)
        sizes = [None] * n_replicas if n_rows is None else part_sizes(n_rows, n_replicas)
        parts = [TensorSpec(TensorShape([size, *rest]), leaf.dtype) for size in sizes]
        return PerReplicaSpec(*parts)

    return map_structure(of_leaf, spec)


def part_sizes(n_rows: int, n_replicas: int) -> list[int]:
    """Divide the rows of a batch among replicas; the first ones get what is left over.

    >>> part_sizes(5, 2)
    [3, 2]
    """
    least, n_larger = divmod(n_rows, n_replicas)
    return [least + (number < n_larger) for number in range(n_replicas)]


class DistributedIteratorSpec(TypeSpec):
    """The type of a distributed iterator: of the iterator of its dataset, and the devices."""

    __slots__ = ("_devices", "_elements", "_spec")

    def __init__(
        self, spec: Any, devices: Sequence[str], elements: DistributedElements
    ) -> None:
        self._spec = spec
        self._devices = tuple(devices)
        self._elements = elements

    @property
    def value_type(self) -> Any:
        return DistributedIterator

    def _serialize(self) -> tuple[Any, ...]:
        return self._spec, self._devices, self._elements

    @property
    def _component_specs(self) -> Any:
        return [self._spec]

    def _to_components(self, value: Any) -> Any:
        return [value.iterator]

    def _from_components(self, components: Any) -> Any:
        return DistributedIterator(components[0], self._devices, self._elements)


@public_v2("distribute.DistributedIterator")
class DistributedIterator(CompositeTensor):
    """An iterator over a distributed dataset."""

    def __init__(
        self, iterator: Any, devices: Sequence[str], elements: DistributedElements
    ) -> None:
        self.iterator = iterator
        self._devices = tuple(devices)
        self._elements = elements

    @property
    def _type_spec(self) -> DistributedIteratorSpec:
        return DistributedIteratorSpec(self.iterator._type_spec, self._devices, self._elements)

    @property
    def element_spec(self) -> Any:
        """The specs of an element."""
        return element_spec(self.iterator.element_spec, len(self._devices), self._elements)

    def __iter__(self) -> DistributedIterator:
        return self

    def __next__(self) -> Any:
        try:
            return self.get_next()
        except OutOfRangeError:
            raise StopIteration from None

    def get_next(self) -> Any:
        """Return the next element; OutOfRangeError at the end."""
        if self._elements is DistributedElements.PARTS_OF_BATCH:
            return self._placed(self._parts(self.iterator.get_next()))
        first = self.iterator.get_next()
        others = [self._next_or_empty() for _ in self._devices[1:]]
        return self._placed([first, *others])

    def get_next_as_optional(self) -> Any:
        """Return the next element, or the end, as an optional."""
        try:
            return Optional.from_value(self.get_next())
        except OutOfRangeError:
            return Optional.empty(self.element_spec)

    def _parts(self, element: Any) -> list[Any]:
        """Divide the batch among the replicas."""
        n_replicas = len(self._devices)
        return [
            map_structure(lambda leaf, n=number: _part(leaf, n, n_replicas), element)
            for number in range(n_replicas)
        ]

    def _next_or_empty(self) -> Any:
        """Return the next element; at the end, one without rows."""
        spec = self.iterator.element_spec
        found = self.iterator.get_next_as_optional()
        if is_eager():
            return found.get_value() if bool(found.has_value()) else _empty(spec)
        return cond(found.has_value(), found.get_value, lambda: _empty(spec))

    def _placed(self, components: Sequence[Any]) -> Any:
        """Copy each component to the device of its replica."""
        placed = []
        for name, component in zip(self._devices, components, strict=True):
            with device(name):
                copy = map_structure(lambda leaf: map_components(identity, leaf), component)
            placed.append(copy)
        return per_replica(placed)


def _part(leaf: Any, number: int, n_replicas: int) -> Any:
    """Return the rows of one replica."""
    n_rows = leaf.dims[0] if leaf.dims else None
    if leaf.dims == ():
        raise ValueError(
            "A dataset of single elements cannot be divided among replicas: batch it before it "
            "is distributed."
        )
    if n_rows is not None:
        sizes = part_sizes(n_rows, n_replicas)
        return leaf[sum(sizes[:number]) : sum(sizes[: number + 1])]
    rows = shape(leaf)[0]
    least, n_larger = rows // n_replicas, rows % n_replicas
    starts = [least * k + minimum(n_larger, k) for k in (number, number + 1)]
    return leaf[starts[0] : starts[1]]


def _empty(spec: Any) -> Any:
    """Return an element of a batch without rows."""

    def of_leaf(leaf: Any) -> Any:
        dims = [0, *(size or 0 for size in (leaf.dims or (0,))[1:])]
        return zeros(dims, leaf.dtype)

    return map_structure(of_leaf, spec)
