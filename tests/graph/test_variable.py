"""``tf.Variable`` of a graph, and the functions about all variables.

Names, shapes and texts marked [TF] were read off TensorFlow 2.21's `tensorflow.compat.v1`.
"""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.front.graph_scope import GraphKeys, add_to_collections, get_collection_ref
from berth.variables.collections import (
    all_variables,
    assert_variables_initialized,
    initialize_all_variables,
    initialize_local_variables,
    initialize_variables,
    is_variable_initialized,
    local_variables,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
    report_uninitialized_variables,
)
from berth.variables.store import (
    disable_resource_variables,
    enable_resource_variables,
    resource_variables_enabled,
)
from berth.variables.variable import VariableAggregation, VariableSynchronization

kinds = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])


@pytest.fixture(autouse=True)
def graph(sim):
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph):
    with tf.Session() as session:
        yield session


def first_line(caught):
    return str(caught.value).split("\n")[0]


def nodes(graph):
    """Describe nodes: name, type, inputs, colocation and waits, as far as there are any."""
    described = []
    for op in graph.get_operations():
        inputs = [tensor.op.name for tensor in op.inputs]
        beside = [f"@{name}" for name in op.colocated_with]
        waits = [f"^{control.name}" for control in op.control_inputs]
        described.append(" ".join([op.name, op.type, *inputs, *beside, *waits]))
    return described


# --- the nodes of a variable ----------------------------------------------------------------

NODES = {  # [TF]
    ("constant", False): [
        "v/initial_value Const",
        "v VariableV2",
        "v/Assign Assign v v/initial_value @v",
        "v/read Identity v @v",
    ],
    ("constant", True): [
        "v/Initializer/initial_value Const @v",
        "v VarHandleOp",
        "v/IsInitialized/VarIsInitializedOp VarIsInitializedOp v",
        "v/Assign AssignVariableOp v v/Initializer/initial_value",
        "v/Read/ReadVariableOp ReadVariableOp v",
    ],
    ("function", False): [
        "v/Initializer/ones Const @v",
        "v/Initializer/mul/y Const @v",
        "v/Initializer/mul Mul v/Initializer/ones v/Initializer/mul/y @v",
        "v VariableV2",
        "v/Assign Assign v v/Initializer/mul @v",
        "v/read Identity v @v",
    ],
    ("function", True): [
        "v/Initializer/ones Const @v",
        "v/Initializer/mul/y Const @v",
        "v/Initializer/mul Mul v/Initializer/ones v/Initializer/mul/y @v",
        "v VarHandleOp",
        "v/IsInitialized/VarIsInitializedOp VarIsInitializedOp v",
        "v/Assign AssignVariableOp v v/Initializer/mul",
        "v/Read/ReadVariableOp ReadVariableOp v",
    ],
    ("function of a number", False): [
        "v/Initializer/initial_value Const @v",
        "v VariableV2",
        "v/Assign Assign v v/Initializer/initial_value @v",
        "v/read Identity v @v",
    ],
}
INITIAL = {
    "constant": [1.0],
    "function": lambda: tf.ones([2]) * 2.0,
    "function of a number": lambda: 1.0,
}


@pytest.mark.parametrize("case", NODES, ids=str)
def test_variable_has_these_nodes(graph, case):
    kind, use_resource = case
    with tf.control_dependencies([tf.constant(1.0, name="c")]):
        tf.Variable(INITIAL[kind], name="v", use_resource=use_resource)
    assert nodes(graph)[1:] == NODES[case]


@kinds
def test_initializer_goes_with_its_variable(sim, use_resource):
    """[TF]: what a function makes asks for no device, and is placed beside the variable."""
    sim("2xT4")
    with tf.Graph().as_default() as graph, tf.device("/gpu:1"):
        v = tf.Variable(lambda: tf.ones([2]), name="v", use_resource=use_resource)
    assert graph.get_operation_by_name("v/Initializer/ones").device == ""
    assert v.device == v.initializer.device == "/device:GPU:1"
    with tf.Session(graph=graph) as session:
        session.run(v.initializer)
        placed = session.placements()
    assert placed["v/Initializer/ones"].endswith("GPU:1")


CACHED = {False: "v/read", True: "v/Read/Identity"}  # [TF]


@kinds
def test_value_is_cached_elsewhere(sim, use_resource):
    sim("1xT4")
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        v = tf.Variable([1.0], name="v", caching_device="/cpu:0", use_resource=use_resource)
    assert v.value() is graph.get_tensor_by_name(f"{CACHED[use_resource]}:0")
    assert (v.value().device, v.device) == ("/device:CPU:0", "/device:GPU:0")
    with tf.Session(graph=graph) as session:
        session.run(v.initializer)
        assert session.run(v.value()).tolist() == [1.0]


WRITES = {  # [TF]
    False: [
        "s/Assign/value Const",
        "s/Assign Assign v s/Assign/value @v",
        "s/q/value Const",
        "s/q AssignAdd v s/q/value @v",
        "s/zeros Const",
        "s/AssignSub AssignSub v s/zeros @v",
        "s/ScatterUpdate/indices Const",
        "s/ScatterUpdate/updates Const",
        "s/ScatterUpdate ScatterUpdate v s/ScatterUpdate/indices s/ScatterUpdate/updates @v",
        "s/CountUpTo CountUpTo v @v",
        "s/read Identity v",
    ],
    True: [
        "s/Const Const",
        "s/AssignVariableOp AssignVariableOp v s/Const",
        "s/ReadVariableOp ReadVariableOp v ^s/AssignVariableOp",
        "s/Const_1 Const",
        "s/q AssignAddVariableOp v s/Const_1",
        "s/ReadVariableOp_1 ReadVariableOp v ^s/q",
        "s/zeros Const",
        "s/AssignSubVariableOp AssignSubVariableOp v s/zeros",
        "s/ReadVariableOp_2 ReadVariableOp v ^s/AssignSubVariableOp",
        "s/Const_2 Const",
        "s/ResourceScatterUpdate/indices Const",
        "s/ResourceScatterUpdate ResourceScatterUpdate v s/ResourceScatterUpdate/indices "
        "s/Const_2",
        "s/ReadVariableOp_3 ReadVariableOp v ^s/ResourceScatterUpdate",
        "s/ResourceCountUpTo ResourceCountUpTo v",
        "s/Read/ReadVariableOp ReadVariableOp v",
        "s/Identity Identity s/Read/ReadVariableOp",
    ],
}


@kinds
def test_writes_have_these_nodes(graph, use_resource):
    v = tf.Variable(1, name="v", use_resource=use_resource, shape=[])
    n_before = len(graph.get_operations())
    with tf.name_scope("s"):
        v.assign(1)
        v.assign_add(1, name="q")
        v.assign_sub(tf.zeros([], tf.int32))
        v.write("scatter_update", (0, 5))
        v.count_up_to(3)
        v.read_value()
    assert nodes(graph)[n_before:] == WRITES[use_resource]


# --- what it is -----------------------------------------------------------------------------


@pytest.mark.parametrize(("use_resource", "dtype"), [(False, "float32_ref"), (True, "float32")])
def test_variable_describes_itself(graph, use_resource, dtype):
    """[TF]."""
    v = tf.Variable([1.0, 2.0], name="v", constraint=abs, use_resource=use_resource)
    assert repr(v) == f"<tf.Variable 'v:0' shape=(2,) dtype={dtype}>"
    assert (v.name, v.dtype.name, v.dtype.base_dtype) == ("v:0", dtype, tf.float32)
    assert v.shape == v.get_shape() == [2]
    assert (v.graph, v.op.name, v.trainable, v.constraint) == (graph, "v", True, abs)
    assert v.initial_value.op.name.endswith("initial_value")
    assert v.initializer.name == "v/Assign"
    assert v.synchronization is VariableSynchronization.AUTO
    assert v.aggregation is VariableAggregation.NONE


@pytest.mark.parametrize(
    ("options", "is_trainable"),
    [
        ({}, True),
        ({"trainable": None}, True),
        ({"trainable": False}, False),
        ({"synchronization": VariableSynchronization.ON_READ}, False),
        ({"synchronization": VariableSynchronization.ON_READ, "trainable": True}, True),
        ({"synchronization": None, "aggregation": None}, True),
    ],
)
def test_variables_are_trainable(options, is_trainable):
    v = tf.Variable(1.0, **options)
    assert v.trainable is is_trainable
    assert (v in tf.trainable_variables()) is is_trainable


@pytest.mark.parametrize(
    ("collections", "keys"),
    [
        (None, {"variables", "trainable_variables"}),
        ([], {"trainable_variables"}),
        (["x", "x"], {"x", "trainable_variables"}),
        (("local_variables",), {"local_variables", "trainable_variables"}),
        ({"trainable_variables"}, {"trainable_variables"}),
    ],
)
def test_variable_is_collected(graph, collections, keys):
    v = tf.Variable(1.0, collections=collections)
    assert set(graph.get_all_collection_keys()) == keys
    assert all(graph.get_collection(key) == [v] for key in keys)


BAD = {  # [TF]
    "collections": ({"collections": "x"}, ValueError, "collections argument to Variable constructor must be a list, tuple, or set. Got x of type <class 'str'>"),
    "constraint": ({"constraint": 3}, ValueError, "The `constraint` argument must be a callable."),
    "variable_def": ({"variable_def": object()}, ValueError, "variable_def and initial_value are mutually exclusive."),
    "shape": ({"shape": [2], "use_resource": True}, ValueError, "In this `tf.Variable` creation, the initial value's shape (()) is not compatible with the explicitly supplied `shape` argument ([2])."),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_arguments_are_checked(name):
    options, error, message = BAD[name]
    with pytest.raises(error) as caught:
        tf.Variable(1.0, **options)
    assert first_line(caught) == message


def test_variable_needs_a_value():
    with pytest.raises(ValueError, match=r"^initial_value must be specified\.$"):
        tf.Variable()
    with pytest.raises(NotImplementedError):
        tf.Variable(variable_def=object())


def test_type_of_value_must_fit():
    """[TF]."""
    with pytest.raises(
        ValueError, match="initial_value: Tensor conversion requested dtype int32"
    ):
        tf.Variable(tf.constant(1.0), dtype=tf.int32)
    assert tf.Variable(1, dtype=tf.float64, expected_shape=[9]).dtype.base_dtype is tf.float64


@pytest.mark.parametrize(
    ("options", "dims"),
    [
        ({}, (2,)),
        ({"validate_shape": False}, None),
        ({"shape": [None]}, (None,)),
        ({"shape": tf.TensorShape(None)}, None),
        ({"validate_shape": False, "use_resource": True}, (2,)),
        ({"shape": [None], "use_resource": True}, (None,)),
    ],
    ids=str,
)
def test_shape_may_be_left_open(session, options, dims):
    """[TF]."""
    v = tf.Variable([1.0, 2.0], **options)
    assert v.dims == dims
    session.run(v.initializer)
    assert session.run(v + 1.0).tolist() == [2.0, 3.0]
    v.set_shape([2])
    assert v.shape == [2]
    with pytest.raises(ValueError, match="not compatible"):
        v.set_shape([3])


def test_shape_must_be_known():
    """[TF]: of a reference."""
    unknown = tf.placeholder(tf.float32, [None])
    with pytest.raises(ValueError, match="initial_value must have a shape specified: Tensor"):
        tf.Variable(unknown)
    assert tf.Variable(unknown, validate_shape=False).dims is None
    assert tf.Variable(unknown, use_resource=True).dims == (None,)


def test_variable_cannot_be_iterated():
    with pytest.raises(TypeError, match="'Variable' object is not iterable"):
        list(tf.Variable([1.0]))


def test_resources_may_be_the_default():
    assert not resource_variables_enabled()
    try:
        enable_resource_variables()
        assert resource_variables_enabled()
        assert tf.Variable(1.0).op.type == "VarHandleOp"
        assert tf.Variable(1.0, use_resource=False).op.type == "VariableV2"
    finally:
        disable_resource_variables()
    assert tf.Variable(1.0).op.type == "VariableV2"


# --- reading and writing --------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("machine", [None, "1xT4"])
def test_variable_is_read_and_written(sim, machine, use_resource):
    sim(machine)
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    assert v.assign([9.0, 9.0], read_value=False).type.startswith("Assign")
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v.assign([5.0, 6.0], use_locking=True)).tolist() == [5.0, 6.0]
        assert session.run(v.sparse_read([1])).tolist() == [6.0]
        session.run(v.assign_sub([1.0, 1.0], read_value=False))
        assert v.eval(session).tolist() == [4.0, 5.0]
        v.load([7.0, 8.0], session)
        assert session.run(v.value()).tolist() == [7.0, 8.0]


def test_resource_is_written_again(session):
    """[TF]: what a write returns is a variable, as it is after the write."""
    v = tf.Variable(1.0, name="v", use_resource=True)
    written = v.assign(2.0)
    twice = written.assign_add(3.0)
    assert isinstance(written, tf.Variable)
    assert repr(written) == "<tf.Variable 'AssignVariableOp' shape=() dtype=float32>"
    assert written.op.type == "AssignVariableOp"
    assert written.handle is v.handle
    session.run(v.initializer)
    assert session.run([twice, twice + 1.0]) == [5.0, 6.0]
    assert session.run(written.read_value()) == 2.0
    assert session.run(tf.group(written)) is None


MISFITS = {  # [TF]
    False: "Dimension 0 in both shapes must be equal, but are 2 and 1. Shapes are [2] and [1].",
    True: "Cannot assign value to variable 'v:0': Shape mismatch.The variable shape (2,), and "
    "the assigned value shape (1,) are incompatible.",
}


@kinds
def test_shape_of_value_must_fit(use_resource):
    v = tf.Variable([1.0, 2.0], name="v", use_resource=use_resource)
    with pytest.raises(ValueError, match="hape") as caught:
        v.assign([1.0])
    assert str(caught.value).startswith(MISFITS[use_resource])
    with pytest.raises((TypeError, ValueError), match="int32"):
        v.assign(tf.constant([1, 2]))


def test_shape_is_checked_in_runs(session):
    """[TF]."""
    v, given = tf.Variable([1.0, 2.0]), tf.placeholder(tf.float32)
    session.run(v.initializer)
    write = v.assign(given)
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(write, {given: [1.0]})
    assert first_line(caught) == (
        "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [1]"
    )
    assert session.run(write, {given: [3.0, 4.0]}).tolist() == [3.0, 4.0]


# --- first values ---------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("machine", [None, "2xT4"])
def test_initialized_value_needs_no_value(sim, machine, use_resource):
    sim(machine)
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    either = v.initialized_value()
    with tf.Session() as session:
        assert session.run(either).tolist() == [1.0, 2.0]
        session.run(v.initializer)
        session.run(v.assign([5.0, 6.0]))
        assert session.run(either + 1.0).tolist() == [6.0, 7.0]


def test_variables_start_from_others(graph, session):
    """[TF]: in any order, in one run; the copies are named so."""
    v = tf.Variable(lambda: tf.random_uniform([2]), name="v")
    w = tf.Variable(v * 2.0, name="w")
    x = tf.Variable(lambda: tf.square(w) + v, name="x")
    assert w.initializer.inputs[1].op.name == "mul_w"
    assert graph.get_operation_by_name("v/read_w").inputs[0].op.type == "InitializedValue"
    session.run(tf.variables_initializer([x, w, v]))
    start, double, sum_ = session.run([v, w, x])
    assert double.tolist() == (start * 2).tolist()
    np.testing.assert_allclose(sum_, double**2 + start, rtol=1e-6)
    session.run(v.assign([3.0, 4.0]))
    session.run(w.initializer)
    assert session.run(w).tolist() == [6.0, 8.0]
    w.load([1.0, 1.0], session)
    assert session.run(w).tolist() == [1.0, 1.0]


def test_variable_starts_as_another(session):
    v = tf.Variable([1.0, 2.0])
    w = tf.Variable(v, use_resource=True)
    x = tf.Variable(v.initialized_value() + 1.0)
    session.run(tf.global_variables_initializer())
    assert session.run([w + 0.0, x])[0].tolist() == [1.0, 2.0]
    assert session.run(x).tolist() == [2.0, 3.0]


# --- all variables --------------------------------------------------------------------------


def test_variables_are_listed(graph):
    v = tf.Variable(1.0, name="a/v")
    w = tf.Variable(1.0, name="b/w", trainable=False)
    local = tf.Variable(1.0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
    add_to_collections([GraphKeys.MODEL_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES], w)
    assert tf.global_variables() == all_variables() == [v, w]
    assert tf.global_variables("a") == tf.global_variables(scope="a/") == [v]
    assert (tf.trainable_variables(), tf.trainable_variables("b")) == ([v], [])
    assert (local_variables(), local_variables("x")) == ([local], [])
    assert model_variables() == moving_average_variables("b") == [w]
    assert model_variables("a") == []


def test_variables_are_initialized_together(session):
    v = tf.Variable(1.0)
    local = tf.Variable(2.0, collections=[GraphKeys.LOCAL_VARIABLES])
    for make, variable in [
        (tf.global_variables_initializer, v),
        (initialize_all_variables, v),
        (lambda: initialize_variables([v]), v),
        (local_variables_initializer, local),
        (initialize_local_variables, local),
    ]:
        with tf.Session() as own:
            own.run(make())
            assert own.run(is_variable_initialized(variable))
            other = local if variable is v else v
            assert not own.run(other.is_initialized())
    assert tf.variables_initializer([], name="none").type == "NoOp"


@kinds
def test_missing_values_are_reported(session, use_resource):
    v = tf.Variable(1.0, name="a/v", use_resource=use_resource)
    w = tf.Variable(1.0, name="w", use_resource=use_resource)
    tf.Variable(1.0, name="l", collections=[GraphKeys.LOCAL_VARIABLES])
    report, some = report_uninitialized_variables(), report_uninitialized_variables([v])
    assert session.run(report).tolist() == [b"a/v", b"w", b"l"]
    session.run(w.initializer)
    assert session.run(report).tolist() == [b"a/v", b"l"]
    assert session.run(some).tolist() == [b"a/v"]
    session.run(v.initializer)
    assert session.run(some).tolist() == []
    assert session.run(report_uninitialized_variables([])).tolist() == []


@kinds
def test_missing_values_are_refused(session, use_resource):
    assert assert_variables_initialized() is None
    v = tf.Variable([1.0], use_resource=use_resource)
    one = assert_variables_initialized()
    w = tf.Variable([[1.0]], use_resource=use_resource)
    both = assert_variables_initialized([v, w])
    session.run(v.initializer)
    assert session.run(one) == 1
    with pytest.raises(tf.errors.FailedPreconditionError):
        session.run(both)
    session.run(w.initializer)
    assert session.run(both).tolist() == [1, 2]


# --- collections, feeds and fetches ---------------------------------------------------------


def test_collections_take_several_names():
    """[TF]: a name that is there twice counts once."""
    add_to_collections("a", 1)
    add_to_collections(("b", "c"), 2)
    add_to_collections(["b", "b"], 3)
    assert (tf.get_collection("a"), tf.get_collection("b")) == ([1], [2, 3])
    get_collection_ref("c").append(4)
    assert tf.get_collection("c") == [2, 4]
    tf.get_collection("c").append(5)
    assert tf.get_collection("c") == [2, 4]


def test_graph_keys_have_values():
    """[TF]."""
    assert GraphKeys.VARIABLES == GraphKeys.GLOBAL_VARIABLES == "variables"
    assert GraphKeys.TABLE_INITIALIZERS == "table_initializer"
    assert GraphKeys.REGULARIZATION_LOSSES == "regularization_losses"


def test_feeding_can_be_prevented(graph, session):
    """[TF]."""
    a = tf.constant(1.0, name="a")
    b = a + 1.0
    assert graph.is_feedable(a)
    assert graph.is_fetchable(a)
    graph.prevent_feeding(a)
    graph.prevent_fetching(a.op)
    assert not graph.is_feedable(a)
    assert not graph.is_fetchable(a)
    assert not graph.is_fetchable(a.op)
    with pytest.raises(ValueError, match=r"^Tensor a:0 may not be fed\.$"):
        session.run(b, {a: 2.0})
    for fetch in (a, a.op, [b, a]):
        with pytest.raises(ValueError, match="Operation a has been marked as not fetchable"):
            session.run(fetch)
    assert session.run(b) == 2.0
