"""Readers, files and decoding as operations: keys, values and errors are TensorFlow's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import berth.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as graph:
        yield graph


def read_all(reader: Any, *paths: Path) -> list[tuple[str, bytes]]:
    """Read records to the end; keys without the folder."""
    queue = tf.FIFOQueue(9, tf.string, [[]])
    put, close = queue.enqueue_many([[str(path) for path in paths]]), queue.close()
    record = reader.read(queue)
    found = []
    with tf.Session() as sess:
        sess.run(put)
        sess.run(close)
        try:
            while True:
                key, value = sess.run(record)
                found.append((key.decode().rpartition("/")[2], value))
        except tf.errors.OutOfRangeError:
            pass
        n_files = sess.run(reader.num_work_units_completed())
        assert (sess.run(reader.num_records_produced()), n_files) == (len(found), len(paths))
    return found


def test_readers_give_keys_and_values(tmp_path: Path) -> None:
    text, fixed, records = tmp_path / "a.txt", tmp_path / "f.bin", tmp_path / "r"
    text.write_bytes(b"one\r\ntwo\n\nlast")
    fixed.write_bytes(b"HHaaabbbcccdF")
    with tf.python_io.TFRecordWriter(str(records)) as writer:
        for data in (b"x", b"yy", b"zzz"):
            writer.write(data)
    lines = [("a.txt:1", b"one"), ("a.txt:2", b"two"), ("a.txt:3", b""), ("a.txt:4", b"last")]
    assert read_all(tf.TextLineReader(), text) == lines
    assert read_all(tf.TextLineReader(skip_header_lines=1), text, text) == lines[1:] * 2
    threes = [("f.bin:0", b"aaa"), ("f.bin:1", b"bbb"), ("f.bin:2", b"ccc")]
    assert read_all(tf.FixedLengthRecordReader(3, 2, 1), fixed) == threes
    found = [("r:0", b"x"), ("r:17", b"yy"), ("r:35", b"zzz")]
    assert read_all(tf.TFRecordReader(), records) == found
    assert read_all(tf.WholeFileReader(), fixed) == [("f.bin", b"HHaaabbbcccdF")]
    [(key, value)] = read_all(tf.IdentityReader(), fixed)
    assert (key, value) == ("f.bin", str(fixed).encode())


def test_readers_read_several_and_refuse_missing_files(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_bytes(b"1\n2\n3\n4\n")
    queue = tf.FIFOQueue(9, tf.string, [[]])
    name = tf.placeholder(tf.string, [])
    put, reader = queue.enqueue(name), tf.TextLineReader()
    three, whole = reader.read_up_to(queue, 3), tf.WholeFileReader()
    content, state = whole.read(queue), whole.serialize_state()
    with tf.Session() as sess:
        sess.run(put, {name: str(text)})
        assert sess.run(three.values).tolist() == [b"1", b"2", b"3"]
        assert sess.run(three.values).tolist() == [b"4"]
        with pytest.raises(tf.errors.UnimplementedError, match="Reader SerializeState"):
            sess.run(reader.serialize_state())
        missing = str(tmp_path / "none")
        sess.run(put, {name: missing})
        with pytest.raises(tf.errors.NotFoundError, match="none; No such file or directory"):
            sess.run(content)
        assert sess.run(state) == b'\x08\x01"' + bytes([len(missing)]) + missing.encode()
        sess.run(whole.reset())
        assert sess.run(state) == b""


def test_files_are_read_written_and_found(tmp_path: Path) -> None:
    path = str(tmp_path / "sub" / "w.txt")
    write, content = tf.write_file(path, "hi"), tf.read_file(path)
    with tf.Session() as sess:
        with pytest.raises(tf.errors.NotFoundError):
            sess.run(content)
        sess.run(write)
        assert sess.run(content) == b"hi"
        found = sess.run(tf.matching_files([str(tmp_path / "*" / "*.txt"), path]))
        assert found.tolist() == [path.encode()]


def test_bytes_become_numbers() -> None:
    with tf.Session() as sess:
        decoded = tf.decode_raw(["abcd", "efgh"], tf.uint8)
        assert sess.run(decoded).tolist() == [[97, 98, 99, 100], [101, 102, 103, 104]]
        big = tf.decode_raw(b"\x00\x01", tf.int16, little_endian=False)
        assert sess.run(big).tolist() == [1]
        ints, floats, texts = sess.run(
            tf.decode_csv(['1,2.5,"a,b"', ",,c"], [[7], [1.5], [""]])
        )
        assert (ints.tolist(), floats.tolist()) == ([1, 7], [2.5, 1.5])
        assert texts.tolist() == [b"a,b", b"c"]
        again = tf.parse_tensor(tf.serialize_tensor([[1, 2]]), tf.int32)
        assert sess.run(again).tolist() == [[1, 2]]
        for build, words in (
            (lambda: tf.decode_raw("abc", tf.int16), "length 3 that is not a multiple of 2"),
            (lambda: tf.decode_csv(["1,2"], [[1]]), "Expect 1 fields but have 2 in record 0"),
            (
                lambda: tf.decode_csv(["x"], [[1]]),
                "Field 0 in record 0 is not a valid int32: x",
            ),
            (
                lambda: tf.parse_tensor("zz", tf.int32),
                "Could not parse `serialized` as TensorProto, base64: eno=",
            ),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                sess.run(build())
