"""What a forked child inherits of an eager program: it says so, and never hangs."""

from __future__ import annotations

import pytest

from tests.parity.programs import run

PROGRAM = """\
import os, signal, sys, threading
import numpy as np
import berth as tf

gpu = tf.config.list_physical_devices("GPU")[0]
tf.config.experimental.set_memory_growth(gpu, True)
v = tf.Variable(np.ones((2, 2), "f4"))
x = tf.ones([3]) + 1.
with tf.device("CPU"):
  c = tf.Variable([1.])

@tf.function
def f(a):
  return a + v

@tf.function
def on_cpu():
  with tf.device("CPU"):
    return c + 1.

f(1.), on_cpu()
held, end = threading.Event(), threading.Event()

def use():
  with v.handle.lock, c.handle.lock:  # as in the middle of a write
    held.set()
    end.wait()

thread = threading.Thread(target=use)
thread.start()
held.wait()
pid = os.fork()
if pid == 0:
  signal.alarm(20)  # a child that hangs is killed
  try:
    print({use}, flush=True)
  except RuntimeError as error:
    print(str(error).replace(str(os.getppid()), "PARENT"), flush=True)
  os._exit(0)
print("child ended with", os.waitpid(pid, 0)[1])
end.set()
thread.join()
print(v.numpy().sum(), f(1.).numpy().sum())
"""
GONE = (
    "A tensor or variable on GPU:0 cannot be used any more: its devices went by the fork of "
    "this process from process PARENT."
)
USES = {
    "v.numpy()": GONE,
    "v + 1.": GONE,
    "v.assign_add([[1., 1.], [1., 1.]])": GONE,
    "x.numpy()": GONE,
    "x + 1.": GONE,
    "f(1.)": "The variable Variable cannot be used any more: its devices went by the fork of "
    "this process from process PARENT.",
    "c.numpy()": "[1.]",
    "c.assign([5.]).numpy()": "[5.]",
    "float(tf.reduce_sum(tf.ones([8])))": "8.0",
    "tf.Variable(3.).numpy()": "3.0",
}


@pytest.mark.parametrize("use", USES)
def test_forked_child_says_what_is_inherited(use):
    printed = run(PROGRAM.replace("{use}", use), BERTH_SIM="1xT4:1GiB").splitlines()
    assert printed == [USES[use], "child ended with 0", "4.0 8.0"]


CHOSEN = """\
import os
import berth as tf
gpus = tf.config.list_physical_devices("GPU")
for gpu in gpus[1:]:
  tf.config.experimental.set_memory_growth(gpu, True)
tf.config.set_visible_devices(gpus[1:], "GPU")
if {is_open}:
  tf.config.list_logical_devices()
pid = os.fork()
if pid == 0:
  print([g.name for g in tf.config.get_visible_devices("GPU")], flush=True)
  (tf.ones([2]) + 1.).numpy()
  print(tf.config.experimental.get_memory_growth(gpus[1]), flush=True)
  os._exit(0)
print("child ended with", os.waitpid(pid, 0)[1])
"""


@pytest.mark.parametrize("is_open", [False, True])
def test_what_was_chosen_before_a_fork_holds_in_the_child(is_open):
    """With the default options the child would want all of a card that its parent uses."""
    program = CHOSEN.replace("{is_open}", str(is_open))
    assert run(program, BERTH_SIM="3xT4:1GiB").splitlines() == [
        "['/physical_device:GPU:1', '/physical_device:GPU:2']",
        "True",
        "child ended with 0",
    ]
