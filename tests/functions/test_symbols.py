"""Symbolic tensors have no values, and stay in their function."""

from __future__ import annotations

import pytest

import berth as tf
from tests.eager.cases import Differs, cases, evaluate

pytestmark = pytest.mark.usefixtures("eager")

PYTHON = {
    "if": "1 if x > 0 else 2",
    "and": "x and x",
    "not": "not x",
    "bool": "bool(x)",
    "any": "any([x])",
}


@pytest.mark.parametrize("name", PYTHON)
def test_python_decisions_need_values(name):
    f = tf.function(lambda x: evaluate(PYTHON[name], x=x), autograph=False)
    with pytest.raises(
        TypeError, match=r"^Using a symbolic `tf\.Tensor` as a Python `bool` is not allowed"
    ) as raised:
        f(tf.constant(1))
    assert type(raised.value).__name__ == "OperatorNotAllowedInGraphError"


def test_error_of_a_decision_names_cond():
    # TensorFlow would rewrite the Python code, or point to where it explains that.
    @tf.function(autograph=False)
    def f(x):
        if x > 0:
            return x
        return -x

    with pytest.raises(TypeError, match=r"tf\.cond"):
        f(tf.constant(1))


NO_VALUES = {
    "int(x)": TypeError,
    "float(x)": TypeError,
    "[1, 2, 3][x]": TypeError,
    "range(x)": TypeError,
    "np.array(x)": NotImplementedError,
    "hash(x)": Differs(TypeError, "symbols are keys in the tables of the runtime"),
    "len(x)": Differs(TypeError, "without AutoGraph, a known length is given while tracing"),
    "list(x)": Differs(
        TypeError, "without AutoGraph, a known number of parts is unrolled while tracing"
    ),
    "x.numpy()": AttributeError,
}


@pytest.mark.parametrize(("call", "kind"), cases(NO_VALUES))
def test_symbols_have_no_python_value(call, kind):
    f = tf.function(lambda x: evaluate(call, x=x), autograph=False)
    with pytest.raises(kind):
        f(tf.constant([1, 2]))


def test_symbols_cannot_leave():
    leaked = []

    @tf.function
    def f(x):
        leaked.append(x * 2.0)
        return x

    f(tf.constant(1.0))
    with pytest.raises(TypeError, match="is out of scope and cannot be used here"):
        leaked[0] + 1.0


def test_symbols_cannot_enter_another_function():
    leaked = []
    tf.function(lambda x: leaked.append(x * 2.0))(tf.constant(1.0))
    with pytest.raises(TypeError, match="is out of scope and cannot be used here"):
        tf.function(lambda x: leaked[0] + x)(tf.constant(1.0))


def test_errors_of_tracing_are_value_errors():
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 3 and 2 for "):
        tf.function(lambda x: tf.matmul(x, x))(tf.zeros([2, 3]))


RUN_ERRORS = {
    "matmul": (
        lambda x: tf.matmul(x, x),
        [2, 3],
        r"Matrix size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[2,3\]",
    ),
    "reshape": (
        lambda x: tf.reshape(x, [3]),
        [4],
        "Input to reshape is a tensor with 4 values, but the requested shape has 3",
    ),
    "gather": (lambda x: tf.gather(x, 7), [3], r"indices = 7 is not in \[0, 3\)"),
}


@pytest.mark.parametrize("name", RUN_ERRORS)
def test_errors_of_running_name_the_node(name):
    compute, shape, message = RUN_ERRORS[name]
    f = tf.function(compute, input_signature=[tf.TensorSpec(None, tf.float32)])
    with pytest.raises(tf.errors.InvalidArgumentError, match=message) as raised:
        f(tf.zeros(shape))
    assert "node " in str(raised.value)
