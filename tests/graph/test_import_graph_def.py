"""`tf.import_graph_def`: names, mapped inputs, devices, and what cannot be imported."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth import errors


@pytest.fixture
def graph_def():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.device("/gpu:0"), tf.control_dependencies([tf.no_op("first")]):
            y = tf.identity(x * 2, name="y")
        with tf.colocate_with(y):
            tf.split(y, 2, name="s")
        return graph.as_graph_def()


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def names_of(graph):
    return [op.name for op in graph.get_operations()]


def test_nodes_are_the_same_under_a_scope(graph, graph_def):
    assert tf.import_graph_def(graph_def) is None
    assert names_of(graph) == [f"import/{node.name}" for node in graph_def.node]
    tf.import_graph_def(graph_def)
    assert names_of(graph)[-1] == "import_1/s"
    with tf.name_scope("outer"):
        tf.import_graph_def(graph_def, name="inner")
    assert names_of(graph)[-1] == "outer/inner/s"


def test_import_is_the_opposite_of_export(graph, graph_def):
    tf.import_graph_def(graph_def, name="")
    assert graph.as_graph_def().SerializeToString() == graph_def.SerializeToString()


def test_serialized_graphs_compute_the_same(graph, graph_def, sim):
    sim("1xT4")
    read = tf.GraphDef.FromString(graph_def.SerializeToString())
    y, half = tf.import_graph_def(read, return_elements=["y", "s:1"])
    with tf.Session() as sess:
        values = sess.run([y.outputs[0], half], {"import/x:0": [1, 2]})
    assert [value.tolist() for value in values] == [[2, 4], [4]]


def test_order_of_nodes_does_not_matter(graph, graph_def):
    mixed = tf.GraphDef(node=list(graph_def.node)[::-1])
    tf.import_graph_def(mixed, name="")
    assert sorted(names_of(graph)) == sorted(node.name for node in graph_def.node)


def test_devices_colocation_and_dependencies(graph, graph_def):
    with tf.device("/cpu:0"):
        tf.import_graph_def(graph_def, name="i")
    ops = {op.name: op for op in graph.get_operations()}
    assert ops["i/y"].device == "/device:GPU:0"
    assert ops["i/x"].device == "/device:CPU:0"
    assert [op.name for op in ops["i/y"].control_inputs] == ["i/first"]
    assert ops["i/s"].colocation_groups() == [b"loc:@i/y"]


def test_inputs_can_be_mapped(graph, graph_def, sim):
    sim("1xT4")
    ones = tf.ones([2])
    tf.import_graph_def(graph_def, input_map={"x": ones}, name="m")
    assert graph.get_operation_by_name("m/mul").inputs[0] is ones
    [y] = tf.import_graph_def(graph_def, {"y:0": [5.0, 6.0]}, ["s:0"], name="n")
    with tf.Session() as sess:
        assert sess.run(y).tolist() == [5]
    before = tf.no_op("other")
    tf.import_graph_def(graph_def, {"^first": before}, name="c")
    assert graph.get_operation_by_name("c/y").control_inputs == (before,)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"input_map": {"zz": 1.0}}, r"inputs that were not found in graph_def: \[zz:0\]$"),
        (
            {"input_map": {"x": [1, 2]}},
            "was passed int32 from import/Const:0 incompatible with expected float",
        ),
        ({"return_elements": ["zz"]}, "^Requested return node 'zz' not found in graph def$"),
        (
            {"return_elements": ["y:3"]},
            r"^Invalid return output 3 of node 'y', which has 1 output",
        ),
    ],
)
def test_names_that_are_not_there(graph, graph_def, options, words):
    with pytest.raises(ValueError, match=words):
        tf.import_graph_def(graph_def, **options)


def test_arguments_are_checked(graph, graph_def):
    with pytest.raises(TypeError, match=r"^Argument `graph_def` must be a GraphDef proto\.$"):
        tf.import_graph_def(3)
    with pytest.raises(
        TypeError, match=r"^Argument `input_map` must be a dictionary\. Obtained"
    ):
        tf.import_graph_def(graph_def, input_map=3)


def bad(**fields):
    graph_def = tf.GraphDef()
    node = graph_def.node.add(**fields)
    node.attr["T"].type = tf.float32.as_datatype_enum
    return graph_def


@pytest.mark.parametrize(
    ("graph_def", "words"),
    [
        (bad(name="f", op="Neg", input=["nope"]), "^Node 'f': Unknown input node 'nope'$"),
        (bad(name="f", op="Neg", input=["f"]), "^1 nodes in a cycle$"),
        (bad(name="f", op="Neg"), "^NodeDef expected inputs '1' do not match 0 inputs"),
        (bad(name="c", op="Const"), "^NodeDef missing attr '[a-z]+' from Op<name=Const>"),
    ],
)
def test_broken_graphs_are_errors(graph, graph_def, words):
    tf.constant(1)
    with pytest.raises(ValueError, match=words):
        tf.import_graph_def(graph_def)
    assert names_of(graph) == ["Const"]


def test_unknown_operations_are_named(graph):
    with pytest.raises(
        errors.NotFoundError, match=r"^Op type not registered 'Matmul' in binary"
    ) as raised:
        tf.import_graph_def(bad(name="f", op="Matmul"))
    assert "for the node 'f'. Did you mean 'MatMul'" in str(raised.value)


def test_attributes_of_every_kind_come_back(graph):
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    tf.constant(array, name="c")
    tf.placeholder(tf.string, [None, 3], name="p")
    tf.placeholder(tf.bool, name="q")
    tf.nn.max_pool(tf.ones([1, 2, 2, 1]), [1, 2, 2, 1], [1, 1, 1, 1], "SAME", name="m")
    tf.constant([b"\xff\xfe", b""], name="t")
    tf.fill([2], 1.0, name="f")
    before = {op.name: op.all_attrs() for op in graph.get_operations()}
    with tf.Graph().as_default() as other:
        tf.import_graph_def(
            tf.GraphDef.FromString(graph.as_graph_def().SerializeToString()), name=""
        )
        after = {op.name: op.all_attrs() for op in other.get_operations()}
    assert repr(after) == repr(before)


def test_left_out_attributes_have_defaults(graph):
    """As in graphs that TensorFlow exports with ``strip_default_attrs``."""
    graph_def = tf.GraphDef()
    for name in ("a", "b"):
        graph_def.node.add(name=name, op="Placeholder").attr["dtype"].type = 1
    graph_def.node.add(name="m", op="MatMul", input=["a", "b"]).attr["T"].type = 1
    [product] = tf.import_graph_def(graph_def, return_elements=["m:0"])
    with tf.Session() as sess:
        fed = {"import/a:0": [[1, 2]], "import/b:0": [[3], [4]]}
        assert sess.run(product, fed).tolist() == [[11]]


def test_conditions_and_loops_stay_in_their_process(graph):
    tf.cond(tf.constant(True), lambda: tf.constant(1.0), lambda: tf.constant(2.0), name="c")
    with pytest.raises(
        errors.UnimplementedError, match="'subgraphs' of StatelessIf cannot be imported"
    ):
        tf.import_graph_def(graph.as_graph_def())
