"""TensorFlow's messages for clusters: ClusterDef and JobDef."""

from __future__ import annotations

from berth.proto.fields import map_field, repeated_field, string_field
from berth.proto.kinds import INT32, STRING
from berth.proto.message import Message
from berth.public import public


@public("train.JobDef")
class JobDef(Message):
    """One job of a cluster: its name, and the addresses of its tasks by their numbers."""

    name = string_field(1)
    tasks = map_field(2, INT32, STRING)


@public("train.ClusterDef")
class ClusterDef(Message):
    """The jobs of a cluster, as a message."""

    job = repeated_field(1, JobDef)
