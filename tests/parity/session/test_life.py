"""Section 8.1: sessions are made, entered, closed and nested."""

from __future__ import annotations

import logging
import re
import threading
from contextlib import ExitStack

import pytest

import berth
import berth.compat.v1 as tf
from tests.parity.programs import first_line
from tests.parity.session.shared import CPU_0, Point, of_another_graph

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


@pytest.mark.parametrize("end", ["close", "reset"])
def test_run_that_races_with_the_end_says_that_the_session_ended(sim, end):
    """Not what came of it: variables without a value, memory that is gone."""
    sim("1xT4")
    graph = tf.Graph()
    with graph.as_default():
        is_running, has_ended = threading.Event(), threading.Event()

        def wait(value):
            is_running.set()
            has_ended.wait(30)
            raise ValueError(value)  # as a variable does that has no value any more

        waited = tf.py_func(wait, [tf.constant(1.0)], tf.float32)
        session = tf.Session(graph=graph)
    errors = []

    def run():
        try:
            session.run(waited)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    is_running.wait(30)
    if end == "close":
        session.close()
    else:
        berth.reset()
    has_ended.set()
    thread.join(30)
    [error] = errors
    if end == "close":
        assert isinstance(error, tf.errors.CancelledError)
        assert error.message == "Session has been closed."
    else:
        assert str(error) == (
            "This session cannot be used any more: its devices went by berth.reset()."
        )
