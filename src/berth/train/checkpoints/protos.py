"""The messages of a checkpoint's ``.index`` file: a header, and an entry for each tensor."""

from __future__ import annotations

from berth.proto.fields import (
    enum_field,
    fixed32_field,
    int32_field,
    int64_field,
    message_field,
    repeated_field,
)
from berth.proto.framework import DataType, TensorShapeProto, VersionDef
from berth.proto.kinds import EnumType
from berth.proto.message import Message

Endianness = EnumType("Endianness", LITTLE=0, BIG=1)


class BundleHeaderProto(Message):
    """The first entry of an index: how many data files there are."""

    num_shards = int32_field(1)
    endianness = enum_field(2, Endianness)
    version = message_field(3, VersionDef)


class TensorSliceProto(Message):
    """A part of a tensor: a start and a length for each axis; no length is the whole axis."""

    class Extent(Message):
        start = int64_field(1)
        length = int64_field(2, oneof="has_length")

    extent = repeated_field(1, Extent)


class BundleEntryProto(Message):
    """Where the bytes of a tensor are, or of which slices it is made."""

    dtype = enum_field(1, DataType)
    shape = message_field(2, TensorShapeProto)
    shard_id = int32_field(3)
    offset = int64_field(4)
    size = int64_field(5)
    crc32c = fixed32_field(6)
    slices = repeated_field(7, TensorSliceProto)
