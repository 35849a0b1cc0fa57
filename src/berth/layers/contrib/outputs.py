"""Collections of layers' outputs, with the name of the layer that each comes from."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from berth.front.graph_scope import add_to_collections, get_collection
from berth.graph.default_graph import get_default_graph
from berth.public import public_v1

_UTILS = ("contrib.layers.utils", "contrib.slim.utils")


class _Aliases:
    """The names of tensors in one graph."""

    def __init__(self) -> None:
        self.of: dict[int, list[str]] = {}


def _aliases() -> dict[int, list[str]]:
    kept = get_default_graph().kept
    found: _Aliases = kept.get(_Aliases) or kept.setdefault(_Aliases, _Aliases())
    return found.of


@public_v1(*(f"{place}.collect_named_outputs" for place in _UTILS))
def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """Add a layer's output to collections, under a name; return the output."""
    if collections:
        _aliases().setdefault(id(outputs), []).append(alias.removesuffix("/"))
        add_to_collections(collections, outputs)
    return outputs


@public_v1(*(f"{place}.get_tensor_aliases" for place in _UTILS))
def get_tensor_aliases(tensor: Any) -> list[str]:
    """Return the names of an output; that of its operation, if it has none."""
    own = tensor.op.name if tensor.name.endswith(":0") else tensor.name
    return _aliases().get(id(tensor), [own])


@public_v1(*(f"{place}.convert_collection_to_dict" for place in _UTILS))
def convert_collection_to_dict(
    collection: str, clear_collection: bool = False
) -> OrderedDict[str, Any]:
    """Return the outputs of a collection by name, in order."""
    found = OrderedDict(
        (alias, tensor)
        for tensor in get_collection(collection)
        for alias in get_tensor_aliases(tensor)
    )
    if clear_collection:
        get_default_graph().clear_collection(collection)
    return found


@public_v1(*(f"{place}.last_dimension" for place in _UTILS))
def last_dimension(shape: Any, min_rank: int = 1) -> int:
    """Return the size of the last axis; ValueError if it is not known."""
    if shape.rank is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.rank < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.rank}")
    size = shape.as_list()[-1]
    if size is None:
        raise ValueError(f"dimension -1 of shape must be known but is None: {shape}")
    return int(size)
