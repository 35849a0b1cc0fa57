"""Functions that call functions, methods and other callables."""

from __future__ import annotations

import functools
import gc
import weakref

import pytest

import berth as tf
from tests.functions.calls import FLOAT, counted, values

pytestmark = pytest.mark.usefixtures("eager")


def test_functions_call_functions():
    inner, traces = counted()
    double = tf.function(lambda x: x * 2.0)

    @tf.function
    def outer(x):
        inner(x)
        inner(x + 1.0)
        return double(x) + double(double(x))

    assert values(outer(tf.constant(3.0))) == 18.0
    inner(tf.constant(3.0))
    assert len(traces) == 1


def test_nested_functions_write_in_order():
    v = tf.Variable(2.0)

    @tf.function
    def inner():
        v.assign_add(1.0)
        return v * v

    @tf.function
    def outer():
        first = inner()
        v.assign_add(10.0)
        return first, inner(), v.read_value()

    assert values(outer()) == (9.0, 196.0, 14.0)
    assert v.numpy() == 14.0


def test_methods_trace_for_each_instance():
    class Scale:
        def __init__(self, by):
            self.by, self.n_traces = by, 0

        @tf.function
        def apply(self, x):
            self.n_traces += 1
            return x * self.by

    two, three, one = Scale(2.0), Scale(3.0), tf.constant(1.0)
    results = [two.apply(one), three.apply(one), two.apply(one), three.apply(one)]
    assert values(results) == [2.0, 3.0, 2.0, 3.0]
    assert (two.n_traces, three.n_traces) == (1, 1)
    gone = weakref.ref(two)
    del two
    gc.collect()
    assert gone() is None


def test_methods_with_variables_and_signature():
    class Counter:
        def __init__(self):
            self.total = tf.Variable(0.0)

        @tf.function(input_signature=[FLOAT])
        def add(self, x):
            return self.total.assign_add(x)

    first, second = Counter(), Counter()
    first.add(1)
    first.add(tf.constant(1.0))
    second.add(5)
    assert values([first.total, second.total]) == [2.0, 5.0]


def test_static_and_class_methods():
    class Functions:
        @staticmethod
        @tf.function
        def double(x):
            return x * 2

        @classmethod
        @tf.function
        def triple(cls, x):
            return x * 3

    one = tf.constant(1)
    assert values([Functions.double(one), Functions().double(one), Functions.triple(one)]) == [
        2,
        2,
        3,
    ]


def test_other_callables():
    class Double:
        def __call__(self, x):
            return x * 2

    assert values(tf.function(Double())(tf.constant(2))) == 4
    minus_one = functools.partial(lambda a, b: a - b, b=tf.constant(1))
    assert values(tf.function(minus_one)(tf.constant(2))) == 1
    assert values(tf.function(abs)(tf.constant(-2))) == 2


def test_functions_keep_name_and_docstring():
    @tf.function
    def named(x):
        """Say something."""
        return x * 2

    assert (named.__name__, named.__doc__) == ("named", "Say something.")
    assert named.python_function(3) == 6
    assert named.__wrapped__(3) == 6
