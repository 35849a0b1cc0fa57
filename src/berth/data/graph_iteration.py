"""Elements of datasets as tensors of a graph: a session's, or a traced function's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.control_flow.cond import cond
from berth.data.iterator_ops import (
    GET_NEXT,
    GET_NEXT_AS_OPTIONAL,
    GET_VALUE,
    HAS_NEXT,
    HAS_VALUE,
    ITERATE,
    Token,
)
from berth.data.structure import packer
from berth.graph.nest import flatten
from berth.ops.builder import apply, apply_list
from berth.ops.opdef import OpDef
from berth.ops.type_spec import TensorSpec


def component_attrs(spec: Any) -> dict[str, Any]:
    """Return the attributes that say what the components of an element are."""
    leaves = flatten(spec)
    for leaf in leaves:
        if not isinstance(leaf, TensorSpec):
            raise TypeError(f"Elements that contain {leaf} cannot be read in a graph.")
    return {
        "output_types": [leaf.dtype for leaf in leaves],
        "output_shapes": [leaf.shape for leaf in leaves],
    }


def packed_outputs(
    op: OpDef, inputs: Sequence[Any], spec: Any, name: str | None, **attrs: Any
) -> Any:
    """Apply an operation that gives the components of an element; return the element."""
    made = apply_list(op, inputs, {**attrs, **component_attrs(spec)}, name or op.name)
    return packer(spec)(made if isinstance(made, list) else [made])


def next_of_handle(handle: Any, spec: Any, name: str | None = None) -> Any:
    """Return the tensors of the next element of an iterator."""
    return packed_outputs(GET_NEXT, (handle,), spec, name)


class GraphIterator:
    """An iterator of a traced function: each step is an operation."""

    def __init__(self, handle: Any, element_spec: Any) -> None:
        self._handle = handle
        self.element_spec = element_spec

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
        return next_of_handle(self._handle, self.element_spec, name)

    def get_next_as_optional(self) -> GraphOptional:
        """Return the next element, or the end, as an optional."""
        return GraphOptional.next_of(self._handle, self.element_spec)

    def has_next(self) -> Any:
        """Tell whether there is another element, as a tensor."""
        return apply(HAS_NEXT, (self._handle,), {}, "has_next")

    def _autograph_for(self, loop: Any, body: Any, more: Any) -> None:
        loop.run(self.has_next, lambda: body(self.get_next()), more)

    def _autograph_builtin(self, name: str) -> Any:
        return {"next": self._next_or, "iter": lambda iterator: iterator}.get(name)

    def _next_or(self, iterator: Any, *default: Any) -> Any:
        if not default:
            return self.get_next()
        return cond(self.has_next(), self.get_next, lambda: default[0])


class GraphOptional:
    """An element of a dataset, or nothing, as a session finds it."""

    def __init__(self, variant: Any, element_spec: Any) -> None:
        self._variant = variant
        self._element_spec = element_spec

    @classmethod
    def next_of(cls, handle: Any, spec: Any) -> GraphOptional:
        """Return the next element of an iterator."""
        attrs = component_attrs(spec)
        return cls(apply(GET_NEXT_AS_OPTIONAL, (handle,), attrs, "optional"), spec)

    @property
    def element_spec(self) -> Any:
        """The specs of its value."""
        return self._element_spec

    def has_value(self, name: str | None = None) -> Any:
        """Tell whether it has a value, as a tensor."""
        return apply(HAS_VALUE, (self._variant,), {}, name or "OptionalHasValue")

    def get_value(self, name: str | None = None) -> Any:
        """Return the tensors of the value; InvalidArgumentError in a run if there is none."""
        return packed_outputs(GET_VALUE, (self._variant,), self._element_spec, name)


def computed(op: OpDef, node: Any, inputs: Sequence[Any], spec: Any, compute: Any) -> Any:
    """Apply an operation that reads a dataset whenever it is run."""
    token = Token.of(compute, f"{node.kind}:{node.number}")
    return packed_outputs(op, inputs, spec, None, dataset=token)
