"""Pipelines: what a dataset does once its inputs have values; and nodes, which describe them.

A dataset is a *node*: what makes the pipeline, from parents (other nodes), inputs (arrays, or
tensors whose values come later) and functions of the user. A node is *bound* to values: eagerly
at once, in a graph of TensorFlow 1 when its iterator is initialized, inside of a function in
each call. The result is a `Pipeline`, which can be iterated over many times.

Iterators go on after an error: the next call gives the next element. A generator of Python's
would end, so that stages whose input may fail are classes, or built-in iterators.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any, Protocol

import numpy as np

from berth.data.structure import Element
from berth.eager.tensor import EagerTensor
from berth.ops.compose import is_eager
from berth.public import public_value

INFINITE = -1
UNKNOWN = -2
for _name, _attribute in (
    ("INFINITE_CARDINALITY", "INFINITE"),
    ("UNKNOWN_CARDINALITY", "UNKNOWN"),
):
    public_value(__name__, _attribute, f"data.{_name}", f"data.experimental.{_name}")


class Pipeline:
    """A stage of input whose values are known, with the stages before it."""

    def iterate(self) -> Iterator[Element]:
        """Begin: return an iterator over the elements."""
        raise NotImplementedError

    def cardinality(self) -> int:
        """Return the number of elements, INFINITE or UNKNOWN."""
        return UNKNOWN


def begin(pipeline: Pipeline) -> Iterator[Element]:
    """Return a new iterator over the elements; seeded random functions start over."""
    waiting: list[Any] = [pipeline]
    while waiting:
        for part in vars(waiting.pop()).values():
            for each in part if isinstance(part, list | tuple) else (part,):
                if isinstance(each, Pipeline):
                    waiting.append(each)
                elif hasattr(each, "restart"):
                    each.restart()
    return pipeline.iterate()


class BoundFunction(Protocol):
    """A function of the user with values for what it captures."""

    def __call__(self, element: Element) -> Element:
        """Compute an element from another."""
        ...


class UserFunction(Protocol):
    """A traced function of the user."""

    captured: Sequence[Any]

    def bind(self, values: Sequence[Any]) -> Any:
        """Return the function, for these values of what it captures."""
        ...


class Node:
    """The description of one stage: its class, parents, inputs and options."""

    _numbers = count(1)

    def __init__(
        self,
        make: Any,
        spec: Any,
        parents: Sequence[Node] = (),
        inputs: Sequence[Any] = (),
        functions: Mapping[str, UserFunction] | None = None,
        **options: Any,
    ) -> None:
        self.spec = spec
        self.parents = tuple(parents)
        self.number = next(self._numbers)
        self.kind = getattr(make, "kind", "") or getattr(make, "__name__", "")
        self._make = make
        self._inputs = tuple(inputs)
        self._functions = dict(functions or {})
        self._options = options
        self._is_made_eagerly = is_eager()
        self._lock = threading.RLock()
        self._pipeline: Pipeline | None = None

    def own_inputs(self) -> list[Any]:
        """List its inputs, and what its functions capture."""
        captured = [each for f in self._functions.values() for each in f.captured]
        return [*self._inputs, *captured]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes that it is made of, parents first, itself last."""
        found: dict[Node, None] = {}
        for parent in self.parents:
            found |= dict.fromkeys(parent.nodes)
        found[self] = None
        return tuple(found)

    @cached_property
    def symbols(self) -> list[Any]:
        """The inputs whose values are not known yet: tensors of a graph."""
        inputs = (each for node in self.nodes for each in node.own_inputs())
        return [each for each in inputs if _is_symbol(each)]

    @cached_property
    def has_one_pipeline(self) -> bool:
        """Whether it was made eagerly: all inputs have values, and for good."""
        return all(node._is_made_eagerly for node in self.nodes)

    def pipeline(self) -> Pipeline:
        """Return its only pipeline: what a shuffle or a cache remembers is in there."""
        with self._lock:
            if self._pipeline is None:
                self._pipeline = self._made(self._parent_pipelines(), iter(()))
            return self._pipeline

    def _parent_pipelines(self) -> list[Pipeline]:
        return [parent.pipeline() for parent in self.parents]

    def bind(self, values: Sequence[Any]) -> Pipeline:
        """Return a pipeline for values of its symbols."""
        left = iter(values)
        made: dict[Node, Pipeline] = {}
        for node in self.nodes:
            if node.has_one_pipeline:
                made[node] = node.pipeline()
            else:
                made[node] = node._made([made[parent] for parent in node.parents], left)
        return made[self]

    def _made(self, parents: Sequence[Pipeline], left: Iterator[Any]) -> Pipeline:
        values = [_value(each, left) for each in self._inputs]
        functions = {
            name: function.bind([_value(each, left) for each in function.captured])
            for name, function in self._functions.items()
        }
        pipeline: Pipeline = self._make(*parents, *values, **functions, **self._options)
        return pipeline


def _is_symbol(value: Any) -> bool:
    return not isinstance(value, np.ndarray | EagerTensor) and not hasattr(value, "place")


def _value(given: Any, left: Iterator[Any]) -> Any:
    if isinstance(given, np.ndarray):
        return given
    return next(left) if _is_symbol(given) else given.value
