"""The messages of event files: Summary and Event. Names and numbers are TensorFlow's."""

from __future__ import annotations

from berth.proto.fields import (
    bytes_field,
    double_field,
    enum_field,
    float_field,
    int32_field,
    int64_field,
    message_field,
    repeated_field,
    string_field,
)
from berth.proto.framework import TensorProto
from berth.proto.kinds import DOUBLE, EnumType
from berth.proto.message import Message
from berth.public import public_v1

DataClass = EnumType(
    "DataClass",
    DATA_CLASS_UNKNOWN=0,
    DATA_CLASS_SCALAR=1,
    DATA_CLASS_TENSOR=2,
    DATA_CLASS_BLOB_SEQUENCE=3,
)


class PluginData(Message):
    """Which part of TensorBoard shows a value."""

    plugin_name = string_field(1)
    content = bytes_field(2)


@public_v1("SummaryMetadata")
class SummaryMetadata(Message):
    """How TensorBoard shows a value."""

    PluginData = PluginData
    plugin_data = message_field(1, PluginData)
    display_name = string_field(2)
    summary_description = string_field(3)
    data_class = enum_field(4, DataClass)


@public_v1("HistogramProto")
class HistogramProto(Message):
    """Counts of values: bucket i has those up to ``bucket_limit[i]``."""

    min = double_field(1)
    max = double_field(2)
    num = double_field(3)
    sum = double_field(4)
    sum_squares = double_field(5)
    bucket_limit = repeated_field(6, DOUBLE)
    bucket = repeated_field(7, DOUBLE)


class Image(Message):
    """An image as a PNG file."""

    height = int32_field(1)
    width = int32_field(2)
    colorspace = int32_field(3)
    encoded_image_string = bytes_field(4)


class Audio(Message):
    """Sound as a WAV file."""

    sample_rate = float_field(1)
    num_channels = int64_field(2)
    length_frames = int64_field(3)
    encoded_audio_string = bytes_field(4)
    content_type = string_field(5)


class Value(Message):
    """One value under a tag."""

    tag = string_field(1)
    simple_value = float_field(2, oneof="value")
    image = message_field(4, Image, oneof="value")
    histo = message_field(5, HistogramProto, oneof="value")
    audio = message_field(6, Audio, oneof="value")
    node_name = string_field(7)
    tensor = message_field(8, TensorProto, oneof="value")
    metadata = message_field(9, SummaryMetadata)


@public_v1("Summary", "summary.Summary")
class Summary(Message):
    """Values of one step.

    >>> Summary(value=[Summary.Value(tag="loss", simple_value=0.5)])
    value {
      tag: "loss"
      simple_value: 0.5
    }
    <BLANKLINE>
    """

    Image = Image
    Audio = Audio
    Value = Value
    value = repeated_field(1, Value)


@public_v1("LogMessage")
class LogMessage(Message):
    """A message of the log."""

    Level = EnumType("Level", UNKNOWN=0, DEBUGGING=10, INFO=20, WARN=30, ERROR=40, FATAL=50)
    UNKNOWN, DEBUGGING, INFO, WARN, ERROR, FATAL = Level.values()
    level = enum_field(1, Level)
    message = string_field(2)


@public_v1("SessionLog", "summary.SessionLog")
class SessionLog(Message):
    """When a session started, stopped or saved a checkpoint."""

    SessionStatus = EnumType(
        "SessionStatus", STATUS_UNSPECIFIED=0, START=1, STOP=2, CHECKPOINT=3
    )
    STATUS_UNSPECIFIED, START, STOP, CHECKPOINT = SessionStatus.values()
    status = enum_field(1, SessionStatus)
    checkpoint_path = string_field(2)
    msg = string_field(3)


@public_v1("summary.TaggedRunMetadata")
class TaggedRunMetadata(Message):
    """The RunMetadata of one run, under a tag."""

    tag = string_field(1)
    run_metadata = bytes_field(2)


class SourceMetadata(Message):
    """What wrote a file of events."""

    writer = string_field(1)


@public_v1("Event", "summary.Event")
class Event(Message):
    """One record of an event file."""

    wall_time = double_field(1)
    step = int64_field(2)
    file_version = string_field(3, oneof="what")
    graph_def = bytes_field(4, oneof="what")
    summary = message_field(5, Summary, oneof="what")
    log_message = message_field(6, LogMessage, oneof="what")
    session_log = message_field(7, SessionLog, oneof="what")
    tagged_run_metadata = message_field(8, TaggedRunMetadata, oneof="what")
    meta_graph_def = bytes_field(9, oneof="what")
    source_metadata = message_field(10, SourceMetadata)


@public_v1("summary.SummaryDescription")
class SummaryDescription(Message):
    """What kind of summary an operation makes."""

    type_hint = string_field(1)
