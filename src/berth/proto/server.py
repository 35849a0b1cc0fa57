"""TensorFlow's message for the servers of a cluster: ServerDef."""

from __future__ import annotations

from berth.proto.cluster import ClusterDef
from berth.proto.config import ConfigProto
from berth.proto.fields import int32_field, message_field, string_field
from berth.proto.message import Message
from berth.public import public


@public("train.ServerDef")
class ServerDef(Message):
    """One task of a cluster: what a `tf.train.Server` is made from."""

    cluster = message_field(1, ClusterDef)
    job_name = string_field(2)
    task_index = int32_field(3)
    default_session_config = message_field(4, ConfigProto)
    protocol = string_field(5)
    port = int32_field(6)
