"""Sections 1.5, 1.7, 6.1 and 7.5: devices of sessions and of operations."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

import berth.compat.v1 as tf
from tests.parity.programs import first_line
from tests.parity.session.shared import (
    CPU_0,
    CPU_1,
    GPU_0,
    GPU_1,
    KINDS,
    cpus,
    of_another_graph,
)

# --- 7.5: devices of a session --------------------------------------------------------------


def test_devices_are_listed(sim):
    """Section 7.5: sess.list_devices()."""
    sim("2xT4")
    with tf.Session(config=cpus(2)) as session:
        devices = session.list_devices()
    assert [device.name for device in devices] == [CPU_0, CPU_1, GPU_0, GPU_1]
    assert [device.device_type for device in devices] == ["CPU", "CPU", "GPU", "GPU"]
    assert [device.memory_limit_bytes for device in devices[:2]] == [268435456, 268435456]
    assert len({device.incarnation for device in devices} - {0}) == 4
    for device in devices:
        assert repr(device) == (
            f"_DeviceAttributes({device.name}, {device.device_type}, {device.memory_limit_bytes}, {device.incarnation})"
        )


def test_incarnations_stay(session):
    """Section 7.5."""
    assert session.list_devices() == session.list_devices()


@pytest.mark.parametrize(
    ("config", "names"),
    [
        (tf.ConfigProto(device_count={"GPU": 1}), [CPU_0, GPU_0]),
        (tf.ConfigProto(device_count={"GPU": 0}), [CPU_0]),
        (None, [CPU_0, GPU_0, GPU_1]),
    ],
    ids=["one GPU", "none", "all"],
)
def test_config_chooses_the_devices(sim, config, names):
    """Section 3.5."""
    sim("2xT4")
    with tf.Session(config=config) as session:
        assert [device.name for device in session.list_devices()] == names


def test_session_follows_tf_config(sim):
    """Section 2.2: without a config, what tf.config says applies."""
    sim("2xT4")
    gpus = tf.config.list_physical_devices("GPU")
    tf.config.set_visible_devices(gpus[1], "GPU")
    tf.config.experimental.set_memory_growth(gpus[1], True)
    with tf.Session() as session:
        assert [device.name for device in session.list_devices()] == [CPU_0, GPU_0]
        rows = tf.config.memory_report().devices
    assert [(row.name, row.growth) for row in rows] == [("GPU:0", True)]


# --- 6.1: placements ------------------------------------------------------------------------


def test_placements_are_of_whole_graph(sim):
    """Section 6.1: the whole graph is placed at the first run."""
    sim("2xT4")
    with tf.device("/gpu:1"):
        a = tf.constant([[1.0]], name="a")
        tf.matmul(a, a, name="unused")
    b = tf.placeholder(tf.float32, [1, 1], name="b")
    with tf.device("/cpu:0"):
        tf.add(b, 1.0, name="c")
    with tf.Session() as session:
        assert session.placements() == {}
        session.run(a)
        assert session.placements() == {
            "a": GPU_1,
            "unused": GPU_1,
            "b": CPU_0,
            "c": CPU_0,
            "c/y": CPU_0,
        }


def test_grown_graph_is_placed_again(sim):
    """Section 6.1: the whole of it, at the first run after nodes were added."""
    sim("1xT4")
    a = tf.placeholder(tf.float32, [], name="a")
    with tf.Session() as session:
        session.run(a, {a: 1.0})
        tf.negative(a, name="later")
        session.run(a, {a: 1.0})
        assert session.placements()["later"] == GPU_0


def test_unplaceable_node_stops_every_run():
    """Section 6.1 [TF]: anywhere in the graph, also where it came later."""
    a = tf.constant(2.0, name="a")
    with tf.Session() as session:
        assert session.run(a) == 2.0
        with tf.device("/gpu:9"):
            tf.constant(1.0, name="bad")
        for fetch in (a, [a], "a:0"):
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(fetch)
            assert first_line(caught.value) == (
                "Cannot assign a device to node 'bad': Could not satisfy explicit device specification '/gpu:9'"
            )


def test_variables_stay_where_they_are(sim):
    """Section 6.1: stateful operations are pinned to their earlier device."""
    sim("2xT4")
    v = tf.Variable(1.0, name="v")
    with tf.Session() as session:
        session.run(v.initializer)
        before = session.placements()["v"]
        with tf.device("/gpu:1"):
            more = v.assign_add(1.0)
        assert session.run(more) == 2.0
        assert session.placements()["v"] == before == GPU_0
        assert session.run(v) == 2.0


def test_graph_grows_between_runs(session):
    """Section 6.1."""
    v = tf.Variable(3.0)
    session.run(v.initializer)
    double = v * 2.0
    assert session.run(double) == 6.0
    more = double + 1.0
    assert session.run([more, double]) == [7.0, 6.0]


# --- 1.5: devices of operations -------------------------------------------------------------


def answer(device):
    """Make a device function that always answers the same."""
    return lambda op: device


def place(*devices):
    """Make a constant under nested scopes, outermost first."""
    with ExitStack() as scopes:
        for device in devices:
            scopes.enter_context(tf.device(device))
        return tf.constant(1.0)


# Section 1.5, the table: the scopes from the outside in, and the device.
SCOPES = {
    "device > job": (["/gpu:0", "/job:worker"], "/job:worker/device:GPU:0"),
    "gpu:0 > cpu:*": (["/gpu:0", "/cpu:*"], "/device:CPU:0"),
    "gpu:0 > cpu": (["/gpu:0", "/cpu"], "/device:CPU:0"),
    "GPU:7 > GPU:*": (["/device:GPU:7", "/device:GPU:*"], "/device:GPU:7"),
    "CPU:* alone": (["/device:CPU:*"], "/device:CPU:*"),
    "gpu:0 > *:1": (["/gpu:0", "/device:*:1"], "/device:*:1"),
    "gpu:0 > None": (["/gpu:0", None], ""),
    "gpu:0 > None > job": (["/gpu:0", None, "/job:a"], "/job:a"),
    "gpu:0 > ''": (["/gpu:0", ""], "/device:GPU:0"),
    "gpu:0 > function": (["/gpu:0", answer("/job:ps")], "/job:ps/device:GPU:0"),
    "function > gpu:1": ([answer("/job:outer/cpu:3"), "/gpu:1"], "/job:outer/cpu:3"),
    "gpu:0 > '' given": (["/gpu:0", answer("")], "/device:GPU:0"),
    "bytes given": ([answer(b"/gpu:1")], "/gpu:1"),
    "spec given": ([answer(tf.DeviceSpec(device_type="GPU", device_index=1))], "/device:GPU:1"),
    "spec": ([tf.DeviceSpec(job="a", device_type="GPU")], "/job:a/device:GPU:*"),
}


@pytest.mark.parametrize(("devices", "placed"), SCOPES.values(), ids=SCOPES)
def test_scopes_give_devices(devices, placed):
    """Section 1.5, the table and the rules above it."""
    x = place(*devices)
    assert x.device == x.op.device == placed


def test_function_chooses_by_operation():
    """Section 1.5, the last row: raw, by type; `.device` holds the inner result."""
    seen = []

    def choose(op):
        seen.append((op.type, op.device, [tensor.name for tensor in op.inputs]))
        return "/gpu:2" if op.type == "MatMul" else "/cpu:0"

    with tf.device(choose), tf.device("/job:a"):
        x = tf.constant([[1.0]], name="x")
        y = tf.matmul(x, x)
    assert (x.device, y.device) == ("/cpu:0", "/gpu:2")
    assert seen == [("Const", "/job:a", []), ("MatMul", "/job:a", ["x:0", "x:0"])]


@pytest.mark.parametrize("given", [None, 5])
def test_function_must_answer(graph, given):
    """Section 1.5."""
    with pytest.raises(TypeError) as caught:
        place(answer(given))
    assert first_line(caught.value) == f"Expected binary or unicode string, got {given}"
    assert place().device == ""


def test_scopes_close_in_order():
    """Section 1.5, scope errors: with a dot."""
    outer, inner = tf.device("/gpu:0"), tf.device("/cpu:0")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError) as caught:
        outer.__exit__(None, None, None)
    assert first_line(caught.value) == "Exiting device scope without proper scope nesting."


def test_scopes_belong_to_a_graph():
    """Section 1.5: the stack is per graph."""
    with tf.device("/gpu:0"):
        assert of_another_graph().device == ""
        assert place().device == "/device:GPU:0"


def test_unreadable_scope_is_refused():
    """Sections 1.1 and 1.3."""
    with pytest.raises(ValueError, match="junk") as caught:
        place("junk")
    assert first_line(caught.value) == (
        "Unknown attribute 'junk' is encountered while parsing the device spec: 'junk'."
    )


def test_scopes_are_remembered():
    """Section 1.5: `op._device_assignments`, here `op.scopes`, innermost first."""

    def choose(op):
        return "/cpu:0"

    x = place("/job:localhost", choose, "gpu:0")
    line = choose.__code__.co_firstlineno
    assert [str(scope.written) for scope in x.op.scopes] == [
        "gpu:0",
        f"choose<{__file__}, {line}>",
        "/job:localhost",
    ]
    assert list(place().op.scopes) == []


@KINDS
def test_variable_keeps_its_scope(graph, use_resource):
    """Section 6.3 [TF]."""
    with tf.device("/gpu:0"):
        v = tf.Variable(1.0, name="v", use_resource=use_resource)
    made = [op for op in graph.get_operations() if "initial_value" not in op.name]
    assert {op.device for op in made} == {"/device:GPU:0"}
    with tf.device("/cpu:0"):
        assert v.read_value().device == "/device:CPU:0"


# --- 1.7: colocate_with ---------------------------------------------------------------------


@pytest.fixture
def hosts():
    """Make one operation with a device and one without."""
    with tf.device("/cpu:1"):
        a = tf.constant(1.0, name="a")
    return a, tf.constant(1.0, name="b")


def test_alone_in_its_group(hosts):
    """Section 1.7: an op without `_class` reports its own name."""
    a, b = hosts
    assert a.op.colocation_groups() == [b"loc:@a"]
    assert b.op.colocation_groups() == [b"loc:@b"]
    with pytest.raises(ValueError, match="_class") as caught:
        tf.no_op().get_attr("_class")
    assert first_line(caught.value) == "Operation 'NoOp' has no attr named '_class'."


def beside(*ops, device=None):
    """Make a constant beside others, outermost first, perhaps in a device scope."""
    with ExitStack() as scopes:
        for op in ops:
            scopes.enter_context(tf.colocate_with(op))
        if device is not None:
            scopes.enter_context(tf.device(device))
        return tf.constant(1.0, name="c")


COLOCATED = {
    "beside(a)": ("/device:CPU:1", [b"loc:@a"]),
    "beside(a.op)": ("/device:CPU:1", [b"loc:@a"]),
    "beside(b)": ("", [b"loc:@b"]),
    "beside(b, device='/gpu:3')": ("/device:GPU:3", [b"loc:@b"]),
    "beside(a, device='/gpu:3')": ("/device:CPU:1", [b"loc:@a"]),
    "beside(b, a)": ("/device:CPU:1", [b"loc:@a", b"loc:@b"]),
    "beside(a, b)": ("/device:CPU:1", [b"loc:@a", b"loc:@b"]),
    "beside(a, a)": ("/device:CPU:1", [b"loc:@a"]),
    "beside(beside(b))": ("", [b"loc:@b"]),
    "beside(beside(b, a))": ("/device:CPU:1", [b"loc:@a", b"loc:@b"]),
}


@pytest.mark.parametrize("code", COLOCATED)
def test_colocation_follows_rules(hosts, code):
    """Section 1.7 [TF], under an outer device scope."""
    a, b = hosts
    device, groups = COLOCATED[code]
    with tf.device("/gpu:0"):
        c = eval(code, {"beside": beside, "a": a, "b": b})
        after = tf.constant(1.0)
    assert c.device == device
    assert c.op.colocation_groups() == groups
    assert c.op.get_attr("_class") == groups
    assert after.device == "/device:GPU:0"
    assert after.op.colocation_groups() == [b"loc:@" + after.op.name.encode()]


def test_colocation_is_reset(hosts):
    """Section 1.7: `colocate_with(None, ignore_existing=True)` resets both stacks."""
    a, b = hosts
    with tf.device("/gpu:0"), tf.colocate_with(a):
        with tf.colocate_with(None, ignore_existing=True):
            free = tf.constant(1.0, name="free")
            with tf.device("/cpu:0"):
                asked = tf.constant(1.0, name="asked")
        with tf.colocate_with(b, ignore_existing=True):
            other = tf.constant(1.0, name="other")
        again = tf.constant(1.0, name="again")
    found = [(x.device, x.op.colocation_groups()) for x in (free, asked, other, again)]
    assert found == [
        ("", [b"loc:@free"]),
        ("/device:CPU:0", [b"loc:@asked"]),
        ("", [b"loc:@b"]),
        ("/device:CPU:1", [b"loc:@a"]),
    ]


def test_colocation_with_nothing_is_refused():
    """Section 1.7."""
    with pytest.raises(ValueError, match="reset") as caught:
        tf.colocate_with(None).__enter__()
    assert first_line(caught.value) == (
        "Trying to reset colocation (op is None) but ignore_existing is not True"
    )


@KINDS
def test_colocation_with_variable(use_resource):
    """Section 1.7 [TF]: with what holds it, and not with a read."""
    v = tf.Variable(1.0, name="v", use_resource=use_resource)
    n_ops = len(tf.get_default_graph().get_operations())
    assert beside(v).op.colocation_groups() == [b"loc:@v"]
    assert len(tf.get_default_graph().get_operations()) == n_ops + 1


def test_colocated_operations_run_together(sim):
    """Sections 1.7 and 6.3, step 3."""
    sim("2xT4")
    with tf.device("/gpu:1"):
        v = tf.Variable([1.0], name="v")
    with tf.colocate_with(v):
        c = tf.add(v, 1.0, name="c")
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(c).tolist() == [2.0]
        placed = session.placements()
    assert placed["v"] == placed["c"] == GPU_1
