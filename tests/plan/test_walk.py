"""The order in which the documents list operations."""

from __future__ import annotations

import sys

from berth.plan.walk import document_order
from tests.plan.nodes import program

TOWERS = """
c = []
for d in ['/gpu:2', '/gpu:3']:
    with graph.device(d):
        a = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
        b = constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])
        c.append(matmul(a, b))
with graph.device('/cpu:0'):
    add_n(c)
"""


def order(text, *fetches):
    graph = program(text)
    return [op.name for op in document_order([graph.by_name[name] for name in fetches])]


def test_towers_are_listed_as_documented():
    expected = ["Const_3", "Const_2", "MatMul_1", "Const_1", "Const", "MatMul", "AddN"]
    assert order(TOWERS, "AddN") == expected


def test_product_is_listed_as_documented():
    text = "matmul(constant([[1.0]], name='a'), constant([[1.0]], name='b'))"
    assert order(text, "MatMul") == ["b", "a", "MatMul"]


def test_only_what_is_needed_is_listed():
    assert order(TOWERS, "MatMul") == ["Const_1", "Const", "MatMul"]


def test_several_fetches_go_in_order():
    assert order(TOWERS, "Const_2", "Const", "MatMul") == [
        "Const_2",
        "Const",
        "Const_1",
        "MatMul",
    ]


def test_shared_inputs_come_once():
    text = "x = constant(1.0, name='x')\nmultiply(negative(x, name='n'), x, name='m')"
    assert order(text, "m") == ["x", "n", "m"]


def test_waits_come_after_inputs():
    text = """
a = constant(1.0, name='a')
b = constant(1.0, name='b')
with graph.control_dependencies([a]):
    negative(b, name='n')
"""
    assert order(text, "n") == ["b", "a", "n"]


def test_deep_graphs_need_no_stack():
    n_nodes = 3 * sys.getrecursionlimit()
    listed = order(f"x = constant(1.0)\nfor _ in range({n_nodes}): x = negative(x, 'n')", "n_7")
    assert listed[:3] == ["Const", "n", "n_1"]
    graph = program(f"x = constant(1.0)\nfor _ in range({n_nodes}): x = negative(x, 'n')")
    assert document_order(graph.ops[-1:]) == graph.ops


def test_nothing_needs_nothing():
    assert document_order([]) == []
