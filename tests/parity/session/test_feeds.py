"""Section 8.1: what a run may be fed."""

from __future__ import annotations

import re
from inspect import currentframe

import numpy as np
import pytest

import berth.compat.v1 as tf
from tests.parity.programs import first_line
from tests.parity.session.shared import of_another_graph  # noqa: F401 - texts name it

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
    assert f"test_feeds.py:{line}" in str(caught.value)


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
