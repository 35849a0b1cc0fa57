"""Fusing elementwise steps on large arrays: which join, and what stays between them."""

from __future__ import annotations

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.plan.fuse import AT_LEAST, SLICE, slice_length, slice_scratch_bytes
from berth.plan.structure import Storage

LARGE = np.ones(AT_LEAST, np.float32)


@pytest.fixture
def x(plan):
    return tf.placeholder(tf.float32, LARGE.shape, name="x")


def members(made):
    """Name the operations of each step: several where they were fused."""
    return [[member.op.name for member in step.members] or step.op.name for step in made.steps]


def test_chain_becomes_one_step(plan, x):
    made = plan(tf.sqrt(tf.square(x, name="a"), name="b"), {x: LARGE})
    [fused] = made.steps

    assert members(made) == [["a", "b"]]
    assert [value.tensor.op.name for value in fused.outputs] == ["b"]
    assert fused.members[0].outputs[0].storage is Storage.SCRATCH


def test_single_step_is_sliced_too(plan, x):
    assert members(plan(tf.square(x, name="a"), {x: LARGE})) == [["a"]]


def test_small_arrays_are_left_alone(plan):
    x = tf.placeholder(tf.float32, [AT_LEAST - 1])
    made = plan(tf.sqrt(tf.square(x, name="a"), name="b"), {x: LARGE[1:]})

    assert members(made) == ["a", "b"]


def test_fetched_value_between_is_whole(plan, x):
    a = tf.square(x, name="a")
    made = plan([a, tf.sqrt(a, name="b")], {x: LARGE})
    [fused] = made.steps

    assert [value.tensor.op.name for value in fused.outputs] == ["a", "b"]
    assert all(value.storage is not Storage.SCRATCH for value in fused.outputs)


def test_value_for_another_device_is_whole(plan, x):
    with tf.device("/gpu:0"):
        a = tf.square(x, name="a")
        b = tf.sqrt(a, name="b")
    with tf.device("/gpu:1"):
        c = tf.negative(a, name="c")
    made = plan([b, c], {x: LARGE})

    assert made.stages[0].steps[0].members[0].outputs[0].storage is not Storage.SCRATCH


def test_other_work_between_does_not_divide(plan, x):
    """A step that needs nothing of the group is done before it."""
    y = tf.placeholder(tf.float32, [4, 4], name="y")
    a = tf.square(x, name="a")
    product = tf.matmul(y, y, name="product")
    b = tf.sqrt(a, name="b")
    made = plan([b, product], {x: LARGE, y: np.ones((4, 4))})

    assert members(made) == ["product", ["a", "b"]]


def test_work_on_a_result_divides(plan, x):
    a = tf.square(x, name="a")
    total = tf.reduce_sum(a, name="total")
    b = tf.add(a, total, name="b")
    made = plan(b, {x: LARGE})

    assert members(made) == [["a"], "total", ["b"]]


def test_control_dependency_on_a_result_divides(plan, x):
    y = tf.placeholder(tf.float32, [4, 4], name="y")
    a = tf.square(x, name="a")
    with tf.control_dependencies([a]):
        product = tf.matmul(y, y, name="product")
    b = tf.sqrt(a, name="b")
    made = plan([b, product], {x: LARGE, y: np.ones((4, 4))})

    assert members(made) == [["a"], "product", ["b"]]


def test_another_shape_starts_another_group(plan, x):
    y = tf.placeholder(tf.float32, [2 * AT_LEAST], name="y")
    made = plan(
        [tf.square(x, name="a"), tf.square(y, name="b")], {x: LARGE, y: np.tile(LARGE, 2)}
    )

    assert members(made) == [["a"], ["b"]]


def test_single_elements_join_and_rows_do_not(plan, x):
    matrix = tf.placeholder(tf.float32, [256, 256], name="matrix")
    row = tf.placeholder(tf.float32, [256], name="row")
    scaled = tf.multiply(matrix, 2.0, name="scaled")
    shifted = tf.add(scaled, row, name="shifted")
    made = plan(shifted, {matrix: np.ones((256, 256)), row: np.ones(256)})

    assert members(made) == [["scaled"], "shifted"]


def test_write_to_a_variable_keeps_its_place(plan, x):
    v = tf.Variable(np.zeros(4, np.float32), name="v", use_resource=True)
    a = tf.square(x, name="a")
    write = v.assign_add(np.ones(4, np.float32), read_value=False)
    b = tf.sqrt(a, name="b")
    with tf.control_dependencies([write]):
        c = tf.negative(b, name="c")
    made = plan(c, {x: LARGE})
    names = members(made)

    assert names.index(["a"]) < names.index(write.name) < names.index(["b", "c"])


def test_slots_are_used_again(plan, x):
    """Along a chain only one slice has to be kept between the steps."""
    y = x
    for _ in range(5):
        y = tf.sqrt(y)
    [fused] = plan(y, {x: LARGE}).steps
    between = [m.outputs[0] for m in fused.members if m.outputs[0].storage is Storage.SCRATCH]

    assert [value.slot for value in between] == [0, 0, 0, 0]
    assert slice_scratch_bytes(fused, AT_LEAST) == 4 * AT_LEAST


def test_slot_of_a_dead_value_is_used_again(plan, x):
    total = tf.square(x) + tf.sqrt(x)
    [fused] = plan(total * tf.negative(x), {x: LARGE}).steps

    assert slice_scratch_bytes(fused, AT_LEAST) == 2 * 4 * AT_LEAST


def test_values_alive_together_have_slots_of_their_own(plan, x):
    a, b, c = tf.square(x), tf.sqrt(x), tf.negative(x)
    [fused] = plan(a * b + c * a + b * c, {x: LARGE}).steps
    first = [member.outputs[0].slot for member in fused.members[:3]]

    assert sorted(first) == [0, 1, 2]


def test_slices_give_every_thread_a_share():
    assert slice_length(AT_LEAST, 1) == AT_LEAST
    assert slice_length(AT_LEAST, 3) == -(-AT_LEAST // 3)


def test_slices_have_a_largest_size():
    assert slice_length(2 * SLICE + 1, 1) == slice_length(2 * SLICE + 1, 2) == SLICE
