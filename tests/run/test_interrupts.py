"""Ctrl-C at random moments, with real signals: the next step works, and memory is whole.

Deep (`make fuzz`): 2,000 interrupts in each program; here a few, in a process for each.
"""

from __future__ import annotations

import os

import pytest

from tests.fork_server import run
from tests.parity.programs import HERMETIC

N_INTERRUPTS = 2_000 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 40

SESSION = """
import numpy as np
import berth.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 16])
w = tf.get_variable("w", [16, 16], initializer=tf.ones_initializer())
y = tf.reduce_sum(tf.matmul(x, w))
session = tf.Session()
session.run(tf.global_variables_initializer())
fed = np.ones((4, 16), np.float32)
def step():
    assert session.run(y, {x: fed}) == 1024
"""
TWO_GPUS = """
import numpy as np
import berth.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 300])
sums = []
for gpu in ("/gpu:0", "/gpu:1"):
    with tf.device(gpu):
        sums.append(tf.reduce_sum(tf.matmul(tf.matmul(x, tf.transpose(x)), x)))
y = tf.add_n(sums)
session = tf.Session()
fed = np.ones((100, 300), np.float32)
def step():
    assert session.run(y, {x: fed}) == 2 * 100 * 300 * 100 * 300
"""
FUNCTION = """
import berth as tf
v = tf.Variable(tf.ones([16, 16]))
@tf.function
def call(a):
    v.assign_add(tf.zeros([16, 16]))
    return tf.reduce_sum(tf.matmul(a, v))
a = tf.ones([4, 16])
def step():
    assert call(a).numpy() == 1024
"""
EAGER = """
import berth as tf
v = tf.Variable(tf.ones([16, 16]))
a = tf.ones([4, 16])
def step():
    with tf.device("/gpu:0"), tf.GradientTape() as tape:
        total = tf.reduce_sum(tf.matmul(a, v))
    v.assign_sub(tape.gradient(total, v) * 0.0)
    assert total.numpy() == 1024
"""
INTERRUPTED = """
import faulthandler, gc, random, signal, threading
from berth.front.context import context
faulthandler.dump_traceback_later(60 + N // 4, exit=True)
signal.signal(signal.SIGALRM, signal.default_int_handler)
def in_use():
    gc.collect()
    return [gpu.arena.stats.in_use_bytes for gpu in gpus]
for _ in range(20):
    step()
gpus = [d for d in context().opened() if d.device_type == "GPU"]
before = in_use()
moments = random.Random(1)
for k in range(N):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005 + 0.004 * moments.random(), 0.05)
        while True:
            step()
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)
    step()
    for gpu in gpus:
        gpu.arena.check()
    if k % 20 == 0:
        other = threading.Thread(target=step, daemon=True)
        other.start()
        other.join(20)
        assert not other.is_alive(), "a lock is held for ever"
step()
assert gpus
assert in_use() == before, (before, in_use())
print("whole")
"""


@pytest.mark.parametrize(
    ("program", "machine"),
    [
        (SESSION, "1xT4:1GiB"),
        (TWO_GPUS, "2xT4:1GiB"),
        (FUNCTION, "1xT4:1GiB"),
        (EAGER, "1xT4:1GiB"),
    ],
    ids=["session", "two GPUs", "function", "eager"],
)
def test_interrupts_at_random_moments(program, machine):
    ended = run(
        ["-c", f"N = {N_INTERRUPTS}\n{program}{INTERRUPTED}"],
        HERMETIC | {"BERTH_SIM": machine},
        patience=120 + N_INTERRUPTS // 4,
    )
    assert ended.out == "whole\n", ended.err
