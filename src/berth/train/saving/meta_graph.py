"""Meta graphs: `tf.train.export_meta_graph`, and what they say of a graph's collections."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any

from berth.graph.default_graph import get_default_graph
from berth.graph.graph import Graph
from berth.graph.keys import GraphKeys
from berth.graph.operation import Operation
from berth.graph.tensor import SymbolicTensor
from berth.proto.framework import GraphDef
from berth.proto.message import Message
from berth.proto.meta_graph import CollectionDef, MetaGraphDef
from berth.proto.saver import SaverDef
from berth.public import public_v1
from berth.train.checkpoints.unfinished import replace_file
from berth.train.saving.variable_defs import variable_def
from berth.variables.variable import Variable

_log = logging.getLogger("berth")


@public_v1("train.export_meta_graph")
def export_meta_graph(
    filename: str | os.PathLike[str] | None = None,
    meta_info_def: Any = None,
    graph_def: GraphDef | None = None,
    saver_def: SaverDef | None = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> MetaGraphDef:
    """Return a graph with its collections as a MetaGraphDef; write it if there is a name."""
    source = graph or get_default_graph().outermost
    meta = MetaGraphDef()
    if meta_info_def is not None:
        meta.meta_info_def.CopyFrom(meta_info_def)
    meta.meta_info_def.tensorflow_version = "2.21.0"
    meta.graph_def.CopyFrom(graph_def or source.as_graph_def())
    if clear_devices:
        for node in meta.graph_def.node:
            node.device = ""
    if saver_def is not None:
        meta.saver_def.CopyFrom(saver_def)
    keys = source.get_all_collection_keys() if collection_list is None else collection_list
    for key in keys:
        values = source.get_collection(key)
        if key == GraphKeys.SAVERS and clear_extraneous_savers:
            values = []
        _add_collection(meta, key, values)
    if filename is not None:
        data = str(meta).encode() if as_text else meta.SerializeToString()
        replace_file(os.fspath(filename), data)
    return meta


def _add_collection(meta: MetaGraphDef, key: str, values: Sequence[Any]) -> None:
    """Add a collection, if all of its values have a form outside of this process."""
    collection = CollectionDef()
    for value in values:
        kind, written = _written(value)
        if kind is None or collection.WhichOneof("kind") not in (None, kind):
            _log.warning(
                "Issue encountered when serializing %s. Type is unsupported, or the types of "
                "the items don't match field type in CollectionDef: %r",
                key,
                value,
            )
            return
        getattr(collection, kind).value.append(written)
    if values:
        meta.collection_def[key].CopyFrom(collection)


def _written(value: Any) -> tuple[str | None, Any]:
    """Return the kind of a CollectionDef for a value, and what it holds."""
    if isinstance(value, Variable):
        return "bytes_list", variable_def(value).SerializeToString()
    if isinstance(value, SymbolicTensor | Operation):
        return "node_list", value.name
    if hasattr(value, "to_proto"):
        value = value.to_proto()
    if isinstance(value, Message):
        return "bytes_list", value.SerializeToString()
    if isinstance(value, str | bytes):
        return "bytes_list", value.encode() if isinstance(value, str) else value
    if isinstance(value, int):
        return "int64_list", int(value)
    return ("float_list", value) if isinstance(value, float) else (None, None)
