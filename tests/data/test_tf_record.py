"""TFRecord files: TensorFlow's bytes, its errors, and nothing lost."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import berth as tf2
import berth.compat.v1 as tf
from berth.data.tf_record import framed, read_records
from berth.errors import DataLossError, FailedPreconditionError, NotFoundError

# What TensorFlow 2.21 writes for b"abc", b"" and "text".
WRITTEN = bytes.fromhex(
    "0300000000000000b099490e6162636e57f121000000000000000029039807d8ea82a2"
    "040000000000000042455204746578747e4945d6"
)


def test_bytes_are_tensorflow_s(tmp_path):
    path = tmp_path / "numbers"
    with tf2.io.TFRecordWriter(str(path)) as writer:
        for record in (b"abc", b"", "text"):
            writer.write(record)
        writer.flush()

    assert path.read_bytes() == WRITTEN
    assert list(tf.python_io.tf_record_iterator(str(path))) == [b"abc", b"", b"text"]


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB", "by number"])
def test_files_are_read_as_they_are_written(tmp_path, compression):
    kinds = tf.python_io.TFRecordCompressionType
    chosen = kinds.GZIP if compression == "by number" else compression
    options = tf.python_io.TFRecordOptions(chosen)
    records = [bytes([size % 256]) * size for size in (0, 1, 7, 100_000)]
    with tf.python_io.TFRecordWriter(tmp_path / "file", options) as writer:
        for record in records:
            writer.write(record)

    assert list(tf.python_io.tf_record_iterator(tmp_path / "file", options)) == records


@pytest.mark.parametrize(
    ("content", "records", "message"),
    [
        (WRITTEN[:-3], 2, "truncated record at 51' failed with Read less bytes than requested"),
        (WRITTEN[:14] + b"X" + WRITTEN[15:], 0, "corrupted record at 12"),
        (
            b"\xff" + WRITTEN[1:],
            0,
            "corrupted record at 0 (Is this even a TFRecord file?)",
        ),
        (WRITTEN[:5], 0, None),
        (WRITTEN[:25], 1, None),
    ],
)
def test_damaged_file_is_an_error(tmp_path, content, records, message):
    path = tmp_path / "damaged"
    path.write_bytes(content)
    found = []
    if message is None:
        found += read_records(path)
    else:
        with pytest.raises(DataLossError) as raised:
            found.extend(read_records(path))
        assert str(raised.value) == f"{message}\n  In {path}."
    assert len(found) == records


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_what_is_not_compressed_is_an_error(tmp_path, compression):
    (tmp_path / "plain").write_bytes(WRITTEN)
    with pytest.raises(DataLossError, match="inflate"):
        list(read_records(tmp_path / "plain", compression))


@given(st.lists(st.binary(max_size=40), max_size=4), st.data())
def test_mutated_files_are_refused_or_read(tmp_path_factory, records, data):
    path = tmp_path_factory.getbasetemp() / "mutated"
    content = bytearray(b"".join(framed(record) for record in records))
    for _ in range(data.draw(st.integers(0, 3))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(
                st.integers(1, 255)
            )
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    found = []
    with suppress(DataLossError):
        found.extend(read_records(path))
    assert found == records[: len(found)]  # a checksum catches what was changed


def test_misuse_is_an_error(tmp_path):
    with pytest.raises(NotFoundError, match="/nowhere/x; No such file or directory"):
        list(read_records("/nowhere/x"))
    with pytest.raises(NotFoundError, match="/nowhere/x; No such file or directory"):
        tf.python_io.TFRecordWriter("/nowhere/x")
    with pytest.raises(ValueError, match='Not a valid compression_type: "LZMA"'):
        tf.python_io.TFRecordOptions("LZMA")
    writer = tf.python_io.TFRecordWriter(tmp_path / "file")
    with pytest.raises(TypeError, match="A record is bytes or a string, not int: 3"):
        writer.write(3)
    writer.close()
    writer.close()
    with pytest.raises(FailedPreconditionError, match=r"Writer is closed\."):
        writer.write(b"x")


def test_examples_are_tensorflow_s():
    example = tf.train.Example()
    example.features.feature["label"].int64_list.value.append(7)
    example.features.feature["image"].bytes_list.value.extend([b"ab"])
    example.features.feature["x"].float_list.value.extend([1.5, 2])
    # As serialized by TensorFlow 2.21, keys in order.
    assert example.SerializeToString().hex() == EXAMPLE
    same = tf2.train.Example.FromString(example.SerializeToString())
    assert same == example
    assert same.features.feature["label"].int64_list.value == [7]


EXAMPLE = "0a340a0f0a05696d61676512060a040a0261620a0e0a056c6162656c12051a030a01070a110a0178120c120a0a080000c03f00000040"
