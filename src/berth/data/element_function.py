"""Functions of the user in a pipeline: traced once, then run as a plan for each element.

A function gets the tensors of an element and returns a structure of tensors. It may also get
and return datasets. A dataset that it gets stands in its graph for the one of each call
(`Argument`); of a dataset that it returns, the graph computes the inputs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from berth.callsite import Mark, mark_caller
from berth.data.blocks import BlockFunction, block_function
from berth.data.pipeline import Node, Pipeline
from berth.data.structure import (
    DatasetSpec,
    Element,
    NoneTensorSpec,
    is_unpacked,
    map_leaves,
    packer,
    spec_of,
)
from berth.eager.tensor import EagerTensor
from berth.errors import InvalidArgumentError, OpError, OutOfRangeError, explain
from berth.front.context import context
from berth.functions.runtime import FunctionRuntime
from berth.graph.func_graph import FuncGraph
from berth.graph.nest import flatten
from berth.graph.operation import Operation
from berth.graph.recording import stop_recording
from berth.ops import builder
from berth.ops.compose import is_tensor
from berth.ops.type_spec import TensorSpec

_CPU = "/device:CPU:0"


class _Calls(threading.local):
    """The elements that functions are being called with in a thread, the innermost last."""

    def __init__(self) -> None:
        self.elements: list[Element] = []


_calls = _Calls()


class Argument(Pipeline):
    """A dataset that a function gets: the one of the element that it is called with."""

    def __new__(cls, *, position: int) -> Any:
        """Return the pipeline that is in the element."""
        return _calls.elements[-1][position]


class ElementFunction:
    """A traced function of the user, from elements of one spec to another."""

    def __init__(
        self,
        function: Callable[..., Any],
        spec: Any,
        transformation: str,
        make_dataset: Callable[[Node], Any],
    ) -> None:
        if not callable(function):
            raise ValueError(
                f"Argument `func` must be a callable. Received func={function} (of type "
                f"{type(function)})"
            )
        self.transformation = transformation
        self.where = mark_caller()
        self.input_spec = spec
        self._make_dataset = make_dataset
        graph = self.graph = FuncGraph(getattr(function, "__name__", "function"))
        graph.seed = getattr(builder.current(), "seed", None)
        with stop_recording(), graph.as_default(), graph.device(_CPU):
            inputs = [self._input(leaf, k) for k, leaf in enumerate(flatten(spec))]
            self._is_fed = [is_tensor(value) for value in inputs]
            element = packer(spec)(inputs)
            arguments = element if is_unpacked(spec) else (element,)
            result = _listed_as_tuple(_call_converted(function, *arguments))
            result = map_leaves(self._returned, result)
            self._read_result(result)
        self.captured = [outer for outer, _ in graph.captures]
        self._runtime = FunctionRuntime(graph, self._fetches, f"Dataset_{transformation}")

    def _input(self, leaf: Any, position: int) -> Any:
        """Return what stands for a part of the element while the function is traced."""
        if isinstance(leaf, TensorSpec):
            return self.graph.add_input(leaf.dtype, leaf.dims, "args_0")
        if isinstance(leaf, DatasetSpec):
            return self._make_dataset(Node(Argument, leaf.element_spec, position=position))
        return None

    def _returned(self, leaf: Any) -> Any:
        if leaf is None or hasattr(leaf, "_node"):
            return leaf
        if isinstance(leaf, Operation):
            raise self._unsupported(leaf)
        try:
            return self.graph.convert(leaf)
        except (TypeError, ValueError) as error:
            raise self._unsupported(leaf) from error

    def _unsupported(self, leaf: Any) -> TypeError:
        return TypeError(
            f"Unsupported return value from function passed to {self.transformation}: {leaf}."
        )

    def _read_result(self, result: Any) -> None:
        """Note the spec of a result, and what the graph has to compute for it."""
        self.spec = map_leaves(spec_of, result)
        self._fetches: list[Any] = []
        self._parts: list[tuple[Node | None, int]] = []
        """For each leaf of the result its node, if it is a dataset, and how many fetches."""
        for leaf in flatten(result):
            if leaf is None:
                continue
            node = getattr(leaf, "_node", None)
            wanted = [leaf] if node is None else [self.graph.convert(t) for t in node.symbols]
            self._parts.append((node, len(wanted)))
            self._fetches += wanted
        self._is_plain = not any(node is not None for node, _ in self._parts)
        self._n_none = sum(leaf is None for leaf in flatten(result))

    @property
    def is_pure(self) -> bool:
        """Whether a call has no effect, and depends on nothing but its element."""
        graph = self.graph
        return not graph.effects and not graph.handles and not self._has_state()

    def _has_state(self) -> bool:
        stateful = (op for op in self.graph.ops if op.definition.is_stateful)
        return any(not op.definition.is_source for op in stateful)

    @cached_property
    def on_blocks(self) -> BlockFunction | None:
        """The same function for many elements at a time, if it gives the same bits."""
        if self.captured or not self._is_plain or not all(self._is_fed):
            return None
        return block_function(self.graph, self._fetches)

    def returns_dataset(self) -> bool:
        """Tell whether the result is one dataset."""
        return isinstance(self.spec, DatasetSpec)

    # --- calling it -----------------------------------------------------------------------

    def bind(self, values: Sequence[Any]) -> BoundElementFunction:
        """Return the function, for these values of what it captures."""
        return BoundElementFunction(self, values)

    def run(self, element: Element, captured: Sequence[EagerTensor]) -> Element:
        """Compute the result for an element."""
        host = context().opened()[0]
        given = [
            EagerTensor(np.asarray(leaf), host, spec.dtype)
            for leaf, spec in zip(element, self._specs(), strict=True)
            if isinstance(spec, TensorSpec)
        ]
        given += captured
        if self._is_plain and all(self._is_fed):
            return self._compute(given)
        calls = _calls.elements
        calls.append(element)
        try:
            return self._with_datasets(self._compute(given))
        finally:
            calls.pop()

    def restart(self) -> None:
        """Let random operations start over: a new iterator gives the values of the first."""
        self._runtime.restart()

    def _specs(self) -> list[Any]:
        return [leaf for leaf in flatten(self.input_spec) if not _is_none(leaf)]

    def _compute(self, given: list[EagerTensor]) -> Element:
        if not self._fetches and not self.graph.effects:
            return ()
        return tuple([tensor.value for tensor in self._runtime.run(given)])

    def _with_datasets(self, values: Element) -> Element:
        """Bind the datasets of a result to the values of their inputs."""
        leaves: list[Any] = []
        start = 0
        for node, n_values in self._parts:
            part = values[start : start + n_values]
            start += n_values
            leaves += part if node is None else [node.bind(part)]
        return tuple(leaves)


class BoundElementFunction:
    """A function of the user with values for what it captures."""

    __slots__ = ("_captured", "function", "label")

    def __init__(self, function: ElementFunction, values: Sequence[Any]) -> None:
        self.function = function
        self.label = ""
        """The stage that calls it, for errors."""
        host = context().opened()[0] if values else None
        self._captured = [
            EagerTensor(np.asarray(value), host, outer.dtype.base_dtype)  # type: ignore[arg-type]
            for value, outer in zip(values, function.captured, strict=True)
        ]

    def __call__(self, element: Element) -> Element:
        try:
            return self.function.run(element, self._captured)
        except OpError as error:
            raise self._with_origin(error) from error

    def restart(self) -> None:
        """Let random operations start over."""
        self.function.restart()

    def on_blocks(self) -> BlockFunction | None:
        """Return the same function for blocks of elements, if there is one."""
        return self.function.on_blocks

    def _with_origin(self, error: OpError) -> OpError:
        """Say which function failed, and where the user passed it."""
        kind: Any = type(error)
        message = error.message
        if isinstance(error, OutOfRangeError):
            kind = InvalidArgumentError
            message = f"Function invocation produced OutOfRangeError: {message}"
        where: Mark = self.function.where
        name = self.function.transformation
        return kind(  # type: ignore[no-any-return]
            None,
            error.op,
            explain(
                f"Error in user-defined function passed to {self.label}: {message}",
                f"The function was passed to {name} at {where.place}.",
            ),
        )


def _call_converted(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the user, converted by AutoGraph, which is loaded when needed."""
    return import_module("berth.autograph.api").call_callback(function, *arguments)


def _listed_as_tuple(result: Any) -> Any:
    return tuple(result) if isinstance(result, list) else result


def _is_none(leaf: Any) -> bool:
    return isinstance(leaf, NoneTensorSpec)
