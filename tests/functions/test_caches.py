"""The caches of a function: bounded, whatever it is called with."""

from __future__ import annotations

import pytest

import berth as tf
from berth.functions import function as module

pytestmark = pytest.mark.usefixtures("eager")


def test_traces_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "MAX_TRACES", 4)
    monkeypatch.setattr(module, "MAX_CALLS", 4)

    @tf.function
    def double(x):
        return x + x

    for size in range(1, 20):
        assert double(tf.ones([size])).numpy().tolist() == [2.0] * size
        assert len(double._traces) <= 4
        assert len(double._calls) <= 4
    assert double.experimental_get_tracing_count() == 19
    assert double._traces.info().evictions == 15


def test_recent_traces_are_kept(monkeypatch):
    monkeypatch.setattr(module, "MAX_TRACES", 4)
    traced = []

    @tf.function
    def scale(x, by):
        traced.append(by)
        return x * by

    for by in (1.0, 2.0, 1.0, 3.0, 1.0, 4.0, 1.0, 5.0, 1.0, 6.0, 1.0):
        assert scale(tf.constant(2.0), by).numpy() == 2.0 * by
    assert traced == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_variables_are_made_by_the_first_trace_only(monkeypatch):
    monkeypatch.setattr(module, "MAX_TRACES", 1)
    made = []

    @tf.function
    def count(x):
        if not made:
            made.append(tf.Variable(0.0))
        return made[0].assign_add(tf.reduce_sum(x))

    totals = [float(count(tf.ones([size]))) for size in (1, 2, 1, 2)]
    assert totals == [1.0, 3.0, 4.0, 6.0]
    assert len(made) == 1
