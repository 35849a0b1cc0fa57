"""Iterators of traced functions, and the type by which a function takes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.control_flow.cond import cond
from berth.data.graph_iteration import next_of_handle
from berth.data.iterator_ops import HAS_NEXT, ITERATE, Token
from berth.data.optionals import Optional
from berth.dtypes import resource
from berth.eager.tensor import EagerTensor
from berth.graph.nest import flatten
from berth.ops.builder import apply
from berth.ops.type_spec import CompositeTensor, TensorSpec, TypeSpec
from berth.public import public_v2


@public_v2("data.IteratorSpec")
class IteratorSpec(TypeSpec):
    """The type of an iterator: that of its elements."""

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    @property
    def value_type(self) -> Any:
        return GraphIterator

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)

    @property
    def _component_specs(self) -> Any:
        return [TensorSpec([], resource)]

    def _to_components(self, value: Any) -> Any:
        return [value.handle]

    def _from_components(self, components: Any) -> Any:
        [handle] = components
        if isinstance(handle, EagerTensor):
            return handle.value[()]
        return GraphIterator(handle, self._element_spec)

    def __hash__(self) -> int:
        return hash(tuple(flatten(self._element_spec)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IteratorSpec) and self._element_spec == other._element_spec


class GraphIterator(CompositeTensor):
    """An iterator of a traced function: each step is an operation."""

    def __init__(self, handle: Any, element_spec: Any) -> None:
        self.handle = handle
        self.element_spec = element_spec

    @property
    def _type_spec(self) -> IteratorSpec:
        return IteratorSpec(self.element_spec)

    @classmethod
    def over(cls, node: Any, iterate: Callable[[Sequence[Any]], Any]) -> GraphIterator:
        """Return an iterator that begins anew whenever the function is called."""
        token = Token.of(iterate, f"{node.kind}:{node.number}")
        return cls(apply(ITERATE, node.symbols, {"dataset": token}), node.spec)

    def __iter__(self) -> GraphIterator:
        raise RuntimeError(
            "An iterator in a tf.function can be iterated over by a `for` statement only, "
            "which AutoGraph converts: Python would never come to its end."
        )

    def __next__(self) -> Any:
        return self.get_next()

    def next(self) -> Any:
        """Return the next element."""
        return self.get_next()

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element; OutOfRangeError in the call that finds none."""
        return next_of_handle(self.handle, self.element_spec, name)

    def get_next_as_optional(self) -> Optional:
        """Return the next element, or the end, as an optional."""
        return Optional.next_of(self.handle, self.element_spec)

    def has_next(self) -> Any:
        """Tell whether there is another element, as a tensor."""
        return apply(HAS_NEXT, (self.handle,), {}, "has_next")

    def _autograph_for(self, loop: Any, body: Any, more: Any) -> None:
        loop.run(self.has_next, lambda: body(self.get_next()), more)

    def _autograph_builtin(self, name: str) -> Any:
        return {"next": self._next_or, "iter": lambda iterator: iterator}.get(name)

    def _next_or(self, iterator: Any, *default: Any) -> Any:
        if not default:
            return self.get_next()
        return cond(self.has_next(), self.get_next, lambda: default[0])
