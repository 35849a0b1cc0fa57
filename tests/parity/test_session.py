"""Sections 8 (sessions), 1.5 and 1.7 (devices of graphs), 6.1 and 7.5: graphs and sessions.

Texts marked [TF] are not in the reference, and were read off TensorFlow 2.21, run with
`tensorflow.compat.v1` and `disable_v2_behavior()`.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections import OrderedDict, namedtuple
from contextlib import ExitStack
from inspect import currentframe

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth import timeline
from tests.parity.programs import first_line

CPU_0 = "/job:localhost/replica:0/task:0/device:CPU:0"
CPU_1 = "/job:localhost/replica:0/task:0/device:CPU:1"
GPU_0 = "/job:localhost/replica:0/task:0/device:GPU:0"
GPU_1 = "/job:localhost/replica:0/task:0/device:GPU:1"
FULL_TRACE = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)

Point = namedtuple("Point", "x y")


@pytest.fixture(autouse=True)
def graph(sim):
    """Give each test a default graph of its own."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph):
    with tf.Session(graph=graph).as_default() as session:
        yield session
    session.close()


def of_another_graph(name="other"):
    with tf.Graph().as_default():
        return tf.constant(1.0, name=name)


def cpus(n_cpus):
    return tf.ConfigProto(device_count={"CPU": n_cpus})


# --- 8.1: making a session ------------------------------------------------------------------

ARGUMENTS = {
    "graph=3": 'Argument `graph` must be a tf.Graph, but got "int"',
    "tf.ConfigProto()": 'Argument `target` must be a string, but got "ConfigProto". Did you do "Session(config)" instead of "Session(config=config)"?',
    "target=3": 'Argument `target` must be a string, but got "int"',
    "config=3": 'Argument `config` must be a tf.ConfigProto, but got "int"',
}


@pytest.mark.parametrize("kind", ["tf.Session", "tf.InteractiveSession"])
@pytest.mark.parametrize(("arguments", "message"), ARGUMENTS.items(), ids=ARGUMENTS)
def test_wrong_argument_is_refused(kind, arguments, message):
    """Section 8.1."""
    with pytest.raises(TypeError) as caught:
        eval(f"{kind}({arguments})")
    assert first_line(caught.value) == message
    assert tf.get_default_session() is None


def test_unknown_target_is_not_found():
    """Section 8.1; there is no GRPC_SESSION here."""
    with pytest.raises(tf.errors.NotFoundError) as caught:
        tf.Session("xx")
    assert re.fullmatch(
        r'No session factory registered for the given session options: {target: "xx" config: .*} '
        r"Registered factories are {(GRPC_SESSION, )?DIRECT_SESSION}\.",
        first_line(caught.value),
    )


def test_session_knows_its_graph(graph):
    """Section 8.1: the default graph, if no other is given."""
    other = tf.Graph()
    assert tf.Session().graph is graph
    assert tf.Session(graph=other).graph is other
    with other.as_default():
        assert tf.Session().graph is other


# --- 8.1: life ------------------------------------------------------------------------------


def test_empty_graph_cannot_run(session):
    """Section 8.1."""
    with pytest.raises(RuntimeError) as caught:
        session.run([])
    assert str(caught.value) == (
        "The Session graph is empty. Add operations to the graph before calling run()."
    )


@pytest.mark.parametrize("nothing", [[], (), {}, [[], {}], Point([], ())], ids=repr)
def test_nothing_is_fetched(session, nothing):
    """Section 8.1: `run([])` on a graph that is not empty."""
    tf.constant(1.0)
    fetched = session.run(nothing)
    assert fetched == nothing
    assert type(fetched) is type(nothing)


CLOSED = "Attempted to use a closed Session."
USES = [
    "session.run(x)",
    "session.run([])",
    "session.run([x], {x: 1.0})",
    "session.run(x.op)",
    "x.eval(session=session)",
    "x.op.run(session=session)",
]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("ran_before", [False, True], ids=["unused", "used"])
def test_closed_session_is_unusable(use, ran_before):
    """Section 8.1."""
    x = tf.constant(1.0)
    session = tf.Session()
    if ran_before:
        eval(use)
    session.close()
    session.close()
    with pytest.raises(RuntimeError) as caught:
        eval(use, {"session": session, "x": x})
    assert str(caught.value) == CLOSED


def test_callable_ends_with_session():
    """Section 8.1; TensorFlow's quickest callables raise a CancelledError."""
    session = tf.Session()
    call = session.make_callable(tf.constant(1.0))
    assert call() == 1.0
    session.close()
    with pytest.raises(RuntimeError) as caught:
        call()
    assert str(caught.value) == CLOSED


@pytest.mark.parametrize("error", [None, KeyError("x")], ids=["normally", "by error"])
def test_leaving_closes_the_session(error):
    """Section 8.1: closing on exit."""
    x = tf.constant(1.0)
    session = tf.Session()
    with ExitStack() as stack:
        if error:
            stack.enter_context(pytest.raises(KeyError))
        stack.enter_context(session)
        assert session.run(x) == 1.0
        if error:
            raise error
    with pytest.raises(RuntimeError) as caught:
        session.run(x)
    assert str(caught.value) == CLOSED
    assert tf.get_default_session() is None


def test_session_is_not_entered_twice():
    """Section 8.1; `as_default` may be used inside."""
    x = tf.constant(1.0)
    with tf.Session() as session:
        with pytest.raises(RuntimeError) as caught:
            session.__enter__()
        assert str(caught.value) == (
            "Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a session multiple times."
        )
        with session.as_default(), session.as_default():
            assert x.eval() == 1.0
        assert x.eval() == 1.0
    assert tf.get_default_session() is None


def test_as_default_does_not_close(session):
    """Section 8.1."""
    x = tf.constant(1.0)
    with session.as_default() as entered:
        assert entered is session
    assert session.run(x) == 1.0


# --- default sessions and graphs ------------------------------------------------------------


def test_sessions_nest():
    """Section 8.1: sets default graph and session."""
    other = tf.Graph()
    here = tf.get_default_graph()
    with tf.Session() as outer:
        with tf.Session(graph=other) as inner:
            assert tf.get_default_session() is inner
            assert tf.get_default_graph() is other
        assert tf.get_default_session() is outer
        assert tf.get_default_graph() is here
    assert tf.get_default_session() is None


def test_as_default_keeps_the_graph(graph):
    """Section 8.1 [TF]: only `with session` enters its graph."""
    with tf.Session(graph=tf.Graph()).as_default():
        assert tf.get_default_graph() is graph


def test_default_session_is_the_thread_s(session, in_thread):
    """[TF]: other threads have none."""
    assert tf.get_default_session() is session
    assert in_thread(tf.get_default_session) is None


def test_nested_graph_is_not_reset():
    """[TF]."""
    with pytest.raises(AssertionError) as caught:
        tf.reset_default_graph()
    assert first_line(caught.value) == (
        "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the nesting and create a new graph."
    )


NO_SESSION = {
    "x.eval()": "Cannot evaluate tensor using `eval()`: No default session is registered. Use `with sess.as_default()` or pass an explicit session to `eval(session=sess)`",
    "x.op.run()": "Cannot execute operation using `run()`: No default session is registered. Use `with sess.as_default():` or pass an explicit session to `run(session=sess)`",
    "tf.Variable(x).eval()": "Cannot evaluate tensor using `eval()`: No default session is registered. Use `with sess.as_default()` or pass an explicit session to `eval(session=sess)`",
}
OTHER_GRAPH = {
    "x.eval(session=session)": "Cannot use the given session to evaluate tensor: the tensor's graph is different from the session's graph.",
    "x.eval()": "Cannot use the default session to evaluate tensor: the tensor's graph is different from the session's graph. Pass an explicit session to `eval(session=sess)`.",
    "x.op.run(session=session)": "Cannot use the given session to execute operation: the operation's graph is different from the session's graph.",
    "x.op.run()": "Cannot use the default session to execute operation: the operation's graph is different from the session's graph. Pass an explicit session to run(session=sess).",
}


@pytest.mark.parametrize(("call", "message"), NO_SESSION.items(), ids=NO_SESSION)
def test_eval_needs_a_session(call, message):
    """[TF]."""
    with pytest.raises(ValueError, match="No default session") as caught:
        eval(call, {"tf": tf, "x": tf.constant(1.0)})
    assert first_line(caught.value) == message


@pytest.mark.parametrize(("call", "message"), OTHER_GRAPH.items(), ids=OTHER_GRAPH)
def test_eval_needs_its_own_graph(call, message, session):
    """[TF]."""
    tf.constant(1.0)
    with pytest.raises(ValueError, match="graph is different") as caught:
        eval(call, {"session": session, "x": of_another_graph()})
    assert first_line(caught.value) == message


def test_eval_takes_feeds(session):
    p = tf.placeholder(tf.float32, [])
    doubled = p * 2.0
    assert doubled.eval({p: 4.0}) == 8.0
    assert doubled.eval(feed_dict={p: 5.0}, session=session) == 10.0
    assert doubled.op.run({p: 4.0}) is None


# --- 8.1: InteractiveSession ----------------------------------------------------------------


@pytest.fixture
def interactive():
    """Make InteractiveSessions that are closed at the end."""
    with ExitStack() as stack:

        def make(**arguments):
            session = tf.InteractiveSession(**arguments)
            stack.callback(session.close)
            return session

        yield make


def test_interactive_session_is_default(interactive):
    """Section 8.1: installs itself as default, until it is closed."""
    x = tf.constant(2.0)
    session = interactive()
    assert tf.get_default_session() is session
    assert x.eval() == 2.0
    session.close()
    assert tf.get_default_session() is None
    with pytest.raises(RuntimeError) as caught:
        session.run(x)
    assert str(caught.value) == CLOSED


def test_interactive_session_enters_its_graph(interactive, graph):
    """[TF]: if one is given."""
    other = tf.Graph()
    session = interactive(graph=other)
    assert tf.get_default_graph() is other
    session.close()
    assert tf.get_default_graph() is graph


@pytest.mark.parametrize(
    ("config", "growth"),
    [(None, True), (tf.ConfigProto(), False)],
    ids=["without config", "with config"],
)
def test_interactive_session_grows(sim, interactive, config, growth):
    """Section 8.1: allow_growth is on if there is no config."""
    sim("1xT4")
    interactive(config=config)
    assert [row.growth for row in tf.config.memory_report().devices] == [growth]


def test_interactive_session_places_pruned(interactive):
    """Sections 6.1 and 8.1: what it does not run need not have a place."""
    x = tf.constant(2.0, name="x")
    config = tf.ConfigProto()
    session = interactive(config=config)
    with tf.device("/gpu:9"):
        bad = tf.constant(1.0, name="bad")
    assert x.eval() == 2.0
    assert session.placements() == {"x": CPU_0}
    with pytest.raises(tf.errors.InvalidArgumentError, match="node 'bad'"):
        bad.eval()
    assert x.eval() == 2.0
    assert config == tf.ConfigProto()  # the user's own is left alone


def test_second_interactive_session_warns(interactive, caplog):
    """Section 8.1."""
    with caplog.at_level(logging.WARNING):
        interactive()
        assert caplog.messages == []
        interactive()
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith(
        "An interactive session is already active. This can cause out-of-memory errors "
    )


# --- 8.1: fetches ---------------------------------------------------------------------------


@pytest.fixture
def abn():
    """Make two tensors and an operation."""
    return (
        tf.constant(1.0, name="a"),
        tf.constant([2.0, 3.0], name="b"),
        tf.no_op(name="n"),
    )


# What is fetched, by their names, and what comes back.
STRUCTURES = {
    "tensor": (lambda a, b, n: a, 1.0),
    "list": (lambda a, b, n: [a, a], [1.0, 1.0]),
    "tuple": (lambda a, b, n: (a,), (1.0,)),
    "dict": (lambda a, b, n: {"x": a, 3: n}, {"x": 1.0, 3: None}),
    "ordered dict": (
        lambda a, b, n: OrderedDict([("z", a), ("b", n)]),
        OrderedDict([("z", 1.0), ("b", None)]),
    ),
    "named tuple": (lambda a, b, n: Point(a, n), Point(1.0, None)),
    "nested": (
        lambda a, b, n: Point([a, (n,)], {"k": Point("a:0", OrderedDict(q=[a]))}),
        Point([1.0, (None,)], {"k": Point(1.0, OrderedDict(q=[1.0]))}),
    ),
    "operation": (lambda a, b, n: n, None),
    "operation of a tensor": (lambda a, b, n: b.op, None),
    "name of a tensor": (lambda a, b, n: "a:0", 1.0),
    "name of an operation": (lambda a, b, n: ["n", "a"], [None, None]),
}


@pytest.mark.parametrize(("fetch", "fetched"), STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize("how", ["run", "run again", "run with feeds", "callable"])
def test_structure_comes_back(session, abn, fetch, fetched, how):
    """Section 8.1, fetch rules."""
    asked = fetch(*abn)
    if how == "callable":
        result = session.make_callable(asked)()
    elif how == "run with feeds":
        result = session.run(asked, {abn[1]: [0.0, 0.0]})
    else:
        result = [session.run(asked) for _ in range(1 + (how == "run again"))][-1]
    assert result == fetched
    assert type(result) is type(asked) or not isinstance(asked, dict | list | tuple)


def test_keys_keep_their_order(session, abn):
    """Section 8.1: the same structure."""
    a, b, _ = abn
    fetched = session.run({"z": a, "m": b, "a": a})
    assert list(fetched) == ["z", "m", "a"]


def test_equal_structures_keep_their_kinds(session, abn):
    """Section 8.1: a tuple equals a named tuple, but each gets its own back."""
    a, _, n = abn
    for asked in [(a, n), Point(a, n), (a, n)]:
        assert type(session.run(asked)) is type(asked)


def test_duplicates_are_fetched_once(session):
    """Section 8.1."""
    x = tf.constant([1.0, 2.0]) + tf.placeholder_with_default(1.0, [])
    first, second, again = session.run([x, x, x.name])
    assert first is second is again


def test_operation_runs_once(session):
    """Section 8.1: however often it is asked for."""
    v = tf.Variable(0, name="v")
    session.run(v.initializer)
    more = v.assign_add(1)
    session.run([more, more.op, [more.name]])
    assert session.run(v) == 1


@pytest.mark.parametrize("machine", [None, "1xT4"])
@pytest.mark.parametrize(
    ("value", "kind"),
    [(1.5, np.float32), (3, np.int32), (True, np.bool_), ([1.5], np.ndarray), ("ab", bytes)],
    ids=repr,
)
def test_values_are_numpy_s(sim, machine, value, kind):
    """Section 8.2: fetched values are NumPy's; a scalar is one of its scalars [TF]."""
    sim(machine)
    constant = tf.constant(value)
    p = tf.placeholder(constant.dtype, constant.shape)
    with tf.Session() as session:
        fetched = session.run([constant, tf.identity(constant), tf.identity(p)], {p: value})
    assert [type(each) for each in fetched] == [kind] * 3


def test_names_may_be_bytes(session, abn):
    """[TF]."""
    assert session.run([b"a:0", b"n"]) == [1.0, None]
    assert session.run("a:0", {b"a:0": 2.0}) == 2.0


BAD_FETCHES = {
    "'nope:0'": "Argument `fetch` = nope:0 cannot be interpreted as a Tensor. (\"The name 'nope:0' refers to a Tensor which does not exist. The operation, 'nope', does not exist in the graph.\")",
    "3": 'Argument `fetch` = 3 has invalid type "int" must be a string or Tensor. (Can not convert a int into a Tensor or Operation.)',
    # [TF], from here.
    "'nope'": "Argument `fetch` = nope cannot be interpreted as a Tensor. (\"The name 'nope' refers to an Operation not in the graph.\")",
    "'a:1'": "Argument `fetch` = a:1 cannot be interpreted as a Tensor. (\"The name 'a:1' refers to a Tensor which does not exist. The operation, 'a', exists but only has 1 outputs.\")",
    "'a:x'": "Argument `fetch` = a:x cannot be interpreted as a Tensor. (The name 'a:x' looks a like a Tensor name, but is not a valid one. Tensor names must be of the form \"<op_name>:<output_index>\".)",
    "None": 'Argument `fetch` = None has invalid type "NoneType". Cannot be None',
    "1.5": 'Argument `fetch` = 1.5 has invalid type "float" must be a string or Tensor. (Can not convert a float into a Tensor or Operation.)',
    "np.array([1])": 'Argument `fetch` = [1] has invalid type "ndarray" must be a string or Tensor. (Can not convert a ndarray into a Tensor or Operation.)',
    "of_another_graph('a')": 'Argument `fetch` = Tensor("a:0", shape=(), dtype=float32) cannot be interpreted as a Tensor. (Tensor Tensor("a:0", shape=(), dtype=float32) is not an element of this graph.)',
}


@pytest.mark.parametrize(("fetch", "message"), BAD_FETCHES.items(), ids=BAD_FETCHES)
def test_bad_fetch_is_refused(session, abn, fetch, message):
    """Section 8.1, fetch rules."""
    error = TypeError if "invalid type" in message else ValueError
    for asked in (fetch, f"[{fetch}]", f"{{'k': ({fetch},)}}"):
        with pytest.raises(error) as caught:
            session.run(eval(asked))
        assert first_line(caught.value) == message
    assert session.run(abn[0]) == 1.0


# --- 8.1: feeds -----------------------------------------------------------------------------


@pytest.fixture
def p():
    return tf.placeholder(tf.float32, [2, 2], name="p")


BAD_KEYS = {
    "3": "Can not convert a int into a Tensor.",
    "None": "Can not convert a NoneType into a Tensor.",
    "p.op": "Can not convert a Operation into a Tensor.",
    "'p'": "The name 'p' refers to an Operation, not a Tensor. Tensor names must be of the form \"<op_name>:<output_index>\".",
    "'zz:0'": "The name 'zz:0' refers to a Tensor which does not exist. The operation, 'zz', does not exist in the graph.",
    "of_another_graph('p')": 'Tensor Tensor("p:0", shape=(), dtype=float32) is not an element of this graph.',
}


@pytest.mark.parametrize(("key", "reason"), BAD_KEYS.items(), ids=BAD_KEYS)
def test_bad_key_is_refused(session, p, key, reason):
    """Section 8.1, feed errors; the reasons are [TF]."""
    with pytest.raises(TypeError) as caught:
        session.run(p, {eval(key): np.ones((2, 2))})
    assert first_line(caught.value) == f"Cannot interpret feed_dict key as Tensor: {reason}"


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ([1.0], "(1,)"),
        (1.0, "()"),
        (np.ones((2, 3)), "(2, 3)"),
        (np.ones((1, 2, 2)), "(1, 2, 2)"),
    ],
    ids=["vector", "scalar", "wider", "deeper"],
)
def test_bad_shape_is_refused(session, p, value, shape):
    """Section 8.1, feed errors."""
    for run in (
        lambda: session.run(p, {p: value}),
        lambda: session.make_callable(p, [p])(value),
    ):
        with pytest.raises(ValueError, match="Cannot feed") as caught:
            run()
        assert first_line(caught.value) == (
            f"Cannot feed value of shape {shape} for Tensor p:0, which has shape (2, 2)"
        )


@pytest.mark.parametrize("shape", [(4, 2), (3,), ()], ids=str)
def test_partial_shape_is_checked(session, shape):
    """Section 8.1, feed errors; TensorFlow 1 writes `?` for what is not known [TF], 2 `None`."""
    r = tf.placeholder(tf.float32, [None, 3], name="r")
    with pytest.raises(ValueError, match="Cannot feed") as caught:
        session.run(r, {r: np.ones(shape)})
    assert first_line(caught.value).replace("None", "?") == (
        f"Cannot feed value of shape {shape} for Tensor r:0, which has shape (?, 3)"
    )


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (5, 3)], ids=str)
def test_partial_shape_takes_any_size(session, shape):
    """Section 8.1."""
    r = tf.placeholder(tf.float32, [None, 3])
    assert session.run(r * 2.0, {r: np.ones(shape)}).tolist() == np.full(shape, 2.0).tolist()


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)], ids=str)
def test_unknown_shape_takes_anything(session, shape):
    q = tf.placeholder(tf.float32)
    assert session.run(q + 1.0, {q: np.zeros(shape)}).shape == shape


def test_tensor_is_no_feed_value(session, p):
    """Section 8.1, feed errors."""
    c = tf.constant(1.0, name="c")
    with pytest.raises(TypeError) as caught:
        session.run(p, {p: c})
    message = first_line(caught.value)
    assert message.startswith("The value of a feed cannot be a tf.Tensor object. ")
    assert 'Tensor("c:0", shape=(), dtype=float32)' in message
    assert 'Tensor("p:0", shape=(2, 2), dtype=float32)' in message


def test_handle_may_not_be_fed(session):
    """Section 8.1, feed errors."""
    v = tf.Variable(1.0, name="v", use_resource=True)
    with pytest.raises(ValueError, match="fed") as caught:
        session.run(v.initializer, {"v:0": 1.0})
    assert first_line(caught.value) == "Tensor v:0 may not be fed."


@pytest.mark.parametrize(
    ("value", "error"),
    [("abc", ValueError), ([[1, 2], [3]], ValueError), ({}, TypeError), (object(), TypeError)],
    ids=["text", "ragged", "dict", "object"],
)
def test_bad_value_is_refused(session, value, error):
    """The class is TensorFlow's [TF]; berth adds which tensor it was for."""
    q = tf.placeholder(tf.float32, name="q")
    with pytest.raises(error, match="q:0"):
        session.run(q, {q: value})
    assert session.run(q, {q: 1.0}) == 1.0


def test_too_large_integer_is_refused(session):
    """[TF]."""
    i = tf.placeholder(tf.int32, name="i")
    with pytest.raises(TypeError) as caught:
        session.run(i, {i: 2**40})
    assert re.fullmatch(
        "Type of feed value 1099511627776 with type <class 'int'> is not compatible with Tensor type .*int32.*\\. "
        r"Try explicitly setting the type of the feed tensor to a larger type \(e\.g\. int64\)\.",
        first_line(caught.value),
    )


def test_too_large_element_is_refused(session):
    """TensorFlow wraps around in silence; berth says which tensor it was for."""
    i = tf.placeholder(tf.int32, name="i")
    with pytest.raises((TypeError, ValueError, OverflowError), match="i:0"):
        session.run(i, {i: [2**40]})


@pytest.mark.parametrize("feeds", [[1], 3, "p:0"], ids=repr)
def test_feeds_are_a_dict(session, p, feeds):
    """The class is TensorFlow's [TF]."""
    with pytest.raises(TypeError):
        session.run(p, feeds)


@pytest.mark.parametrize(
    ("dtype", "value", "fed"),
    [
        (tf.float32, 5, 5.0),
        (tf.float32, True, 1.0),
        (tf.float32, [[1, 2]], [[1.0, 2.0]]),
        (tf.float32, np.float64([0.5, 1.5]), [0.5, 1.5]),
        (tf.float32, (1, 2), [1.0, 2.0]),
        (tf.float64, np.float32(1.5), 1.5),
        (tf.int32, 1.5, 1),
        (tf.int32, np.int64([7]), [7]),
        (tf.int64, 2**40, 2**40),
        (tf.bool, [1, 0], [True, False]),
        (tf.string, ["ab", b"c"], [b"ab", b"c"]),
        (tf.float32, np.arange(6.0).reshape(2, 3).T, [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]),
        (tf.float32, np.arange(6.0)[::-2], [5.0, 3.0, 1.0]),
    ],
)
def test_fed_values_are_converted(session, dtype, value, fed):
    """Section 8.1 [TF]."""
    q = tf.placeholder(dtype)
    got = session.run(tf.identity(q), {q: value})
    assert got.dtype == dtype.as_numpy_dtype
    assert got.tolist() == fed


def test_any_tensor_is_fed(session):
    """Section 8.1: "not only placeholders"; what it is computed from does not run."""
    v = tf.Variable(1.0, name="v")  # never initialized
    unfed = tf.placeholder(tf.float32, [])
    c = tf.constant(3.0, name="c")
    product = tf.multiply(v + unfed, c, name="product")
    assert session.run(product + c, {product: 10.0}) == 13.0
    assert session.run([product, c], {product: 7.0}) == [7.0, 3.0]
    assert session.run(c + 1.0, {c: 10.0}) == 11.0
    assert session.run(c + 1.0) == 4.0
    assert session.run(v + 1.0, {v: 10.0}) == 11.0


@pytest.mark.parametrize("machine", [None, "2xT4"])
def test_fed_constant_is_not_folded(sim, machine):
    """Sections 8.1 and 8.2: feeding overrides what could be computed beforehand."""
    sim(machine)
    c = tf.constant([1.0, 2.0])
    total = tf.reduce_sum(c * 2.0 + 1.0)
    with tf.Session() as session:
        assert session.run(total) == 8.0
        assert session.run(total, {c: [10.0, 20.0]}) == 62.0
        assert session.run(total) == 8.0


def test_keys_may_be_names(session, p):
    """Section 8.1."""
    assert session.run("p:0", {"p:0": np.ones((2, 2))}).tolist() == [[1.0, 1.0]] * 2


def test_keys_may_be_tuples(session):
    """[TF]."""
    p, q = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    assert session.run(p - q, {(p, q): (5.0, 3.0)}) == 2.0
    assert session.run(p - q, {(q, p): [5.0, 3.0]}) == -2.0
    with pytest.raises(ValueError, match="2"):
        session.run(p - q, {(p, q): (5.0,)})


def test_default_stands_in_for_feed(session):
    p = tf.placeholder_with_default([1.0], [None])
    assert session.run(p * 2.0).tolist() == [2.0]
    assert session.run(p * 2.0, {p: [1.0, 3.0]}).tolist() == [2.0, 6.0]


SHOWN = {"2, 2": " and shape [2,2]", "None, 3": " and shape [?,3]", "2": " and shape [2]"}


@pytest.mark.parametrize(("dims", "shown"), [*SHOWN.items(), (None, "")])
@pytest.mark.parametrize("direct", [True, False], ids=["fetched", "used"])
def test_unfed_placeholder_is_an_error(session, dims, shown, direct):
    """Section 8.1; the other shapes [TF]."""
    a = tf.placeholder(tf.float32, dims and eval(f"[{dims}]"), name="a")
    line = currentframe().f_lineno - 1
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(a if direct else tf.identity(a) * 2.0)
    first, second, *_ = [*caught.value.message.split("\n"), ""]
    assert first == f"You must feed a value for placeholder tensor 'a' with dtype float{shown}"
    assert re.match(r"\t \[\[.*\bnode a\b.*\]\]", second)
    assert caught.value.op is a.op
    assert f"test_session.py:{line}" in str(caught.value)


@pytest.mark.parametrize("machine", [None, "2xT4"])
def test_unfed_run_leaves_session_usable(sim, machine):
    """Section 8.1."""
    sim(machine)
    p = tf.placeholder(tf.float32, [2])
    double = p * 2.0
    with tf.Session() as session:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(double)
            assert session.run(double, {p: [1.0, 2.0]}).tolist() == [2.0, 4.0]


def test_unused_placeholder_needs_no_feed(session):
    """Section 8.2: pruned to what is fetched."""
    tf.placeholder(tf.float32, []) * 2.0
    assert session.run(tf.constant(1.0)) == 1.0


def test_runs_share_no_memory(session):
    """Section 8.2: fetched values are copies on the host."""
    p, c = tf.placeholder(tf.float32, [2]), tf.constant([1.0, 2.0])
    fed = np.float32([5.0, 6.0])
    fetched = session.run(
        [p, tf.identity(p), tf.reshape(p, [2, 1]), c, tf.identity(c)], {p: fed}
    )
    for array in fetched:
        if array.flags.writeable:
            array[...] = -1.0
    assert fed.tolist() == [5.0, 6.0]
    assert session.run(c).tolist() == [1.0, 2.0]
    assert session.run(p, {p: fed}).tolist() == [5.0, 6.0]


# --- make_callable --------------------------------------------------------------------------


def test_callable_takes_values_in_order(session):
    p = tf.placeholder(tf.float32, [2], name="p")
    q = tf.placeholder(tf.float32, [], name="q")
    call = session.make_callable([p * q, {"p": p}, tf.no_op()], ["p:0", q])
    product, inside, nothing = call([1.0, 2.0], 3.0)
    assert product.tolist() == [3.0, 6.0]
    assert inside["p"].tolist() == [1.0, 2.0]
    assert nothing is None
    assert call([0.0, 1.0], 2.0)[0].tolist() == [0.0, 2.0]


def test_callable_takes_options(session):
    """[TF]: if it was asked to."""
    p = tf.placeholder(tf.float32, [])
    call = session.make_callable(p * 2.0, [p], accept_options=True)
    metadata = tf.RunMetadata()
    assert call(2.0, options=FULL_TRACE, run_metadata=metadata) == 4.0
    assert [stats.device for stats in metadata.step_stats.dev_stats] == [CPU_0]


def test_callable_needs_a_list(session):
    """[TF]."""
    x = tf.constant(1.0)
    with pytest.raises(TypeError, match="Argument `feed_list` must be a list or tuple"):
        session.make_callable(x, feed_list=3)


def test_callable_checks_its_fetches(session):
    """Section 8.1, fetch rules."""
    tf.constant(1.0)
    with pytest.raises(ValueError, match="Argument `fetch` = zz cannot be interpreted"):
        session.make_callable("zz")


@pytest.mark.parametrize("values", [(), (1.0, 2.0)], ids=["too few", "too many"])
def test_callable_counts_its_values(session, values):
    """TensorFlow runs without, or ignores some; berth does not."""
    p = tf.placeholder(tf.float32, [])
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError)):
        session.make_callable(p * 2.0, [p])(*values)


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


def test_grown_graph_is_placed_anew(sim):
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


# --- 8.5: RunOptions and RunMetadata --------------------------------------------------------


@pytest.fixture
def two_gpus(sim):
    """Compute on two GPUs and the CPU: a product each, and their sum."""
    sim("2xT4")
    p = tf.placeholder(tf.float32, [8, 8], name="p")
    with tf.device("/gpu:0"):
        first = tf.matmul(p, p, name="first")
    with tf.device("/gpu:1"):
        second = tf.matmul(p, first, name="second")
    with tf.device("/cpu:0"):
        total = tf.add(first, second, name="total")
    with tf.Session() as session:
        yield session, total, {p: np.eye(8)}


def stats_by_device(metadata):
    return {stats.device: stats.node_stats for stats in metadata.step_stats.dev_stats}


def test_untraced_run_has_no_stats(two_gpus):
    """Section 8.5: run_metadata without options leaves step_stats unset."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    session.run(total, feeds, run_metadata=metadata)
    assert str(metadata) == ""
    no_trace = tf.RunOptions(trace_level=tf.RunOptions.NO_TRACE)
    session.run(total, feeds, options=no_trace, run_metadata=metadata)
    assert str(metadata) == ""


def test_trace_without_metadata_is_legal(two_gpus):
    """Section 8.5."""
    session, total, feeds = two_gpus
    assert session.run(total, feeds, options=FULL_TRACE)[0, 0] == 2.0


@pytest.mark.parametrize("level", ["SOFTWARE_TRACE", "HARDWARE_TRACE", "FULL_TRACE"])
def test_traced_run_names_devices(two_gpus, level):
    """Section 8.5: the full name of each, and the nodes that it ran."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=getattr(tf.RunOptions, level))
    assert session.run(total, feeds, options=options, run_metadata=metadata)[0, 0] == 2.0
    found = {
        device: {node.node_name for node in nodes}
        for device, nodes in stats_by_device(metadata).items()
    }
    assert "first" in found[GPU_0]
    assert "second" in found[GPU_1]
    assert "total" in found[CPU_0]
    assert not {"second", "total"} & found[GPU_0]


def test_traced_nodes_have_labels(two_gpus):
    """Section 8.5: `name = Op(in0, in1)`; fed tensors are `_arg_p_0_0` in TensorFlow."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    session.run(total, feeds, options=FULL_TRACE, run_metadata=metadata)
    labels = {
        node.node_name: node.timeline_label
        for nodes in stats_by_device(metadata).values()
        for node in nodes
    }
    assert re.fullmatch(r"first = MatMul\((p|_arg_p_0_0), \1\)", labels["first"])
    assert re.fullmatch(r"total = Add(V2)?\(first.*, second.*\)", labels["total"])


def test_traced_nodes_have_times(two_gpus):
    """Section 8.5: microseconds since 1970, and from there."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    session.run(total, feeds, options=FULL_TRACE, run_metadata=metadata)
    by_name = {
        node.node_name: node for nodes in stats_by_device(metadata).values() for node in nodes
    }
    for node in by_name.values():
        assert node.all_start_micros > 1_700_000_000_000_000
        assert (
            0 <= node.op_start_rel_micros <= node.op_end_rel_micros <= node.all_end_rel_micros
        )
    assert by_name["first"].all_start_micros <= by_name["second"].all_start_micros
    assert by_name["second"].all_start_micros <= by_name["total"].all_start_micros


def test_metadata_is_of_the_last_run(two_gpus):
    """Section 8.5 [TF]: each run fills it anew."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    for _ in range(2):
        session.run(total, feeds, options=FULL_TRACE, run_metadata=metadata)
        assert sorted(stats_by_device(metadata)) == [CPU_0, GPU_0, GPU_1]
    session.run(total, feeds, run_metadata=metadata)
    assert str(metadata) == ""


def test_partition_graphs_if_asked(two_gpus):
    """Section 8.5: one for each device, only if asked; cleared on the next run."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    options = tf.RunOptions(output_partition_graphs=True)
    session.run(total, feeds, options=options, run_metadata=metadata)
    assert len(metadata.partition_graphs) == 3
    names = [{node.name for node in graph.node} for graph in metadata.partition_graphs]
    for node in ("first", "second", "total"):
        assert sum(node in part for part in names) == 1
    session.run(total, feeds, run_metadata=metadata)
    assert len(metadata.partition_graphs) == 0


def test_timeline_opens_as_json(two_gpus):
    """Sections 8.5 and 8.6."""
    session, total, feeds = two_gpus
    metadata = tf.RunMetadata()
    session.run(total, feeds, options=FULL_TRACE, run_metadata=metadata)
    drawn = json.loads(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format())
    events = drawn["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    ops = {
        (event["args"]["name"], event["args"]["op"], names[event["pid"]])
        for event in events
        if event.get("cat") == "Op"
    }
    assert ("first", "MatMul", f"{GPU_0} Compute") in ops
    assert ("second", "MatMul", f"{GPU_1} Compute") in ops
    assert ("total", "AddV2", f"{CPU_0} Compute") in ops


def test_failed_trace_leaves_session_usable(two_gpus):
    session, total, _ = two_gpus
    p = tf.placeholder(tf.int32, [], name="i")
    with pytest.raises(tf.errors.InvalidArgumentError, match="floordiv"):
        session.run(1 // p, {p: 0}, options=FULL_TRACE, run_metadata=tf.RunMetadata())
    assert session.run(total, {"p:0": np.eye(8)})[0, 0] == 2.0


def test_unknown_thread_pool_is_refused(session):
    """Section 8.4."""
    x = tf.constant(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(x, options=tf.RunOptions(inter_op_thread_pool=5))
    assert first_line(caught.value) == "Invalid inter_op_thread_pool: 5"


@pytest.mark.parametrize("machine", [None, "2xT4"])
@pytest.mark.parametrize("by_config", [False, True], ids=["RunOptions", "ConfigProto"])
def test_time_runs_out(sim, machine, by_config):
    """Section 8.5: timeout_in_ms; [TF]: operation_timeout_in_ms likewise."""
    sim(machine)
    p = tf.placeholder(tf.float32, [500, 500])
    x = p
    for _ in range(40):
        x = tf.matmul(x, p)
    config = tf.ConfigProto(operation_timeout_in_ms=1) if by_config else None
    options = None if by_config else tf.RunOptions(timeout_in_ms=1)
    feeds = {p: np.zeros((500, 500))}
    with tf.Session(config=config) as session:
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            session.run(x, feeds, options=options)
        assert first_line(caught.value) == "Timed out waiting for notification"
        enough = tf.RunOptions(timeout_in_ms=600_000)
        assert session.run(x[0, 0], feeds, options=enough) == 0.0


# --- variables ------------------------------------------------------------------------------

KINDS = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])

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


# --- ConfigProto ----------------------------------------------------------------------------

MISSPELT = {
    "tf.ConfigProto(allow_soft_placment=True)": (ValueError, "allow_soft_placement"),
    "tf.GPUOptions(memory_fraction=0.5)": (ValueError, "per_process_gpu_memory_fraction"),
    "tf.ConfigProto().log_device_placment = True": (AttributeError, "log_device_placement"),
    "tf.GPUOptions().allow_grow = True": (AttributeError, "allow_growth"),
}


@pytest.mark.parametrize("use", MISSPELT)
def test_misspelt_option_is_refused(use):
    """Protocol buffers' own text [TF], and the nearest name."""
    error, nearest = MISSPELT[use]
    message, field = use[3:].split("(")[0], re.search(r"(\w+) ?= ?", use)[1]
    with pytest.raises(error) as caught:
        exec(use)
    assert first_line(caught.value) == f'Protocol message {message} has no "{field}" field.'
    assert f"'{nearest}'" in str(caught.value)


def test_config_may_change_afterwards(sim):
    """A session reads its config when it is made."""
    sim("1xT4")
    config = tf.ConfigProto(device_count={"GPU": 0})
    x = tf.constant(1.0, name="x")
    with tf.Session(config=config) as session:
        config.device_count["GPU"] = 1
        config.allow_soft_placement = True
        session.run(x)
        assert session.placements() == {"x": CPU_0}


# --- 8.7: errors of kernels -----------------------------------------------------------------

INTS, MATRICES = (tf.int32, [None]), (tf.float32, [None, None])

# An operation of two inputs, two values that do not go, and TensorFlow's text [TF].
FAILURES = {
    "tf.floordiv(p, q, name='bad')": (INTS, ([1], [0]), "Integer division by zero"),
    "tf.matmul(p, q, name='bad')": (
        MATRICES,
        (np.ones((2, 3)), np.ones((2, 3))),
        "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]",
    ),
    "tf.add(p, q, name='bad')": (
        MATRICES,
        (np.ones((2, 3)), np.ones((2, 2))),
        "Incompatible shapes: [2,3] vs. [2,2]",
    ),
    "tf.reshape(p, [7], name='bad')": (
        MATRICES,
        (np.ones((2, 3)), np.ones((2, 3))),
        "Input to reshape is a tensor with 6 values, but the requested shape has 7",
    ),
    "tf.concat([p, q], 0, name='bad')": (
        MATRICES,
        (np.ones((2, 3)), np.ones((2, 2))),
        "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [2,3] vs. shape[1] = [2,2]",
    ),
}


def fail(code):
    """Run an operation that fails, in a graph of its own; return it and the error."""
    inputs, values, _ = FAILURES[code]
    with tf.Graph().as_default(), tf.Session() as session:
        p, q = tf.placeholder(*inputs), tf.placeholder(*inputs)
        bad = eval(compile(code, "/home/me/train.py", "eval"), {"tf": tf, "p": p, "q": q})
        for _ in range(2):  # the session is as before
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(tf.identity(bad), dict(zip((p, q), values, strict=True)))
            assert session.run(p, {p: values[0]}).tolist() == np.asarray(values[0]).tolist()
    return bad.op, caught.value


@pytest.mark.parametrize("code", FAILURES)
def test_kernel_error_is_tensorflow_s(code):
    """Section 8.7: the message of the kernel; the texts are [TF]."""
    _, error = fail(code)
    assert first_line(error) == FAILURES[code][-1]


@pytest.mark.parametrize("machine", [None, "1xT4"])
@pytest.mark.parametrize("code", FAILURES)
def test_kernel_error_names_its_node(sim, machine, code):
    """Section 8.7: the node, where it was defined, and the attributes."""
    sim(machine)
    op, error = fail(code)
    assert error.op is op
    assert error.error_code == 3
    assert re.search(r"\[\[.*\bnode bad\b.*\]\]", str(error))
    assert "train.py:1" in str(error)


def test_good_runs_follow_bad_ones(session):
    """Section 8.7: after any error everything works as before."""
    p = tf.placeholder(tf.int32, [None])
    quotient = 12 // p
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(quotient, {p: [3, 0]})
        assert session.run(quotient, {p: [3, 4]}).tolist() == [4, 3]


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


# --- threads --------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [None, "2xT4"])
def test_many_threads_run_one_session(sim, machine):
    """Section 8.2: runs are independent of each other."""
    program = sim(machine)
    p = tf.placeholder(tf.float32, [50, 50])
    v = tf.Variable(0)
    with tf.device("/gpu:1" if machine else "/cpu:0"):
        other = tf.matmul(p, p)
    fetch = [tf.matmul(p, p) + other, v.assign_add(1)]
    wrong = []
    with tf.Session() as session:
        session.run(v.initializer)

        def work(number):
            with program.as_default():
                for _ in range(20):
                    result, _ = session.run(fetch, {p: np.full((50, 50), number)})
                    if not np.all(result == 100.0 * number**2):
                        wrong.append(result)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert wrong == []
        assert session.run(v) == 80
