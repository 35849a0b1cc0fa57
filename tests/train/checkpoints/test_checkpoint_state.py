"""The ``checkpoint`` file, and the functions that read checkpoints without a graph."""

from __future__ import annotations

import os

import numpy as np
import pytest

import berth as tf2
import berth.compat.v1 as tf
from berth import errors
from tests.train.checkpoints.files import EVERY_TYPE, TWO_FILES, VALUES

# --- the state file ------------------------------------------------------------------------------


def test_state_is_written_as_by_tensorflow(tmp_path):
    tf.train.update_checkpoint_state(tmp_path, f"{tmp_path}/m-4", [f"{tmp_path}/m-3"])
    assert (tmp_path / "checkpoint").read_text() == (
        f'model_checkpoint_path: "{tmp_path}/m-4"\n'
        f'all_model_checkpoint_paths: "{tmp_path}/m-3"\n'
        f'all_model_checkpoint_paths: "{tmp_path}/m-4"\n'
    )


def test_relative_folders_keep_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("sub")
    tf.train.update_checkpoint_state("sub", "sub/m-4", ["sub/m-3", "sub/m-4"], "other")
    assert (tmp_path / "sub" / "other").read_text() == (
        'model_checkpoint_path: "m-4"\n'
        'all_model_checkpoint_paths: "m-3"\n'
        'all_model_checkpoint_paths: "m-4"\n'
    )
    state = tf.train.get_checkpoint_state("sub", "other")
    assert state.model_checkpoint_path == "sub/m-4"
    assert list(state.all_model_checkpoint_paths) == ["sub/m-3", "sub/m-4"]


def test_timestamps_belong_to_paths(tmp_path):
    paths = [f"{tmp_path}/m-3", f"{tmp_path}/m-4"]
    state = tf.train.generate_checkpoint_state_proto(tmp_path, paths[1], paths, [1.5, 2.5], 3.5)
    assert list(state.all_model_checkpoint_timestamps) == [1.5, 2.5]
    assert state.last_preserved_timestamp == 3.5
    with pytest.raises(ValueError, match="Checkpoint timestamps, if provided, must match"):
        tf.train.generate_checkpoint_state_proto(tmp_path, paths[1], paths, [1.5])


def test_state_that_cannot_be_read(tmp_path, caplog):
    assert tf.train.get_checkpoint_state(tmp_path) is None
    assert tf.train.latest_checkpoint(tmp_path / "nope") is None
    file = tmp_path / "checkpoint"
    for garbage in (b"gibberish {{{", b"\xff\xfe"):
        file.write_bytes(garbage)
        assert tf.train.get_checkpoint_state(tmp_path) is None
        assert f"{file}: Checkpoint ignored" in caplog.text
    file.write_bytes(b"")
    with pytest.raises(ValueError, match=r"^Invalid checkpoint state loaded from "):
        tf.train.get_checkpoint_state(tmp_path)


def test_latest_checkpoint_has_files(tmp_path, caplog):
    tf.train.update_checkpoint_state(tmp_path, f"{tmp_path}/m-4")
    assert tf.train.latest_checkpoint(tmp_path) is None
    assert f"Couldn't match files for checkpoint {tmp_path}/m-4" in caplog.text
    (tmp_path / "m-4.index").touch()
    assert tf.train.latest_checkpoint(tmp_path) == f"{tmp_path}/m-4"
    assert tf.train.checkpoint_exists(f"{tmp_path}/m-*")
    assert len(tf.train.get_checkpoint_mtimes([f"{tmp_path}/m-4", f"{tmp_path}/m-5"])) == 1


def test_state_and_checkpoint_need_two_names(tmp_path):
    with pytest.raises(RuntimeError, match="conflicts with path used for checkpoint state"):
        tf.train.update_checkpoint_state(tmp_path, f"{tmp_path}/checkpoint")


def test_removed_checkpoints_leave_others(tmp_path):
    names = [
        f"m-{n}.{end}" for n in (1, 10) for end in ("index", "meta", "data-00000-of-00001")
    ]
    for name in names:
        (tmp_path / name).touch()
    tf.train.remove_checkpoint(f"{tmp_path}/m-1")
    assert sorted(os.listdir(tmp_path)) == sorted(names[3:])
    tf.train.remove_checkpoint(f"{tmp_path}/m-1")


# --- readers -------------------------------------------------------------------------------------


def test_reader_lists_and_reads():
    reader = tf.train.NewCheckpointReader(TWO_FILES)
    assert reader.get_variable_to_shape_map() == {"a": [2], "b": [], "w": [4]}
    types = {"a": tf.int32, "b": tf.int64, "w": tf.float32}
    assert reader.get_variable_to_dtype_map() == types
    assert reader.has_tensor("w")
    assert not reader.has_tensor("")
    assert not reader.has_tensor("w/part_0")
    assert reader.get_tensor("w").tolist() == [0, 1, 2, 3]
    assert reader.get_tensor("b") == 7
    assert isinstance(reader.get_tensor("b"), np.int64)
    assert reader.debug_string() == (
        b"\x00w\x00\x01\x01\x01\x80\x82 (DT_FLOAT) [2]\n"
        b"\x00w\x00\x01\x01\x01\x82\x82 (DT_FLOAT) [2]\n"
        b"a (DT_INT32) [2]\n"
        b"b (DT_INT64) []\n"
    )


@pytest.mark.parametrize("api", [tf, tf2], ids=["v1", "v2"])
def test_functions_find_the_latest(tmp_path, api):
    tf.train.update_checkpoint_state(tmp_path, TWO_FILES)
    assert api.train.list_variables(tmp_path) == [("a", [2]), ("b", []), ("w", [4])]
    assert api.train.load_variable(tmp_path, "a").tolist() == [1, 2]
    assert api.train.load_variable(EVERY_TYPE, "scalar:0") == VALUES["scalar"]
    assert api.train.load_checkpoint(EVERY_TYPE).has_tensor("text")


def test_readers_of_nothing(tmp_path):
    with pytest.raises(errors.NotFoundError) as raised:
        tf.train.NewCheckpointReader(str(tmp_path / "nope"))
    assert raised.value.message == (
        "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
        f"{tmp_path}/nope"
    )
    with pytest.raises(
        ValueError, match=r"^Couldn't find 'checkpoint' file or checkpoints in given"
    ):
        tf.train.list_variables(tmp_path)
    with pytest.raises(TypeError, match=r"^Expected binary or unicode string, got None$"):
        tf.train.NewCheckpointReader(None)
    with pytest.raises(errors.NotFoundError, match=r"^Key qq not found in checkpoint$"):
        tf.train.load_variable(TWO_FILES, "qq")
