"""When `tf.function` traces."""

from __future__ import annotations

import numpy as np
import pytest

import berth as tf
from tests.eager.cases import Differs, cases, evaluate
from tests.functions.calls import counted, values

pytestmark = pytest.mark.usefixtures("eager")

CALLS = {
    "dtypes": (
        "f(tf.constant(1)), f(tf.constant(2)), f(tf.constant(1.)), f(tf.constant(2.))",
        2,
    ),
    "shapes": ("f(tf.zeros([1])), f(tf.zeros([2])), f(tf.zeros([1])), f(tf.zeros([1, 1]))", 3),
    "many shapes": ("[f(tf.zeros([n])) for n in range(1, 6)]", 5),
    "integers": ("f(1), f(1), f(2), f(2)", 2),
    "equal numbers": ("f(1), f(1.0), f(True)", 1),
    "words": ("f('a'), f('a'), f('b')", 2),
    "none": ("f(None), f(None), f(1)", 2),
    "types": ("f(tf.float32), f(tf.float32), f(tf.int32)", 2),
    "callables": ("f(abs), f(abs), f(len)", 2),
    "arrays": ("f(np.array([1, 2])), f(np.array([3, 4])), f(tf.constant([1, 2], tf.int64))", 1),
    "array scalars": ("f(np.float32(1)), f(np.float32(2)), f(np.array(1)), f(np.array(2))", 2),
    "lists of numbers": ("f([1, 2]), f([1, 2]), f([1, 3])", 2),
    "lists with tensors": (
        "f([tf.constant(1), 2]), f([tf.constant(5), 2]), f([tf.constant(5), 3])",
        2,
    ),
    "lists and tuples": (
        "f([tf.constant(1)]), f((tf.constant(1),)), f([tf.constant(1)] * 2)",
        3,
    ),
    "dicts in any order": (
        "f({'a': tf.constant(1), 'b': 2}), f({'b': 2, 'a': tf.constant(5)})",
        1,
    ),
    "keywords in any order": (
        "f(0, a=tf.constant(1), b=tf.constant(2)), f(0, b=tf.constant(2), a=tf.constant(1))",
        1,
    ),
    "dict keys": ("f({'a': 1}), f({'b': 1}), f({'a': 1})", 2),
    "variables alike": Differs(
        ("f(tf.Variable([1., 2.])), f(tf.Variable([3., 4.]))", 1), "each variable is traced"
    ),
    "variables and tensors": ("f(tf.Variable(1.)), f(tf.constant(1.))", 2),
    "flags": ("f(tf.constant(1), True), f(tf.constant(2), True), f(tf.constant(1), False)", 2),
}


@pytest.mark.parametrize(("name", "calls"), cases(CALLS))
def test_traces_are_counted(name, calls):
    expressions, n_traces = calls
    f, traces = counted()
    evaluate(expressions, f=f)
    assert len(traces) == n_traces
    assert f.experimental_get_tracing_count() == n_traces


def test_defaults_and_keywords_share_traces():
    traces = []

    @tf.function
    def f(x, y=2, *, z=1):
        traces.append(y)
        return x * y + z

    three = tf.constant(3)
    assert [int(f(three)), int(f(three, 2)), int(f(three, y=2)), int(f(x=three, z=1))] == [
        7
    ] * 4
    assert len(traces) == 1
    assert int(f(three, tf.constant(4), z=tf.constant(5))) == 17
    assert len(traces) == 2


def test_reduced_retracing_generalises():
    shapes = []

    @tf.function(reduce_retracing=True)
    def f(x):
        shapes.append(x.shape.as_list())
        return x + 1.0

    for size in range(1, 6):
        assert values(f(tf.zeros([size]))) == [1.0] * size
    assert shapes == [[1], [None]]


def test_reduced_retracing_forgets_ranks():
    f, traces = counted(reduce_retracing=True)
    for shape in ([1], [1, 1], [2, 2, 2], []):
        f(tf.zeros(shape))
    f(tf.zeros([1], tf.float64))
    assert [x.shape.rank for x in traces] == [1, None, 1]


def test_forgotten_arguments_are_not_mixed_up():
    f = tf.function(lambda v: v + 0.0)
    assert [float(f(tf.Variable(float(k)))) for k in range(20)] == [float(k) for k in range(20)]


def test_python_effects_happen_while_tracing(capsys):
    seen = []

    @tf.function
    def f(x):
        seen.append((tf.executing_eagerly(), str(x)))
        print("tracing")
        return x

    f(tf.constant(1))
    f(tf.constant(2))
    assert seen == [(False, 'Tensor("x:0", shape=(), dtype=int32)')]
    assert capsys.readouterr().out == "tracing\n"


def test_arguments_are_symbols_while_tracing():
    symbolic = []

    @tf.function
    def f(x):
        symbolic.append(isinstance(x, tf.Tensor))
        return x + 1

    assert values(f(np.array([1, 2]))) == [2, 3]
    assert values(f(np.float32(3))) == 4.0
    assert symbolic == [True, True]


def test_failed_traces_leave_no_trace():
    variable = tf.Variable(1.0)

    @tf.function
    def f(x, fail):
        variable.assign(7.0)
        if fail:
            raise KeyError("on purpose")
        return x + 1.0

    with pytest.raises(KeyError):
        f(tf.constant(1.0), True)
    assert variable.numpy() == 1.0
    assert tf.executing_eagerly()
    assert values(f(tf.constant(1.0), False)) == 2.0
    assert variable.numpy() == 7.0


def test_functions_may_call_themselves():
    @tf.function
    def factorial(n):
        return n if n <= 1 else factorial(n - 1) * n

    assert values(factorial(5)) == 120
