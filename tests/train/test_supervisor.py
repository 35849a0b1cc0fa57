"""Supervisor, basic_train_loop and Server."""

from __future__ import annotations

import os

import pytest

import berth.compat.v1 as tf


@pytest.fixture(autouse=True)
def no_waiting_for_disks(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def counting():
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def test_supervisor_goes_on_from_its_checkpoint(tmp_path, caplog):
    caplog.set_level("INFO", logger="tensorflow")

    def train(last_step):
        with tf.Graph().as_default() as graph:
            _, train_op = counting()
            supervisor = tf.train.Supervisor(
                logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0
            )
            got = []
            with supervisor.managed_session() as session:
                assert graph.finalized
                while not supervisor.should_stop():
                    got.append(session.run(train_op).item())
                    if got[-1] == last_step:
                        supervisor.saver.save(
                            session, supervisor.save_path, supervisor.global_step
                        )
                        supervisor.request_stop()
            return got

    assert train(3) == [1, 2, 3]
    assert train(5) == [4, 5]
    assert caplog.messages[4:9] == [
        f"Restoring parameters from {tmp_path}/model.ckpt-3",
        "Running local_init_op.",
        "Done running local_init_op.",
        "Starting standard services.",
        "Starting queue runners.",
    ]


def test_threads_write_checkpoint_and_summaries(tmp_path):
    step, _ = counting()
    tf.summary.scalar("step", step)
    supervisor = tf.train.Supervisor(logdir=str(tmp_path))
    session = supervisor.prepare_or_wait_for_session(start_standard_services=False)
    for thread in supervisor.start_standard_services(session):
        while not os.path.exists(tmp_path / "model.ckpt-0.meta"):
            thread.join(0.01)
    supervisor.stop()
    session.close()
    assert {"checkpoint", "graph.pbtxt"} <= set(os.listdir(tmp_path))


def test_error_in_the_block_is_raised_at_its_end():
    counting()
    supervisor = tf.train.Supervisor()
    with pytest.raises(KeyError, match="boom"), supervisor.managed_session():
        raise KeyError("boom")
    with supervisor.managed_session():
        raise tf.errors.OutOfRangeError(None, None, "end of the input")
    with pytest.raises(RuntimeError, match="Writing a summary requires a summary writer"):
        supervisor.summary_computed(None, b"")


def test_worker_has_placed_variables_and_no_services():
    tf.Variable(1.0)
    with pytest.raises(ValueError, match="When using replicas, all Variables must have their"):
        tf.train.Supervisor(is_chief=False)
    with tf.Graph().as_default():
        worker = tf.train.Supervisor(is_chief=False)
        with pytest.raises(RuntimeError, match="Only chief supervisor can start standard"):
            worker.start_standard_services(None)


def test_loop_begins_again_after_an_abort():
    _, train_op = counting()
    supervisor = tf.train.Supervisor()
    calls = []

    def step_fn(session, a, b):
        calls.append((session.run(train_op).item(), a, b))
        if len(calls) == 2:
            raise tf.errors.AbortedError(None, None, "again")
        if len(calls) == 4:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, step_fn, (7,), {"b": 8})
    assert calls == [(1, 7, 8), (2, 7, 8), (1, 7, 8), (2, 7, 8)]


def test_session_runs_on_a_local_server():
    server = tf.train.Server.create_local_server()
    _, train_op = counting()
    with tf.train.MonitoredTrainingSession(server.target) as session:
        assert session.run(train_op) == 1
    assert server.server_def.job_name == "localhost"
    with pytest.raises(tf.errors.NotFoundError, match="No session factory registered"):
        tf.Session("grpc://elsewhere:1")


@pytest.mark.parametrize(
    ("cluster", "options", "kind", "message"),
    [
        (3, {}, TypeError, "Could not convert `server_or_cluster_def` to a"),
        ({"a": ["x:1"], "b": ["x:2"]}, {}, ValueError, "Must specify an explicit `job_name`"),
        ({"a": ["x:1", "x:2"]}, {}, ValueError, "Must specify an explicit `task_index`"),
        ({"a": ["x:1"]}, {"job_name": "b"}, ValueError, "No such job in cluster: 'b'"),
        ({"a": ["x:1"]}, {"task_index": 1}, tf.errors.InternalError, "Task 1 was not defined"),
        ({"a": ["x"]}, {}, tf.errors.InvalidArgumentError, "Could not parse port for local"),
        ({"a": ["x:0"]}, {"protocol": "p"}, tf.errors.NotFoundError, "No server factory"),
        (
            {"ps": ["x:1"], "worker": ["x:2"]},
            {"job_name": "ps"},
            tf.errors.UnimplementedError,
            "A server of a cluster of 2 tasks is not supported",
        ),
    ],
)
def test_other_clusters_have_no_server(cluster, options, kind, message):
    with pytest.raises(kind, match=message):
        tf.train.Server(cluster, **options)
