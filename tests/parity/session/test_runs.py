"""Sections 8.5 and 8.7: options of runs, what they tell, how they fail, and threads."""

from __future__ import annotations

import json
import re
import threading

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth import timeline
from tests.parity.programs import first_line
from tests.parity.session.shared import CPU_0, FULL_TRACE, GPU_0, GPU_1

# --- 8.5: RunOptions and RunMetadata --------------------------------------------------------


@pytest.fixture
def two_gpus(sim):
    """Compute on two GPUs and the CPU: a product each, and their sum."""
    sim("2xT4")
    p = tf.placeholder(tf.float32, [8, 8], name="p")
    with tf.device("/gpu:0"):
        first = tf.matmul(p, p, name="first")
    with tf.device("/gpu:1"):
        second = tf.matmul(p, first, name="second")
    with tf.device("/cpu:0"):
        total = tf.add(first, second, name="total")
    with tf.Session() as session:
        yield session, total, {p: np.eye(8)}


def stats_by_device(metadata):
    return {stats.device: stats.node_stats for stats in metadata.step_stats.dev_stats}


def test_untraced_run_has_no_stats(two_gpus):
    """Section 8.5: run_metadata without options leaves step_stats unset."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    session.run(total, feeds, run_metadata=metadata)
    assert str(metadata) == ""
    no_trace = tf.RunOptions(trace_level=tf.RunOptions.NO_TRACE)
    session.run(total, feeds, options=no_trace, run_metadata=metadata)
    assert str(metadata) == ""


def test_trace_without_metadata_is_legal(two_gpus):
    """Section 8.5."""
    session, total, feeds = two_gpus
    assert session.run(total, feeds, options=FULL_TRACE)[0, 0] == 2.0


@pytest.mark.parametrize("level", ["SOFTWARE_TRACE", "HARDWARE_TRACE", "FULL_TRACE"])
def test_traced_run_names_devices(two_gpus, level):
    """Section 8.5: the full name of each, and the nodes that it ran."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=getattr(tf.RunOptions, level))
    assert session.run(total, feeds, options=options, run_metadata=metadata)[0, 0] == 2.0
    found = {
        device: {node.node_name for node in nodes}
        for device, nodes in stats_by_device(metadata).items()
    }
    assert "first" in found[GPU_0]
    assert "second" in found[GPU_1]
    assert "total" in found[CPU_0]
    assert not {"second", "total"} & found[GPU_0]


def test_traced_nodes_have_labels(two_gpus):
    """Section 8.5: `name = Op(in0, in1)`; fed tensors are `_arg_p_0_0` in TensorFlow."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    session.run(total, feeds, options=FULL_TRACE, run_metadata=metadata)
    labels = {
        node.node_name: node.timeline_label
        for nodes in stats_by_device(metadata).values()
        for node in nodes
    }
    assert re.fullmatch(r"first = MatMul\((p|_arg_p_0_0), \1\)", labels["first"])
    assert re.fullmatch(r"total = Add(V2)?\(first.*, second.*\)", labels["total"])


def test_traced_nodes_have_times(two_gpus):
    """Section 8.5: microseconds since 1970, and from there."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    session.run(total, feeds, options=FULL_TRACE, run_metadata=metadata)
    by_name = {
        node.node_name: node for nodes in stats_by_device(metadata).values() for node in nodes
    }
    for node in by_name.values():
        assert node.all_start_micros > 1_700_000_000_000_000
        assert (
            0 <= node.op_start_rel_micros <= node.op_end_rel_micros <= node.all_end_rel_micros
        )
    assert by_name["first"].all_start_micros <= by_name["second"].all_start_micros
    assert by_name["second"].all_start_micros <= by_name["total"].all_start_micros


def test_metadata_is_of_the_last_run(two_gpus):
    """Section 8.5 [TF]: each run fills it again."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    for _ in range(2):
        session.run(total, feeds, options=FULL_TRACE, run_metadata=metadata)
        streams = [f"/device:GPU:{k}/stream:all" for k in range(2)]
        assert sorted(stats_by_device(metadata)) == [*streams, CPU_0, GPU_0, GPU_1]
    session.run(total, feeds, run_metadata=metadata)
    assert str(metadata) == ""


def test_partition_graphs_if_asked(two_gpus):
    """Section 8.5: one for each device, only if asked; cleared on the next run."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    options = tf.RunOptions(output_partition_graphs=True)
    session.run(total, feeds, options=options, run_metadata=metadata)
    assert len(metadata.partition_graphs) == 3
    names = [{node.name for node in graph.node} for graph in metadata.partition_graphs]
    for node in ("first", "second", "total"):
        assert sum(node in part for part in names) == 1
    session.run(total, feeds, run_metadata=metadata)
    assert len(metadata.partition_graphs) == 0


def test_timeline_opens_as_json(two_gpus):
    """Sections 8.5 and 8.6."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    session.run(total, feeds, options=FULL_TRACE, run_metadata=metadata)
    drawn = json.loads(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format())
    events = drawn["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    ops = {
        (event["args"]["name"], event["args"]["op"], names[event["pid"]])
        for event in events
        if event.get("cat") == "Op"
    }
    assert ("first", "MatMul", f"{GPU_0} Compute") in ops
    assert ("second", "MatMul", f"{GPU_1} Compute") in ops
    assert ("total", "AddV2", f"{CPU_0} Compute") in ops


def test_failed_trace_leaves_session_usable(two_gpus):
    session, total, _ = two_gpus
    p = tf.placeholder(tf.int32, [], name="i")
    with pytest.raises(tf.errors.InvalidArgumentError, match="floordiv"):
        session.run(1 // p, {p: 0}, options=FULL_TRACE, run_metadata=tf.RunMetadata())
    assert session.run(total, {"p:0": np.eye(8)})[0, 0] == 2.0


def test_unknown_thread_pool_is_refused(session):
    """Section 8.4."""
    x = tf.constant(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(x, options=tf.RunOptions(inter_op_thread_pool=5))
    assert first_line(caught.value) == "Invalid inter_op_thread_pool: 5"


@pytest.mark.parametrize("machine", [None, "2xT4"])
@pytest.mark.parametrize("by_config", [False, True], ids=["RunOptions", "ConfigProto"])
def test_time_runs_out(sim, machine, by_config):
    """Section 8.5: timeout_in_ms; [TF]: operation_timeout_in_ms likewise."""
    sim(machine)
    p = tf.placeholder(tf.float32, [500, 500])
    x = p
    for _ in range(40):
        x = tf.matmul(x, p)
    config = tf.ConfigProto(operation_timeout_in_ms=1) if by_config else None
    options = None if by_config else tf.RunOptions(timeout_in_ms=1)
    feeds = {p: np.zeros((500, 500))}
    with tf.Session(config=config) as session:
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            session.run(x, feeds, options=options)
        assert first_line(caught.value) == "Timed out waiting for notification"
        enough = tf.RunOptions(timeout_in_ms=600_000)
        assert session.run(x[0, 0], feeds, options=enough) == 0.0


# --- 8.7: errors of kernels -----------------------------------------------------------------

INTS, MATRICES = (tf.int32, [None]), (tf.float32, [None, None])

# An operation of two inputs, two values that do not go, and TensorFlow's text [TF].
FAILURES = {
    "tf.floordiv(p, q, name='bad')": (INTS, ([1], [0]), "Integer division by zero"),
    "tf.matmul(p, q, name='bad')": (
        MATRICES,
        (np.ones((2, 3)), np.ones((2, 3))),
        "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]",
    ),
    "tf.add(p, q, name='bad')": (
        MATRICES,
        (np.ones((2, 3)), np.ones((2, 2))),
        "Incompatible shapes: [2,3] vs. [2,2]",
    ),
    "tf.reshape(p, [7], name='bad')": (
        MATRICES,
        (np.ones((2, 3)), np.ones((2, 3))),
        "Input to reshape is a tensor with 6 values, but the requested shape has 7",
    ),
    "tf.concat([p, q], 0, name='bad')": (
        MATRICES,
        (np.ones((2, 3)), np.ones((2, 2))),
        "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [2,3] vs. shape[1] = [2,2]",
    ),
}


def fail(code):
    """Run an operation that fails, in a graph of its own; return it and the error."""
    inputs, values, _ = FAILURES[code]
    with tf.Graph().as_default(), tf.Session() as session:
        p, q = tf.placeholder(*inputs), tf.placeholder(*inputs)
        bad = eval(compile(code, "/home/me/train.py", "eval"), {"tf": tf, "p": p, "q": q})
        for _ in range(2):  # the session is as before
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(tf.identity(bad), dict(zip((p, q), values, strict=True)))
            assert session.run(p, {p: values[0]}).tolist() == np.asarray(values[0]).tolist()
    return bad.op, caught.value


@pytest.mark.parametrize("code", FAILURES)
def test_kernel_error_is_tensorflow_s(code):
    """Section 8.7: the message of the kernel; the texts are [TF]."""
    _, error = fail(code)
    assert first_line(error) == FAILURES[code][-1]


@pytest.mark.parametrize("machine", [None, "1xT4"])
@pytest.mark.parametrize("code", FAILURES)
def test_kernel_error_names_its_node(sim, machine, code):
    """Section 8.7: the node, where it was defined, and the attributes."""
    sim(machine)
    op, error = fail(code)
    assert error.op is op
    assert error.error_code == 3
    assert re.search(r"\[\[.*\bnode bad\b.*\]\]", str(error))
    assert "train.py:1" in str(error)


def test_good_runs_follow_bad_ones(session):
    """Section 8.7: after any error everything works as before."""
    p = tf.placeholder(tf.int32, [None])
    quotient = 12 // p
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(quotient, {p: [3, 0]})
        assert session.run(quotient, {p: [3, 4]}).tolist() == [4, 3]


# --- threads --------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [None, "2xT4"])
def test_many_threads_run_one_session(sim, machine):
    """Section 8.2: runs are independent of each other."""
    program = sim(machine)
    p = tf.placeholder(tf.float32, [50, 50])
    v = tf.Variable(0)
    with tf.device("/gpu:1" if machine else "/cpu:0"):
        other = tf.matmul(p, p)
    fetch = [tf.matmul(p, p) + other, v.assign_add(1)]
    wrong = []
    with tf.Session() as session:
        session.run(v.initializer)

        def work(number):
            with program.as_default():
                for _ in range(20):
                    result, _ = session.run(fetch, {p: np.full((50, 50), number)})
                    if not np.all(result == 100.0 * number**2):
                        wrong.append(result)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert wrong == []
        assert session.run(v) == 80
