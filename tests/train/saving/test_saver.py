"""`tf.train.Saver`: what it saves, restores, keeps, and refuses."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth import errors
from berth.train.checkpoints import unfinished
from tests.train.checkpoints.files import TWO_FILES


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def names_in(folder):
    return sorted(os.listdir(folder))


def model(step: int = 0):
    """Variables of both kinds, numbers and text."""
    return [
        tf.Variable(np.float32([[1, 2], [3, 4]]) + step, name="layer/weights"),
        tf.Variable([5 + step, 6], name="bias", use_resource=True),
        tf.Variable([b"some", b"text"], name="words"),
        tf.Variable(step, name="step"),
    ]


VALUES = [[[1, 2], [3, 4]], [5, 6], [b"some", b"text"], 0]


def values_of(sess, variables):
    return [np.asarray(value).tolist() for value in sess.run(variables)]


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:1"])
def test_values_come_back_on_any_device(graph, sim, tmp_path, device, sharded):
    sim("2xT4")
    with tf.device(device):
        weights = tf.Variable(VALUES[0], name="weights", dtype=tf.float32)
        bias = tf.Variable([5.0, 6.0], name="bias", use_resource=True)
    with tf.device("/gpu:0"):
        other = tf.Variable([7.0], name="other")
    saver = tf.train.Saver(sharded=sharded)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = saver.save(sess, f"{tmp_path}/m", global_step=3)
        assert path == f"{tmp_path}/m-3"
        sess.run([weights.assign(weights * 0), bias.assign([0, 0]), other.assign([0])])
        saver.restore(sess, path)
        assert values_of(sess, [weights, bias, other]) == [VALUES[0], VALUES[1], [7.0]]
        assert sess.placements()["weights"].endswith(device[1:].upper())
    assert tf.train.list_variables(path) == [("bias", [2]), ("other", [1]), ("weights", [2, 2])]


def test_restored_variables_need_no_initializer(graph, tmp_path):
    variables = model()
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = saver.save(sess, f"{tmp_path}/m")
    with tf.Session() as sess:
        saver.restore(sess, path)
        assert values_of(sess, variables) == VALUES


def test_graph_has_tensorflows_operations(graph):
    tf.Variable([1.0, 2.0], name="a")
    tf.Variable([3], name="b", use_resource=True)
    n_before = len(graph.get_operations())
    saver = tf.train.Saver()
    added = [
        (
            op.name,
            op.type,
            [t.name for t in op.inputs],
            [c.name for c in op.control_inputs],
            op.device,
        )
        for op in graph.get_operations()[n_before:]
    ]
    cpu = "/device:CPU:0"
    restore_inputs = [
        "save/Const:0",
        "save/RestoreV2/tensor_names:0",
        "save/RestoreV2/shape_and_slices:0",
    ]
    save_inputs = [
        "save/Const:0",
        "save/SaveV2/tensor_names:0",
        "save/SaveV2/shape_and_slices:0",
    ]
    assert added == [
        ("save/filename/input", "Const", [], [], ""),
        ("save/filename", "PlaceholderWithDefault", ["save/filename/input:0"], [], ""),
        ("save/Const", "PlaceholderWithDefault", ["save/filename:0"], [], ""),
        ("save/SaveV2/tensor_names", "Const", [], [], ""),
        ("save/SaveV2/shape_and_slices", "Const", [], [], ""),
        ("save/SaveV2", "SaveV2", [*save_inputs, "a:0", "b/Read/ReadVariableOp:0"], [], ""),
        ("save/control_dependency", "Identity", ["save/Const:0"], ["save/SaveV2"], ""),
        ("save/RestoreV2/tensor_names", "Const", [], [], cpu),
        ("save/RestoreV2/shape_and_slices", "Const", [], [], cpu),
        ("save/RestoreV2", "RestoreV2", restore_inputs, [], cpu),
        ("save/Assign", "Assign", ["a:0", "save/RestoreV2:0"], [], ""),
        ("save/Identity", "Identity", ["save/RestoreV2:1"], [], ""),
        ("save/AssignVariableOp", "AssignVariableOp", ["b:0", "save/Identity:0"], [], ""),
        ("save/restore_all", "NoOp", [], ["save/Assign", "save/AssignVariableOp"], ""),
    ]
    assert str(saver.as_saver_def()) == (
        'filename_tensor_name: "save/Const:0"\n'
        'save_tensor_name: "save/control_dependency:0"\n'
        'restore_op_name: "save/restore_all"\n'
        "max_to_keep: 5\n"
        "keep_checkpoint_every_n_hours: 10000\n"
        "version: V2\n"
    )


def test_variables_are_saved_under_other_names(graph, tmp_path):
    weights, bias, *_ = model()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver({"w": weights, "old/bias": bias}).save(sess, f"{tmp_path}/m")
        assert tf.train.list_variables(path) == [("old/bias", [2]), ("w", [2, 2])]
        sess.run([weights.assign(weights * 0), bias.assign([0, 0])])
        tf.train.Saver({"w": weights}).restore(sess, path)
        assert values_of(sess, [weights, bias]) == [VALUES[0], [0, 0]]


def test_shapes_may_be_changed_on_request(graph, tmp_path):
    weights = tf.Variable([1.0, 2.0, 3.0, 4.0], name="w")
    flat = tf.Variable([[0.0, 0.0], [0.0, 0.0]], name="v", use_resource=True)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver([weights]).save(sess, f"{tmp_path}/m")
        tf.train.Saver({"w": flat}, reshape=True).restore(sess, path)
        assert sess.run(flat).tolist() == VALUES[0]


def test_what_tensorflow_sharded_is_restored(graph):
    w, b = tf.Variable(np.zeros(4, np.float32), name="w"), tf.Variable(np.int64(0), name="b")
    with tf.Session() as sess:
        tf.train.Saver().restore(sess, TWO_FILES)
        assert values_of(sess, [w, b]) == [[0, 1, 2, 3], 7]


def test_paths_of_cloud_storage_are_recognized(graph):
    """As TensorFlow's sharded savers do, whose graphs can be imported."""
    graph_def = tf.GraphDef()
    node = graph_def.node.add(name="m", op="StaticRegexFullMatch", input=["x"])
    node.attr["pattern"].s = b"^s3://.*"
    paths = tf.constant(["s3://bucket/m", "/folder/s3://m"])
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = 7
    [matches] = tf.import_graph_def(graph_def, {"x": paths}, ["m:0"])
    with tf.Session() as sess:
        assert sess.run(matches).tolist() == [True, False]


# --- which are kept ------------------------------------------------------------------------------


@pytest.fixture
def saved(graph, tmp_path):
    """Save steps; return the steps that are there, and in the state."""
    tf.Variable(1.0, name="v")

    def run(steps, saver=None, **options):
        saver = saver or tf.train.Saver(**options)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for step in steps:
                saver.save(sess, f"{tmp_path}/m", global_step=step, write_meta_graph=False)
        there = [int(n[2:-6]) for n in names_in(tmp_path) if n.endswith(".index")]
        listed = tf.train.get_checkpoint_state(tmp_path).all_model_checkpoint_paths
        return sorted(there), [int(path.rpartition("-")[2]) for path in listed]

    return run


def test_oldest_checkpoints_are_removed(saved, tmp_path):
    assert saved(range(1, 5), max_to_keep=2) == ([3, 4], [3, 4])
    assert names_in(tmp_path) == [
        "checkpoint",
        *("m-3.data-00000-of-00001", "m-3.index", "m-4.data-00000-of-00001", "m-4.index"),
    ]


@pytest.mark.parametrize("none", [None, 0])
def test_all_checkpoints_are_kept(saved, none):
    assert saved(range(1, 5), max_to_keep=none) == ([1, 2, 3, 4], [4])


def test_same_step_counts_once(saved):
    assert saved([1, 2, 2, 1, 3], max_to_keep=2) == ([1, 3], [1, 3])


def test_one_for_every_hour_is_kept(saved, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now.__setitem__(0, now[0] + 1200) or now[0])
    there, listed = saved(range(1, 10), max_to_keep=2, keep_checkpoint_every_n_hours=1)
    assert (there, listed) == ([4, 7, 8, 9], [8, 9])


def test_recovered_checkpoints_are_removed_too(saved, tmp_path):
    saved([1, 2, 3])
    saver = tf.train.Saver(max_to_keep=2)
    saver.recover_last_checkpoints([f"{tmp_path}/m-{n}" for n in (1, 2, 7)])
    assert saver.last_checkpoints == [f"{tmp_path}/m-1", f"{tmp_path}/m-2"]
    assert saved([9], saver)[0] == [2, 3, 9]
    saver.set_last_checkpoints([f"{tmp_path}/m-3"])
    assert saver.last_checkpoints == [f"{tmp_path}/m-3"]


def test_state_can_be_left_alone(graph, tmp_path):
    tf.Variable(1.0)
    saver = tf.train.Saver(save_relative_paths=True)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        saver.save(sess, f"{tmp_path}/m", write_state=False, write_meta_graph=False)
        assert names_in(tmp_path) == ["m.data-00000-of-00001", "m.index"]
        saver.save(sess, f"{tmp_path}/m", latest_filename="latest")
    assert (tmp_path / "latest").read_text().splitlines()[0] == 'model_checkpoint_path: "m"'
    assert tf.train.latest_checkpoint(tmp_path, "latest") == f"{tmp_path}/m"


# --- errors --------------------------------------------------------------------------------------


def saved_path(tmp_path, variables):
    with tf.Graph().as_default(), tf.Session() as sess:
        made = [tf.Variable(value, name=name) for name, value in variables.items()]
        sess.run(tf.global_variables_initializer())
        return tf.train.Saver(made).save(sess, f"{tmp_path}/m", write_meta_graph=False)


def test_all_mismatches_are_listed(graph, tmp_path):
    path = saved_path(tmp_path, {"a": [1.0, 2.0], "b": [1, 2], "c": 1.0, "d": [1.0]})
    a = tf.Variable([1.0, 2.0, 3.0], name="a")
    tf.Variable([[1, 2]], name="b", use_resource=True)
    tf.Variable(7, name="c")
    tf.Variable([9.0], name="d")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(errors.InvalidArgumentError) as raised:
            tf.train.Saver().restore(sess, path)
        assert sess.run(a).tolist() == [1, 2, 3]
        assert sess.run("d:0").tolist() == [9]  # nothing was restored
    assert raised.value.message == (
        "Restoring from checkpoint failed. This is most likely due to a mismatch between the "
        "current graph and the graph from the checkpoint. Please ensure that you have not "
        "altered the graph expected based on the checkpoint. Original error:\n\n"
        "tensor_name = c; expected dtype int32 does not equal original dtype float\n"
        "  Assign requires shapes of both tensors to match. lhs shape= [3] rhs shape= [2] (a)\n"
        "  Assign requires shapes of both tensors to match. lhs shape= [1,2] rhs shape= [2] (b)"
    )


def test_all_missing_variables_are_listed(graph, tmp_path):
    path = saved_path(tmp_path, {"a": 1.0})
    tf.Variable([1.0], name="a")
    tf.Variable(1.0, name="b")
    tf.Variable(1.0, name="c", use_resource=True)
    with tf.Session() as sess, pytest.raises(errors.NotFoundError) as raised:
        tf.train.Saver(sharded=True).restore(sess, path)
    assert raised.value.message.endswith(
        "Original error:\n\nKey b not found in checkpoint\n  Key c not found in checkpoint\n"
        "  Assign requires shapes of both tensors to match. lhs shape= [1] rhs shape= [] (a)"
    )


def test_restore_needs_a_checkpoint(graph, tmp_path):
    tf.Variable(1.0)
    saver = tf.train.Saver()
    with tf.Session() as sess:
        with pytest.raises(ValueError, match=r"^Can't load save_path when it is None\.$"):
            saver.restore(sess, None)
        with pytest.raises(
            ValueError, match=r"^The passed save_path is not a valid checkpoint: zz$"
        ):
            saver.restore(sess, "zz")
        (tmp_path / "m.index").write_bytes(b"not a table" * 30)
        with pytest.raises(errors.DataLossError, match=r"not an sstable[^/]*/.*m\.index"):
            saver.restore(sess, tmp_path / "m")


def test_save_needs_a_session_and_a_folder(graph, tmp_path):
    tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    with tf.Session() as sess:
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized value v"):
            saver.save(sess, tmp_path / "m")
        sess.run(tf.global_variables_initializer())
        with pytest.raises(
            ValueError, match=r"^Parent directory of \S+/no/such/m doesn't exist"
        ):
            saver.save(sess, tmp_path / "no" / "such" / "m")
        assert saver.save(sess, tmp_path / "new" / "m") == str(tmp_path / "new" / "m")
        with pytest.raises(ValueError, match=r"^'latest_filename' must not contain path comp"):
            saver.save(sess, tmp_path / "m", latest_filename="a/b")
        with pytest.raises(ValueError, match=r"^'latest_filename' collides with 'save_path': "):
            saver.save(sess, tmp_path / "checkpoint")
    with pytest.raises(TypeError, match=r"^'sess' must be a Session; None$"):
        saver.save(None, tmp_path / "m")


def test_full_disk_is_an_error_that_leaves_all(graph, tmp_path, monkeypatch):
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver()

    def full(self, data):
        with unfinished.naming(self.path):
            raise OSError(28, "No space left on device")

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        saver.save(sess, tmp_path / "m")
        before = {name: (tmp_path / name).read_bytes() for name in names_in(tmp_path)}
        sess.run(v.assign(2.0))
        with monkeypatch.context() as patch:
            patch.setattr(unfinished.UnfinishedFile, "write", full)
            with pytest.raises(errors.ResourceExhaustedError, match="No space left on device"):
                saver.save(sess, tmp_path / "m")
        assert {name: (tmp_path / name).read_bytes() for name in names_in(tmp_path)} == before
        assert saver.save(sess, tmp_path / "m")


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda v: tf.train.Saver([tf.constant(1.0)]),
            TypeError,
            "^Variable to save is not a Var",
        ),
        (
            lambda v: tf.train.Saver("v"),
            TypeError,
            "^Variables to save should be passed in a di",
        ),
        (lambda v: tf.train.Saver({"x": 3}), TypeError, "^names_to_saveables must be a dict"),
        (
            lambda v: tf.train.Saver([v, v]),
            ValueError,
            "^At least two variables have the same n",
        ),
        (
            lambda v: tf.train.Saver({"a": v, "b": v}),
            ValueError,
            "^The same saveable will be re",
        ),
        (lambda v: tf.train.Saver([v], defer_build=True), ValueError, "^If `var_list` is prov"),
        (
            lambda v: tf.train.Saver(write_version=7),
            RuntimeError,
            "^Unexpected write_version: 7",
        ),
        (
            lambda v: tf.train.Saver(defer_build=True).save(None, "m"),
            RuntimeError,
            r"^`build\(\)`",
        ),
    ],
)
def test_arguments_that_make_no_saver(graph, make, error, words):
    variable = tf.Variable(1.0, name="v")
    with pytest.raises(error, match=words):
        make(variable)


def test_graphs_without_variables(graph, tmp_path):
    with pytest.raises(ValueError, match=r"^No variables to save$"):
        tf.train.Saver()
    saver = tf.train.Saver(allow_empty=True)
    tf.constant(1)
    with tf.Session() as sess:
        assert saver.save(sess, tmp_path / "m", write_meta_graph=False) is None
        saver.restore(sess, tmp_path / "m")
    assert names_in(tmp_path) == []


def test_savers_are_found_again_by_their_message(graph, tmp_path):
    v = tf.Variable(1.0, name="v")
    tf.train.Saver(max_to_keep=3)
    again = tf.train.Saver(saver_def=tf.train.Saver(name="other").as_saver_def())
    with tf.Session() as sess:
        sess.run(v.initializer)
        again.restore(sess, again.save(sess, tmp_path / "m"))
    scoped = tf.train.Saver.from_proto(again.to_proto(), import_scope="x")
    assert scoped.as_saver_def().restore_op_name == "x/other/restore_all"
    assert scoped.to_proto("x").restore_op_name == "other/restore_all"
    assert scoped.to_proto("y") is None
