"""Partitioned variables in checkpoints: slices of one tensor, as TensorFlow has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.train.checkpoints.files import contents

RECORDED = str(Path(__file__).parent / "data/in_parts")
LOSSES = [0.75, 0.2883, 0.011994701]
TABLE = [[0.88880819, 0.5], [0.5, 0.5], [0.88880819, 0.5], [0.88880819, 0.5], [0.5, 0.5]]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def model(n_parts: int = 2):
    with tf.variable_scope("emb", partitioner=tf.fixed_size_partitioner(n_parts)):
        table = tf.get_variable("table", [5, 2], initializer=tf.constant_initializer(0.5))
    scale = tf.get_variable("w", initializer=[1.0, 2.0])
    rows = tf.nn.embedding_lookup(table, [0, 1, 4])
    assert rows.shape.as_list() == [3, 2]
    loss = tf.reduce_sum(tf.square(rows * scale - 1.0))
    return table, loss, tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)


def test_training_and_files_are_tensorflows(tmp_path):
    """[TF 2.21]: losses of three steps, then the bytes of the checkpoint."""
    _, loss, train = model()
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train])[0] for _ in range(3)]
        saver.save(session, str(tmp_path / "m"), write_meta_graph=False, write_state=False)
    np.testing.assert_allclose(losses, LOSSES, rtol=1e-6)
    assert contents(str(tmp_path / "m")) == contents(RECORDED)


@pytest.mark.parametrize("n_parts", [1, 2, 3])
def test_other_partitions_are_restored(n_parts):
    table, *_ = model(n_parts)
    with tf.Session() as session:
        tf.train.Saver().restore(session, RECORDED)
        np.testing.assert_allclose(session.run(tf.convert_to_tensor(table)), TABLE)
        slots = {v.op.name: v for v in tf.global_variables() if "Momentum" in v.op.name}
        momentum = session.run(slots["emb/table/part_0/Momentum"])
        np.testing.assert_allclose(momentum[0], [-1.2750814, 0], rtol=1e-6)


def test_whole_variables_are_restored_from_parts():
    table = tf.get_variable("emb/table", [5, 2])
    with tf.Session() as session:
        tf.train.Saver([table]).restore(session, RECORDED)
        np.testing.assert_allclose(session.run(table), TABLE)


@pytest.mark.parametrize("of", [lambda v: {"other": v}, lambda v: {"other": list(v)}])
def test_variables_in_parts_have_other_names(tmp_path, of):
    v = tf.get_variable("v", [3], partitioner=tf.fixed_size_partitioner(2))
    with tf.Session() as session:
        session.run(v.assign([1.0, 2.0, 3.0]))
        path = tf.train.Saver(of(v)).save(session, str(tmp_path / "m"))
    assert tf.train.load_variable(path, "other").tolist() == [1, 2, 3]


def test_parts_of_two_variables_are_not_one():
    v = tf.get_variable("v", [3], partitioner=tf.fixed_size_partitioner(2))
    w = tf.get_variable("w", [3], partitioner=tf.fixed_size_partitioner(2))
    with pytest.raises(ValueError, match=r"^Slices must all be from the same tensor: v != w$"):
        tf.train.Saver({"x": [*v, *w]})
    with pytest.raises(ValueError, match=r"^At least two variables have the same name: v$"):
        tf.train.Saver([v, next(iter(v))])


def test_meta_graphs_have_the_parts(tmp_path):
    table, loss, train = model()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "m"))
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(f"{path}.meta")
        specs = {
            v.op.name: v._get_save_slice_info().spec
            for v in tf.trainable_variables()
            if v._get_save_slice_info()
        }
        assert specs == {
            "emb/table/part_0": "5 2 0,3:0,2",
            "emb/table/part_1": "5 2 3,2:0,2",
        }
        with tf.Session() as session:
            saver.restore(session, path)
            values = [session.run([loss.name, train.name])[0] for _ in range(3)]
    np.testing.assert_allclose(values, LOSSES, rtol=1e-6)
    assert len(table) == 2
