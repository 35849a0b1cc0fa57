"""`tf.train.import_meta_graph` and `tf.train.write_graph`."""

from __future__ import annotations

import logging
import os
from typing import Any

from berth.file_errors import naming
from berth.graph.default_graph import get_default_graph
from berth.graph.graph import Graph
from berth.graph.import_graph_def import import_graph_def
from berth.graph.keys import GraphKeys
from berth.proto.framework import GraphDef
from berth.proto.meta_graph import CollectionDef, MetaGraphDef, VariableDef
from berth.proto.saver import SaverDef
from berth.proto.text import ParseError, merge_text
from berth.proto.wire import DecodeError
from berth.public import public, public_v1
from berth.train.checkpoints.unfinished import replace_file
from berth.train.saving.saver import Saver
from berth.train.saving.variable_defs import variable_from_def

_log = logging.getLogger("berth")
_VARIABLES = (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.METRIC_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.CONCATENATED_VARIABLES,
    GraphKeys.TRAINABLE_RESOURCE_VARIABLES,
    GraphKeys.GLOBAL_STEP,
)


@public_v1("train.import_meta_graph")
def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Saver | None:
    """Add a graph that was exported to the default graph; return its saver, if it has one.

    The variables are in their collections again, and get their values by the saver's `restore`.
    """
    meta = meta_graph_or_file
    if not isinstance(meta, MetaGraphDef):
        meta = read_meta_graph_file(meta_graph_or_file)
    graph_def = GraphDef()
    graph_def.CopyFrom(meta.graph_def)
    if clear_devices:
        for node in graph_def.node:
            node.device = ""
    import_graph_def(
        graph_def,
        input_map=kwargs.get("input_map"),
        return_elements=kwargs.get("return_elements"),
        name=import_scope or "",
    )
    scope = f"{import_scope}/" if import_scope else ""
    graph = get_default_graph()
    variables: dict[str, Any] = {}
    for key in sorted(meta.collection_def):
        _restore_collection(graph, key, meta.collection_def[key], scope, variables)
    if meta.HasField("saver_def"):
        return Saver.from_proto(meta.saver_def, import_scope)
    if variables:
        return Saver(name=import_scope)
    _log.info("Saver not created because there are no variables in the graph to restore")
    return None


def read_meta_graph_file(filename: str | os.PathLike[str]) -> MetaGraphDef:
    """Read a MetaGraphDef, in either of protobuf's formats."""
    path = os.fspath(filename)
    if not os.path.isfile(path):
        raise OSError(f"File does not exist. Received: {path}.")
    with naming(path), open(path, "rb") as file:
        data = file.read()
    try:
        return MetaGraphDef.FromString(data)
    except DecodeError:
        pass  # it may be text
    try:
        return merge_text(data.decode(), MetaGraphDef())
    except (ParseError, UnicodeDecodeError) as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from None


def _restore_collection(
    graph: Graph, key: str, collection: CollectionDef, scope: str, variables: dict[str, Any]
) -> None:
    kind = collection.WhichOneof("kind")
    if kind is None:
        return
    for value in getattr(collection, kind).value:
        restored = value
        if kind == "node_list":
            restored = graph.as_graph_element(f"{scope}{value}")
        elif kind == "bytes_list" and key in _VARIABLES:
            definition = VariableDef.FromString(value)
            name = definition.variable_name  # one object in all collections
            if name not in variables:
                variables[name] = variable_from_def(graph, definition, scope)
            restored = variables[name]
        elif kind == "bytes_list" and key == GraphKeys.SAVERS:
            restored = Saver.from_proto(SaverDef.FromString(value), scope.rstrip("/") or None)
        graph.add_to_collection(key, restored)


@public("io.write_graph")
@public_v1("train.write_graph")
def write_graph(
    graph_or_graph_def: Any,
    logdir: str | os.PathLike[str],
    name: str,
    as_text: bool = True,
) -> str:
    """Write a graph as a GraphDef, as text or in the wire format; return the path."""
    given = graph_or_graph_def
    graph_def = given.as_graph_def() if isinstance(given, Graph) else given
    folder = os.fspath(logdir)
    with naming(folder):
        os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    replace_file(path, str(graph_def).encode() if as_text else graph_def.SerializeToString())
    return path
