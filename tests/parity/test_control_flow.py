"""Control flow that depends on tensors: values, types, shapes and errors as in TensorFlow.

Every expression is computed in three ways: eagerly, in a tf.function, and in a graph that a
session runs. Values and texts were read off TensorFlow 2.21.
"""

from __future__ import annotations

from collections import namedtuple
from contextlib import contextmanager

import numpy as np
import pytest

import berth as tf2
import berth.compat.v1 as tf
from berth.control_flow.cond import case, cond, cond_v1, switch_case
from berth.control_flow.map_fn import foldl, foldr, map_fn, scan
from berth.control_flow.while_loop import while_loop, while_loop_v1
from berth.eager.mode import set_eager
from berth.errors import InvalidArgumentError, OutOfRangeError
from berth.graph.nest import map_structure
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.strings import numpy_function
from berth.ops.flow.control import Assert, tuple, tuple_v1

Pair = namedtuple("Pair", "a b")
MODES = ("eager", "function", "graph")
NAMES = {
    "Assert": Assert,
    "Pair": Pair,
    "c": tf.constant,
    "case": case,
    "cond": cond,
    "foldl": foldl,
    "foldr": foldr,
    "map_fn": map_fn,
    "np": np,
    "numpy_function": numpy_function,
    "scan": scan,
    "switch_case": switch_case,
    "tf": tf,
    "tuple_": tuple,
    "while_loop": while_loop,
}


@contextmanager
def eagerly(is_eager=True):
    before = set_eager(is_eager)
    try:
        yield
    finally:
        set_eager(before)


def compute(expression: str, mode: str, **arguments):
    """Compute an expression of arrays in one of the modes; return arrays, or scalars."""
    arrays = {name: np.asarray(value) for name, value in arguments.items()}

    def evaluate(*tensors):
        return eval(expression, {**NAMES, **dict(zip(arrays, tensors, strict=True))})

    if mode == "graph":
        with eagerly(False), tf.Graph().as_default(), tf.Session() as session:
            feeds = {tf.placeholder(a.dtype, a.shape): a for a in arrays.values()}
            result = evaluate(*feeds)
            return None if result is None else session.run(result, feeds)
    with eagerly():
        tensors = [tf2.constant(array) for array in arrays.values()]
        result = (tf2.function(evaluate) if mode == "function" else evaluate)(*tensors)
        return map_structure(lambda t: t.numpy() if hasattr(t, "numpy") else t, result)


def check(expected, found):
    if isinstance(expected, list | type(())) and not hasattr(found, "shape"):
        assert len(expected) == len(found)
        for a, b in zip(expected, found, strict=True):
            check(a, b)
    elif isinstance(expected, dict):
        assert expected.keys() == found.keys()
        for key in expected:
            check(expected[key], found[key])
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-6)


# --- values ---------------------------------------------------------------------------------

M = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)

VALUES = {
    "cond(p, lambda: x * 2, lambda: x - 1)": [2.0, 4.0],
    "cond(tf.logical_not(p), lambda: x * 2, lambda: x - 1)": [0.0, 1.0],
    "cond(p, lambda: c(1), lambda: c(2))": 1,
    "cond(p, lambda: [x, x + 1], lambda: [x, x])": [[1.0, 2.0], [2.0, 3.0]],
    "cond(p, lambda: {'b': x, 'a': c(1)}, lambda: {'b': x, 'a': c(2)})": {"a": 1, "b": [1, 2]},
    "cond(p, lambda: Pair(x, c(1)), lambda: Pair(x, c(2)))": Pair([1.0, 2.0], 1),
    "cond(p, lambda: [x], lambda: [x])": [[1.0, 2.0]],
    "cond(tf.reshape(p, [1]), lambda: c(1), lambda: c(2))": 1,
    "cond(p, lambda: cond(x[0] > 5, lambda: c(1), lambda: c(2)), lambda: c(3))": 2,
    "switch_case(i, [lambda: c(1), lambda: c(2), lambda: c(3)])": 2,
    "switch_case(i + 6, [lambda: c(1), lambda: c(2), lambda: c(3)])": 3,
    "switch_case(i - 6, [lambda: c(1), lambda: c(2), lambda: c(3)])": 3,
    "switch_case(i + 6, {0: lambda: c(1), 1: lambda: c(2)}, default=lambda: c(9))": 9,
    "switch_case(i, [(1, lambda: c(1)), (0, lambda: c(2))])": 1,
    "case([(i > 5, lambda: c(1)), (i > 0, lambda: c(2))], default=lambda: c(3))": 2,
    "case([(i > 5, lambda: c(1)), (i > 7, lambda: c(2))], default=lambda: c(3))": 3,
    "case([(i > -1, lambda: c(1)), (i > 0, lambda: c(2))], default=lambda: c(3))": 1,
    "case([(i > 0, lambda: c(1))])": 1,
    "while_loop(lambda k, s: k < 4, lambda k, s: (k + 1, s * 2), (0, x))": (4, [16.0, 32.0]),
    "while_loop(lambda k, s: k < 0, lambda k, s: (k + 1, s * 2), (0, x))": (0, [1.0, 2.0]),
    "while_loop(lambda k: k < 4, lambda k: (k + 1,), (0,))": (4,),
    "while_loop(lambda k: k < 1000, lambda k: (k + 1,), [i])": [1000],
    "while_loop(lambda k: k < 40, lambda k: (k + 1,), [0], maximum_iterations=7)": [7],
    "while_loop(lambda k: p, lambda k: (k + 1,), [0], maximum_iterations=i + 2)": [3],
    "while_loop(lambda k: k < 4, lambda k: (k + 1,), [0], back_prop=False)": [4],
    "while_loop(lambda d, k: k < 2, lambda d, k: ({'a': d['a'] + 1}, k + 1), ({'a': 5}, 0))": (
        {"a": 7},
        2,
    ),
    "while_loop(lambda s: tf.size(s) < 5, lambda s: (tf.concat([s, s], 0),), (x,), "
    "shape_invariants=(tf.TensorShape([None]),))": ([1, 2, 1, 2, 1, 2, 1, 2],),
    "while_loop(lambda k, s: k < 3, lambda k, s: (k + 1, while_loop(lambda l, t: l < k, "
    "lambda l, t: (l + 1, t + 1), (0, s))[1]), (0, 0))": (3, 3),
    "map_fn(lambda r: r * 2, m)": M * 2,
    "map_fn(lambda r: r[0] + r[1], (m, m), dtype=tf.float32)": M * 2,
    "map_fn(lambda r: (r[0] + r[1], r[0]), (m, m))": (M * 2, M),
    "map_fn(lambda r: tf.cast(tf.reduce_sum(r), tf.int32), m, dtype=tf.int32)": [3, 7, 11],
    "map_fn(lambda r: {'s': r[0]}, m, fn_output_signature={'s': tf.float32})": {"s": M[:, 0]},
    "map_fn(lambda r: 7.0, m)": [7.0, 7.0, 7.0],
    "scan(lambda a, r: a + r, m)": M.cumsum(0),
    "scan(lambda a, r: a + r, m, initializer=x)": M.cumsum(0) + M[0],
    "scan(lambda a, r: a + r, m, reverse=True)": [[9.0, 12.0], [8.0, 10.0], [5.0, 6.0]],
    "scan(lambda a, r: (a[0] + r, a[1] * r), m, initializer=(x, x))": (
        M.cumsum(0) + M[0],
        M.cumprod(0) * M[0],
    ),
    "scan(lambda a, r: a - r, m[:0], initializer=x)": np.zeros([0, 2]),
    "foldl(lambda a, r: a - r, m)": [-7.0, -8.0],
    "foldr(lambda a, r: a - r, m)": [1.0, 0.0],
    "foldl(lambda a, r: a - r, m, initializer=10 * x)": [1.0, 8.0],
    "foldl(lambda a, r: a - r, m[:0], initializer=x)": [1.0, 2.0],
    "tuple_([x, c(1)])": [[1.0, 2.0], 1],
    "numpy_function(lambda a: a * 2, [m], tf.float32)": M * 2,
    "numpy_function(lambda a: (a * 2, a), [m], [tf.float32, tf.float32])": [M * 2, M],
    "numpy_function(lambda a: a[a > 2], [m], tf.float32)": [3.0, 4.0, 5.0, 6.0],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("expression", VALUES)
def test_values_are_tensorflows(expression, mode):
    found = compute(expression, mode, p=True, x=np.float32([1, 2]), i=np.int32(1), m=M)
    check(VALUES[expression], found)


@pytest.mark.parametrize("mode", ["function", "graph"])
def test_what_comes_after_waits(mode):
    expression = (
        "tf.reshape(cond(p, lambda: x, lambda: x + 1), [-1, cond(p, lambda: 2, lambda: 1)])"
    )
    for is_true, dims in ((True, (2, 2)), (False, (4, 1))):
        found = compute(expression, mode, p=is_true, x=np.float32([1, 2, 3, 4]))
        assert found.shape == dims


@pytest.mark.parametrize("mode", MODES)
def test_text_goes_through_bodies(mode):
    joined = "cond(p, lambda: s, lambda: c(b'no'))"
    assert compute(joined, mode, p=True, s=np.array(b"yes", object)) == b"yes"
    each = "map_fn(lambda s: s, s)"
    found = compute(each, mode, s=np.array([b"a", b"bc"], object))
    assert list(found) == [b"a", b"bc"]


# --- shapes and types -----------------------------------------------------------------------


@pytest.fixture
def graph():
    with eagerly(False), tf.Graph().as_default() as graph:
        yield graph


def a_bool():
    return tf.placeholder(tf.bool, [])


def open_shape(*dims):
    return tf.placeholder(tf.float32, dims)


@pytest.mark.parametrize(
    ("first", "second", "dims"),
    [
        ([2, None, 4], [2, 3, 5], (2, None, None)),
        ([2, 3], [2, 3], (2, 3)),
        ([2, 3], [2], None),
        ([], [], ()),
    ],
)
def test_branches_agree_on_a_shape(graph, first, second, dims):
    result = cond(a_bool(), lambda: open_shape(*first), lambda: open_shape(*second))
    assert result.dims == dims
    assert result.op.type == "StatelessIf"


@pytest.mark.parametrize("dims", [(3, 4), (None, 4), (3, None)])
def test_mapped_tensors_know_their_shape(graph, dims):
    assert map_fn(lambda row: row * 2, open_shape(*dims)).dims == dims
    assert scan(lambda a, row: a + row, open_shape(*dims)).dims == dims
    assert foldl(lambda a, row: a + row, open_shape(*dims)).dims == dims[1:]


def test_loops_keep_the_invariant_shape(graph):
    start = open_shape(2, 3)
    [kept] = while_loop(lambda x: x[0, 0] < 5, lambda x: x + 1, [start])
    assert kept.dims == (2, 3)
    [grown] = while_loop(
        lambda x: tf.size(x) < 50,
        lambda x: tf.concat([x, x], 0),
        [start],
        shape_invariants=[tf.TensorShape([None, 3])],
    )
    assert grown.dims == (None, 3)


def test_names_are_under_a_scope(graph):
    result = cond(
        a_bool(), lambda: tf.add(open_shape(2), 1), lambda: open_shape(2), name="pick"
    )
    body, _ = result.op.attrs["subgraphs"]
    assert result.op.name == "pick"
    assert "pick/Add" in body.graph.by_name
    [looped] = while_loop(lambda x: x < 3, lambda x: x + 1, [0])
    assert looped.op.name == "while"


# --- the older API --------------------------------------------------------------------------


def run(result, feeds=None):
    with tf.Session() as session:
        return session.run(result, feeds)


def test_single_results_are_no_lists(graph):
    p = a_bool()
    assert isinstance(
        cond_v1(p, lambda: [tf.constant(1)], lambda: [tf.constant(2)]), SymbolicTensor
    )
    kept = cond_v1(p, lambda: [tf.constant(1)], lambda: [tf.constant(2)], strict=True)
    assert isinstance(kept, list)
    assert isinstance(while_loop_v1(lambda i: i < 3, lambda i: i + 1, [0]), SymbolicTensor)
    looped = while_loop_v1(lambda i: i < 3, lambda i: i + 1, [0], return_same_structure=True)
    assert isinstance(looped, list)


def test_old_argument_names_are_known(graph):
    p = a_bool()
    result = cond_v1(p, fn1=lambda: tf.constant(1), fn2=lambda: tf.constant(2))
    assert run(result, {p: False}) == 2
    with pytest.raises(TypeError, match="'true_fn' and 'fn1' may not be set simultaneously"):
        cond_v1(p, lambda: 1, lambda: 2, fn1=lambda: 3)


def test_operations_become_the_condition(graph):
    p = a_bool()
    result = cond_v1(p, tf.no_op, tf.no_op)
    assert result.dtype is tf.bool
    assert run(result, {p: True}) == np.True_
    assert run(result, {p: False}) == np.False_


def test_tuples_wait_for_all(graph):
    v = tf.Variable(1.0)
    write = tf.assign(v, 5.0)
    first, nothing = tuple_v1([tf.constant(2.0), None], control_inputs=[write])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(first) == 2.0
        assert session.run(v) == 5.0
    assert nothing is None


# --- errors ---------------------------------------------------------------------------------

ANYWHERE = {
    "cond(p, x, x)": (TypeError, "'true_fn' must be callable."),
    "cond(p, None, x)": (TypeError, "cond(): 'true_fn' argument required"),
    "while_loop(3, lambda i: i, [0])": (TypeError, "'cond' must be callable."),
    "while_loop(lambda i: i < 3, 3, [0])": (TypeError, "'body' must be callable."),
    "while_loop(lambda: True, lambda: None, [])": (ValueError, "'loop_vars' must be provided."),
    "while_loop(lambda i: i < 3, lambda i: i, [0], parallel_iterations=0)": (
        TypeError,
        "'parallel_iterations' must be a positive integer.",
    ),
    "while_loop(lambda i, j: i < 3, lambda i, j: [i + 1], [0, 1])": (
        ValueError,
        "The two structures don't have the same nested structure.",
    ),
    "case(3)": (
        TypeError,
        "'pred_fn_pairs' must be a list, tuple, or dict. Received: <class 'int'>",
    ),
    "case([3])": (TypeError, "Each entry in 'pred_fn_pairs' must be a 2-tuple. Received 3."),
    "case([(True, lambda: 1)])": (TypeError, "pred must be a Tensor, got: True"),
    "case([(p, lambda: 1)], default=3)": (TypeError, "'false_fn' must be callable."),
    "switch_case(i, {0: lambda: 1, 2: lambda: 2})": (
        ValueError,
        "branch indices (keys) must form contiguous range of [0 to 2) but found {0,2}",
    ),
    "switch_case(i, [1, 2])": (
        TypeError,
        "Each entry in 'branch_fns' must be a 2-tuple. Received 1.",
    ),
    "switch_case(i, [])": (ValueError, "Must provide at least one item in 'branch_fns'"),
    "switch_case(1, [lambda: 1])": (
        TypeError,
        "'branch_index' must be a Tensor, got <class 'int'>",
    ),
    "map_fn(lambda r: r, 3.0)": (
        ValueError,
        "Elements in elems must be 1+ dimensional Tensors, not scalars",
    ),
    "map_fn(lambda r: tf.cast(r, tf.int32), x)": (
        InvalidArgumentError,
        "TensorArray dtype is float32 but Op is trying to write dtype int32 ",
    ),
    "map_fn(lambda r: (r, r), x)": (
        ValueError,
        "The two structures don't have the same nested structure.",
    ),
    "case([])": (ValueError, ""),
    "scan(lambda a, r: (a, a), x)": (
        ValueError,
        "The two structures don't have the same nested structure.",
    ),
    "Assert(p, 3)": (TypeError, "values must be a sequence."),
}

BUILDING = {
    "cond(True, lambda: 1, lambda: 2)": (TypeError, "pred must not be a Python bool: True"),
    "cond(c([True, False]), lambda: 1, lambda: 2)": (
        ValueError,
        "Shape must be rank 0 but is rank 1 for 'cond' (op: 'StatelessIf') with input shapes: [2].",
    ),
    "cond(c(5), lambda: 1, lambda: 2)": (
        TypeError,
        "Input 'cond' of 'StatelessIf' Op has type int32 that does not match expected type of bool.",
    ),
    "cond(p, lambda: [x, x], lambda: [x])": (
        TypeError,
        "true_fn and false_fn arguments to tf.cond must have the same number, type, and "
        "overall structure of return values.",
    ),
    "while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [c(0, name='n')])": (
        TypeError,
        "Loop var n:0 enters the loop with type tf.int32 but has type tf.float32 after 1 "
        "iteration. n:0 type should remain constant.",
    ),
    "while_loop(lambda i: i[0] < 3, lambda i: tf.concat([i, i], 0), [c([1.0], name='n')])": (
        ValueError,
        "Input tensor `n:0` enters the loop with shape (1,), but has shape (2,) after one "
        "iteration. To allow the shape to vary across iterations, use the `shape_invariants` "
        "argument of tf.while_loop to specify a less-specific shape.",
    ),
    "while_loop(lambda i: i[0] < 3, lambda i: i, [c([1.0], name='n')], "
    "shape_invariants=[tf.TensorShape([3])])": (
        ValueError,
        "The shape invariant specified for n:0 is not compatible with the initial shape of the "
        "loop variable. It enters the loop with shape (1,), but the specified shape invariant "
        "is (3,).",
    ),
    "while_loop(lambda i: i < 3, lambda i: i, [c([0, 1])])": (
        ValueError,
        "Shape must be rank 0 but is rank 1",
    ),
    "while_loop(lambda i: 3 - i, lambda i: i, [c(0)])": (
        TypeError,
        "Input 'input' of 'LoopCond' Op has type int32 that does not match expected type of bool.",
    ),
    "switch_case(tf.cast(i, tf.int64), [lambda: 1])": (
        TypeError,
        "Input 'branch_index' of 'StatelessCase' Op has type int64 that does not match "
        "expected type of int32.",
    ),
}


@pytest.mark.parametrize(
    ("expression", "mode"),
    [(e, mode) for e in ANYWHERE for mode in MODES]
    + [(e, mode) for e in BUILDING for mode in MODES[1:]],
)
def test_errors_are_tensorflows(expression, mode):
    kind, text = {**ANYWHERE, **BUILDING}[expression]
    with pytest.raises(kind) as caught:
        compute(expression, mode, p=True, x=np.float32([1, 2]), i=np.int32(1))
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    "expression", ["foldl(lambda a, r: a, x[:0])", "scan(lambda a, r: a, x[:0])"]
)
def test_nothing_has_no_first_element(expression):
    eager = "Tried to read from index 0 but array size is: 0"
    with pytest.raises(OutOfRangeError, match=eager):
        compute(expression, "eager", x=np.float32([1, 2]))
    with pytest.raises(
        InvalidArgumentError, match="Trying to access element 0 in a list with 0"
    ):
        compute(expression, "function", x=np.float32([1, 2]))


def test_types_of_branches_must_agree(graph):
    with pytest.raises(ValueError, match="must have the same type"):
        cond(a_bool(), lambda: tf.constant(1.0), lambda: tf.constant(1))
    f = tf2.function(lambda p: cond(p, lambda: tf.constant(1.0), lambda: tf.constant(1)))
    with eagerly(), pytest.raises(TypeError, match="have different types"):
        f(tf2.constant(True))


def test_graphs_want_a_result(graph):
    with pytest.raises(ValueError, match="'true_fn' must have a return value"):
        cond(a_bool(), lambda: None, lambda: None)
    with eagerly():
        nothing = tf2.function(lambda p: cond(p, lambda: None, lambda: None))
        assert nothing(tf2.constant(True)) is None


FAILURES = {
    "case([(i > 5, lambda: c(1)), (i > 7, lambda: c(2))])": (
        "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: b'Input "
        "error: None of conditions evaluated as True:'\nFalse, False",
        "assertion failed: [Input error: None of conditions evaluated as True:] [0 0]",
    ),
    "case([(i > 0, lambda: c(1)), (i > -7, lambda: c(2))], exclusive=True)": (
        "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: b'Input "
        "error: exclusive=True: more than 1 conditions (?, ?) evaluated as True:'\nTrue, True",
        "assertion failed: [Input error: exclusive=True: more than 1 conditions (",
    ),
    "cond(i > 0, lambda: c(1) // (i - 1), lambda: i)": (
        "Integer division by zero",
        "Integer division by zero\n\t [[node cond/floordiv (defined at <string>:1)]]",
    ),
    "while_loop(lambda k: k < 3, lambda k: (k + c(1) // (i - 1),), (0,))": (
        "Integer division by zero",
        "Integer division by zero\n\t [[node while/floordiv (defined at <string>:1)]]",
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("expression", FAILURES)
def test_runs_fail_with_the_node(expression, mode):
    at_once, in_graph = FAILURES[expression]
    with pytest.raises(InvalidArgumentError) as caught:
        compute(expression, mode, i=np.int32(1))
    assert str(caught.value).startswith(at_once if mode == "eager" else in_graph)
