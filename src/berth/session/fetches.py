"""Fetches: nested structures of tensors, operations and names, returned in the same structure.

    tensor → its value      operation → None      name → what it names
    list, tuple, dict, namedtuple, attrs class → the same, of values
    composite tensor → what its type spec makes of values: IndexedSlices → IndexedSlicesValue

A tensor that is asked for twice is computed and fetched once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from berth.graph.graph import Graph
from berth.graph.nest import flatten
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.ops.type_spec import CompositeTensor

Build = Callable[[Sequence[Any]], Any]


class Fetches:
    """The tensors and operations that a structure asks for, and how to fill it."""

    __slots__ = ("build", "targets", "tensors")

    def __init__(self, fetches: Any, graph: Graph) -> None:
        reader = _Reader(graph)
        self.build: Build = reader.read(fetches)
        self.tensors = tuple(reader.tensors)
        self.targets = tuple(reader.targets)


class _Reader:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.tensors: dict[SymbolicTensor, int] = {}
        self.targets: dict[Operation, None] = {}

    def read(self, fetch: Any) -> Build:
        """Return the function that makes what the user gets of the fetched values."""
        if isinstance(fetch, list | tuple):
            return self._read_sequence(fetch)
        if isinstance(fetch, Mapping):
            return self._read_mapping(fetch)
        if hasattr(type(fetch), "__attrs_attrs__"):
            names = [attribute.name for attribute in type(fetch).__attrs_attrs__]
            parts = [self.read(getattr(fetch, name)) for name in names]
            kind = type(fetch)
            return lambda values: kind(*(part(values) for part in parts))
        if isinstance(fetch, CompositeTensor):
            return self._read_composite(fetch)
        return self._read_element(fetch)

    def _read_composite(self, fetch: CompositeTensor) -> Build:
        spec = fetch._type_spec
        parts = [self.read(part) for part in flatten(fetch, expand_composites=True)]
        return lambda values: spec._from_arrays([part(values) for part in parts])

    def _read_sequence(self, fetch: Any) -> Build:
        parts = [self.read(item) for item in fetch]
        kind: Any = type(fetch)
        if hasattr(kind, "_fields"):
            return lambda values: kind(*(part(values) for part in parts))
        return lambda values: kind([part(values) for part in parts])

    def _read_mapping(self, fetch: Mapping[Any, Any]) -> Build:
        parts = {key: self.read(item) for key, item in fetch.items()}
        if isinstance(fetch, defaultdict):
            factory = fetch.default_factory
            return lambda values: defaultdict(
                factory, {key: part(values) for key, part in parts.items()}
            )
        kind: Any = type(fetch)
        return lambda values: kind((key, part(values)) for key, part in parts.items())

    def _read_element(self, fetch: Any) -> Build:
        item = self._find(fetch)
        if not self._graph.is_fetchable(item):
            raise ValueError(
                f"Operation {getattr(item, 'op', item).name} has been marked as not fetchable. "
                "Typically this happens when it is defined in another function or code block. "
                "Use return values, explicit Python locals or TensorFlow collections to access "
                "it."
            )
        if isinstance(item, Operation):
            self.targets[item] = None
            return lambda values: None
        position = self.tensors.setdefault(item, len(self.tensors))
        return lambda values: values[position]

    def _find(self, fetch: Any) -> Any:
        if fetch is None:
            raise TypeError(
                'Argument `fetch` = None has invalid type "NoneType". Cannot be None'
            )
        try:
            return self._graph.as_graph_element(fetch)
        except TypeError as error:
            raise TypeError(
                f"Argument `fetch` = {fetch} has invalid type "
                f'"{type(fetch).__name__}" must be a string or Tensor. ({error})'
            ) from None
        except (ValueError, KeyError) as error:
            raise ValueError(
                f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({error})"
            ) from None
