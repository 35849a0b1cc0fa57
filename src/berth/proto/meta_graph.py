"""MetaGraphDef: a graph with its collections and its saver, as TensorFlow's message."""

from __future__ import annotations

from berth.proto.fields import (
    bool_field,
    bytes_field,
    enum_field,
    map_field,
    message_field,
    repeated_field,
    string_field,
)
from berth.proto.framework import GraphDef
from berth.proto.kinds import BYTES, FLOAT, INT64, STRING, EnumType
from berth.proto.message import Message
from berth.proto.saver import SaverDef
from berth.public import public_v1


class CollectionDef(Message):
    """A collection: names of tensors and operations, serialized messages, or numbers."""

    class NodeList(Message):
        value = repeated_field(1, STRING)

    class BytesList(Message):
        value = repeated_field(1, BYTES)

    class Int64List(Message):
        value = repeated_field(1, INT64)

    class FloatList(Message):
        value = repeated_field(1, FLOAT)

    node_list = message_field(1, NodeList, oneof="kind")
    bytes_list = message_field(2, BytesList, oneof="kind")
    int64_list = message_field(3, Int64List, oneof="kind")
    float_list = message_field(4, FloatList, oneof="kind")


@public_v1("MetaGraphDef")
class MetaGraphDef(Message):
    """A graph with its collections and its saver."""

    class MetaInfoDef(Message):
        meta_graph_version = string_field(1)
        stripped_op_list = bytes_field(2)
        tags = repeated_field(4, STRING)
        tensorflow_version = string_field(5)
        tensorflow_git_version = string_field(6)
        stripped_default_attrs = bool_field(7)

    meta_info_def = message_field(1, MetaInfoDef)
    graph_def = message_field(2, GraphDef)
    saver_def = message_field(3, SaverDef)
    collection_def = map_field(4, STRING, CollectionDef)


_Synchronization = EnumType(
    "VariableSynchronization",
    VARIABLE_SYNCHRONIZATION_AUTO=0,
    VARIABLE_SYNCHRONIZATION_NONE=1,
    VARIABLE_SYNCHRONIZATION_ON_WRITE=2,
    VARIABLE_SYNCHRONIZATION_ON_READ=3,
)
_Aggregation = EnumType(
    "VariableAggregation",
    VARIABLE_AGGREGATION_NONE=0,
    VARIABLE_AGGREGATION_SUM=1,
    VARIABLE_AGGREGATION_MEAN=2,
    VARIABLE_AGGREGATION_ONLY_FIRST_REPLICA=3,
)


class SaveSliceInfoDef(Message):
    """Which part of a larger variable a variable is."""

    full_name = string_field(1)
    full_shape = repeated_field(2, INT64)
    var_offset = repeated_field(3, INT64)
    var_shape = repeated_field(4, INT64)


class VariableDef(Message):
    """A variable: the names of its tensors and operations."""

    variable_name = string_field(1)
    initial_value_name = string_field(6)
    initializer_name = string_field(2)
    snapshot_name = string_field(3)
    save_slice_info_def = message_field(4, SaveSliceInfoDef)
    is_resource = bool_field(5)
    trainable = bool_field(7)
    synchronization = enum_field(8, _Synchronization)
    aggregation = enum_field(9, _Aggregation)
