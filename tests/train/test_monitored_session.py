"""Monitored sessions: hooks, stops, errors, recovery. What is logged is TensorFlow's."""

from __future__ import annotations

import os
import signal
import threading

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


class Recorder(tf.train.SessionRunHook):
    """Notes what is called; may fail in a run."""

    def __init__(self, error=None, at=None, fetches=None):
        self.calls, self.results = [], []
        self._error, self._at, self._fetches = error, at, fetches

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        assert isinstance(coord, tf.train.Coordinator)
        self.calls.append("create")

    def before_run(self, run_context):
        self.calls.append("before")
        return tf.train.SessionRunArgs(self._fetches) if self._fetches is not None else None

    def after_run(self, run_context, run_values):
        self.calls.append("after")
        self.results.append(run_values.results)
        if self.calls.count("after") == self._at:
            raise self._error

    def end(self, session):
        self.calls.append("end")


def counting():
    """Return the global step, and an operation that adds one to it."""
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1, name="train")


def train(folder, last_step, hooks=(), **options):
    """Train up to a step; return what the runs gave."""
    with tf.Graph().as_default():
        step, train_op = counting()
        weight = tf.get_variable("weight", initializer=1.0)
        loss = tf.identity(weight * 2, name="loss")
        with tf.control_dependencies([train_op, loss]):
            update = weight.assign_add(1.0)
        tf.summary.scalar("loss", loss)
        stop = tf.train.StopAtStepHook(last_step=last_step)
        got = []
        options = {"save_checkpoint_steps": 3, "log_step_count_steps": None, **options}
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(folder), hooks=[stop, *hooks], **options
        ) as session:
            while not session.should_stop():
                got.append(session.run([step, update])[1].item())
        assert not tf.get_default_graph().finalized
        return got


def test_training_logs_what_tensorflow_logs(tmp_path, log):
    logged = tf.train.LoggingTensorHook(["loss"], every_n_iter=100)
    assert train(tmp_path, 4, [logged]) == [2, 3, 4, 5]

    path = f"{tmp_path}/model.ckpt"
    saves = [
        [
            f"Calling checkpoint listeners before saving checkpoint {step}...",
            f"Saving checkpoints for {step} into {path}.",
            f"Calling checkpoint listeners after saving checkpoint {step}...",
        ]
        for step in (0, 3, 4)
    ]
    assert log.messages == [
        "Create CheckpointSaverHook.",
        "Graph was finalized.",
        "Running local_init_op.",
        "Done running local_init_op.",
        *saves[0],
        "loss = 2.0",
        *saves[1],
        *saves[2],
    ]
    assert {record.name for record in log.records} == {"tensorflow"}
    names = {name for name in os.listdir(tmp_path) if "tfevents" not in name}
    assert names == {"checkpoint", "graph.pbtxt"} | {
        f"model.ckpt-{step}.{end}"
        for step in (0, 3, 4)
        for end in ("data-00000-of-00001", "index", "meta")
    }


def test_training_writes_the_events_of_tensorflow(tmp_path):
    train(tmp_path, 4, save_summaries_steps=2)
    tf.summary.FileWriterCache.clear()
    (file,) = [name for name in os.listdir(tmp_path) if "tfevents" in name]
    found = [
        (event.step, event.WhichOneof("what"))
        for event in tf.train.summary_iterator(str(tmp_path / file))
    ]
    assert [event for event in found if event[1] in ("summary", "session_log")] == [
        (0, "session_log"),
        (1, "session_log"),
        (1, "summary"),
        (3, "summary"),
        (3, "session_log"),
        (4, "session_log"),
    ]
    assert {"graph_def", "meta_graph_def"} <= {what for _, what in found}


def test_restart_goes_on_where_it_was(tmp_path, log):
    assert train(tmp_path, 4) == [2, 3, 4, 5]
    assert train(tmp_path, 7) == [6, 7, 8]
    assert f"Restoring parameters from {tmp_path}/model.ckpt-4" in log.messages
    assert train(tmp_path, 7) == [9]  # one run tells that the step was reached


def test_killed_program_goes_on_where_it_saved(tmp_path):
    class Kill(tf.train.SessionRunHook):
        n_runs = 0

        def after_run(self, run_context, run_values):
            self.n_runs += 1
            if self.n_runs == 5:
                os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        train(tmp_path, 100, [Kill()])
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert tf.train.latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model.ckpt-3"
    assert train(tmp_path, 5) == [5, 6]


def test_interrupted_program_goes_on_where_it_saved(tmp_path):
    failure = Recorder(KeyError("bug"), at=5)
    with pytest.raises(KeyError, match="bug"):
        train(tmp_path, 100, [failure])
    assert failure.calls[-1] == "after"  # no hook is ended by an error
    assert train(tmp_path, 5) == [5, 6]


@pytest.mark.parametrize("kind", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_lost_session_is_recovered_from_the_checkpoint(tmp_path, log, kind):
    failure = Recorder(kind(None, None, "lost"), at=5)
    # The value of the run that failed is not returned: the run is made again, from step 3.
    assert train(tmp_path, 6, [failure]) == [2, 3, 4, 5, 5, 6, 7]
    assert failure.calls.count("begin") == 1
    assert failure.calls.count("create") == 2
    assert failure.calls[-1] == "end"
    assert any(
        message.startswith("An error was raised. This may be") for message in log.messages
    )


def test_singular_session_does_not_recover():
    _, train_op = counting()
    failure = Recorder(tf.errors.AbortedError(None, None, "lost"), at=1)
    session = tf.train.SingularMonitoredSession(hooks=[failure])
    assert isinstance(session.raw_session(), tf.Session)
    with pytest.raises(tf.errors.AbortedError, match="lost"), session:
        session.run(train_op)
    assert failure.calls == ["begin", "create", "before", "after"]
    assert session.raw_session() is None
    assert session.should_stop()


def test_creation_is_tried_again_after_a_failure():
    class Creator(tf.train.SessionCreator):
        n_tries = 0

        def create_session(self):
            self.n_tries += 1
            if self.n_tries < 3:
                raise tf.errors.UnavailableError(None, None, "not yet")
            return tf.train.ChiefSessionCreator().create_session()

    _, train_op = counting()
    creator = Creator()
    with tf.train.MonitoredSession(creator) as session:
        assert session.run(train_op) == 1
    assert creator.n_tries == 3


def test_failure_of_a_thread_recovers_the_session(tmp_path):
    class Fail(tf.train.SessionRunHook):
        n_sessions = 0

        def after_create_session(self, session, coord):
            self.n_sessions += 1
            if self.n_sessions == 1:
                with coord.stop_on_exception():
                    raise tf.errors.AbortedError(None, None, "thread lost")

    _, train_op = counting()
    hook = Fail()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert not session.should_stop()
        assert hook.n_sessions == 2
        assert session.run(train_op) == 1


def test_other_error_of_a_thread_is_raised_at_the_end():
    class Fail(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            with coord.stop_on_exception():
                raise KeyError("in a thread")

    counting()
    session = tf.train.MonitoredSession(hooks=[Fail()])
    assert session.should_stop()
    assert session.should_stop()
    with pytest.raises(KeyError, match="in a thread"):
        session.close()


def test_threads_end_with_the_session():
    class Thread(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            self.thread = threading.Thread(target=coord.wait_for_stop)
            coord.register_thread(self.thread)
            self.thread.start()

    counting()
    hook = Thread()
    with tf.train.MonitoredSession(hooks=[hook]):
        assert hook.thread.is_alive()
    assert not hook.thread.is_alive()


@pytest.mark.parametrize("end", [tf.errors.OutOfRangeError(None, None, "end"), StopIteration()])
def test_end_of_input_ends_the_block(end):
    hook = Recorder()
    with tf.train.MonitoredSession(hooks=[hook]):
        raise end
    assert hook.calls == ["begin", "create", "end"]


def test_hooks_are_called_in_order():
    step, train_op = counting()
    hook = Recorder(fetches={"twice": step * 2})
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.graph is tf.get_default_graph()
        assert session.run(train_op) == 1
        assert session.run([train_op, {"a": train_op}]) == [2, {"a": 2}]
    assert hook.calls == ["begin", "create", *["before", "after"] * 2, "end"]
    assert [set(result) for result in hook.results] == [{"twice"}] * 2


def test_hooks_and_program_feed_different_tensors():
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
    hook = tf.train.FeedFnHook(lambda: {x: 3.0})
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(x) == 3
        assert session.run([x, y], {y: 4.0}) == [3, 4]
        with pytest.raises(RuntimeError, match="Same tensor is fed by a SessionRunHook and"):
            session.run(x, {x: 1.0})
    both = tf.train.MonitoredSession(hooks=[hook, hook])
    with both, pytest.raises(RuntimeError, match="Same tensor is fed by two hooks"):
        both.run(x)


def test_graph_is_final_while_it_trains():
    counting()
    message = r"^Graph is finalized and cannot be modified\.$"
    with tf.train.MonitoredSession(), pytest.raises(RuntimeError, match=message):
        tf.constant(1)
    tf.constant(1)
    tf.get_default_graph().finalize()


def test_stop_is_final():
    class Stop(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            assert not run_context.stop_requested
            run_context.request_stop()

    _, train_op = counting()
    with tf.train.MonitoredSession(hooks=[Stop()]) as session:
        session.run(train_op)
        assert session.should_stop()
        with pytest.raises(RuntimeError, match="Run called even after should_stop requested"):
            session.run(train_op)
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.close()
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.run(train_op)
    assert session.graph is None


def test_step_function_gets_session_and_hooks():
    _, train_op = counting()
    hook = Recorder()

    def step_fn(step_context):
        step_context.session.run(train_op)
        return step_context.run_with_hooks(train_op)

    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run_step_fn(step_fn) == 2
        assert hook.calls.count("before") == 1
        with pytest.raises(ValueError, match="`step_fn` may either have one `step_context`"):
            session.run_step_fn(lambda context: None)
        session.run_step_fn(lambda step_context: step_context.request_stop())
        pytest.fail("request_stop ends the block")


def test_options_of_hooks_reach_the_run():
    class Traced(tf.train.SessionRunHook):
        def before_run(self, run_context):
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            return tf.train.SessionRunArgs(None, options=options)

        def after_run(self, run_context, run_values):
            self.values = run_values

    _, train_op = counting()
    hook = Traced()
    given, metadata = tf.RunOptions(timeout_in_ms=60_000), tf.RunMetadata()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(train_op, options=given, run_metadata=metadata)
    assert hook.values.options.trace_level == tf.RunOptions.FULL_TRACE
    assert hook.values.options.timeout_in_ms == 60_000
    assert hook.values.run_metadata is metadata
    assert metadata.step_stats.dev_stats
    assert given.trace_level == tf.RunOptions.NO_TRACE


# --- scaffolds --------------------------------------------------------------------------------


def test_scaffold_initializes_by_its_arguments():
    value = tf.placeholder(tf.float32, [])
    first = tf.get_variable("first", initializer=value)
    second = tf.get_variable("second", initializer=0.0)
    local_value = tf.placeholder(tf.float32, [])
    local = tf.get_local_variable("local", initializer=local_value)
    assign = second.assign(7.0)

    def init_fn(scaffold, session):
        assert scaffold.init_feed_dict == {value: 3.0}
        session.run(assign)

    scaffold = tf.train.Scaffold(
        init_feed_dict={value: 3.0}, init_fn=init_fn, local_init_feed_dict={local_value: 6.0}
    )
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold)) as session:
        assert session.run([first, second, local]) == [3, 7, 6]
    copy = tf.train.Scaffold(copy_from_scaffold=scaffold, init_feed_dict={value: 4.0})
    assert copy.saver is scaffold.saver
    assert copy.init_op is scaffold.init_op
    assert copy.init_feed_dict == {value: 4.0}
    with pytest.raises(TypeError, match="copy_from_scaffold is not a Scaffold instance"):
        tf.train.Scaffold(copy_from_scaffold=3)


def test_scaffold_uses_the_collections():
    tf.get_variable("v", initializer=1.0)
    saver = tf.train.Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    for key in (tf.GraphKeys.INIT_OP, tf.GraphKeys.SUMMARY_OP):
        tf.add_to_collection(key, tf.no_op(name=key))
    scaffold = tf.train.Scaffold().finalize()
    assert scaffold.saver is saver
    assert [scaffold.init_op.name, scaffold.summary_op.name] == ["init_op", "summary_op"]
    assert tf.get_default_graph().finalized


def test_two_of_a_kind_are_ambiguous():
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.INIT_OP, tf.no_op())
    with pytest.raises(RuntimeError, match='More than one item in the collection "init_op"'):
        tf.train.Scaffold().finalize()


def test_missing_initialization_is_an_error():
    first = tf.get_variable("first", initializer=1.0)
    tf.get_variable("second", initializer=1.0)
    scaffold = tf.train.Scaffold(init_op=first.initializer)
    with pytest.raises(RuntimeError) as caught:
        tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold))
    assert str(caught.value) == (
        "Init operations did not make model ready for local_init.  Init op: first/Assign, "
        "init fn: None, error: Variables not initialized: second"
    )
    tf.constant(1)  # the graph can be mended


def test_named_checkpoint_is_restored(tmp_path):
    train(tmp_path, 4)
    weight = tf.get_variable("weight", initializer=0.0)
    tf.train.get_or_create_global_step()
    path = f"{tmp_path}/model.ckpt-3"
    with tf.train.SingularMonitoredSession(checkpoint_filename_with_path=path) as session:
        assert session.run(weight) == 4
        saver = session.raw_session() and tf.get_collection(tf.GraphKeys.SAVERS)[0]
        saver.save(session, str(tmp_path / "copy"))
    assert tf.train.load_variable(str(tmp_path / "copy"), "weight") == 4


def test_worker_waits_for_others_to_initialize(monkeypatch):
    from berth.train import session_manager

    monkeypatch.setattr(session_manager.time, "sleep", lambda seconds: None)
    tf.get_variable("v", initializer=1.0)
    with pytest.raises(tf.errors.DeadlineExceededError, match="Session was not ready after"):
        tf.train.MonitoredTrainingSession(is_chief=False, max_wait_secs=0)
    local = tf.Graph()
    with local.as_default():
        counter = tf.get_local_variable("counter", initializer=1)
        with tf.train.MonitoredTrainingSession(is_chief=False) as session:
            assert session.run(counter) == 1


def test_optimizer_trains_in_a_monitored_session(tmp_path):
    def losses(last_step):
        with tf.Graph().as_default():
            weight = tf.get_variable("weight", initializer=[3.0, -2.0])
            loss = tf.reduce_sum(tf.square(weight))
            optimizer = tf.train.AdamOptimizer(0.5)
            update = optimizer.minimize(loss, tf.train.get_or_create_global_step())
            hooks = [tf.train.StopAtStepHook(last_step=last_step), tf.train.NanTensorHook(loss)]
            got = []
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), hooks=hooks, save_checkpoint_steps=100
            ) as session:
                while not session.should_stop():
                    got.append(session.run([update, loss])[1])
            return got

    first = losses(3)
    second = losses(6)
    assert len(first) == len(second) == 3
    # The state of Adam is restored too: the losses are those of six steps without a break.
    np.testing.assert_allclose(
        [*first, *second], [13, 8.5, 5.0351849, 2.5918005, 1.1041932, 0.4330028], rtol=1e-5
    )


def test_tables_are_initialized_together():
    assert tf.tables_initializer().type == "NoOp"
    table = tf.get_variable("table", initializer=3.0)
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, table.initializer)
    for make in (tf.tables_initializer, tf.initialize_all_tables):
        with tf.Session() as session:
            session.run(make(name="tables"))
            assert session.run(table) == 3
