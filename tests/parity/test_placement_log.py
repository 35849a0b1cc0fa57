"""The placement log in TensorFlow 2's form: its lines, in its order, and those of functions.

Sections 7.1 and 7.2; TensorFlow 2.21 printed the same lines for one CPU.
"""

from __future__ import annotations

import pytest

import berth as tf2
import berth.compat.v1 as tf

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
MAPPING = (
    f"Device mapping:\n{GPU} -> device: 0, name: Tesla T4, pci bus id: 0000:02:00.0, "
    "compute capability: 7.5\n"
)


def run_and_grow():
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            a = tf.constant([[1.0]], name="a")
        b = tf.constant([[1.0]], name="b")
        p = tf.placeholder(tf.float32, [1, 1], name="p")
        total = tf.matmul(a, b) + p
        with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
            for _ in range(2):
                session.run(total, {p: [[1.0]]})
            session.run(total - p, {p: [[1.0]]})


def test_session_logs_the_whole_graph_by_switch(sim, capsys):
    sim("1xT4", BERTH_LOG_AS_TF2="1")
    run_and_grow()
    sources = f"a: (Const): {CPU}\nb: (Const): {GPU}\np: (Placeholder): {GPU}\n"
    work = f"MatMul: (MatMul): {GPU}\nadd: (AddV2): {GPU}\n"
    assert capsys.readouterr().out == (
        f"{MAPPING}{work}{sources}{work}sub: (Sub): {GPU}\n{sources}"
    )


def test_session_without_gpus_logs_by_switch(sim, capsys):
    sim(BERTH_LOG_AS_TF2="1")
    run_and_grow()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "Device mapping: no known devices.",
        f"MatMul: (MatMul): {CPU}",
        f"add: (AddV2): {CPU}",
    ]


@pytest.mark.usefixtures("eager")
def test_functions_log_their_operations_once(sim, capsys):
    sim("1xT4")
    v = tf2.Variable(1.0)
    x = tf2.constant(2.0)

    @tf2.function
    def scale(x):
        return x * 3.0 + v

    tf2.debugging.set_log_device_placement(True)
    assert [scale(x).numpy() for _ in range(2)] == [7.0, 7.0]
    lines = capsys.readouterr().err.splitlines()
    called = [line for line in lines if line.startswith("Executing op __inference_scale_")]
    assert len(called) == 2
    assert [line for line in lines if line not in called] == [
        f"mul: (Mul): {GPU}",
        f"ReadVariableOp: (ReadVariableOp): {GPU}",
        f"add: (AddV2): {GPU}",
        f"x: (_Arg): {GPU}",
        f"mul/y: (Const): {GPU}",
        f"Variable: (VarHandleOp): {GPU}",
    ]
    assert lines.index(called[0]) == 6  # the operations first, as TensorFlow does
