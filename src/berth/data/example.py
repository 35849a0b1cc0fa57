"""``tf.train.Example``: a record of named features, as TFRecord files of programs hold it."""

from __future__ import annotations

from berth.proto.fields import map_field, message_field, repeated_field
from berth.proto.kinds import BYTES, FLOAT, INT64, STRING
from berth.proto.message import Message
from berth.public import public


@public("train.BytesList")
class BytesList(Message):
    """A list of byte strings."""

    value = repeated_field(1, BYTES)


@public("train.FloatList")
class FloatList(Message):
    """A list of 32-bit floating-point numbers."""

    value = repeated_field(1, FLOAT)


@public("train.Int64List")
class Int64List(Message):
    """A list of 64-bit integers."""

    value = repeated_field(1, INT64)


@public("train.Feature")
class Feature(Message):
    """One feature: a list of bytes, of floats or of integers.

    >>> Feature(int64_list=Int64List(value=[7])).WhichOneof("kind")
    'int64_list'
    """

    bytes_list = message_field(1, BytesList, oneof="kind")
    float_list = message_field(2, FloatList, oneof="kind")
    int64_list = message_field(3, Int64List, oneof="kind")


@public("train.Features")
class Features(Message):
    """Features by name."""

    feature = map_field(1, STRING, Feature)


@public("train.Example")
class Example(Message):
    """A record of named features."""

    features = message_field(1, Features)


@public("train.FeatureList")
class FeatureList(Message):
    """The values of one feature at each step of a sequence."""

    feature = repeated_field(1, Feature)


@public("train.FeatureLists")
class FeatureLists(Message):
    """Lists of features by name."""

    feature_list = map_field(1, STRING, FeatureList)


@public("train.SequenceExample")
class SequenceExample(Message):
    """A record of features of a whole sequence, and of each of its steps."""

    context = message_field(1, Features)
    feature_lists = message_field(2, FeatureLists)
