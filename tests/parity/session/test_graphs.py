"""Graphs: finalizing, collections, lookup, names and control dependencies."""

from __future__ import annotations

import pytest

import berth.compat.v1 as tf
from tests.parity.programs import first_line
from tests.parity.session.shared import of_another_graph

# --- graphs: finalize, collections, lookup --------------------------------------------------


def test_finalized_graph_only_runs(graph, session):
    """[TF]."""
    a = tf.constant(1.0, name="a")
    assert not graph.finalized
    graph.finalize()
    assert graph.finalized
    for change in (
        lambda: tf.constant(2.0),
        lambda: a + 1.0,
        lambda: tf.Variable(1.0),
        lambda: graph.add_to_collection("x", 1),
    ):
        with pytest.raises(RuntimeError) as caught:
            change()
        assert first_line(caught.value) == "Graph is finalized and cannot be modified."
    assert session.run(a) == 1.0
    assert session.run(a, {a: 3.0}) == 3.0
    assert graph.get_operations() == [a.op]


def test_running_adds_no_operations(graph, session):
    p = tf.placeholder(tf.float32, [])
    v = tf.Variable(1.0)
    fetch = [p + v, v.initializer]
    n_ops = len(graph.get_operations())
    session.run(v.initializer)
    session.run(fetch, {p: 1.0})
    v.eval()
    assert len(graph.get_operations()) == n_ops


def test_collections_keep_values(graph):
    """[TF]."""
    a, b = tf.constant(1.0, name="s/a"), tf.constant(1.0, name="t/b")
    for value in (1, 1, a):
        tf.add_to_collection("k", value)
    graph.add_to_collection("k", b)
    assert tf.get_collection("k") == [1, 1, a, b]
    assert tf.get_collection("none") == []
    assert graph.get_all_collection_keys() == ["k"]
    tf.get_collection("k").append(5)  # a copy
    assert len(tf.get_collection("k")) == 4
    graph.get_collection_ref("k").append(6)
    assert len(tf.get_collection("k")) == 5
    graph.clear_collection("k")
    assert tf.get_collection("k") == []


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        ("tower_0", ["tower_0/a", "tower_01/b"]),
        ("tower_0/", ["tower_0/a"]),
        ("tower_1/", ["tower_1/c"]),
        ("0/", []),
        ("tower_[01]/", ["tower_0/a", "tower_1/c"]),
        (".*/b", ["tower_01/b"]),
    ],
)
def test_collections_are_filtered_by_scope(scope, names):
    """Section 9.1: a regular expression, matched at the start; values without a name are left out."""
    tf.add_to_collection("losses", 3)
    for name in ("tower_0/a", "tower_01/b", "tower_1/c"):
        tf.add_to_collection("losses", tf.constant(1.0, name=name))
    assert [loss.op.name for loss in tf.get_collection("losses", scope)] == names


NO_TENSOR = {
    "'a'": "The name 'a' refers to an Operation, not a Tensor. Tensor names must be of the form \"<op_name>:<output_index>\".",
    "'zz'": "The name 'zz' looks like an (invalid) Operation name, not a Tensor. Tensor names must be of the form \"<op_name>:<output_index>\".",
    "'b:0'": "The name 'b:0' refers to a Tensor which does not exist. The operation, 'b', does not exist in the graph.",
    "'a:1'": "The name 'a:1' refers to a Tensor which does not exist. The operation, 'a', exists but only has 1 outputs.",
    "'a:b'": "The name 'a:b' looks a like a Tensor name, but is not a valid one. Tensor names must be of the form \"<op_name>:<output_index>\".",
    "'a:0:1'": "The name 'a:0:1' looks a like a Tensor name, but is not a valid one. Tensor names must be of the form \"<op_name>:<output_index>\".",
    "3": "Tensor names are strings (or similar), not int.",
}
NO_OPERATION = {
    "'a:0'": "Name 'a:0' appears to refer to a Tensor, not a Operation.",
    "'zz'": "The name 'zz' refers to an Operation not in the graph.",
    "3": "Operation names are strings (or similar), not int.",
}
NOT_FOUND = [("tensor", *row) for row in NO_TENSOR.items()] + [
    ("operation", *row) for row in NO_OPERATION.items()
]


@pytest.mark.parametrize(("kind", "name", "message"), NOT_FOUND)
def test_element_is_not_found(graph, kind, name, message):
    """[TF]; section 8.1 quotes the third. What does not exist is a KeyError."""
    tf.constant(1.0, name="a")
    find = graph.get_tensor_by_name if kind == "tensor" else graph.get_operation_by_name
    with pytest.raises((KeyError, TypeError, ValueError)) as caught:
        find(eval(name))
    assert caught.value.args[0].split("\n")[0] == message
    is_absent = (
        "does not exist" in message or "not in the graph" in message or "only has" in message
    )
    expected = TypeError if name == "3" else KeyError if is_absent else ValueError
    assert type(caught.value) is expected


def test_elements_are_found(graph):
    """[TF]."""
    a = tf.constant(1.0, name="a")
    assert graph.get_tensor_by_name("a:0") is a
    assert graph.get_operation_by_name("a") is a.op
    for item, found in [("a", a.op), ("a:0", a), (a, a), (a.op, a.op)]:
        assert graph.as_graph_element(item) is found
    with pytest.raises(ValueError, match="both be False") as caught:
        graph.as_graph_element("a", allow_tensor=False, allow_operation=False)
    assert first_line(caught.value) == "allow_tensor and allow_operation can't both be False."


def test_graphs_do_not_mix(graph):
    """[TF], for the beginning."""
    a, b = tf.constant(1.0, name="a"), of_another_graph("b")
    n_ops = len(graph.get_operations())
    with pytest.raises(ValueError, match="must be from the same graph"):
        a + b
    assert len(graph.get_operations()) == n_ops


def test_graph_def_has_every_node(graph):
    """[TF]: in order, with inputs, devices and what is waited for."""
    a = tf.constant(1.0, name="a")
    with tf.device("/cpu:0"), tf.control_dependencies([a]), tf.name_scope("s"):
        b = tf.add(a, 2.0, name="b")
    tf.Variable(b, name="v")
    with tf.colocate_with(a):
        tf.split(tf.zeros([4], name="z"), 2, name="parts")
    described = graph.as_graph_def()
    assert [node.name for node in described.node] == [op.name for op in graph.get_operations()]
    assert [node.op for node in described.node] == [op.type for op in graph.get_operations()]
    by_name = {node.name: node for node in described.node}
    assert list(by_name["s/b"].input) == ["a", "s/b/y"]
    assert list(by_name["s/b/y"].input) == ["^a"]
    assert [by_name[name].device for name in ("a", "s/b", "v")] == ["", "/device:CPU:0", ""]
    text = str(described)
    for op in graph.get_operations():
        assert f'  name: "{op.name}"\n  op: "{op.type}"\n' in text
    assert '  input: "a"\n  input: "s/b/y"\n  device: "/device:CPU:0"\n' in text
    assert text.count("loc:@a") == sum(
        op.colocation_groups() == [b"loc:@a"] and op is not a.op
        for op in graph.get_operations()
    )


# --- names ----------------------------------------------------------------------------------


def test_names_are_unique():
    """[TF]: regardless of case."""
    names = ["a", "a", "a", "a_1", "A", "a", "x/y", "x", "x/y"]
    assert [tf.constant(1.0, name=name).op.name for name in names] == [
        "a",
        "a_1",
        "a_2",
        "a_1_1",
        "A_3",
        "a_4",
        "x/y",
        "x",
        "x/y_1",
    ]


def test_operations_have_default_names():
    """[TF]."""
    a = tf.constant(1.0)
    made = [a, a + 1.0, a * 2.0, -a, a / 2.0, a - 1.0, tf.placeholder(tf.float32), a + a]
    assert [tensor.name for tensor in made] == [
        "Const:0",
        "add:0",
        "mul:0",
        "Neg:0",
        "truediv:0",
        "sub:0",
        "Placeholder:0",
        "add_1:0",
    ]
    assert made[1].op.inputs[1].name == "add/y:0"


def test_scopes_prefix_names():
    """Section 9.1: `as scope` gives `tower_0/`; the rest [TF]."""
    seen = []

    def note(scope):
        seen.append((scope, tf.constant(1.0, name="c").name))

    with tf.name_scope("s") as first:
        note(first)
    with tf.name_scope("s") as second:
        note(second)
    with tf.name_scope(first) as again:  # a scope that is entered once more
        note(again)
    with tf.name_scope("o"), tf.name_scope("i") as inner:
        note(inner)
        with tf.name_scope(None) as root:
            note(root)
        with tf.name_scope("") as empty:
            note(empty)
    with tf.name_scope(None, "default") as default:
        note(default)
    assert seen == [
        ("s/", "s/c:0"),
        ("s_1/", "s_1/c:0"),
        ("s/", "s/c_1:0"),
        ("o/i/", "o/i/c:0"),
        ("", "c:0"),
        ("", "c_1:0"),
        ("default/", "default/c:0"),
    ]


def test_scopes_and_operations_share_names():
    """[TF]."""
    tf.constant(1.0, name="s")
    with tf.name_scope("s") as scope:
        assert scope == "s_1/"
    assert tf.constant(1.0, name="s_1").op.name == "s_1_1"


def test_unique_name_may_be_asked(graph):
    """[TF]."""
    tf.constant(1.0, name="a")
    assert graph.unique_name("a") == "a_1"
    assert graph.unique_name("a", mark_as_used=False) == "a_2"
    assert graph.unique_name("a") == "a_2"
    assert graph.get_name_scope() == ""
    with tf.name_scope("q"):
        assert graph.get_name_scope() == "q"
        assert graph.unique_name("a") == "q/a"


@pytest.mark.parametrize("name", ["bad name", "_x", "a:b", "ä"])
def test_bad_name_is_refused(graph, name):
    """TensorFlow's words, in 1.15 and today [TF]."""
    with pytest.raises(ValueError, match="is not a valid node name"):
        tf.constant(1.0, name=name)
    with pytest.raises(ValueError, match=r"is not a valid (root )?scope name"):
        tf.name_scope(name).__enter__()
    assert graph.get_operations() == []


def test_error_closes_its_scopes(graph):
    """After any error everything works as before."""
    with (
        pytest.raises(KeyError),
        tf.name_scope("s"),
        tf.device("/cpu:0"),
        tf.control_dependencies([]),
    ):
        raise KeyError
    x = tf.constant(1.0)
    assert (x.name, x.device) == ("Const:0", "")


# --- control dependencies -------------------------------------------------------------------


def test_dependencies_nest():
    """[TF]."""
    a, b = tf.no_op(name="a"), tf.constant(1.0, name="b")
    with tf.control_dependencies([a]):
        one = tf.constant(1.0)
        with tf.control_dependencies([b, b.op]):
            two = tf.constant(1.0)
            direct = tf.identity(b)  # which takes it anyway
        with tf.control_dependencies(None):
            none = tf.constant(1.0)
    outside = tf.constant(1.0)
    found = [
        sorted(op.name for op in tensor.op.control_inputs)
        for tensor in (one, two, direct, none, outside)
    ]
    assert found == [["a"], ["a", "b"], ["a"], [], []]


def test_dependencies_must_be_operations():
    """The class is TensorFlow's [TF]."""
    with pytest.raises(TypeError):
        tf.control_dependencies([3]).__enter__()
    with pytest.raises(ValueError, match="graph"):
        tf.control_dependencies([of_another_graph()]).__enter__()


def test_group_waits_for_all(session):
    """[TF]."""
    v, w = tf.Variable(0), tf.Variable(0)
    session.run(tf.global_variables_initializer())
    both = tf.group(v.assign_add(1), w.assign_add(2), name="both")
    assert (both.name, both.type) == ("both", "NoOp")
    session.run(both)
    assert session.run([v, w]) == [1, 2]
    assert session.run(tf.group()) is None


@pytest.mark.parametrize("machine", [None, "2xT4"])
def test_dependencies_cross_devices(sim, machine):
    """Section 8.3: control edges too."""
    sim(machine)
    soft = tf.ConfigProto(allow_soft_placement=True)
    with tf.device("/gpu:0" if machine else "/cpu:0"):
        v = tf.Variable([0.0] * 1000)
    write = v
    with tf.Session(config=soft) as session:
        for step in range(10):
            with tf.control_dependencies([write]), tf.device("/gpu:1" if machine else "/cpu:0"):
                beside = tf.constant(float(step)) * tf.placeholder_with_default(1.0, [])
            with tf.control_dependencies([beside]):
                write = v.assign(tf.fill([1000], float(step)))
        session.run(v.initializer)
        session.run(write.op)
        assert session.run(v)[0] == 9.0
