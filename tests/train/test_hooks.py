"""The stock hooks, each on its own. Values, messages and times of action are TensorFlow's."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import berth.compat.v1 as tf


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Do not wait for disks, and close the event files."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    yield
    tf.summary.FileWriterCache.clear()


@pytest.fixture
def log(caplog):
    caplog.set_level("INFO", logger="tensorflow")
    return caplog


def counting():
    """Return the global step, and an operation that adds one to it."""
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1, name="train")


def run(hooks, op, n_runs):
    with tf.train.SingularMonitoredSession(hooks=hooks) as session:
        n_done = 0
        while n_done < n_runs and not session.should_stop():
            session.run(op)
            n_done += 1
    return n_done


def own(log):
    """Return what hooks have logged, without what a session logs."""
    usual = ("Graph was finalized.", "Running local_init_op.", "Done running local_init_op.")
    return [message for message in log.messages if message not in usual]


def test_timer_triggers_by_steps_or_seconds():
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    triggered = []
    for step in range(1, 9):
        if timer.should_trigger_for_step(step):
            _, steps = timer.update_last_triggered_step(step)
            triggered.append((step, steps))
    assert triggered == [(1, None), (4, 3), (7, 3)]
    assert timer.last_triggered_step() == 7
    timer.reset()
    assert timer.last_triggered_step() is None
    assert timer.should_trigger_for_step(8)

    seconds = tf.train.SecondOrStepTimer(every_secs=0.0)
    assert seconds.update_last_triggered_step(1) == (None, None)
    assert not seconds.should_trigger_for_step(1)
    assert seconds.should_trigger_for_step(2)
    assert not _after(tf.train.SecondOrStepTimer(every_secs=1e6)).should_trigger_for_step(2)
    with pytest.raises(ValueError, match="Either every_secs or every_steps should be provided"):
        tf.train.SecondOrStepTimer()
    with pytest.raises(ValueError, match="Can not provide both every_secs and every_steps"):
        tf.train.SecondOrStepTimer(1.0, 1)


def _after(timer):
    timer.update_last_triggered_step(1)
    return timer


def test_training_stops_at_a_step():
    step, train_op = counting()
    assert run([tf.train.StopAtStepHook(num_steps=4)], train_op, 9) == 4
    assert run([tf.train.StopAtStepHook(last_step=3)], train_op, 9) == 3
    assert run([tf.train.StopAtStepHook(num_steps=3)], tf.assign_add(step, 2), 9) == 2
    with pytest.raises(ValueError, match="One of num_steps or last_step must be specified"):
        tf.train.StopAtStepHook()
    with pytest.raises(ValueError, match="Only one of num_steps or last_step can be specified"):
        tf.train.StopAtStepHook(1, 2)
    with tf.Graph().as_default():
        message = r"^Global step should be created to use StopAtStepHook\.$"
        with pytest.raises(RuntimeError, match=message):
            tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(1)])


def test_nan_is_an_error_or_a_stop(log):
    step, train_op = counting()
    loss = tf.cast(step, tf.float32) * 0 / tf.cast(step - 2, tf.float32)
    with tf.control_dependencies([loss]):
        after = tf.assign_add(step, 1)
    with pytest.raises(
        tf.train.NanLossDuringTrainingError, match=r"NaN loss during training\."
    ):
        run([tf.train.NanTensorHook(loss)], after, 9)
    assert log.records[-1].levelname == "ERROR"
    assert run([tf.train.NanTensorHook(loss, fail_on_nan_loss=False)], after, 9) == 3
    assert own(log) == ["Model diverged with loss = NaN."] * 2
    assert run([tf.train.NanTensorHook(tf.constant(1.0))], train_op, 3) == 3


def test_tensors_are_logged_by_label(log):
    _, train_op = counting()
    after = tf.identity(train_op, name="after")
    values = tf.constant([1e-5, 2.5], name="values")
    hook = tf.train.LoggingTensorHook({"step": after, "b": "values"}, every_n_iter=2)
    run([hook], train_op, 4)
    first, second = own(log)
    assert first == f"b = {np.array([1e-5, 2.5], np.float32)!s}, step = 1".replace(
        "1.0e-05 2.5e+00", "0.00001 2.5    "
    )
    assert second.startswith("b = [0.00001 2.5    ], step = 3 (")
    assert second.endswith(" sec)")
    assert values.name == "values:0"


def test_tensors_are_logged_at_the_end_and_by_a_formatter(log):
    _, train_op = counting()
    tf.constant(5, name="five")
    at_end = tf.train.LoggingTensorHook(["five"], at_end=True)
    told = tf.train.LoggingTensorHook(
        ["five:0"], every_n_iter=9, formatter=lambda values: f"got {values['five:0']}"
    )
    run([at_end, told], train_op, 3)
    assert own(log) == ["got 5", "five = 5"]


def test_unclear_tensors_are_not_logged():
    with pytest.raises(ValueError, match="either at_end and/or exactly one of every_n_iter"):
        tf.train.LoggingTensorHook(["a"])
    with pytest.raises(ValueError, match="either at_end and/or exactly one of every_n_iter"):
        tf.train.LoggingTensorHook(["a"], every_n_iter=1, every_n_secs=1)
    with pytest.raises(ValueError, match=r"invalid every_n_iter=0\."):
        tf.train.LoggingTensorHook(["a"], every_n_iter=0)
    tf.split(tf.constant([1, 2]), 2, name="two")
    with pytest.raises(ValueError, match="Name two is ambiguous, as this `Operation` has"):
        tf.train.LoggingTensorHook(["two"], every_n_iter=1).begin()
    with pytest.raises(KeyError, match="The name 'nope:0' refers to a Tensor which does not"):
        tf.train.LoggingTensorHook(["nope"], every_n_iter=1).begin()
    with tf.Graph().as_default():
        other = tf.constant(1)
    with pytest.raises(ValueError, match="should have graph attribute that is equal"):
        tf.train.LoggingTensorHook([other], every_n_iter=1).begin()


def test_speed_is_logged_and_written(log, tmp_path):
    _, train_op = counting()
    run([tf.train.StepCounterHook(2, output_dir=str(tmp_path))], train_op, 5)
    tf.summary.FileWriterCache.clear()
    assert [message.partition(": ")[0] for message in own(log)] == ["global_step/sec"] * 2
    (file,) = tmp_path.iterdir()
    written = [
        (event.step, event.summary.value[0].tag)
        for event in tf.train.summary_iterator(str(file))
        if event.WhichOneof("what") == "summary"
    ]
    assert written == [(3, "global_step/sec"), (5, "global_step/sec")]
    with pytest.raises(ValueError, match="exactly one of every_n_steps and every_n_secs"):
        tf.train.StepCounterHook(every_n_secs=1)


def test_step_that_stands_still_is_noticed(log):
    step, _ = counting()
    run([tf.train.StepCounterHook(100)], step, 9)
    assert len(own(log)) == 5
    assert own(log)[0].startswith(
        "It seems that global step (tf.train.get_global_step) has not"
    )


def test_summaries_are_written_every_so_many_steps(tmp_path):
    step, train_op = counting()
    summary = tf.summary.scalar("twice", step * 2)
    hook = tf.train.SummarySaverHook(3, output_dir=str(tmp_path), summary_op=summary)
    run([hook], train_op, 8)
    (file,) = tmp_path.iterdir()
    events = list(tf.train.summary_iterator(str(file)))
    assert [e.step for e in events if e.WhichOneof("what") == "summary"] == [1, 3, 5, 7]
    assert [e.session_log.status for e in events if e.HasField("session_log")] == [
        tf.SessionLog.START
    ]
    with pytest.raises(ValueError, match="Exactly one of scaffold or summary_op must be"):
        tf.train.SummarySaverHook(3)


class Listener(tf.train.CheckpointSaverListener):
    """Notes what it is told; may ask to stop."""

    def __init__(self, stop_at=None):
        self.calls, self._stop_at = [], stop_at

    def begin(self):
        self.calls.append("begin")

    def before_save(self, session, global_step_value):
        self.calls.append(("before", int(global_step_value)))

    def after_save(self, session, global_step_value):
        self.calls.append(("after", int(global_step_value)))
        return global_step_value == self._stop_at

    def end(self, session, global_step_value):
        self.calls.append(("end", int(global_step_value)))


def test_listeners_are_called_for_checkpoints(tmp_path):
    _, train_op = counting()
    listener = Listener(stop_at=4)
    hook = tf.train.CheckpointSaverHook(
        str(tmp_path), save_steps=2, saver=tf.train.Saver(), listeners=[listener]
    )
    assert run([hook], train_op, 9) == 4
    saved = [(what, step) for step in (0, 2, 4) for what in ("before", "after")]
    assert listener.calls == ["begin", *saved, ("end", 4)]
    assert tf.train.latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model.ckpt-4"


def test_checkpoint_hook_needs_one_saver(tmp_path):
    counting()
    scaffold = tf.train.Scaffold()
    with pytest.raises(ValueError, match="You cannot provide both saver and scaffold"):
        tf.train.CheckpointSaverHook(
            str(tmp_path), 1, saver=tf.train.Saver(), scaffold=scaffold
        )
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1)
    creator = tf.train.ChiefSessionCreator(tf.train.Scaffold(saver=tf.train.Saver()))
    with pytest.raises(RuntimeError, match="More than one item in collection savers"):
        tf.train.MonitoredSession(creator, [hook])


def test_disk_errors_end_the_training(tmp_path):
    _, train_op = counting()
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=2, saver=tf.train.Saver())
    session = tf.train.MonitoredSession(hooks=[hook])
    session.run(train_op)
    for file in tmp_path.iterdir():
        file.unlink()
    tmp_path.rmdir()
    tmp_path.write_text("not a folder")
    with pytest.raises((ValueError, tf.errors.OpError)), session:
        session.run(train_op)


def test_operations_run_at_the_end():
    step, train_op = counting()
    hook = tf.train.FinalOpsHook({"step": step, "more": step + 1})
    assert hook.final_ops_values is None
    run([hook], train_op, 3)
    assert hook.final_ops_values == {"step": 3, "more": 4}
    value = tf.placeholder(tf.float32)
    fed = tf.train.FinalOpsHook(value, final_ops_feed_dict={value: 2.5})
    run([fed], train_op, 1)
    assert fed.final_ops_values == 2.5


def test_first_run_waits_for_a_step(monkeypatch, log):
    from berth.train.hooks import stopping

    step, train_op = counting()
    hook = tf.train.GlobalStepWaiterHook(1500)
    session = tf.train.SingularMonitoredSession(hooks=[hook])
    raw = session.raw_session()
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        step.load(1100 * len(naps), raw)

    monkeypatch.setattr(stopping.time, "sleep", sleep)
    with session:
        assert session.run(train_op) == 2201
        assert session.run(train_op) == 2202
    assert len(naps) == 2
    assert own(log) == [
        "Waiting for global step 1500 before starting training.",
        "Waiting for global step 1500 before starting training. Current step is 1100.",
    ]


def test_traces_are_written(tmp_path, log):
    _, train_op = counting()
    run([tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))], train_op, 5)
    traces = sorted(path.name for path in tmp_path.glob("*.json"))
    assert traces == ["timeline-2.json", "timeline-4.json"]
    assert json.loads((tmp_path / traces[0]).read_text())["traceEvents"]
    assert own(log)[0] == f"Saving timeline for 2 into '{tmp_path}/timeline-2.json'."
