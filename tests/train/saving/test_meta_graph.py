"""Meta graphs: exported, imported, and one that TensorFlow wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import berth.compat.v1 as tf

TENSORFLOW = Path(__file__).parent / "data" / "tensorflow"


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("scope", [None, "again"])
def test_tensorflows_program_goes_on(graph, scope):
    saver = tf.train.import_meta_graph(f"{TENSORFLOW}.meta", import_scope=scope)
    assert saver.as_saver_def().max_to_keep == 7
    prefix = f"{scope}/" if scope else ""
    names = [variable.name for variable in tf.global_variables()]
    assert names == [f"{prefix}w:0", f"{prefix}b:0", f"{prefix}global_step:0"]
    assert tf.trainable_variables() == tf.global_variables()[:1]
    assert graph.get_operation_by_name(f"{prefix}w").device == "/device:CPU:0"
    [y] = tf.get_collection("outputs")
    assert tf.get_collection("rates") == [0.5]
    assert tf.get_collection("sizes") == [3]
    with tf.Session() as sess:
        saver.restore(sess, TENSORFLOW)
        value = sess.run(y, {f"{prefix}x:0": [[1, 2, 3]]})
        np.testing.assert_allclose(value, [[0.5986875891685486, 0.40131238102912903]], 1e-6)
        assert tf.train.get_global_step() is tf.global_variables()[2]
        assert sess.run(tf.train.get_global_step().assign_add(1)) == 13


@pytest.mark.parametrize("as_text", [False, True])
def test_exported_graphs_come_back(graph, sim, tmp_path, as_text):
    sim("1xT4")
    with tf.device("/gpu:0"):
        w = tf.Variable([1.0, 2.0], name="w", use_resource=True)
    tf.add_to_collection("ops", tf.no_op("nothing"))
    tf.add_to_collection("words", "some")
    saver = tf.train.Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    with tf.Session() as sess:
        sess.run(w.initializer)
        path = saver.save(sess, tmp_path / "m", write_meta_graph=False)
    meta = tf.train.export_meta_graph(
        f"{path}.meta", saver_def=saver.as_saver_def(), as_text=as_text
    )
    with tf.Graph().as_default() as other:
        again = tf.train.import_meta_graph(f"{path}.meta", clear_devices=True)
        assert {op.device for op in other.get_operations()} == {""}
        assert tf.get_collection("ops") == [other.get_operation_by_name("nothing")]
        assert tf.get_collection("words") == [b"some"]
        [saver] = tf.get_collection(tf.GraphKeys.SAVERS)
        assert saver.as_saver_def() == again.as_saver_def() == meta.saver_def
        with tf.Session() as sess:
            again.restore(sess, path)
            [variable] = tf.trainable_variables()
            assert sess.run(variable * 2).tolist() == [2, 4]
            sess.run(variable.initializer)
            assert sess.run(variable.assign_add([1, 1])).tolist() == [2, 3]


def test_graphs_without_savers_get_one(graph):
    tf.Variable(1.0, name="v")
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        assert isinstance(tf.train.import_meta_graph(meta), tf.train.Saver)
    with tf.Graph().as_default():
        assert tf.train.import_meta_graph(tf.MetaGraphDef()) is None


def test_values_without_a_form_are_left_out(graph, caplog):
    tf.add_to_collection("things", object())
    tf.add_to_collection("mixed", 1)
    tf.add_to_collection("mixed", "one")
    assert list(tf.train.export_meta_graph().collection_def) == []
    assert "Issue encountered when serializing things" in caplog.text


def test_files_that_are_no_meta_graphs(graph, tmp_path):
    with pytest.raises(OSError, match=r"^File does not exist\. Received: nope\.meta\.$"):
        tf.train.import_meta_graph("nope.meta")
    file = tmp_path / "bad.meta"
    for text in (b"hello there", b"\xff\xff\xff"):
        file.write_bytes(text)
        with pytest.raises(OSError, match=rf"^Cannot parse file {file}: "):
            tf.train.import_meta_graph(file)


def test_graphs_are_written_in_both_formats(graph, tmp_path):
    tf.constant(2.5, name="c")
    path = tf.train.write_graph(graph, tmp_path / "new" / "folder", "g.pbtxt")
    assert path == str(tmp_path / "new" / "folder" / "g.pbtxt")
    assert Path(path).read_text() == str(graph.as_graph_def())
    path = tf.train.write_graph(graph.as_graph_def(), tmp_path, "g.pb", as_text=False)
    assert tf.GraphDef.FromString(Path(path).read_bytes()) == graph.as_graph_def()


def test_training_goes_on_from_a_meta_graph(graph, tmp_path):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.Variable([[1.0], [2.0]], name="w")
    b = tf.Variable([0.5], name="b", use_resource=True)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b))
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
    tf.add_to_collection("run", train)
    tf.add_to_collection("run", loss)
    saver, fed = tf.train.Saver(), {"x:0": [[1, 2], [3, 4]]}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train, fed)
        path = saver.save(sess, tmp_path / "m", global_step=step)
        expected = [sess.run([train, loss], fed)[1] for _ in range(3)]
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(f"{path}.meta").restore(sess, path)
        found = [sess.run(tf.get_collection("run"), fed)[1] for _ in range(3)]
        assert sess.run("global_step:0") == 4
    assert found == expected
