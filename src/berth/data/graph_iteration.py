"""Elements of datasets as tensors of a graph: a session's, or a traced function's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth.data.iterator_ops import GET_NEXT, Token
from berth.data.structure import packer
from berth.graph.nest import flatten
from berth.ops.builder import apply_list
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


def computed(op: OpDef, node: Any, inputs: Sequence[Any], spec: Any, compute: Any) -> Any:
    """Apply an operation that reads a dataset whenever it is run."""
    token = Token.of(compute, f"{node.kind}:{node.number}")
    return packed_outputs(op, inputs, spec, None, dataset=token)
