"""Checkpoints of the first version: those of TensorFlow are read, and written alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.errors import DataLossError, InvalidArgumentError, NotFoundError
from berth.train.checkpoints.saved_tensor import SavedTensor
from berth.train.checkpoints.slice_files import SliceFiles, write_slice_file
from berth.train.checkpoints.tensor_slice import ShapeAndSlice
from tests.train.checkpoints.files import DATA, PART, VALUES

V1 = DATA / "v1"
NEWER_TYPES = ("types/uint32", "types/uint64")
RIGHT = {name: array for name, array in VALUES.items() if name not in (*NEWER_TYPES, "no_text")}
RIGHT |= {"empty": np.zeros((0, 3), np.float32), "long": RIGHT.pop("long_text"), "part": PART}


def test_tensorflows_file_is_read():
    with SliceFiles(str(V1)) as tensors:
        assert tensors.names() == sorted(RIGHT)
        for name, array in RIGHT.items():
            found = tensors.read(name)
            assert found.dtype == array.dtype, name
            np.testing.assert_array_equal(found, array, name)
            assert tensors.shape(name) == array.shape
            assert tensors.dtype(name).np_dtype == array.dtype


def test_files_are_written_as_tensorflow_does(tmp_path):
    order = [
        *(name for name in RIGHT if name.startswith("types/")),
        *("scalar", "empty", "text", "long"),
    ]
    tensors = [SavedTensor(name, RIGHT[name]) for name in order]
    tensors += [
        SavedTensor("part", PART[3:], ShapeAndSlice.parse("5 2 3,2:0,2")),
        SavedTensor("part", PART[:3], ShapeAndSlice.parse("5 2 0,3:-")),
    ]
    write_slice_file(str(tmp_path / "m"), tensors)
    assert (tmp_path / "m").read_bytes() == V1.read_bytes()


def test_parts_cross_the_saved_slices():
    with SliceFiles(str(V1)) as tensors:
        part = ShapeAndSlice.parse("5 2 2,2:1,1")
        np.testing.assert_array_equal(tensors.read_slice("part", part), PART[2:4, 1:])


@pytest.mark.parametrize("name", NEWER_TYPES)
def test_newer_types_cannot_be_saved(tmp_path, name):
    with pytest.raises(InvalidArgumentError, match=r"^Tensor slice serialization not implem"):
        write_slice_file(str(tmp_path / "m"), [SavedTensor("v", VALUES[name])])
    assert not list(tmp_path.iterdir())


def test_large_integers_come_back(tmp_path):
    random = np.random.default_rng(3)
    array = random.integers(-(2**63), 2**63 - 1, 20_000) >> random.integers(0, 63, 20_000)
    write_slice_file(str(tmp_path / "m"), [SavedTensor("v", array)])
    with SliceFiles(str(tmp_path / "m")) as tensors:
        np.testing.assert_array_equal(tensors.read("v"), array)


def changed(path: Path, at: int) -> None:
    data = bytearray(V1.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


DIFFERENT_FORMAT = (
    "Unable to open table file {}: DATA_LOSS: {}: perhaps your file is in a different file "
    "format and you need to use a different restore operator?"
)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (
            lambda path: path.write_bytes(b"x" * 100),
            DIFFERENT_FORMAT.format("{}", "not an sstable (bad magic number)"),
        ),
        (
            lambda path: path.write_bytes(b"x"),
            DIFFERENT_FORMAT.format("{}", "file is too short to be an sstable"),
        ),
        (
            lambda path: changed(path, 9),
            "Failed to find the saved tensor slices at the beginning of the checkpoint file: {}"
            "\n  block checksum mismatch",
        ),
    ],
)
def test_damaged_files_are_named(tmp_path, write, message):
    write(tmp_path / "m")
    with pytest.raises(DataLossError) as error:
        tf.train.NewCheckpointReader(str(tmp_path / "m"))
    assert str(error.value) == message.format(tmp_path / "m")


# --- savers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_sharded", [False, True], ids=["one file", "sharded"])
def test_savers_write_and_restore_the_first_version(tmp_path, is_sharded):
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            a = tf.get_variable("a", initializer=[[1.0, 2.0]])
        b = tf.get_variable("b", initializer=7)
        saver = tf.train.Saver(
            write_version=tf.train.SaverDef.V1, sharded=is_sharded, max_to_keep=1
        )
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            first = saver.save(session, str(tmp_path / "m"), global_step=1)
            path = saver.save(session, str(tmp_path / "m"), global_step=2)
            session.run([a.assign([[0.0, 0.0]]), b.assign(0)])
            saver.restore(session, path)
            assert session.run(b) == 7
            np.testing.assert_array_equal(session.run(a), [[1, 2]])
    files = ["m-2-00000-of-00002", "m-2-00001-of-00002"] if is_sharded else ["m-2"]
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "checkpoint",
        *files,
        "m-2.meta",
    ]
    assert path == str(tmp_path / "m-2") + "-?????-of-00002" * is_sharded
    assert tf.train.latest_checkpoint(str(tmp_path)) == path
    assert tf.train.checkpoint_exists(path)
    assert not tf.train.checkpoint_exists(first)
    assert tf.train.list_variables(str(tmp_path)) == [("a", [1, 2]), ("b", [])]


def test_what_is_missing_in_the_first_version(tmp_path):
    path = str(tmp_path / "m")
    write_slice_file(path, [SavedTensor("v", np.zeros(2, np.float32))])
    with tf.Graph().as_default():
        tf.get_variable("v", initializer=[1, 2, 3])
        tf.get_variable("w", initializer=1.0)
        with (
            tf.Session() as session,
            pytest.raises(NotFoundError, match='Tensor name "w" not found in check') as error,
        ):
            tf.train.Saver().restore(session, path)
    assert "tensor_name = v; expected dtype int32 does not equal original" in str(error.value)
