"""Tensors and variables that a `tf.function` captures."""

from __future__ import annotations

import gc

import pytest

import berth as tf
from tests.functions.calls import values
from tests.parity.programs import first_line

pytestmark = pytest.mark.usefixtures("eager")


def test_captured_tensors_are_kept():
    scale = tf.constant([1.0, 2.0])
    f = tf.function(lambda x: x * scale)
    assert values(f(tf.constant(2.0))) == [2.0, 4.0]
    scale = tf.constant([5.0, 5.0])  # the trace has the tensor before
    assert values(f(tf.constant(2.0))) == [2.0, 4.0]


def test_captured_variables_are_read_at_each_call():
    v = tf.Variable(3.0)
    f = tf.function(lambda: v * 2.0)
    first = f()
    v.assign(10.0)
    assert values([first, f()]) == [6.0, 20.0]


def test_forgotten_variables_live_on():
    def plus(v):
        return tf.function(lambda: v + 1.0)

    f = plus(tf.Variable(3.0))
    f()
    gc.collect()
    assert values(f()) == 4.0


ORDERS = {
    "reads between writes": """
        a = v.read_value(); v.assign(5.0); b = v.read_value(); v.assign_add(1.0); c = v + 0.0
        result = (a, b, c)""",
    "write after read": """
        a = v + 1.0; v.assign(100.0)
        result = (a, v)""",
    "writes only": """
        v.assign(2.0); v.assign_add(3.0); v.assign_sub(1.0)
        result = ()""",
    "swap": """
        t = v.read_value(); v.assign(w); w.assign(t)
        result = (v, w)""",
    "loop": """
        for i in range(3):
            v.assign(v * 2.0)
        result = (v,)""",
    "chained": """
        result = (v.assign(w.assign_add(1.0)), w.assign(v.read_value() * 10.0))""",
    "own value": """
        v.assign_add(v); v.assign_sub(w); w.assign_add(v)
        result = (v, w)""",
}
ORDER_RESULTS = {
    "reads between writes": ((1.0, 5.0, 6.0), 6.0, 2.0),
    "write after read": ((2.0, 100.0), 100.0, 2.0),
    "writes only": ((), 4.0, 2.0),
    "swap": ((2.0, 1.0), 2.0, 1.0),
    "loop": ((8.0,), 8.0, 2.0),
    "chained": ((3.0, 30.0), 3.0, 30.0),
    "own value": ((0.0, 2.0), 0.0, 2.0),
}


@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("name", ORDERS)
def test_writes_keep_the_programs_order(sim, place, name):
    sim("1xT4")
    program = "\n".join(line.removeprefix(" " * 8) for line in ORDERS[name].strip().split("\n"))

    def compute():
        names = {"tf": tf, "v": v, "w": w}
        exec(program, names)
        return names["result"]

    with tf.device(place):
        v, w = tf.Variable(1.0), tf.Variable(2.0)
        result = tf.function(compute)()
    assert (values(result), float(v), float(w)) == ORDER_RESULTS[name]


def test_results_survive_later_writes():
    v = tf.Variable([1.0, 2.0])
    x = tf.constant([5.0, 5.0])

    @tf.function
    def f(x):
        before = v.read_value()
        v.assign(x)
        v.assign_add([1.0, 1.0])
        return before, v.read_value(), x

    first = f(x)
    second = f(x)
    v.assign([9.0, 9.0])
    assert values(first) == ([1.0, 2.0], [6.0, 6.0], [5.0, 5.0])
    assert values(second) == ([6.0, 6.0], [6.0, 6.0], [5.0, 5.0])
    assert values(x) == [5.0, 5.0]


def test_variables_made_on_the_first_call():
    class Model:
        weight = None

    model = Model()

    @tf.function
    def f(x):
        if model.weight is None:
            model.weight = tf.Variable(1.0)
        model.weight.assign_add(x)
        return model.weight * 2.0

    assert values([f(tf.constant(1.0)), f(tf.constant(1.0))]) == [4.0, 6.0]
    assert model.weight.numpy() == 3.0


def test_variables_made_on_every_call():
    @tf.function
    def f(x):
        return tf.Variable(1.0) * x

    with pytest.raises(ValueError) as raised:  # noqa: PT011
        f(tf.constant(1.0))
    assert first_line(raised.value) == (
        "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only created once or created outside tf.function. See https://www.tensorflow.org/guide/function#creating_tfvariables for more information."
    )


def test_init_scope_leaves_the_function():
    @tf.function
    def f(x):
        with tf.init_scope():
            scale, is_eager = tf.constant(2.0), tf.executing_eagerly()
        return x * scale, is_eager

    assert values(f(tf.constant(3.0))) == (6.0, True)
