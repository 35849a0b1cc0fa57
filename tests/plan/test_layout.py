"""Places in a workspace: nothing overlaps, and what is freed is used again."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import berth.compat.v1 as tf
from berth.plan.workspace_blocks import ALIGNMENT, Blocks


@given(st.lists(st.tuples(st.integers(1, 5_000), st.booleans(), st.integers(0, 50))))
def test_blocks_never_overlap(steps):
    blocks, held = Blocks(), []
    for nbytes, frees, which in steps:
        if frees and held:
            blocks.free(*held.pop(which % len(held)))
        else:
            start = blocks.take(nbytes)
            assert start % ALIGNMENT == 0
            assert start + nbytes <= blocks.end
            for other, length in held:
                assert start + nbytes <= other or other + length <= start
            held.append((start, nbytes))
    for start, nbytes in held:
        blocks.free(start, nbytes)

    end = blocks.end
    assert blocks.take(end) == 0
    assert blocks.end == end


def test_nothing_takes_no_room():
    blocks = Blocks()

    assert (blocks.take(0), blocks.end) == (0, 0)


def test_free_end_is_extended():
    blocks = Blocks()
    blocks.free(blocks.take(64), 64)

    assert (blocks.take(256), blocks.end) == (0, 256)


def test_long_chain_needs_little_room(plan):
    x = y = tf.placeholder(tf.float32, [1024])
    for _ in range(100):
        y = y + x

    workspace = plan(y, {x: np.ones(1024)}).workspace_bytes
    assert workspace[1] <= 3 * 4096 + 4096  # x, and two for the chain, and the fetch


def test_large_step_writes_over_its_input(plan):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [100, 100])
        product = tf.matmul(x, x)
        total = tf.matmul(tf.negative(product), x)
    made = plan(total, {x: np.ones((100, 100))})
    first, negated = made.steps[0].outputs[0], made.steps[1].outputs[0]

    assert made.offset_of(negated) == made.offset_of(first)


def test_both_ends_of_a_copy_are_kept(plan):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [8])
        a = tf.square(x)
        b = tf.square(a)
    with tf.device("/gpu:1"):
        c = tf.negative(a)
    made = plan([b, c], {x: np.ones(8)})
    [crossing] = [copy for copy in made.copies() if copy.target.device == 2]
    others = [v for s in made.steps for v in s.outputs if v is not crossing.source]
    kept = made.offset_of(crossing.source)

    assert all(made.offset_of(v) != kept for v in others if v.device == 1)


def test_large_fetch_is_not_in_the_workspace(plan):
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [400, 400])
        y = tf.matmul(x, x)
    made = plan(y, {x: np.ones((400, 400))})

    assert made.large == {made.feeds[0], made.fetches[0]}
    assert made.workspace_bytes == {}


def test_gpu_work_on_constants_stays_on_the_gpu(plan):
    with tf.device("/gpu:0"):
        on_gpu = tf.square(tf.constant([1.0, 2.0]))
    with tf.device("/cpu:0"):
        on_cpu = tf.square(tf.constant([1.0, 2.0]))

    assert [step.op for step in plan([on_gpu, on_cpu]).steps] == [on_gpu.op]
