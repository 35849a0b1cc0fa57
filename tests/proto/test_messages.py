"""Messages behave like protobuf's: presence, oneofs, bytes and text. TensorFlow made the bytes."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import berth.compat.v1 as tf
from berth.proto.fields import (
    bool_field,
    bytes_field,
    double_field,
    enum_field,
    fixed32_field,
    fixed64_field,
    float_field,
    int32_field,
    int64_field,
    map_field,
    message_field,
    repeated_field,
    string_field,
    uint32_field,
    uint64_field,
)
from berth.proto.framework import AttrValue, GraphDef, NodeDef, TensorProto
from berth.proto.kinds import BOOL, DOUBLE, INT64, STRING, EnumType
from berth.proto.message import Message
from berth.proto.text import ParseError, merge_text
from berth.proto.wire import DecodeError

Color = EnumType("Color", RED=0, GREEN=5)


class Inner(Message):
    number = int64_field(1)
    inner = message_field(2, lambda: Inner)


class Everything(Message):
    a = bool_field(1)
    b = int32_field(2)
    c = int64_field(3)
    d = uint32_field(4)
    e = uint64_field(5)
    f = float_field(6)
    g = double_field(7)
    h = string_field(8)
    i = bytes_field(9)
    j = fixed32_field(10)
    k = fixed64_field(11)
    color = enum_field(12, Color)
    inner = message_field(13, Inner)
    numbers = repeated_field(14, INT64)
    flags = repeated_field(15, BOOL)
    doubles = repeated_field(16, DOUBLE)
    names = repeated_field(17, STRING)
    inners = repeated_field(18, Inner)
    counts = map_field(19, STRING, INT64)
    by_number = map_field(20, INT64, Inner)
    one = int32_field(21, oneof="choice")
    two = message_field(22, Inner, oneof="choice")
    three = string_field(23, oneof="choice")


def integers(bits: int, *, signed: bool = True):
    low = -(2 ** (bits - 1)) if signed else 0
    return st.integers(low, low + 2**bits - 1)


inners = st.recursive(
    st.builds(Inner, number=integers(64)),
    lambda inner: st.builds(Inner, number=integers(64), inner=inner),
    max_leaves=3,
)
messages = st.builds(
    Everything,
    a=st.booleans(),
    b=integers(32),
    c=integers(64),
    d=integers(32, signed=False),
    e=integers(64, signed=False),
    f=st.floats(width=32, allow_nan=False),
    g=st.floats(allow_nan=False),
    h=st.text(),
    i=st.binary(),
    j=integers(32, signed=False),
    k=integers(64, signed=False),
    color=st.sampled_from([0, 5, 7]),
    inner=st.none() | inners,
    numbers=st.lists(integers(64)),
    flags=st.lists(st.booleans()),
    doubles=st.lists(st.floats(allow_nan=False)),
    names=st.lists(st.text()),
    inners=st.lists(inners, max_size=3),
    counts=st.dictionaries(st.text(), integers(64)),
    by_number=st.dictionaries(integers(64), inners, max_size=3),
    one=st.none() | integers(32),
)


@given(messages)
def test_formats_are_read_back(message):
    assert Everything.FromString(message.SerializeToString()) == message
    assert merge_text(repr(message), Everything()) == message
    assert copy.deepcopy(message) == message
    assert pickle.loads(pickle.dumps(message)) == message


@given(messages, st.data())
def test_mutated_bytes_are_refused_or_read(message, data):
    serialized = bytearray(message.SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        if serialized:
            serialized[data.draw(st.integers(0, len(serialized) - 1))] = data.draw(
                st.integers(0, 255)
            )
    cut = data.draw(st.integers(0, len(serialized)))
    for each in (serialized, serialized[:cut]):
        try:
            read = Everything.FromString(bytes(each))
        except DecodeError:
            continue
        assert Everything.FromString(read.SerializeToString()).SerializeToString() == (
            read.SerializeToString()
        )


# What TensorFlow 2.21 serializes.
def test_bytes_are_tensorflow_s():
    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 1}, allow_soft_placement=True)
    config.gpu_options.per_process_gpu_memory_fraction = 0.333
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[1, 2.5])
    assert config.SerializeToString().hex() == CONFIG_BYTES
    node = NodeDef(name="n", op="Const", input=["a", "^b"], device="/gpu:0")
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([1.0, 2.0]))
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    assert node.SerializeToString().hex() == NODE_BYTES


CONFIG_BYTES = (
    "0a070a0343505510020a070a0347505510013217091d5a643bdf4fd53f4a0c0a0a0a080000803f000020403801"
)
NODE_BYTES = "0a016e1205436f6e73741a01611a025e6222062f6770753a302a0b0a056474797065120230012a1d0a0576616c756512144212080112041202080222080000803f00000040"


def test_setting_one_member_clears_the_others():
    attr = AttrValue(s=b"text")
    attr.list.i.extend([1, 2])
    assert attr.WhichOneof("value") == "list"
    assert attr.s == b""
    attr.b = False
    assert attr.WhichOneof("value") == "b"
    assert attr.HasField("b")
    assert not attr.HasField("list")
    attr.ClearField("value")
    assert attr.WhichOneof("value") is None


def test_reading_a_message_does_not_set_it():
    config = tf.ConfigProto()
    assert not config.gpu_options.allow_growth
    assert not config.HasField("gpu_options")
    config.gpu_options.experimental.virtual_devices.add()
    assert config.HasField("gpu_options")
    assert config.SerializeToString() == bytes.fromhex("32044a020a00")


def test_messages_merge():
    one = Everything(b=1, numbers=[1], counts={"x": 1}, inner={"number": 3})
    other = Everything(c=2, numbers=[2], counts={"y": 2}, inner={"inner": {"number": 4}})
    one.MergeFrom(other)
    assert one == Everything(
        b=1,
        c=2,
        numbers=[1, 2],
        counts={"x": 1, "y": 2},
        inner={"number": 3, "inner": {"number": 4}},
    )


def test_unknown_fields_are_kept():
    written = Everything(b=7, names=["x"]).SerializeToString()
    assert Inner.FromString(written).SerializeToString() == written


def test_lists_of_numbers_are_read_unpacked_too():
    assert list(Everything.FromString(bytes([0x70, 1, 0x70, 2])).numbers) == [1, 2]


@pytest.mark.parametrize(
    ("misuse", "error", "message"),
    [
        (
            lambda m: m.HasField("b"),
            ValueError,
            "Field Everything.b does not have presence.",
        ),
        (
            lambda m: m.HasField("z"),
            ValueError,
            'Protocol message Everything has no "z" field.',
        ),
        (
            lambda m: setattr(m, "color", "BLUE"),
            ValueError,
            'unknown enum label "BLUE"',
        ),
        (
            lambda m: setattr(m, "i", 3),
            TypeError,
            "expected bytes, int found",
        ),
        (
            lambda m: Color.Name(3),
            ValueError,
            "Enum Color has no name defined for value 3",
        ),
        (
            lambda m: m.ParseFromString(b"\x0a\x99"),
            DecodeError,
            "Error parsing message: a varint does not end",
        ),
        (
            lambda m: m.ParseFromString(b"\x42\x05ab"),
            DecodeError,
            "Error parsing message: 3 bytes are missing at the end",
        ),
        (
            lambda m: m.ParseFromString(b"\x42\x01\xff"),
            DecodeError,
            "Error parsing message: a string is not UTF-8",
        ),
        (
            lambda m: merge_text("b: 1\nz: 2", m),
            ParseError,
            '2:1 : Message type "Everything" has no field named "z".',
        ),
        (lambda m: merge_text("b: x", m), ParseError, None),
        (lambda m: merge_text("inner { number: 1", m), ParseError, None),
    ],
)
def test_misuse_is_an_error_and_changes_nothing(misuse, error, message):
    record = Everything(names=["kept"])
    if error is DecodeError:
        record.Clear()
    before = record.SerializeToString()
    with pytest.raises(error) as raised:
        misuse(record)
    if message is not None:
        assert str(raised.value) == message
    assert record.SerializeToString() == before


def test_messages_nest_to_a_bound():
    deep = b""
    for _ in range(200):
        deep = bytes([0x12, *_varint(len(deep))]) + deep
    with pytest.raises(DecodeError, match="too many messages within messages"):
        Inner.FromString(deep)


def _varint(value: int) -> list[int]:
    return [value] if value < 128 else [value & 127 | 128, *_varint(value >> 7)]


def test_text_has_comments_lists_and_several_strings():
    text = """
    # a comment
    names: ["a", 'b']  numbers: [1, -2]; h: "x" "\\303\\251\\n"
    inner: < number: 0x10 >
    counts { key: "k" value: 3 } color: GREEN f: 1.5f g: inf
    """
    assert merge_text(text, Everything()) == Everything(
        names=["a", "b"],
        numbers=[1, -2],
        h="xé\n",
        inner={"number": 16},
        counts={"k": 3},
        color="GREEN",
        f=1.5,
        g=np.inf,
    )


TENSORS = [
    np.float32(1.5),
    np.arange(6, dtype=np.int16).reshape(2, 3),
    np.array([1 + 2j], np.complex64),
    np.array([1 + 2j, 3], np.complex128),
    np.array(1.5, np.float16),
    np.array([b"a", b"\xff"], object),
    np.array([], np.float64),
    np.array([True]),
    np.uint64(2**64 - 1),
]


@pytest.mark.parametrize("array", TENSORS, ids=lambda array: np.asarray(array).dtype.name)
def test_tensors_are_read_back(array):
    proto = TensorProto.FromString(tf.make_tensor_proto(array).SerializeToString())
    read = tf.make_ndarray(proto)
    assert read.dtype == np.asarray(array).dtype
    assert read.shape == np.shape(array)
    assert read.tolist() == np.asarray(array).tolist()


def test_one_element_fills_a_shape():
    proto = tf.make_tensor_proto(3, shape=[2, 2])
    assert list(proto.int_val) == [3]
    assert tf.make_ndarray(proto).tolist() == [[3, 3], [3, 3]]
    with pytest.raises(ValueError, match="Too many elements provided"):
        tf.make_tensor_proto([1, 2], shape=[1])


def test_graph_is_written_as_tensorflow_writes_it():
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(1.0)
        tf.placeholder(tf.float32, [None, 3])
    definition = graph.as_graph_def()
    assert GraphDef.FromString(definition.SerializeToString()) == definition
    constant, placeholder = definition.node
    assert constant.attr["value"].tensor.float_val == [1.0]
    assert [dim.size for dim in placeholder.attr["shape"].shape.dim] == [-1, 3]
    assert definition.versions.producer == 2474
