"""Elements of datasets as tensors of a graph: a session's, or a traced function's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.data.iterator_ops import (
    GET_NEXT,
    GET_NEXT_AS_OPTIONAL,
    GET_VALUE,
    HAS_VALUE,
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
