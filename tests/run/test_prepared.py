"""Prepared loops: the values of loops that are run subgraph by subgraph, and nothing kept."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import berth as tf
from berth.errors import InvalidArgumentError
from berth.front.context import context
from berth.run import prepared
from berth.run.prepared import LoopRunner

PATIENCE = 20


@pytest.fixture(autouse=True)
def program(eager):
    """Each test is an eager program of its own."""


@pytest.fixture
def outcomes(monkeypatch):
    """Whether each loop that was run was prepared."""
    found = []
    original = LoopRunner.try_run

    def try_run(self, inputs):
        outputs = original(self, inputs)
        found.append(outputs is not None)
        return outputs

    monkeypatch.setattr(LoopRunner, "try_run", try_run)
    return found


def fibonacci(n):
    a, b = 0, 1
    while n > 0:
        a, b, n = b, a + b, n - 1
    return a


def rotated(n):
    x, y, z = tf.constant([1, 2]), tf.constant([3, 4]), tf.constant([5, 6])
    for _ in tf.range(n):
        x, y, z = y, z, x
    return tf.stack([x, y, z])


def swapped_by_reshapes(n):
    x, y = tf.constant([[1, 2]]), tf.constant([[3, 4]])
    for _ in tf.range(n):
        x, y = tf.reshape(y, [1, 2]), tf.reshape(x, [1, 2])
    return tf.concat([x, y], 0)


def sum_of_some(n):
    total = 0
    for i in tf.range(n):
        if i % 3 == 0:
            total += i
        elif i % 3 == 1:
            total -= 1
    return total


def nested(n):
    total = 0
    for i in tf.range(n):
        j = 0
        while j < i:
            total += i * j
            j += 1
    return total


def with_break(n):
    total = n
    while total < 100:
        total += n
        if total > 20:
            break
    return total


def switched(n):
    branches = [lambda: tf.constant(1), lambda: tf.constant(10), lambda: tf.constant(100)]
    total = 0
    for i in tf.range(n):
        total += tf.switch_case(i, branches)
    return total


def squares(n):
    return tf.map_fn(lambda i: i * i, tf.range(n))


def gradient(n):
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for i in tf.range(n):
            y = y * x if i % 2 == 0 else tf.sin(y)
    return tape.gradient(y, x)


def growing(n):
    x = tf.constant([1])
    for _ in tf.range(n):
        tf.autograph.experimental.set_loop_options(
            shape_invariants=[(x, tf.TensorShape([None]))]
        )
        x = tf.concat([x, x], 0)
    return x


def of_values(n):
    total = 0
    for i in tf.range(n):
        total += tf.reduce_sum(tf.range(i))
    return total


def texts(n):
    text = tf.constant("")
    for _ in tf.range(n):
        text += "a"
    return text


PREPARED = {
    fibonacci: 5,
    rotated: [[5, 6], [1, 2], [3, 4]],
    swapped_by_reshapes: [[3, 4], [1, 2]],
    sum_of_some: 3 - 2,
    nested: 1 * 0 + 2 * 1 + 3 * 3 + 4 * 6,
    with_break: 25,
    switched: 1 + 10 + 100 + 100 + 100,
    squares: [0, 1, 4, 9, 16],
    gradient: None,
}
RUN_APART = {growing: [1] * 32, of_values: 0 + 0 + 1 + 3 + 6, texts: b"aaaaa"}


@pytest.mark.parametrize("function", [*PREPARED, *RUN_APART])
def test_values_are_those_of_subgraphs_run_one_by_one(function, outcomes, monkeypatch):
    n, f = tf.constant(5), tf.function(function)
    found = [np.array(f(n)).tolist() for _ in range(2)]
    assert set(outcomes) == {function in PREPARED}

    monkeypatch.setattr(LoopRunner, "try_run", lambda self, inputs: None)
    assert found == [np.array(tf.function(function)(n)).tolist()] * 2
    expected = {**PREPARED, **RUN_APART}[function]
    assert expected is None or found[0] == expected


def test_gradient_is_that_of_the_formula():
    inner = np.sin(4.0) * 2
    slope = (np.cos(4.0) * 4 * 2 + np.sin(4.0)) * np.cos(inner) * 2 + np.sin(inner)
    assert float(tf.function(gradient)(tf.constant(5))) == pytest.approx(slope, rel=1e-5)


def test_variables_are_read_anew_in_each_iteration(outcomes):
    v = tf.Variable(1)

    @tf.function
    def f(n):
        for _ in tf.range(n):
            v.assign_add(v)
        return v.read_value()

    assert (int(f(tf.constant(3))), outcomes) == (8, [False])


def test_loops_on_gpus_are_run_subgraph_by_subgraph(sim, outcomes):
    sim("T4")

    @tf.function
    def f(n):
        x = tf.constant(1.0)
        for _ in tf.range(n):
            x = x * 2.0
        return x

    assert (float(f(tf.constant(3))), outcomes) == (8.0, [False])


def test_errors_name_the_operation_and_leave_the_loop_fit():
    @tf.function
    def f(n):
        i = 0
        while i < n:
            tf.debugging.assert_less(i, 3, name="small")
            i += 1
        return i

    assert int(f(tf.constant(3))) == 3
    with pytest.raises(InvalidArgumentError, match=r"\[\[.*small"):
        f(tf.constant(5))
    assert int(f(tf.constant(2))) == 2


def test_branch_that_cannot_be_planned_is_no_error_until_it_is_chosen():
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([], tf.int32)])
    def f(x, n):
        for i in tf.range(n):
            x = tf.ensure_shape(x, [3]) if i > 1 else x + 1.0
        return x

    assert f(tf.zeros([2]), tf.constant(2)).numpy().tolist() == [2.0, 2.0]
    with pytest.raises(InvalidArgumentError, match=r"\[2\] is not compatible"):
        f(tf.zeros([2]), tf.constant(3))


def test_interrupted_loop_keeps_no_rows(monkeypatch):
    f, n = tf.function(squares), tf.constant(4)
    keep, kept = prepared._append_copy, []

    def interrupted(column, row):
        keep(column, row)
        kept.append(column)
        if len(kept) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(prepared, "_append_copy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        f(n)
    assert kept == [[]] * 3
    assert np.array(f(n)).tolist() == [0, 1, 4, 9]


def test_overflow_warns_of_nothing_and_changes_no_setting():
    before = np.geterr()

    @tf.function
    def f(n):
        x = tf.constant(1e30)
        for _ in tf.range(n):
            x = x * x
        return x

    assert float(f(tf.constant(3))) == np.inf
    assert np.geterr() == before


def test_threads_have_a_loop_each():
    f = tf.function(sum_of_some)
    expected = {n: sum(i if i % 3 == 0 else -(i % 3 == 1) for i in range(n)) for n in range(40)}
    found = {}

    def work(first):
        for n in range(first, 40, 4):
            found[n] = int(f(tf.constant(n)))

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert found == expected


def test_memory_of_prepared_loops_is_freed_on_request(outcomes):
    @tf.function
    def f(x):
        for _ in tf.range(3):
            x = x * 2.0 + 1.0
        return x

    x = tf.ones([1000])
    for _ in range(2):
        assert f(x).numpy()[0] == 15
        assert _host_bytes() > 0
        context().drop_idle()
        assert _host_bytes() == 0
    assert outcomes == [True, True]


def _host_bytes():
    [host] = [device for device in context().opened() if device.is_host]
    return host.arena.stats.in_use_bytes
