"""Sections 1.5 (`tf.device` while a graph is built) and 1.6 (`tf.device` in eager mode).

A node is all that the graph scopes need, so a stub with a type and a device stands in.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

import berth as tf
from berth.blocks import FunctionBlock, Use
from berth.compat import v1
from berth.front.context import context
from berth.graph.device_scopes import DeviceStack, merge_device
from tests.parity.programs import first_line

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


@dataclass
class Node:
    type: str = "NoOp"
    device: str = ""


def give(device):
    """Make a device function that always answers the same."""
    return lambda node: device


def gpu_for_matmul(node):
    return "/gpu:2" if node.type == "MatMul" else "/cpu:0"


def scope(stack, device):
    """Open a device scope in a block."""
    return FunctionBlock(stack.enter, device)


def place(*devices, node_type="NoOp"):
    """Make a node under nested scopes, outermost first; return its device."""
    stack, node = DeviceStack(), Node(node_type)
    with ExitStack() as scopes:
        for device in devices:
            scopes.enter_context(scope(stack, device))
        stack.apply(node)
    return node.device


# Section 1.5, the table: the scopes from the outside in, and the device of the node.
GRAPH = {
    "device > job": (["/gpu:0", "/job:worker"], "/job:worker/device:GPU:0"),
    "gpu:0 > cpu:*": (["/gpu:0", "/cpu:*"], "/device:CPU:0"),
    "gpu:0 > cpu": (["/gpu:0", "/cpu"], "/device:CPU:0"),
    "GPU:7 > GPU:*": (["/device:GPU:7", "/device:GPU:*"], "/device:GPU:7"),
    "CPU:* alone": (["/device:CPU:*"], "/device:CPU:*"),
    "gpu:0 > *:1": (["/gpu:0", "/device:*:1"], "/device:*:1"),
    "gpu:0 > None": (["/gpu:0", None], ""),
    "gpu:0 > None > job": (["/gpu:0", None, "/job:a"], "/job:a"),
    "gpu:0 > function": (["/gpu:0", give("/job:ps")], "/job:ps/device:GPU:0"),
    "function > gpu:1": ([give("/job:outer/cpu:3"), "/gpu:1"], "/job:outer/cpu:3"),
}

# Section 1.5, the rules above the table.
GRAPH_RULES = {
    "no scope": ([], ""),
    "canonical": (["gpu:0"], "/device:GPU:0"),
    "inner job wins": (["/job:a/task:1", "/job:b"], "/job:b/task:1"),
    "inner replica wins": (["/replica:1/gpu:0", "/replica:2"], "/replica:2/device:GPU:0"),
    "inner index wins": (["/job:a/gpu:0", "/gpu:1"], "/job:a/device:GPU:1"),
    "three scopes": (["/job:a", "/task:1", "/gpu:0"], "/job:a/task:1/device:GPU:0"),
    "gpu:0 > ''": (["/gpu:0", ""], "/device:GPU:0"),
    "gpu:0 > /": (["/gpu:0", "/"], "/device:GPU:0"),
    "spec": (["/gpu:0", tf.DeviceSpec(job="a")], "/job:a/device:GPU:0"),
    "old spec": (["/gpu:0", v1.DeviceSpec(job="a")], "/job:a/device:GPU:0"),
    "merge_device": (["/gpu:0", merge_device("/job:a")], "/job:a/device:GPU:0"),
    "merge_device outside": (
        [merge_device("/job:a/gpu:0"), "/cpu:1"],
        "/job:a/device:CPU:1",
    ),
    "raw text": ([give("/cpu:0")], "/cpu:0"),
    "unreadable text": ([give("/Foo!")], "/Foo!"),
    "bytes": ([give(b"/job:ps")], "/job:ps"),
    "spec given": (["/gpu:0", give(tf.DeviceSpec(job="ps"))], "/job:ps/device:GPU:0"),
    "'' given clears": (["/gpu:0", give(""), "/job:a"], "/device:GPU:0"),
    "function replaces": ([give("/job:ps"), "/gpu:0"], "/job:ps"),
    "None > function": (["/gpu:0", None, give("/cpu:0")], "/cpu:0"),
    "function > None": ([give("/cpu:0"), None], ""),
}


@pytest.mark.parametrize(("devices", "placed"), GRAPH.values(), ids=GRAPH)
def test_graph_scopes_merge_inwards(devices, placed):
    """Section 1.5, the table."""
    assert place(*devices) == placed


@pytest.mark.parametrize(("devices", "placed"), GRAPH_RULES.values(), ids=GRAPH_RULES)
def test_graph_scopes_follow_rules(devices, placed):
    """Section 1.5, the rules above the table."""
    assert place(*devices) == placed


@pytest.mark.parametrize(("node_type", "placed"), [("MatMul", "/gpu:2"), ("Const", "/cpu:0")])
def test_function_chooses_by_node(node_type, placed):
    """Section 1.5, the last row of the table: the text is kept raw."""
    assert place(gpu_for_matmul, node_type=node_type) == placed


def test_function_sees_inner_device():
    """Section 1.5: the node's device already holds the inner result."""
    seen = []
    place("/job:outer", lambda node: seen.append(node.device) or "", "/gpu:0", "/task:1")
    assert seen == ["/task:1/device:GPU:0"]


@pytest.mark.parametrize("answer", [None, 5])
def test_function_must_answer_text(answer):
    """Section 1.5: a device function returns a string or a spec."""
    with pytest.raises(TypeError) as caught:
        place(give(answer))
    assert first_line(caught.value) == f"Expected binary or unicode string, got {answer}"


def test_unreadable_scope_is_refused():
    """Sections 1.1 and 1.5: a string meets Python's parser when the scope opens."""
    with pytest.raises(ValueError, match="junk") as caught:
        DeviceStack().enter(Use(), "junk")
    assert first_line(caught.value) == (
        "Unknown attribute 'junk' is encountered while parsing the device spec: 'junk'."
    )


def test_closed_scope_applies_no_more():
    """Section 1.5: the stack holds the scopes that are open."""
    stack, inside, outside = DeviceStack(), Node(), Node()
    with scope(stack, "/job:a"):
        with scope(stack, "/gpu:0"):
            stack.apply(inside)
        stack.apply(outside)
    assert inside.device == "/job:a/device:GPU:0"
    assert outside.device == "/job:a"


@pytest.mark.parametrize("inner", ["/gpu:0", "/cpu:0"])
def test_graph_scopes_close_in_order(inner):
    """Section 1.5, scope errors: with a dot."""
    stack = DeviceStack()
    outer = Use()
    stack.enter(outer, "/gpu:0")
    stack.enter(Use(), inner)
    with pytest.raises(RuntimeError) as caught:
        outer.end()
    assert first_line(caught.value) == "Exiting device scope without proper scope nesting."


def test_assignments_are_innermost_first():
    """Section 1.5: the user's text, or the function's name and place."""
    line = gpu_for_matmul.__code__.co_firstlineno
    stack = DeviceStack()
    with scope(stack, "/job:a"), scope(stack, gpu_for_matmul), scope(stack, "gpu:0"):
        written = [str(applied.written) for applied in stack.apply(Node())]
    assert written == ["gpu:0", f"gpu_for_matmul<{__file__}, {line}>", "/job:a"]


def enter_eagerly(*devices):
    with ExitStack() as scopes:
        for device in devices:
            scopes.enter_context(tf.device(device))
        return context().eager_scope.device_name


# Section 1.6: the scopes from the outside in, and the current device.
EAGER = {
    "gpu:*": (["/gpu:*"], "/job:localhost/replica:0/task:0/device:GPU:0"),
    "''": ([""], CPU),
    "/": (["/"], CPU),
    "None": ([None], ""),
    "job": (["/job:worker"], "/job:worker/replica:0/task:0/device:CPU:0"),
    "replica": (["/replica:1"], "/job:localhost/replica:1/task:0/device:CPU:0"),
    "gpu:1": (["/gpu:1"], "/job:localhost/replica:0/task:0/device:GPU:1"),
    "Gpu": (["/device:Gpu:0"], "/job:localhost/replica:0/task:0/device:Gpu:0"),
    "gpu:1 > cpu": (["/gpu:1", "/cpu"], "/job:localhost/replica:0/task:0/device:CPU:1"),
    "gpu:1 > task": (["/gpu:1", "/task:1"], "/job:localhost/replica:0/task:1/device:GPU:1"),
    "gpu:1 > ''": (["/gpu:1", ""], "/job:localhost/replica:0/task:0/device:GPU:1"),
    "gpu:1 > None": (["/gpu:1", None], ""),
    "gpu:1 > None > ''": (["/gpu:1", None, ""], CPU),
    "gpu:1 > None > task": (
        ["/gpu:1", None, "/task:2"],
        "/job:localhost/replica:0/task:2/device:CPU:0",
    ),
    "spec": (
        [tf.DeviceSpec(device_type="GPU", device_index=3)],
        "/job:localhost/replica:0/task:0/device:GPU:3",
    ),
    "old spec": (
        [v1.DeviceSpec(device_type="gpu")],
        "/job:localhost/replica:0/task:0/device:GPU:0",
    ),
    "logical device": (
        [tf.config.LogicalDevice("/device:GPU:1", "GPU")],
        "/job:localhost/replica:0/task:0/device:GPU:1",
    ),
}


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(("devices", "current"), EAGER.values(), ids=EAGER)
def test_eager_scope_overrides_fields(devices, current):
    """Section 1.6; no machine has these GPUs, and no scope minds."""
    assert enter_eagerly(*devices) == current
    assert context().eager_scope.device_name == ""


@pytest.mark.parametrize("machine", [None, "1xT4"])
def test_no_constraint_at_first(sim, machine):
    """Section 1.6: no device is set until a scope sets one."""
    assert sim(machine).eager_scope.device_name == ""


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("device", [5, 1.5, ["/gpu:0"], b"/gpu:0"], ids=repr)
def test_eager_device_must_be_named(device):
    """Section 1.6: the message shows the type and the value."""
    with pytest.raises(ValueError, match="Expecting a string") as caught:
        enter_eagerly(device)
    assert first_line(caught.value) == (
        f"Expecting a string device name. Got {type(device)}({device})"
    )


@pytest.mark.usefixtures("eager")
def test_physical_device_is_no_scope():
    """Section 1.6: a PhysicalDevice is not accepted."""
    device = tf.config.list_physical_devices("CPU")[0]
    with pytest.raises(ValueError, match="PhysicalDevice") as caught:
        enter_eagerly(device)
    assert first_line(caught.value) == (
        f"Expecting a string device name. Got {type(device)}({device})"
    )


@pytest.mark.usefixtures("eager")
def test_unreadable_eager_name_is_refused():
    """Sections 1.1 and 1.6: `tf.device` reads its string with Python's parser."""
    with pytest.raises(ValueError, match="junk") as caught:
        enter_eagerly("junk")
    assert first_line(caught.value) == (
        "Unknown attribute 'junk' is encountered while parsing the device spec: 'junk'."
    )


@pytest.mark.usefixtures("eager")
def test_eager_scope_belongs_to_thread():
    """Section 1.6: a single current pair for each thread."""
    seen = []
    current = context()
    thread = threading.Thread(target=lambda: seen.append(current.eager_scope.device_name))
    with tf.device("/gpu:1"):
        thread.start()
        thread.join()
    assert seen == [""]


@pytest.mark.usefixtures("eager")
def test_eager_scopes_close_in_order():
    """Section 1.5, scope errors: in eager mode without a dot."""
    outer, inner = tf.device("/cpu:0"), tf.device("/gpu:0")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError) as caught:
        outer.__exit__(None, None, None)
    assert first_line(caught.value) == "Exiting device scope without proper scope nesting"


def test_device_function_is_refused():
    """Section 1.5, scope errors: TensorFlow 2 takes no device functions."""
    with pytest.raises(RuntimeError) as caught:
        tf.device(gpu_for_matmul)
    assert first_line(caught.value) == "tf.device does not support functions."


@pytest.mark.usefixtures("eager")
def test_older_scope_holds_for_eager_operations(sim):
    """Section 1.6: `tf.compat.v1.device` is the same scope while a program is eager."""
    sim("2xT4")
    for device in ("/GPU:1", tf.DeviceSpec(device_type="GPU", device_index=1)):
        with v1.device(device):
            assert tf.constant(1.0).device.endswith("GPU:1")
            with v1.colocate_with(tf.constant(1.0)), v1.control_dependencies([]):
                assert (v1.convert_to_tensor([1.0]) + 1.0).device.endswith("GPU:1")
    with v1.device("/job:nowhere"), pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.constant(1.0)
    assert first_line(caught.value) == (
        "/job:nowhere/replica:0/task:0/device:CPU:0 unknown device."
    )
    with pytest.raises(RuntimeError) as refused:
        v1.device(gpu_for_matmul)
    assert first_line(refused.value) == (
        "tf.device does not support functions when eager execution is enabled."
    )


def test_current_scope_holds_for_the_default_graph():
    """Section 1.5: in a program without eager execution `tf.device` is the graph's."""
    try:
        with tf.device("/gpu:1"):
            assert v1.constant(1.0).device == "/device:GPU:1"
    finally:
        v1.reset_default_graph()  # or the sessions of later tests would have to place it
