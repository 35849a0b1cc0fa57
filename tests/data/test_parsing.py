"""parse_example and parse_single_example: TensorFlow's tensors and messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import berth as tf2
import berth.compat.v1 as tf
from berth.errors import InvalidArgumentError

F, S = tf.FixedLenFeature, tf.FixedLenSequenceFeature


def example(**features):
    message = tf.train.Example()
    kinds = {int: "int64_list", float: "float_list", bytes: "bytes_list"}
    for name, values in features.items():
        getattr(message.features.feature[name], kinds[type(values[0])]).value.extend(values)
    return message.SerializeToString()


ONE = example(x=[1.0, 2.0], y=[7], s=[b"hi"])
LONGER = example(x=[1.0, 2.0, 3.0])
WHOLE = {"x": F([2], tf.float32), "y": F([], tf.int64), "s": F([], tf.string)}


def values(parsed):
    return {
        key: (
            tensor.numpy().tolist()
            if tensor.dtype != tf.string or tensor.shape.rank
            else tensor.numpy()
        )
        for key, tensor in parsed.items()
    }


# TensorFlow 2.21's answers.
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("parse", "serialized", "features", "wanted"),
    [
        (tf2.io.parse_single_example, ONE, WHOLE, {"x": [1, 2], "y": 7, "s": b"hi"}),
        (tf2.io.parse_single_example, ONE, {"z": F([], tf.int64, 5)}, {"z": 5}),
        (
            tf2.io.parse_single_example,
            ONE,
            {"z": F([2], tf.float32, [1.0, 2.0])},
            {"z": [1, 2]},
        ),
        (tf2.io.parse_single_example, ONE, {"x": S([], tf.float32, True)}, {"x": [1, 2]}),
        (tf2.io.parse_single_example, ONE, {"q": S([], tf.float32, True)}, {"q": []}),
        (
            tf2.io.parse_example,
            [ONE, ONE],
            {"x": F([2], tf.float32), "s": F([1], tf.string)},
            {"x": [[1, 2], [1, 2]], "s": [[b"hi"], [b"hi"]]},
        ),
        (
            tf2.io.parse_example,
            [ONE, LONGER],
            {"x": S([], tf.float32, True, -1.0)},
            {"x": [[1, 2, -1], [1, 2, 3]]},
        ),
    ],
)
def test_features_are_tensorflow_s(parse, serialized, features, wanted):
    assert values(parse(serialized, features)) == wanted


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("parse", "serialized", "features", "error", "message"),
    [
        (
            tf2.io.parse_single_example,
            ONE,
            {"z": F([], tf.int64)},
            InvalidArgumentError,
            "Feature: z (data type: int64) is required but could not be found.",
        ),
        (
            tf2.io.parse_single_example,
            ONE,
            {"y": F([], tf.float32)},
            InvalidArgumentError,
            "Key: y.  Data types don't match. Data type: int64 but expected type: float",
        ),
        (
            tf2.io.parse_example,
            [ONE],
            {"z": F([], tf.int64)},
            InvalidArgumentError,
            "Name: <unknown>, Feature: z (data type: int64) is required but could not be found.",
        ),
        (
            tf2.io.parse_example,
            [ONE],
            {"y": F([], tf.float32)},
            InvalidArgumentError,
            "Name: <unknown>, Key: y, Index: 0.  Data types don't match. Data type: int64 but expected type: float",
        ),
        (
            tf2.io.parse_example,
            [ONE],
            {"x": F([3], tf.float32)},
            InvalidArgumentError,
            "Name: <unknown>, Key: x, Index: 0.  Number of float values != expected.  Values size: 2 but output shape: [3]",
        ),
        (
            tf2.io.parse_example,
            [ONE],
            {"x": F([2], tf.int32)},
            InvalidArgumentError,
            "Value for attr 'Tdense' of int32 is not in the list of allowed values: float, int64, string",
        ),
        (
            tf2.io.parse_example,
            [ONE],
            {"x": F([None], tf.float32)},
            ValueError,
            "First dimension of shape for feature x unknown. Consider using FixedLenSequenceFeature. Received feature=FixedLenFeature(shape=[None], dtype=tf.float32, default_value=None).",
        ),
        (
            tf2.io.parse_single_example,
            ONE,
            {},
            ValueError,
            "Invalid argument: features cannot be empty.",
        ),
        (
            tf2.io.parse_single_example,
            ONE,
            {"x": 3},
            ValueError,
            "Unsupported int 3 for key 'x'",
        ),
        (
            tf2.io.parse_single_example,
            [ONE],
            {"x": F([2], tf.float32)},
            ValueError,
            "Input serialized must be a scalar",
        ),
    ],
)
def test_errors_are_tensorflow_s(parse, serialized, features, error, message):
    with pytest.raises(error) as raised:
        parse(serialized, features)
    assert str(raised.value).splitlines()[0].split(" [Op:")[0] == message


def test_graphs_parse_what_is_fed():
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.string, [None])
        parsed = tf.parse_example(fed, {"x": F([2], tf.float32), "q": S([], tf.int64, True)})
        one = tf.parse_single_example(fed[0], {"y": F([], tf.int64)})
        assert parsed["x"].shape.as_list() == [None, 2]
        found, y = session.run([parsed, one["y"]], {fed: [ONE, LONGER[:0] + ONE]})
    assert found["x"].tolist() == [[1, 2], [1, 2]]
    assert found["q"].shape == (2, 0)
    assert y == 7


@pytest.mark.usefixtures("eager")
def test_datasets_parse_records(tmp_path):
    path = str(tmp_path / "records")
    with tf2.io.TFRecordWriter(path) as writer:
        for number in range(5):
            writer.write(example(y=[number]))
    dataset = tf2.data.TFRecordDataset(path).map(
        lambda record: tf2.io.parse_single_example(record, {"y": F([], tf.int64)})["y"]
    )
    assert [int(y) for y in dataset] == [0, 1, 2, 3, 4]


@pytest.mark.usefixtures("eager")
@given(st.data())
def test_mutated_examples_are_refused_or_read(data):
    text = bytearray(ONE)
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    try:
        parsed = tf2.io.parse_single_example(bytes(text), WHOLE)
    except InvalidArgumentError:
        return
    assert parsed["x"].shape == (2,)
