"""Partitioning by device: stages, what they wait for, and what is copied between them."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.plan.structure import Storage

CPU, FIRST, SECOND = 0, 1, 2


def shown(plan):
    """List the stages: device, level, operations, copies that come in, stages waited for."""
    return [
        (
            stage.device,
            stage.level,
            [step.op.name for step in stage.steps],
            [copy.source.tensor.op.name for copy in stage.arrivals],
            stage.waits,
        )
        for stage in plan.stages
    ]


def on(device, function, *arguments, name):
    with tf.device(device):
        return function(*arguments, name=name)


def test_one_device_is_one_stage(plan):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.sqrt(tf.square(x, name="a"), name="b")

    assert shown(plan(y, {x: [1, 2]})) == [(FIRST, 0, ["a", "b"], ["x"], [])]


def test_change_of_device_starts_a_stage(plan):
    a = on("/gpu:0", tf.square, tf.placeholder(tf.float32, [2], name="x"), name="a")
    b = on("/gpu:1", tf.sqrt, a, name="b")
    c = on("/gpu:0", tf.negative, b, name="c")

    assert shown(plan(c, {"x:0": [1, 2]})) == [
        (FIRST, 0, ["a"], ["x"], []),
        (SECOND, 1, ["b"], ["a"], [0]),
        (FIRST, 2, ["c"], ["b"], [1]),
    ]


def test_independent_towers_wait_for_nothing(plan):
    x = tf.placeholder(tf.float32, [2], name="x")
    a, b = on("/gpu:0", tf.square, x, name="a"), on("/gpu:1", tf.square, x, name="b")
    total = on("/cpu:0", tf.add, a, b, name="total")

    assert shown(plan(total, {x: [1, 2]})) == [
        (FIRST, 0, ["a"], ["x"], []),
        (SECOND, 0, ["b"], ["x"], []),
        (CPU, 1, ["total"], ["a", "b"], [0, 1]),
    ]


def test_tensor_is_copied_once_for_many_users(plan):
    a = on("/gpu:0", tf.square, tf.placeholder(tf.float32, [2], name="x"), name="a")
    uses = [on("/gpu:1", tf.sqrt, a, name=f"b{k}") for k in range(3)]
    made = plan(uses, {"x:0": [1, 2]})

    assert [copy.source.tensor.op.name for copy in made.copies()] == ["x", "a"]
    targets = {step.inputs[0] for step in made.stages[1].steps}
    assert targets == {made.stages[1].arrivals[0].target}


def test_copy_comes_in_with_the_first_stage_that_needs_it(plan):
    """The user on the higher level is met first, in the order of the graph."""
    a = on("/gpu:0", tf.square, tf.placeholder(tf.float32, [2], name="x"), name="a")
    far = on("/gpu:0", tf.sqrt, on("/gpu:1", tf.negative, a, name="n"), name="far")
    late = on("/gpu:1", tf.add, far, a, name="late")
    made = plan(late, {"x:0": [1, 2]})

    assert shown(made) == [
        (FIRST, 0, ["a"], ["x"], []),
        (SECOND, 1, ["n"], ["a"], [0]),
        (FIRST, 2, ["far"], ["n"], [1]),
        (SECOND, 3, ["late"], ["far"], [0, 2]),
    ]


def test_control_dependency_between_devices_is_waited_for(plan):
    x = tf.placeholder(tf.float32, [2], name="x")
    first = on("/gpu:0", tf.square, x, name="first")
    with tf.control_dependencies([first]):
        second = on("/gpu:1", tf.square, x, name="second")

    assert shown(plan(second, {x: [1, 2]})) == [
        (FIRST, 0, ["first"], ["x"], []),
        (SECOND, 1, ["second"], ["x"], [0]),
    ]


def test_host_inputs_are_not_copied(plan):
    """An axis is known while planning: it needs no memory on a GPU."""
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    total = on("/gpu:0", lambda t, name: tf.reduce_sum(t, 1, name=name), x, name="total")
    made = plan(total, {x: np.zeros((2, 3))})

    assert [copy.source.tensor.op.name for copy in made.copies()] == ["x"]


def test_each_stage_reads_the_variable_again(plan):
    with tf.device("/gpu:0"):
        v = tf.Variable([1.0, 2.0], name="v", use_resource=False).op.outputs[0]
        a = tf.square(v, name="a")
    b = on("/gpu:1", tf.add, v, a, name="b")
    c = on("/gpu:0", tf.sqrt, b, name="c")
    with tf.control_dependencies([c]):
        d = on("/gpu:1", tf.add, v, c, name="d")
    made = plan(d)
    of_variable = [copy for copy in made.copies() if copy.source.storage is Storage.VARIABLE]

    assert len({copy.target for copy in of_variable}) == len(of_variable) == 2


def random_graph(seed):
    """Make a graph of additions on three devices; return its tensors."""
    random = np.random.default_rng(seed)
    places = ("/cpu:0", "/gpu:0", "/gpu:1")
    tensors = [tf.placeholder(tf.float32, [2], name=f"x{k}") for k in range(2)]
    for k in range(25):
        left, right = (tensors[random.integers(len(tensors))] for _ in range(2))
        waits = [tensors[random.integers(2, len(tensors))]] if k % 5 == 4 else []
        with tf.device(places[random.integers(3)]), tf.control_dependencies(waits):
            tensors.append(tf.add(left, right, name=f"a{k}"))
    return tensors


@pytest.mark.parametrize("seed", range(20))
def test_invariants_hold(plan, seed):
    tensors = random_graph(seed)
    made = plan(tensors[-4:], {"x0:0": [1, 2], "x1:0": [3, 4]})
    done = {}  # step: the position of its stage
    for position, stage in enumerate(made.stages):
        arrived = {copy.target for copy in stage.arrivals}
        assert all(other < position for other in stage.waits)
        for step in stage.steps:
            assert step.device == stage.device
            for value in step.inputs:
                assert value.device == stage.device
                if value.step is None:  # a copy: here, or in an earlier stage of this device
                    known = arrived.union(
                        *(
                            {copy.target for copy in earlier.arrivals}
                            for earlier in made.stages[:position]
                            if earlier.device == stage.device
                        )
                    )
                    assert value in known or value.storage is Storage.FEED
                else:
                    assert value.step in done
            assert all(other in done for other in step.waits_for)
            done[step] = position
        for copy in stage.arrivals:
            if copy.source.step is not None:
                assert done[copy.source.step] in stage.waits
    assert len({copy.target for copy in made.copies()}) == len(made.copies())
    crossings = [(copy.source, copy.target.device) for copy in made.copies()]
    assert len(set(crossings)) == len(crossings)


def test_work_of_one_device_is_not_guessed(plan):
    x = tf.placeholder(tf.float32, [2])

    assert plan(on("/cpu:0", tf.square, x, name="a"), {x: [1, 2]}).work_seconds == {CPU: 0.0}


def test_work_is_guessed_from_bytes_and_calculations(plan):
    x = tf.placeholder(tf.float32, [8, 8])
    product = on("/cpu:0", tf.matmul, x, x, name="product")
    square = on("/gpu:0", tf.square, x, name="square")
    with tf.control_dependencies([product, square]):
        known = tf.constant(np.ones(1000, np.float32))
    made = plan([product, square, known], {x: np.ones((8, 8))})
    n_bytes = 4 * 8 * 8

    assert made.work_seconds == {
        CPU: pytest.approx(3 * n_bytes / 8e9 + 2 * 8**3 / 5e10),
        FIRST: pytest.approx(2 * n_bytes / 8e9),
    }


def test_work_of_fused_steps_is_that_of_their_members(plan):
    x = tf.placeholder(tf.float32, [2**16])
    y = on("/cpu:0", tf.sqrt, on("/cpu:0", tf.square, x, name="a"), name="b")
    z = on("/gpu:0", tf.square, x, name="c")
    made = plan([y, z], {x: np.ones(2**16)})
    n_bytes = 4 * 2**16

    assert made.work_seconds[CPU] == pytest.approx(4 * n_bytes / 8e9)
    assert made.work_seconds[FIRST] == pytest.approx(2 * n_bytes / 8e9)
