"""Event files are read by TensorBoard, and by TensorFlow's own iterator."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import berth as tf2
import berth.compat.v1 as tf
from berth.errors import BerthWarning, DataLossError, ResourceExhaustedError
from berth.summary.events import EventFileWriter


def read(folder):
    """Return what TensorBoard reads."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    loaded = accumulator.EventAccumulator(
        str(folder), size_guidance={"tensors": 0, "images": 0, "histograms": 0}
    )
    loaded.Reload()
    return loaded


def events_of(folder):
    return [
        event
        for path in sorted(folder.iterdir())
        for event in tf.train.summary_iterator(str(path))
    ]


def test_tensorboard_reads_a_training_run(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        step = tf.placeholder(tf.float32, name="step")
        tf.summary.scalar("loss", 1 / step)
        tf.summary.histogram("weights", tf.stack([step, -step]))
        tf.summary.image("digit", tf.ones([1, 2, 2, 1]))
        merged = tf.summary.merge_all()
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        with tf.summary.FileWriter(str(tmp_path), graph) as writer:
            for number in (1, 2, 4):
                written = session.run(merged, {step: number}, options, metadata)
                writer.add_summary(written, number)
            writer.add_run_metadata(metadata, "last", 4)
            with pytest.raises(ValueError, match="The provided tag was already used for this"):
                writer.add_run_metadata(metadata, "last", 4)

    found = read(tmp_path)
    assert [(e.step, e.value) for e in found.Scalars("loss")] == [(1, 1.0), (2, 0.5), (4, 0.25)]
    assert [e.histogram_value.max for e in found.Histograms("weights")] == [1, 2, 4]
    assert found.Images("digit/image/0")[0].width == 2
    assert "step" in [node.name for node in found.Graph().node]
    assert found.RunMetadata("last").step_stats.dev_stats


@pytest.mark.usefixtures("eager")
def test_default_step_is_restored_where_the_writer_sets_it():
    writer, steps = tf2.summary.create_noop_writer(), tf2.summary.experimental
    with writer.as_default():
        steps.set_step(5)
    assert steps.get_step() == 5
    with writer.as_default(step=7) as entered:
        assert entered is writer
        steps.set_step(9)
    assert steps.get_step() == 5
    steps.set_step(None)


@pytest.mark.usefixtures("eager")
def test_tensorboard_reads_tensorflow_2_summaries(tmp_path):
    writer = tf2.summary.create_file_writer(str(tmp_path))

    @tf2.function
    def train(x, step):
        tf2.summary.scalar("loss", x * 2, step=step)
        return x + 1

    with writer.as_default():
        for step in range(3):
            train(tf2.constant(float(step)), tf2.constant(step, tf2.int64))
        with tf2.name_scope("sc"):
            assert bool(tf2.summary.scalar("in", 1, step=4, description="d"))
        with tf2.summary.record_if(False):
            assert not bool(tf2.summary.scalar("no", 1, step=4))
            assert not bool(tf2.summary.should_record_summaries())
        tf2.summary.histogram("h", [1.0, 2.0, 2.5, 4.0], step=3, buckets=3)
        tf2.summary.histogram("same", [2.0, 2.0], step=3, buckets=3)
        tf2.summary.image("im", np.full((1, 2, 2, 3), 0.5), step=3)
        tf2.summary.text("t", "hello", step=3)
        tf2.summary.audio("a", np.zeros((1, 4, 1), np.float32), 8000, step=3)
        tf2.summary.experimental.set_step(9)
        tf2.summary.write("raw", tf2.constant([1, 2]))
        tf2.summary.experimental.set_step(None)
        with pytest.raises(
            ValueError, match=r"No step set\. Please specify one either through"
        ):
            tf2.summary.scalar("x", 1.0)
        with pytest.raises(ValueError, match=r"Expected scalar shape, saw shape: \(1,\)"):
            tf2.summary.scalar("x", [1.0], step=1)
    writer.close()
    assert not bool(tf2.summary.scalar("x", 1.0, step=1))

    found = read(tmp_path)
    assert sorted(found.Tags()["tensors"]) == [
        "a",
        "h",
        "im",
        "loss",
        "raw",
        "same",
        "sc/in",
        "t",
    ]
    losses = found.Tensors("loss")
    assert [(e.step, tf.make_ndarray(_ours(e.tensor_proto))) for e in losses] == [
        (0, 0),
        (1, 2),
        (2, 4),
    ]
    # TensorFlow 2.21's rows.
    assert tf.make_ndarray(_ours(found.Tensors("h")[0].tensor_proto)).tolist() == [
        [1, 2, 1],
        [2, 3, 2],
        [3, 4, 1],
    ]
    assert tf.make_ndarray(_ours(found.Tensors("same")[0].tensor_proto)).tolist() == [
        [2, 2, 0],
        [2, 2, 0],
        [2, 2, 2],
    ]
    plugins = {
        tag: found.SummaryMetadata(tag).plugin_data.plugin_name
        for tag in ("sc/in", "h", "im", "t", "a")
    }
    assert plugins == {
        "sc/in": "scalars",
        "h": "histograms",
        "im": "images",
        "t": "text",
        "a": "audio",
    }


def _ours(proto):
    from berth.proto.framework import TensorProto

    return TensorProto.FromString(proto.SerializeToString())


def test_first_event_is_the_version(tmp_path):
    EventFileWriter(tmp_path).close()
    (event,) = events_of(tmp_path)
    assert event.file_version == "brain.Event:2"
    assert event.source_metadata.writer == "tensorflow.core.util.events_writer"


def test_events_wait_for_the_queue_to_fill(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path), max_queue=3)
    for step in range(4):
        writer.add_summary(tf.Summary(value=[{"tag": "x", "simple_value": step}]), step)
    assert len(events_of(tmp_path)) == 1 + 3
    writer.flush()
    assert [event.step for event in events_of(tmp_path)[1:]] == [0, 1, 2, 3]
    writer.close()


def test_closed_writer_warns_until_it_is_reopened(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.close()
    with pytest.warns(BerthWarning, match="Attempting to use a closed FileWriter"):
        writer.add_summary(tf.Summary())
    writer.reopen()
    writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 1)
    writer.close()
    assert [event.WhichOneof("what") for event in events_of(tmp_path)] == [
        "file_version",
        "file_version",
        "session_log",
    ]
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is tf.summary.FileWriterCache.get(
        str(tmp_path)
    )
    tf.summary.FileWriterCache.clear()


def test_metadata_is_written_once_for_a_tag(tmp_path):
    value = tf.Summary.Value(tag="t", simple_value=1)
    value.metadata.plugin_data.plugin_name = "scalars"
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_summary(tf.Summary(value=[value]))
        writer.add_summary(tf.Summary(value=[value]).SerializeToString())
    found = [event.summary.value[0].HasField("metadata") for event in events_of(tmp_path)[1:]]
    assert found == [True, False]


def test_unclosed_writer_loses_nothing_at_exit(tmp_path):
    program = (
        "import sys, berth.compat.v1 as tf\n"
        "writer = tf.summary.FileWriter(sys.argv[1])\n"
        "writer.add_summary(tf.Summary(value=[{'tag': 'x', 'simple_value': 7}]), 1)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert events_of(tmp_path)[1].summary.value[0].simple_value == 7


def test_full_disk_is_an_error_and_nothing_is_lost(tmp_path, monkeypatch):
    writer = EventFileWriter(tmp_path)
    writer.add_event(tf.Event(step=3))
    real = writer._file._file

    class Full:
        closed = False

        def write(self, data):
            raise OSError(28, "No space left on device")

    writer._file._file = Full()
    with pytest.raises(ResourceExhaustedError, match="No space left on device"):
        writer.flush()
    writer._file._file = real
    writer.close()
    assert [event.step for event in events_of(tmp_path)] == [0, 3]


def test_other_files_are_refused(tmp_path):
    from berth.data.tf_record import framed

    path = tmp_path / "events"
    path.write_bytes(framed(b"\x0a\x99"))
    with pytest.raises(DataLossError, match="is not an event"):
        list(tf.train.summary_iterator(path))
    with pytest.raises(
        TypeError, match="must be an instance of `Graph` or `GraphDef`, not int"
    ):
        tf.summary.FileWriter(tmp_path / "x", graph=3)
