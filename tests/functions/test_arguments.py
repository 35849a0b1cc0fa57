"""What a `tf.function` takes: signatures, structures, variables."""

from __future__ import annotations

import numpy as np
import pytest

import berth as tf
from tests.eager.cases import cases, evaluate
from tests.functions.calls import FLOAT, VECTOR, Point, counted, values
from tests.parity.programs import first_line

pytestmark = pytest.mark.usefixtures("eager")


def test_signature_allows_one_trace():
    f, traces = counted(input_signature=[VECTOR])
    for value in (tf.constant([1.0]), tf.constant([1.0, 2.0]), np.ones(3, np.float32)):
        f(value)
    assert len(traces) == 1
    assert traces[0].shape.as_list() == [None]


SIGNED = {
    "scalar of an int": ([FLOAT], "f(3)", 6.0),
    "scalar of a float": ([FLOAT], "f(3.5)", 7.0),
    "by keyword": ([VECTOR], "f(x=tf.constant([1.]))", [2.0]),
    "array": ([VECTOR], "f(np.array([1.], np.float32))", [2.0]),
    "list": ([VECTOR], "f([1., 2., 3.])", [2.0, 4.0, 6.0]),
    "list of ints": ([VECTOR], "f([1, 2])", [2.0, 4.0]),
    "any rank": ([tf.TensorSpec(None, tf.float32)], "f(tf.constant([[1.]]))", [[2.0]]),
    "any rank, a list": ([tf.TensorSpec(None, tf.float32)], "f([1.])", [2.0]),
    "variable": ([VECTOR], "f(tf.Variable([1., 2.]))", [2.0, 4.0]),
}


@pytest.mark.parametrize(("name", "signed"), cases(SIGNED))
def test_signature_converts_arguments(name, signed):
    signature, call, expected = signed
    f = tf.function(lambda x: x * 2, input_signature=signature)
    assert values(evaluate(call, f=f)) == expected


def test_signature_of_a_structure():
    spec = {"a": FLOAT, "b": (VECTOR, FLOAT)}
    f = tf.function(lambda d: d["a"] + d["b"][0] * d["b"][1], input_signature=[spec])
    arguments = {"a": tf.constant(1.0), "b": (tf.constant([1.0, 2.0]), tf.constant(3.0))}
    assert values(f(arguments)) == [4.0, 7.0]


def test_signature_leaves_defaults_alone():
    f = tf.function(lambda x, y=3.0: x * y, input_signature=[FLOAT])
    assert values([f(1.0), f(2.0)]) == [3.0, 6.0]


BINDING = "Binding inputs to tf.function failed due to "
SIGNATURE_ERRORS = {
    "f(tf.constant([1, 2]))": "`Can not cast TensorSpec(shape=(2,), dtype=tf.int32, name=None) to TensorSpec(shape=(None,), dtype=tf.float32, name=None)`",
    "f(tf.constant([[1.]]))": "`Can not cast TensorSpec(shape=(1, 1), dtype=tf.float32, name=None) to TensorSpec(shape=(None,), dtype=tf.float32, name=None)`",
    "f(tf.constant([1.]), 2)": "`too many positional arguments`",
    "f()": "`missing a required argument: 'x'`",
}


@pytest.mark.parametrize("call", SIGNATURE_ERRORS)
def test_signature_refuses_with_type_error(call):
    f = tf.function(lambda x: x * 2, input_signature=[VECTOR])
    with pytest.raises(TypeError):
        evaluate(call, f=f)


@pytest.mark.parametrize("call", SIGNATURE_ERRORS)
def test_signature_errors_are_tensorflows(call):
    f = tf.function(lambda x: x * 2, input_signature=[VECTOR])
    with pytest.raises(TypeError) as raised:
        evaluate(call, f=f)
    assert str(raised.value).startswith(f"{BINDING}{SIGNATURE_ERRORS[call]}. Received args: (")


@pytest.mark.parametrize("call", ["f()", "f(1, 2)", "f(y=1)", "f.get_concrete_function()"])
def test_wrong_arguments_are_type_errors(call):
    with pytest.raises(TypeError):
        evaluate(call, f=tf.function(lambda x: x))


SIGNATURES = {
    "tf.function(lambda x: x, input_signature=3)": "input_signature must be either a tuple or a list, got <class 'int'>.",
    "tf.function(lambda x: x, input_signature=[3])": "input_signature must be a possibly nested sequence of TensorSpec objects, got invalid args [3] with types [<class 'int'>].",
    "tf.function(lambda x: x, input_signature=[tf.TensorSpec([]), tf.TensorSpec([])])(1.)": "input_signature contains 1 extra type constraints.",
    "tf.function(lambda x, y: x, input_signature=[tf.TensorSpec([])])(1., 2.)": "input_signature missing type constraint for y",
    "tf.function(3)": "3 is not a callable object",
}


@pytest.mark.parametrize(("call", "message"), cases(SIGNATURES))
def test_impossible_signatures(call, message):
    with pytest.raises(TypeError) as raised:
        evaluate(call)
    assert first_line(raised.value) == message


SPECS = {
    "tf.TensorSpec([None, 2], tf.float32)": "TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)",
    "tf.TensorSpec([2])": "TensorSpec(shape=(2,), dtype=tf.float32, name=None)",
    "tf.TensorSpec([2], tf.int32, name='q')": "TensorSpec(shape=(2,), dtype=tf.int32, name='q')",
    "tf.TensorSpec(None)": "TensorSpec(shape=<unknown>, dtype=tf.float32, name=None)",
    "tf.TensorSpec.from_tensor(tf.zeros([2]))": "TensorSpec(shape=(2,), dtype=tf.float32, name=None)",
    "tf.TensorSpec([None]).is_compatible_with(tf.zeros([3]))": "True",
    "tf.TensorSpec([None]).is_compatible_with(tf.zeros([3, 3]))": "False",
    "tf.TensorSpec([2]) == tf.TensorSpec([2])": "True",
    "tf.TensorSpec([2]) == tf.TensorSpec([2], tf.int32)": "False",
    "hash(tf.TensorSpec([2])) == hash(tf.TensorSpec([2]))": "True",
}


@pytest.mark.parametrize(("call", "text"), cases(SPECS))
def test_specs_are_tensorflows(call, text):
    assert repr(evaluate(call)) == text


def test_arguments_keep_their_structure():
    f = tf.function(lambda p, d, lists: (p.x - p.y, d["a"] - d["b"], lists[0] + lists[1][0]))
    point = Point(tf.constant(5), tf.constant(1))
    numbers = {"b": tf.constant(1), "a": tf.constant(7)}
    assert values(f(point, numbers, [1, (tf.constant(2),)])) == (4, 6, 3)


def test_variable_arguments_can_be_assigned():
    first, second = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])
    f = tf.function(lambda w, by: [w.assign_add(by)])
    f(first, tf.constant([1.0, 1.0]))
    f(second, tf.constant([5.0, 5.0]))
    f(first, tf.constant([1.0, 1.0]))
    assert values([first, second]) == [[3.0, 4.0], [5.0, 5.0]]


OPERATORS = {
    "x == [1, 3]": [True, False],
    "x != 1": [False, True],
    "x == None": False,
    "x[0] + x[-1]": 3,
    "[1, 2] + x": [2, 4],
    "np.array([1, 2], np.int32) * x": [1, 4],
    "-x % 3": [2, 1],
    "x / 2": [0.5, 1.0],
    "x[::-1]": [2, 1],
    "tf.stack([x[0], 5])": [1, 5],
}


@pytest.mark.parametrize(("call", "value"), cases(OPERATORS))
def test_operators_work_on_symbols(call, value):
    f = tf.function(lambda x: evaluate(call, x=x), autograph=False)
    assert values(f(tf.constant([1, 2]))) == value


def test_star_arguments():
    f = tf.function(lambda *args, **named: sum(args) + named["k"] - named["j"])
    assert values(f(tf.constant(1), tf.constant(2), k=tf.constant(3), j=tf.constant(4))) == 2
    assert values(f(tf.constant(1), j=tf.constant(4), k=tf.constant(3))) == 0
