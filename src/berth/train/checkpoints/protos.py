"""The messages of checkpoints: of ``.index`` files, and of the first version's files."""

from __future__ import annotations

from berth.proto.fields import (
    bytes_field,
    enum_field,
    fixed32_field,
    int32_field,
    int64_field,
    message_field,
    repeated_field,
    string_field,
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


# --- the first version of checkpoints ---------------------------------------------------------


class SavedSliceMeta(Message):
    """A tensor of a file of slices, and which of its slices the file has."""

    name = string_field(1)
    shape = message_field(2, TensorShapeProto)
    type = enum_field(3, DataType)
    slice = repeated_field(4, TensorSliceProto)


class SavedTensorSliceMeta(Message):
    """What a file of slices has."""

    tensor = repeated_field(1, SavedSliceMeta)
    versions = message_field(2, VersionDef)


class SavedSlice(Message):
    """One slice. Its elements are a TensorProto, kept as bytes here: it may be large."""

    name = string_field(1)
    slice = message_field(2, TensorSliceProto)
    data = bytes_field(3, oneof="is_there")  # also if it is empty


class SavedTensorSlices(Message):
    """An entry of a file of slices: what the file has, or one slice."""

    meta = message_field(1, SavedTensorSliceMeta)
    data = message_field(2, SavedSlice)
