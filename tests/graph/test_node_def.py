"""`op.node_def`: an operation as a message, which device functions of programs look at."""

from __future__ import annotations

import berth.compat.v1 as tf

PS_OPS = ["Variable", "VariableV2", "AutoReloadVariable"]


def test_device_functions_choose_by_node_def():
    """The function that multi-GPU programs of TensorFlow 1 place variables with."""
    seen = []

    def assign_to_device(device, ps_device="/cpu:0"):
        def assign(op):
            node_def = op if isinstance(op, tf.NodeDef) else op.node_def
            seen.append((node_def.name, node_def.op, node_def.device, list(node_def.input)))
            return ps_device if node_def.op in PS_OPS else device

        return assign

    with tf.device(assign_to_device("/gpu:0")):
        v = tf.get_variable("v", [2], use_resource=False, initializer=tf.zeros_initializer())
        x = tf.constant([1.0, 2.0], name="x")
        y = tf.add(v, x, name="y")
    assert ("v", "VariableV2", "", []) in seen
    assert ("x", "Const", "", []) in seen
    assert ("y", "AddV2", "", ["v/read", "x"]) in seen
    assert v.op.node_def.device == v.op.device == "/cpu:0"
    assert y.op.node_def.device == y.op.device == "/gpu:0"


def test_node_def_has_inputs_and_attributes():
    a, b = tf.constant([[1.0]], name="a"), tf.constant([[2.0]], name="b")
    with tf.control_dependencies([tf.no_op(name="before")]):
        node = tf.matmul(a, b, transpose_a=True, name="c").op.node_def
    assert isinstance(node, tf.NodeDef)
    assert (node.name, node.op, node.device) == ("c", "MatMul", "")
    assert list(node.input) == ["a", "b", "^before"]
    assert (node.attr["transpose_a"].b, node.attr["transpose_b"].b) == (True, False)
    assert node.attr["T"].type == tf.float32.as_datatype_enum
    assert tf.NodeDef.FromString(node.SerializeToString()) == node
