"""TensorFlow's messages for graphs and tensors: GraphDef, NodeDef, AttrValue, TensorProto.

Names and numbers are those of TensorFlow's definitions (``tensorflow/core/framework``).
"""

from __future__ import annotations

from berth.proto.fields import (
    bool_field,
    bytes_field,
    enum_field,
    float_field,
    int32_field,
    int64_field,
    map_field,
    message_field,
    repeated_field,
    string_field,
)
from berth.proto.kinds import (
    BOOL,
    BYTES,
    DOUBLE,
    FLOAT,
    INT32,
    INT64,
    STRING,
    UINT32,
    UINT64,
    EnumType,
)
from berth.proto.message import Message
from berth.public import public_v1

_TYPES = (
    *("INVALID", "FLOAT", "DOUBLE", "INT32", "UINT8", "INT16", "INT8", "STRING", "COMPLEX64"),
    *("INT64", "BOOL", "QINT8", "QUINT8", "QINT32", "BFLOAT16", "QINT16", "QUINT16", "UINT16"),
    *("COMPLEX128", "HALF", "RESOURCE", "VARIANT", "UINT32", "UINT64", "FLOAT8_E5M2"),
    *("FLOAT8_E4M3FN",),
)
_REF = 100  # a reference type is this much above its base
DataType = EnumType(
    "DataType",
    **{f"DT_{name}": number for number, name in enumerate(_TYPES)},
    **{f"DT_{name}_REF": number + _REF for number, name in enumerate(_TYPES) if number},
)


class TensorShapeProto(Message):
    """The shape of a tensor; a size of -1 is unknown."""

    class Dim(Message):
        size = int64_field(1)
        name = string_field(2)

    dim = repeated_field(2, Dim)
    unknown_rank = bool_field(3)


class TensorProto(Message):
    """The value of a tensor: its bytes as one block, or a list of numbers."""

    dtype = enum_field(1, DataType)
    tensor_shape = message_field(2, TensorShapeProto)
    version_number = int32_field(3)
    tensor_content = bytes_field(4)
    float_val = repeated_field(5, FLOAT)
    double_val = repeated_field(6, DOUBLE)
    int_val = repeated_field(7, INT32)
    string_val = repeated_field(8, BYTES)
    scomplex_val = repeated_field(9, FLOAT)
    int64_val = repeated_field(10, INT64)
    bool_val = repeated_field(11, BOOL)
    dcomplex_val = repeated_field(12, DOUBLE)
    half_val = repeated_field(13, INT32)
    uint32_val = repeated_field(16, UINT32)
    uint64_val = repeated_field(17, UINT64)


@public_v1("NameAttrList")
class NameAttrList(Message):
    """A function with its attributes."""

    name = string_field(1)
    attr = map_field(2, STRING, lambda: AttrValue)


@public_v1("AttrValue")
class AttrValue(Message):
    """The value of an attribute of a node: one of several types, or a list."""

    class ListValue(Message):
        s = repeated_field(2, BYTES)
        i = repeated_field(3, INT64)
        f = repeated_field(4, FLOAT)
        b = repeated_field(5, BOOL)
        type = repeated_field(6, DataType)
        shape = repeated_field(7, TensorShapeProto)
        tensor = repeated_field(8, TensorProto)
        func = repeated_field(9, NameAttrList)

    list = message_field(1, ListValue, oneof="value")
    s = bytes_field(2, oneof="value")
    i = int64_field(3, oneof="value")
    f = float_field(4, oneof="value")
    b = bool_field(5, oneof="value")
    type = enum_field(6, DataType, oneof="value")
    shape = message_field(7, TensorShapeProto, oneof="value")
    tensor = message_field(8, TensorProto, oneof="value")
    placeholder = string_field(9, oneof="value")
    func = message_field(10, NameAttrList, oneof="value")


@public_v1("NodeDef")
class NodeDef(Message):
    """A node of a graph, as data."""

    name = string_field(1)
    op = string_field(2)
    input = repeated_field(3, STRING)
    device = string_field(4)
    attr = map_field(5, STRING, AttrValue)


class VersionDef(Message):
    """Which versions of TensorFlow wrote something, and may read it."""

    producer = int32_field(1)
    min_consumer = int32_field(2)
    bad_consumers = repeated_field(3, INT32)


@public_v1("GraphDef")
class GraphDef(Message):
    """The nodes of a graph in the order in which they were created."""

    node = repeated_field(1, NodeDef)
    version = int32_field(3)
    versions = message_field(4, VersionDef)
