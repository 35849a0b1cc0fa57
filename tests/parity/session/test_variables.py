"""Variables of both kinds in sessions."""

from __future__ import annotations

import pytest

import berth.compat.v1 as tf
from tests.parity.programs import first_line
from tests.parity.session.shared import KINDS

# --- variables ------------------------------------------------------------------------------

UNINITIALIZED = {
    False: "Attempting to use uninitialized value v",
    True: "Could not find variable v. This could mean that the variable has been deleted. In TF1, it can also mean the variable is uninitialized.",
}


@KINDS
@pytest.mark.parametrize("machine", [None, "1xT4"])
@pytest.mark.parametrize(
    "use",
    [
        lambda v: v,
        lambda v: v + 1.0,
        lambda v: v.read_value(),
        lambda v: v.assign_add(1.0),
        lambda v: v.assign_sub(1.0),
    ],
    ids=["fetch", "add", "read", "assign_add", "assign_sub"],
)
def test_variable_must_be_initialized(sim, machine, use_resource, use):
    """[TF]; the text of resources goes on with details, and has another class for writes."""
    sim(machine)
    v = tf.Variable(1.0, name="v", use_resource=use_resource)
    with tf.Session() as session:
        fetch = use(v)
        with pytest.raises(tf.errors.FailedPreconditionError) as caught:
            session.run(fetch)
        assert first_line(caught.value).startswith(UNINITIALIZED[use_resource])
        session.run(v.initializer)
        session.run(fetch)


@KINDS
@pytest.mark.parametrize("machine", [None, "1xT4"])
def test_writes_return_the_value(sim, machine, use_resource):
    """[TF]: both kinds of variable, by method and by function."""
    sim(machine)
    v = tf.Variable(1.0, use_resource=use_resource)
    with tf.Session() as session:
        session.run(v.initializer)
        fetched = [
            session.run(write)
            for write in [
                v.assign(5.0),
                v.assign_add(2.0),
                v.assign_sub(1.0),
                tf.assign(v, 9.0),
                tf.assign_add(v, 1.0),
                tf.assign_sub(v, 4.0),
            ]
        ]
        assert fetched == [5.0, 7.0, 6.0, 9.0, 10.0, 6.0]
        assert session.run(v) == 6.0


@KINDS
@pytest.mark.parametrize("machine", [None, "1xT4"])
def test_reads_are_snapshots(sim, machine, use_resource):
    """A fetched value does not change with the variable, nor the variable with it."""
    sim(machine)
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    with tf.Session() as session:
        session.run(v.initializer)
        before = session.run(v)
        session.run(v.assign_add([1.0, 1.0]))
        assert before.tolist() == [1.0, 2.0]
        if before.flags.writeable:
            before[:] = 99.0
        assert session.run(v).tolist() == [2.0, 3.0]


@KINDS
@pytest.mark.parametrize("machine", [None, "2xT4"])
def test_control_dependencies_order_access(sim, machine, use_resource):
    """A read that comes before a write has the old value, one after it the new."""
    sim(machine)
    v = tf.Variable([1.0], use_resource=use_resource)
    before = v.read_value()
    with tf.control_dependencies([before]):
        write = v.assign([5.0])
    with tf.control_dependencies([write]):
        after = v.read_value()
        again = v.assign_add([1.0])
    with tf.control_dependencies([again]):
        last = v.read_value()
    with tf.Session() as session:
        for _ in range(3):
            session.run(v.initializer)
            reads = session.run([last, before, after])
            # `after` is only after the first write: beside the second, either is right.
            assert [read.tolist() for read in reads[:2]] == [[6.0], [1.0]]
            assert reads[2].tolist() in ([5.0], [6.0])
            assert session.run(v).tolist() == [6.0]


@KINDS
def test_writes_need_no_fetch(session, use_resource):
    v = tf.Variable(0, use_resource=use_resource)
    session.run(v.initializer)
    with tf.control_dependencies([v.assign_add(1)]):
        done = tf.no_op()
    for _ in range(3):
        assert session.run(done) is None
    assert session.run(tf.group(v.assign_add(1), v.assign_add(1))) is None
    assert session.run(v) == 5


@KINDS
@pytest.mark.parametrize("machine", [None, "1xT4"])
def test_sessions_have_their_own_variables(sim, machine, use_resource):
    """Section 8.1: a session owns the state of its graph."""
    sim(machine)
    v = tf.Variable(1.0, use_resource=use_resource)
    more = v.assign_add(1.0)
    with tf.Session() as one, tf.Session() as other:
        one.run(v.initializer)
        one.run(more)
        with pytest.raises(tf.errors.FailedPreconditionError):
            other.run(v)
        other.run(v.initializer)
        assert (one.run(v), other.run(v)) == (2.0, 1.0)


@KINDS
def test_variable_is_initialized(session, use_resource):
    v = tf.Variable(1.0, use_resource=use_resource)
    is_initialized = tf.is_variable_initialized(v)
    assert not session.run(is_initialized)
    session.run(v.initializer)
    assert session.run(is_initialized)


@KINDS
def test_initializers_run_together(session, use_resource):
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    w = tf.Variable(3, trainable=False, use_resource=use_resource)
    assert session.run(tf.global_variables_initializer()) is None
    assert session.run(v).tolist() == [1.0, 2.0]
    assert session.run(w) == 3
    session.run(v.assign([5.0, 6.0]))
    session.run(tf.variables_initializer([v]))
    assert v.eval().tolist() == [1.0, 2.0]


@KINDS
def test_variables_are_loaded(session, use_resource):
    v = tf.Variable(1.0, use_resource=use_resource)
    n_ops = len(session.graph.get_operations())
    v.load(7.0, session)
    assert session.run(v) == 7.0
    assert len(session.graph.get_operations()) == n_ops


def test_variables_are_collected():
    """Section 9.1's collections; [TF] for their names."""
    v = tf.Variable(1.0, name="v")
    w = tf.Variable(1.0, name="v", trainable=False)
    assert [v.name, w.name] == ["v:0", "v_1:0"]
    assert tf.global_variables() == [v, w] == tf.get_collection("variables")
    assert tf.trainable_variables() == [v] == tf.get_collection("trainable_variables")


# Its operations, as TensorFlow names them [TF].
NODES = {
    False: ["v/initial_value", "v", "v/Assign", "v/read"],
    True: [
        "v/Initializer/initial_value",
        "v",
        "v/IsInitialized/VarIsInitializedOp",
        "v/Assign",
        "v/Read/ReadVariableOp",
    ],
}


@KINDS
def test_variable_is_made_of_nodes(graph, use_resource):
    """[TF]; section 6.3 names some of them."""
    tf.Variable(1.0, name="v", use_resource=use_resource)
    assert [op.name for op in graph.get_operations()] == NODES[use_resource]


def test_variable_needs_a_value():
    """[TF]."""
    with pytest.raises(ValueError, match="initial_value") as caught:
        tf.Variable(None)
    assert first_line(caught.value) == "initial_value must be specified."


def test_variable_outlives_failed_run(session):
    v = tf.Variable(1, name="v")
    session.run(v.initializer)
    zero = tf.placeholder(tf.int32, [])
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(v // zero, {zero: 0})
    assert session.run(v) == 1
