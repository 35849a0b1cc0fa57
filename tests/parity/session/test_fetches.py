"""Section 8.1: what a run may be asked for."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.parity.programs import first_line
from tests.parity.session.shared import CPU_0, FULL_TRACE, Point, of_another_graph  # noqa: F401 - texts name it

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
