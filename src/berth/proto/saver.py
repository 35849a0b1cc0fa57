"""SaverDef: the message by which a saver is found again in a graph."""

from __future__ import annotations

from berth.proto.fields import (
    bool_field,
    enum_field,
    float_field,
    int32_field,
    string_field,
)
from berth.proto.kinds import EnumType
from berth.proto.message import Message
from berth.public import public_v1

CheckpointFormatVersion = EnumType("CheckpointFormatVersion", LEGACY=0, V1=1, V2=2)


@public_v1("train.SaverDef")
class SaverDef(Message):
    """The names of a saver's operations, and how many checkpoints it keeps."""

    CheckpointFormatVersion = CheckpointFormatVersion
    LEGACY, V1, V2 = 0, 1, 2

    filename_tensor_name = string_field(1)
    save_tensor_name = string_field(2)
    restore_op_name = string_field(3)
    max_to_keep = int32_field(4)
    sharded = bool_field(5)
    keep_checkpoint_every_n_hours = float_field(6)
    version = enum_field(7, CheckpointFormatVersion)
