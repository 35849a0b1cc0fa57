"""Details of graphs and sessions that TensorFlow's own tests of them look at.

Every message and value here was printed by TensorFlow 2.21.
"""

from __future__ import annotations

import logging

import numpy as np
import pytest

import berth as tf2
import berth.compat.v1 as tf
from tests.parity.programs import first_line


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph):
    with tf.Session(graph=graph) as session:
        yield session


# --- the stacks of defaults -----------------------------------------------------------------


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("as_default", [True, False], ids=["as_default", "with session"])
def test_sessions_are_left_in_order(as_default):
    outer, inner = tf.Session(), tf.Session()
    scopes = [s.as_default() if as_default else s for s in (outer, inner)]
    for scope in scopes:
        scope.__enter__()
    with pytest.raises(AssertionError, match="Nesting violated for default stack of <class"):
        scopes[0].__exit__(None, None, None)
    assert tf.get_default_session() is inner
    assert outer.run(tf.constant(1.0)) == 1.0  # it was not closed
    scopes[1].__exit__(None, None, None)
    assert tf.get_default_session() is outer
    scopes[0].__exit__(None, None, None)
    assert tf.get_default_session() is None


def test_interactive_sessions_are_closed_in_any_order():
    first, second = (tf.InteractiveSession(graph=tf.Graph()) for _ in range(2))
    first.close()
    assert tf.get_default_session() is second
    assert tf.get_default_graph() is second.graph
    second.close()
    assert tf.get_default_session() is None


def test_second_interactive_session_is_an_error_in_the_log(caplog):
    sessions = [tf.InteractiveSession(), tf.InteractiveSession()]
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage() == (
        "An interactive session is already active. This can cause out-of-memory errors or some "
        "other unexpected errors (due to the unpredictable timing of garbage collection) in "
        "some cases. You must explicitly call `InteractiveSession.close()` to release "
        "resources held by the other session(s). Please use `tf.Session()` if you intend to "
        "productionize."
    )
    for session in sessions[::-1]:
        session.close()


def test_growth_that_nobody_asked_for_is_not_logged(sim, caplog):
    sim("2xT4")
    with tf.Session():
        tf.InteractiveSession().close()  # it would grow by itself
    sim("2xT4")
    tf.InteractiveSession().close()
    tf.Session().close()
    assert caplog.messages == []
    growth = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=False))
    tf.Session(config=growth).close()
    assert [message.partition(":")[0] for message in caplog.messages] == ["GPU", "GPU"]
    assert "allow_growth=True: what was asked for later is ignored" in caplog.messages[0]


# --- names ----------------------------------------------------------------------------------


def test_names_may_be_bytes(graph):
    assert tf.constant(1.0, name=b"v").name == "v:0"
    assert tf.placeholder(tf.float32, name=b"v").name == "v_1:0"
    assert tf.Variable(1.0, name=b"w").name == "w:0"
    assert tf.get_variable(b"g", shape=[]).name == "g:0"
    assert tf.reduce_sum([1.0], name=b"sum").name == "sum:0"
    with tf.name_scope(b"scope") as scope:
        assert scope == "scope/"
    with graph.name_scope(b"scope") as scope:
        assert scope == "scope_1/"


NO_NAMES = {
    "add": lambda: tf.add(1.0, 2.0, name=5),
    "placeholder": lambda: tf.placeholder(tf.float32, name=5),
    "variable": lambda: tf.Variable(1.0, name=5),
    "get_variable": lambda: tf.get_variable(5, shape=[]),
    "reduce_sum": lambda: tf.reduce_sum([1.0], name=5),
    "name_scope": lambda: tf.name_scope(5),
    "group": lambda: tf.group(name=5),
}


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("make", NO_NAMES.values(), ids=NO_NAMES)
def test_number_is_no_name(make):
    with pytest.raises(TypeError) as caught:
        make()
    assert first_line(caught.value) == "expected string or bytes-like object, got 'int'"


@pytest.mark.usefixtures("eager")
def test_eager_operations_ignore_their_names():
    assert tf2.add(1.0, 2.0, name=5).numpy() == 3.0
    for make in (lambda: tf2.Variable(1.0, name=b"v"), lambda: tf2.name_scope(5)):
        with pytest.raises(ValueError, match="must be a string") as caught:
            make()
        assert first_line(caught.value) == "name for name_scope must be a string."


# --- feeds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [(1.0, (2.0, 3.0)), [1.0, [2.0, 3.0]], [1.0, 2.0, 3.0]])
def test_keys_may_be_nested(session, values):
    a, b, c = (tf.placeholder(tf.float32, [], name=name) for name in "abc")
    assert session.run([a, b, c], {(a, (b, c)): values}) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("values", "n_values"), [((1.0,), 1), (5.0, 1), (np.ones(2), 1)])
def test_keys_and_values_are_as_many(session, values, n_values):
    a, b = (tf.placeholder(tf.float32, [], name=name) for name in "ab")
    with pytest.raises(ValueError, match="Could not flatten") as caught:
        session.run(a, {(a, b): values})
    assert first_line(caught.value).startswith(
        f"Could not flatten dictionary. Key had 2 elements, but value had {n_values} elements. "
        "Key: [<tf.Tensor 'a:0' shape=() dtype=float32>, <tf.Tensor 'b:0' shape=() "
        "dtype=float32>], value: ["
    )


@pytest.mark.parametrize("feeds", [[1], "a", 5], ids=str)
def test_feeds_are_a_dictionary(session, feeds):
    with pytest.raises(TypeError) as caught:
        session.run(tf.constant(1.0), feeds)
    assert first_line(caught.value) == (
        "FlattenDictItems: 'dict' must be a dictionary or collection.Mapping type object, "
        f"instead of '{type(feeds).__name__}'."
    )


NO_VALUES = {
    "string": (tf.string, 1, "int", "<class 'object'>"),
    "string of bool": (tf.string, True, "bool", "<class 'object'>"),
    "int32": (tf.int32, 2**40, "int", "<class 'numpy.int32'>"),
    "uint8": (tf.uint8, -1, "int", "<class 'numpy.uint8'>"),
    "bool": (tf.bool, 2, "int", str(np.bool_)),
}


@pytest.mark.parametrize(
    ("dtype", "value", "kind", "wanted"), NO_VALUES.values(), ids=NO_VALUES
)
def test_integer_must_be_a_value_of_the_type(session, dtype, value, kind, wanted):
    p = tf.placeholder(dtype)
    with pytest.raises(TypeError) as caught:
        session.run(p, {p: value})
    assert first_line(caught.value) == (
        f"Type of feed value {value} with type <class '{kind}'> is not compatible with Tensor "
        f"type {wanted}. Try explicitly setting the type of the feed tensor to a larger type "
        "(e.g. int64)."
    )


# --- scopes and functions -------------------------------------------------------------------


@pytest.mark.usefixtures("eager")
def test_eager_device_scope_is_left_without_arguments():
    scope = tf2.device("/cpu:0")
    scope.__enter__()
    assert scope.__exit__() is None


@pytest.mark.usefixtures("eager")
def test_name_of_a_concrete_function_is_bytes():
    name = tf2.function(lambda x: x + 1).get_concrete_function(tf2.constant(1.0)).name
    assert isinstance(name, bytes)
    assert name.startswith(b"__inference_")


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
def test_function_is_colocated_with_a_variable_of_its_graph(sim, graph, use_resource):
    sim("2xT4")
    with tf.device("/gpu:1"):
        v = tf.Variable(1.0, use_resource=use_resource)

    @tf2.function
    def add_one():
        with tf.colocate_with(v):
            one = tf.constant(1.0, name="one")
        return one + v

    result = add_one()
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(result) == 2.0


@pytest.mark.usefixtures("eager")
def test_function_is_colocated_with_an_eager_tensor(sim):
    sim("2xT4")
    with tf2.device("/gpu:1"):
        x = tf2.constant(2.0)

    @tf2.function
    def add_one():
        with tf.colocate_with(x):
            one = tf2.constant(1.0, name="one")
        return one + x

    assert add_one().numpy() == 3.0
    one = add_one.get_concrete_function().graph.get_operation_by_name("one")
    assert one.device == x.device
    refused = pytest.raises(ValueError, match="Encountered an Eager-defined Tensor")
    with tf.Graph().as_default(), refused:
        tf.colocate_with(x)


# --- slices ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("eager")
def test_empty_index_is_the_whole_tensor():
    x = tf2.constant([1.0, 2.0])
    assert x[()].numpy().tolist() == [1.0, 2.0]
    assert tf2.constant(3.0)[()].numpy() == 3.0


@pytest.mark.usefixtures("eager")
def test_stride_of_a_shrunk_axis_is_not_negative():
    x = tf2.constant([[1.0, 2.0], [3.0, 4.0]])
    taken = tf2.strided_slice(x, [0, 0], [1, 2], [2, 1], shrink_axis_mask=1)
    assert taken.numpy().tolist() == [1.0, 2.0]
    message = "only stride 1 allowed on non-range indexing."
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf2.strided_slice(x, [0, 0], [1, 2], [-1, 1], shrink_axis_mask=1)
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        tf.strided_slice([1.0, 2.0], [0], [1], [-1], shrink_axis_mask=1)


# --- what GPUs hold -------------------------------------------------------------------------

# The types of TensorFlow's registered kernels: VarHandleOp has none for int32 and strings,
# VariableV2 has none for other small integers either.
ON_GPUS = {
    True: "float16 float32 float64 complex64 complex128 bool int8 int16 int64 uint8 uint32",
    False: "float16 float32 float64 complex64 complex128 bool int64 uint32",
}
NOT_ON_GPUS = {True: "int32", False: "int32 int8 int16 uint8 uint16 uint64"}


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
def test_variables_are_on_gpus_by_their_types(sim, use_resource):
    sim("1xT4")
    soft = tf.ConfigProto(allow_soft_placement=True)
    types = [(name, "GPU:0") for name in ON_GPUS[use_resource].split()]
    types += [(name, "CPU:0") for name in NOT_ON_GPUS[use_resource].split()]
    with tf.Graph().as_default():
        with tf.device("/gpu:0"):
            made = {
                tf.Variable(np.zeros((), name), use_resource=use_resource): device
                for name, device in types
            }
        with tf.Session(config=soft) as session:
            with pytest.warns(UserWarning, match="Soft placement moved"):
                session.run([tf.global_variables_initializer(), list(made)])
            placed = {v: session.placements()[v.op.name].rpartition(":")[0][-3:] for v in made}
            assert placed == {variable: device[:3] for variable, device in made.items()}
            for variable in made:
                assert session.run(variable) == 0


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
def test_gpus_have_no_int32_variables(sim, graph, use_resource):
    sim("1xT4")
    with tf.device("/gpu:0"):
        variable = tf.Variable(0, use_resource=use_resource)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"),
    ):
        session.run(variable.initializer)


@pytest.mark.usefixtures("eager")
def test_eager_int32_variables_are_on_the_cpu(sim):
    sim("1xT4")
    with tf2.device("/gpu:0"):
        assert tf2.Variable(0).device.endswith("CPU:0")
        assert tf2.Variable(0.0).device.endswith("GPU:0")
        count = tf2.Variable(1)
        count.assign_add(1)
        assert tf2.function(lambda: count + 1)().numpy() == 3
        tf2.config.set_soft_device_placement(False)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            tf2.Variable(0, name="v")
    assert first_line(caught.value).startswith("Could not satisfy device specification")
    assert first_line(caught.value).endswith("[Op:VarHandleOp] name: v/")


def test_soft_placement_without_gpus_is_one_line(graph, recwarn, caplog):
    with tf.device("/gpu:0"):
        variables = [tf.Variable(1.0, use_resource=kind) for kind in (True, False)]
    soft = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(config=soft) as session:
        session.run(tf.global_variables_initializer())
        session.run(variables)
    [warning] = recwarn.list
    assert str(warning.message) == (
        "Soft placement runs operations on the CPU, since there is no /device:GPU:0 here; "
        "berth.why() tells the reason of each."
    )
    assert caplog.messages == []


# --- traces ---------------------------------------------------------------------------------


def traced(session, fetches, level, feeds=None):
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=level)
    session.run(fetches, feeds, options=options, run_metadata=metadata)
    return {
        stats.device: [node.timeline_label for node in stats.node_stats]
        for stats in metadata.step_stats.dev_stats
    }


@pytest.mark.parametrize("machine", [None, "1xT4"])
def test_trace_of_a_constant_is_not_empty(sim, graph, machine):
    sim(machine)
    one = tf.constant(1.0, name="one")
    with tf.Session() as session:
        [labels] = traced(session, one, tf.RunOptions.FULL_TRACE).values()
    assert labels == ["one = Const()"]


def test_trace_has_constants_variables_and_reads(session):
    """TensorFlow's labels of the same run; it has _SOURCE, _Arg and _Retval beside them."""
    v = tf.Variable(2.0, use_resource=True, name="v")
    w = tf.Variable(2.0, use_resource=False, name="w")
    p = tf.placeholder(tf.float32, [], name="p")
    session.run([v.initializer, w.initializer])
    work = [tf.multiply(w, 2.0, name="mul"), v + p, v.assign_add(1.0)]
    [labels] = traced(session, work, tf.RunOptions.SOFTWARE_TRACE, {p: 3.0}).values()
    added = "AssignAddVariableOp"
    assert sorted(labels) == sorted(
        [
            "v = VarHandleOp()",
            "w = VariableV2()",
            "w/read = Identity(w)",
            "mul/y = Const()",
            "mul = Mul(w/read, mul/y)",
            "ReadVariableOp = ReadVariableOp(v)",
            "add = AddV2(ReadVariableOp, p)",
            "Const = Const()",
            f"{added} = {added}(v, Const)",
            f"ReadVariableOp_1 = ReadVariableOp(v, ^{added})",
        ]
    )
    position = labels.index
    assert position(f"{added} = {added}(v, Const)") < position(
        f"ReadVariableOp_1 = ReadVariableOp(v, ^{added})"
    )


def test_hardware_trace_has_the_streams_of_gpus(sim, graph):
    sim("2xT4")
    with tf.device("/gpu:1"):
        total = tf.add(tf.placeholder(tf.float32, [], name="p"), 1.0, name="total")
    with tf.Session() as session:
        software = traced(session, total, tf.RunOptions.SOFTWARE_TRACE, {"p:0": 1.0})
        assert not any("stream" in device for device in software)
        full = traced(session, total, tf.RunOptions.FULL_TRACE, {"p:0": 1.0})
    assert full["/device:GPU:1/stream:all"] == ["AddV2 @@total:AddV2#"]
    assert "/device:GPU:0/stream:all" not in full  # nothing ran there
