"""Datasets of files."""

from __future__ import annotations

import gzip
import zlib

import pytest

import berth as tf

pytestmark = pytest.mark.usefixtures("eager")


def texts(dataset):
    return list(dataset.as_numpy_iterator())


@pytest.fixture
def lines(tmp_path):
    paths = [tmp_path / f"{k}.txt" for k in range(2)]
    paths[0].write_bytes(b"a\nb\r\n\nc")
    paths[1].write_bytes(b"d\n")
    return [str(path) for path in paths]


def test_lines_of_text(lines):
    assert texts(tf.data.TextLineDataset(lines)) == [b"a", b"b", b"", b"c", b"d"]
    assert texts(tf.data.TextLineDataset(lines[1])) == [b"d"]
    assert texts(tf.data.TextLineDataset(lines).skip(1).take(1)) == [b"b"]
    assert isinstance(tf.data.TextLineDataset(lines), tf.data.Dataset)


def test_files_of_a_dataset_are_read_in_turn(lines):
    names = tf.data.Dataset.from_tensor_slices(lines)
    assert texts(tf.data.TextLineDataset(names))[-1] == b"d"
    both = tf.data.TextLineDataset(lines, num_parallel_reads=2)
    assert texts(both) == [b"a", b"d", b"b", b"", b"c"]
    by_hand = names.interleave(tf.data.TextLineDataset, cycle_length=2)
    assert texts(by_hand) == texts(both)


@pytest.mark.parametrize(
    ("kind", "compress"), [("", bytes), ("GZIP", gzip.compress), ("ZLIB", zlib.compress)]
)
def test_fixed_length_records(tmp_path, kind, compress):
    path = tmp_path / "records"
    path.write_bytes(compress(b"HEAD" + b"abcdef" + b"F"))
    dataset = tf.data.FixedLengthRecordDataset(str(path), 2, 4, 1, compression_type=kind)
    assert texts(dataset) == [b"ab", b"cd", b"ef"]
    line = tf.data.TextLineDataset(str(path), compression_type=kind)
    assert texts(line) == [b"HEADabcdefF"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="which is not an exact multiple"):
        texts(tf.data.FixedLengthRecordDataset(str(path), 4, compression_type=kind))


def test_records_of_tfrecord_files(tmp_path):
    path = str(tmp_path / "r")
    with tf.io.TFRecordWriter(path) as writer:
        for record in (b"one", b"two"):
            writer.write(record)
    assert texts(tf.data.TFRecordDataset([path])) == [b"one", b"two"]
    with open(path, "r+b") as file:
        file.seek(13)
        file.write(b"?")
    with pytest.raises(tf.errors.DataLossError, match="corrupted record at"):
        texts(tf.data.TFRecordDataset(path))


def test_missing_files_are_an_error_where_they_are_read():
    for kind in (tf.data.TextLineDataset, tf.data.TFRecordDataset):
        dataset = kind("/nonexistent")
        with pytest.raises(tf.errors.NotFoundError, match="/nonexistent; No such file"):
            texts(dataset)


def test_other_compressions_are_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unsupported compression_type"):
        tf.data.TextLineDataset("x", compression_type="LZMA")


def test_lists_of_files_are_sorted_or_shuffled(tmp_path):
    for name in "cabd":
        (tmp_path / name).touch()
    pattern = str(tmp_path / "*")
    found = texts(tf.data.Dataset.list_files(pattern, shuffle=False))
    assert [name[-1:] for name in found] == [b"a", b"b", b"c", b"d"]
    tf.random.set_seed(3)
    shuffled = texts(tf.data.Dataset.list_files(pattern, seed=2))
    assert sorted(shuffled) == found
