"""TensorFlow 1's functions of the default graph: scopes, collections, conversion."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from berth.blocks import Block, Use
from berth.dtypes import as_dtype
from berth.graph.default_graph import get_default_graph
from berth.graph.graph import Graph
from berth.graph.keys import GraphKeys
from berth.graph.names import as_name
from berth.ops.builder import current
from berth.ops.compose import convert
from berth.public import public_v1

__all__ = [
    "GraphKeys",
    "add_to_collection",
    "add_to_collections",
    "control_dependencies",
    "convert_to_tensor",
    "get_collection",
    "get_collection_ref",
    "name_scope",
]


@public_v1("control_dependencies")
def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """Add control dependencies to a block's operations; eager operations need none."""
    builder: Any = current()
    scope: AbstractContextManager[None] = builder.control_dependencies(control_inputs)
    return scope


@public_v1("name_scope")
class name_scope(Block[str]):
    """Prefix the names of a block's operations with a scope."""

    def __init__(self, name: Any, default_name: str | None = None, values: Any = None) -> None:
        self._name = default_name if name is None else as_name(name)
        if self._name is None and values is not None:
            raise ValueError(
                "At least one of name (None) and default_name (None) must be provided."
            )
        self._graph = _graph_of(values)

    @property
    def name(self) -> str | None:
        return self._name

    def _begin(self, use: Use) -> str:
        return self._graph.names.enter(use, self._name)


def _graph_of(values: Any) -> Graph:
    """Return the graph of the first tensor among some values, or the default one."""
    for value in values or ():
        graph = getattr(value, "graph", None)
        if isinstance(graph, Graph):
            return graph
    return get_default_graph()


@public_v1("convert_to_tensor")
def convert_to_tensor(
    value: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None
) -> Any:
    """Return a value as a tensor; a tensor as it is."""
    wanted = None if dtype is None else as_dtype(dtype)
    return convert(value, wanted, name)


@public_v1("add_to_collection")
def add_to_collection(name: str, value: Any) -> None:
    """Add a value to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


@public_v1("add_to_collections")
def add_to_collections(names: Any, value: Any) -> None:
    """Add a value to collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


@public_v1("get_collection_ref")
def get_collection_ref(key: str) -> list[Any]:
    """Return the list of a collection of the default graph itself, not a copy."""
    return get_default_graph().get_collection_ref(key)


@public_v1("get_collection")
def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """Return the values of a collection of the default graph."""
    return get_default_graph().get_collection(key, scope)
