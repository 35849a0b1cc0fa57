"""Assertions: what they say eagerly, while a graph is built, and in a run."""

from __future__ import annotations

import re

import numpy as np
import pytest

import berth as tf2
import berth.compat.v1 as tf
from berth.errors import InvalidArgumentError
from berth.ops.flow import assertions, checks
from berth.ops.flow.control import Assert
from tests.ops.gradient_checks import check_gradient

# For each comparison: its sign, and what differs between x and y below.
COMPARISONS = {
    "assert_equal": ("==", [1, 2]),
    "assert_none_equal": ("!=", [0]),
    "assert_less": ("<", [0, 2]),
    "assert_less_equal": ("<=", [2]),
    "assert_greater": (">", [0, 1]),
    "assert_greater_equal": (">=", [1]),
}
X, Y = np.int32([1, 2, 3]), np.int32([1, 5, 0])


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def fed(array):
    return tf.placeholder_with_default(tf.constant(array), [None], name="x")


def run(op):
    with tf.Session() as session:
        return session.run(op)


def message_of(caught):
    return str(caught.value).partition("\n\t [[")[0]


@pytest.mark.parametrize("name", COMPARISONS)
def test_eager_comparisons_show_differences(eager, name):
    sign, differ = COMPARISONS[name]
    with pytest.raises(InvalidArgumentError) as caught:
        getattr(assertions, name)(tf2.constant(X), tf2.constant(Y))
    indices = np.array(differ).reshape(-1, 1)
    assert str(caught.value) == (
        f"Condition x {sign} y did not hold.\nIndices of first {len(differ)} different values:\n"
        f"{indices}\nCorresponding x values:\n{X[differ]}\nCorresponding y values:\n{Y[differ]}\n"
        "First 3 elements of x:\n[1 2 3]\nFirst 3 elements of y:\n[1 5 0]"
    )


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_fail_in_a_run(graph, name):
    sign, _ = COMPARISONS[name]
    op = getattr(assertions, f"{name}_v1")(fed(X), fed(Y))
    with pytest.raises(InvalidArgumentError) as caught:
        run(op)
    assert message_of(caught) == (
        f"assertion failed: [Condition x {sign} y did not hold element-wise:] [x (x:0) = ] "
        "[1 2 3] [y (x_1:0) = ] [1 5 0]"
    )


@pytest.mark.parametrize("name", COMPARISONS)
def test_constants_are_compared_at_once(graph, name):
    sign, _ = COMPARISONS[name]
    with pytest.raises(InvalidArgumentError) as caught:
        getattr(assertions, name)(tf.constant(X), tf.constant(Y), message="hi")
    assert str(caught.value) == (
        f"hi\nCondition x {sign} y did not hold element-wise:\nx (Const:0) = \n[1 2 3]\n"
        "y (Const_1:0) = \n[1 5 0]"
    )


HOLD = [
    ("assert_equal", X, X),
    ("assert_none_equal", X, X + 1),
    ("assert_less", X, 4),
    ("assert_less_equal", X, 3),
    ("assert_greater", X, 0),
    ("assert_greater_equal", X, [[1], [1]]),
    ("assert_near", np.float32([1, 2]), np.float32([1, 2 + 1e-6])),
]


@pytest.mark.parametrize(("name", "x", "y"), HOLD)
def test_what_holds_is_passed(eager, name, x, y):
    assertion = getattr(assertions, name)
    with tf.Graph().as_default():
        assert run(assertion(fed(x), y)) is None
    assert assertion(tf2.constant(x), y) is None
    assert tf2.function(lambda a: assertion(a, y))(tf2.constant(x)) is None


def test_data_can_be_chosen(graph):
    op = assertions.assert_equal_v1(
        fed(X), fed(Y), data=["d", fed(X)], summarize=2, message="hi"
    )
    with pytest.raises(InvalidArgumentError) as caught:
        run(op)
    assert message_of(caught) == "assertion failed: [hi] [d] [1 2...]"


SIGNS = {
    "assert_positive": ">",
    "assert_negative": "<",
    "assert_non_negative": ">=",
    "assert_non_positive": "<=",
}


@pytest.mark.parametrize("name", SIGNS)
def test_signs_are_asserted(graph, name):
    condition = f"Condition x {SIGNS[name]} 0 did not hold element-wise:"
    with pytest.raises(InvalidArgumentError) as caught:
        run(getattr(assertions, name)(fed(np.int32([1, -2, 0]))))
    assert message_of(caught) == f"assertion failed: [] [{condition}] [x (x:0) = ] [1 -2 0]"


def test_eager_signs_show_all(eager):
    with pytest.raises(InvalidArgumentError) as caught:
        assertions.assert_positive(tf2.constant([1.5, -2.0]), message="m")
    assert str(caught.value) == (
        "m.  \nCondition x > 0 did not hold element-wise:\nx (shape=(2,) dtype=float32) = \n"
        "['1.5', '-2.0']"
    )
    assert assertions.assert_positive(tf2.constant([1.5])) is None


def test_near_says_how_near(eager):
    with pytest.raises(InvalidArgumentError) as caught:
        assertions.assert_near(tf2.constant([1.0, 2.0]), tf2.constant([1.0, 2.1]))
    assert str(caught.value) == (
        "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: b''\n"
        "b'x and y not equal to tolerance rtol = tf.Tensor(1.1920929e-06, shape=(), "
        "dtype=float32), atol = tf.Tensor(1.1920929e-06, shape=(), dtype=float32)'\n"
        "b'x (shape=(2,) dtype=float32) = '\n1.0, 2.0\nb'y (shape=(2,) dtype=float32) = '\n"
        "1.0, 2.1"
    )


# --- ranks, types and numbers ---------------------------------------------------------------

KNOWN = {
    "assert_rank(x, 2)": (
        ValueError,
        "Tensor Const:0 must have rank 2.  Received rank 1, shape (2,)",
    ),
    "assert_rank_at_least(x, 2, 'm')": (
        ValueError,
        "m.  Tensor Const:0 must have rank at least 2.  Received rank 1, shape (2,)",
    ),
    "assert_rank_in(x, [2, 3])": (
        ValueError,
        "Tensor Const:0 must have rank in (2, 3).  Received rank 1, shape (2,)",
    ),
    "assert_type(x, 'float32')": (
        TypeError,
        "Const:0 must be of type tf.float32; got tf.int32",
    ),
    "assert_scalar(x)": (ValueError, "Expected scalar shape for Const:0, saw shape: (2,)."),
    "assert_integer(1.5)": (TypeError, 'Expected "x" to be integer type.  Found: '),
}


@pytest.mark.parametrize("call", KNOWN)
def test_known_mistakes_are_raised_at_once(graph, call):
    kind, text = KNOWN[call]
    with pytest.raises(kind, match=f"^{re.escape(text)}"):
        eval(f"checks.{call}", {"checks": checks, "x": tf.constant([1, 2])})


UNKNOWN = {
    "assert_rank(x, 2)": "[Tensor x:0 must have rank] [2]",
    "assert_rank_at_least(x, 2)": "[Tensor x:0 must have rank at least] [2]",
    "assert_rank_in(x, [2, 3])": "[Tensor x:0 must have rank in] [2] [3]",
}


@pytest.mark.parametrize("call", UNKNOWN)
def test_unknown_ranks_are_found_in_a_run(graph, call):
    x = tf.placeholder(tf.float32, name="x")
    op = eval(f"checks.{call}", {"checks": checks, "x": x})
    with tf.Session() as session:
        session.run(op, {x: [[1.0]]})
        with pytest.raises(InvalidArgumentError) as caught:
            session.run(op, {x: [1.0]})
    expected = f"assertion failed: [] {UNKNOWN[call]} [Received shape: ] [1]"
    assert message_of(caught) == expected


def test_ranks_can_show_other_data(graph):
    x = tf.placeholder(tf.float32, name="x")
    op = checks.assert_rank_in_v1(x, [2, 3], data=["mine"])
    with tf.Session() as session, pytest.raises(InvalidArgumentError, match=r"\[mine\]"):
        session.run(op, {x: [1.0]})


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_numbers_are_checked(sim, device):
    sim("T4")
    with tf.Graph().as_default(), tf.device(device):
        x = tf.placeholder(tf.float32, [None])
        checked = checks.check_numerics(x, "oh")
        with tf.Session() as session:
            assert session.run(checked, {x: [1.0, 2.0]}).tolist() == [1.0, 2.0]
            for wrong, text in (
                ([np.nan], "oh : Tensor had NaN values"),
                ([np.inf, 1], "oh : Tensor had Inf values"),
                ([np.nan, -np.inf], "oh : Tensor had Inf and NaN values"),
            ):
                with pytest.raises(InvalidArgumentError, match=text):
                    session.run(checked, {x: wrong})


def test_checks_pass_gradients_on():
    check_gradient(lambda x: checks.assert_all_finite(x * x, "oh"), np.array([1.0, -2.0]))


# --- Assert ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("summarize", "shown"), [(None, "1, 2, 3, ..."), (1, "1, ..."), (-1, "1, 2, 3, 4")]
)
def test_eager_assertions_summarize(eager, summarize, shown):
    with pytest.raises(InvalidArgumentError) as caught:
        Assert(tf2.constant(False), [tf2.constant([1, 2, 3, 4]), "x"], summarize)
    assert str(caught.value) == (
        "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: "
        f"{shown}\nb'x'"
    )


def test_conditions_are_single(graph):
    with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
        Assert(tf.constant([True, True]), ["x"])
