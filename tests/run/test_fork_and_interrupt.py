"""What must not break a session: a fork, Ctrl-C, `berth.reset()`; and what closing gives back.

Programs that could hang run in processes of their own, and are killed when their time is up.
"""

from __future__ import annotations

import gc
import signal
import subprocess
import threading
import time

import numpy as np
import pytest

import berth
import berth.compat.v1 as tf
from tests.fork_server import Program
from tests.parity.programs import HERMETIC, run

PATIENCE = 20
"""Seconds after Ctrl-C. The runs that are interrupted would take much longer."""

NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}
MACHINES = {
    "no GPU": NO_GPU,
    "one GPU": {"BERTH_SIM": "1xT4"},
    "two GPUs": {"BERTH_SIM": "2xT4"},
}
ON_EACH_MACHINE = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)

SESSION = """\
import os
import signal
import sys
import numpy as np
import berth.compat.v1 as tf

growth = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))
sess = tf.Session(config=growth)
n_gpus = len(sess.list_devices()) - 1
last = "/gpu:%d" % (n_gpus - 1) if n_gpus else "/cpu:0"
"""

# --- fork -----------------------------------------------------------------------------------

PRODUCTS = (
    SESSION
    + """
v = tf.Variable(np.eye(300, dtype=np.float32))
with tf.device(last):
  w = tf.Variable(2 * np.eye(300, dtype=np.float32))
  there = tf.matmul(w, w)
total = tf.matmul(v, v)[0, 0] + there[0, 0]
more = v.assign_add(np.eye(300))
init = tf.global_variables_initializer()
sess.run(init)
call = sess.make_callable(total)
print(sess.run(total), call(), flush=True)

def in_child(work):
  pid = os.fork()
  if pid == 0:
    signal.alarm(30)  # a child that hangs is killed
    try:
      print(work(), flush=True)
    except Exception as error:
      print(type(error).__name__, error, flush=True)
    os._exit(0)
  print("child ended with", os.waitpid(pid, 0)[1], flush=True)
"""
)


USES = {
    "sess.run(total)": "5.0",
    "sess.run([total])[0]": "5.0",
    "sess.run([])": "[]",
    "call()": "5.0",
    "total.eval(session=sess)": "5.0",
}
"""Ways to use a session, and what they give in the process that made it."""


REFUSED = "".join(f"in_child(lambda: {use})\nprint({use}, flush=True)\n" for use in USES)
OWN = """
def own():
  with tf.Session(config=growth) as mine:
    mine.run(init)
    return mine.run(total)
sess.run(more.op)
in_child(own)
print(sess.run(total), flush=True)
"""
ENDED = """
pid = os.fork()
if pid == 0:
  signal.alarm(30)
  sys.exit(7)
print("child ended with", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
print(sess.run(total), flush=True)
"""
DISTURBED = """
def disturb():
  sess.close()
  del globals()["sess"]
  return "closed"
in_child(disturb)
sess.run(more.op)
print(sess.run(total), call(), flush=True)
"""
PARTS = (REFUSED, OWN, ENDED, DISTURBED)


@pytest.fixture(scope="module", params=MACHINES.values(), ids=MACHINES)
def forked(request):
    """What each part of one program prints on a machine, each beginning with new variables."""
    parts = "".join(f"sess.run(init)\nprint('---', flush=True)\n{part}" for part in PARTS)
    first, *printed = run(PRODUCTS + parts, **request.param).split("---\n")
    assert first == "5.0 5.0\n"
    return {part: text.splitlines() for part, text in zip(PARTS, printed, strict=True)}


def test_forked_session_is_refused(forked):
    """The devices, the memory and the threads are the parent's: one child for each use."""
    lines = forked[REFUSED]
    told, ended, after = lines[0::3], lines[1::3], lines[2::3]
    assert after == list(USES.values())
    assert ended == ["child ended with 0"] * len(USES)
    for use, line in zip(USES, told, strict=True):
        assert line.startswith("RuntimeError "), use
        assert "session" in line, use
        assert "fork" in line, use


def test_fork_leaves_the_parent_alone(forked):
    assert forked[DISTURBED] == ["closed", "child ended with 0", "8.0 8.0"]


def test_forked_child_makes_its_own(forked):
    """It shares the GPUs with its parent, like any other process."""
    assert forked[OWN] == ["5.0", "child ended with 0", "8.0"]


def test_forked_child_ends_normally(forked):
    """With all that an interpreter does at its end."""
    assert forked[ENDED] == ["child ended with 7", "5.0"]


# --- Ctrl-C ---------------------------------------------------------------------------------

LONG_RUN = """
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored in the background
p = tf.placeholder(tf.float32, [1000, 1000])
chains = []
for d in sorted({"/gpu:0" if n_gpus else "/cpu:0", last}):
  with tf.device(d):
    x = p
    for _ in range(2000):
      x = tf.matmul(x, p)
    chains.append(x[0, 0])
long = tf.add_n(chains)
v = tf.Variable(1.0)
more = v.assign_add(1.0)
short = tf.reduce_sum(tf.matmul(p, p)) + v
sess.run(v.initializer)
eye = np.eye(1000, dtype=np.float32)
print("running", flush=True)
try:
  sess.run(long, {p: eye})
  print("finished", flush=True)
except KeyboardInterrupt:
  print("interrupted", flush=True)
print(sess.run(more), sess.run(short, {p: eye}), flush=True)
"""


def interrupt(program, environ):
    """Run a program, and press Ctrl-C soon after it began; return what it printed then."""
    with Program(["-c", program], HERMETIC | environ, stderr=subprocess.STDOUT) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        try:
            assert process.stdout.readline() == "running\n"
            time.sleep(1)  # planning takes a tenth of it
            process.send_signal(signal.SIGINT)
            printed, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            watchdog.cancel()
    assert process.returncode == 0, printed
    return printed


@ON_EACH_MACHINE
def test_interrupt_ends_the_run(machine):
    """In the caller's thread, and with a worker for the second GPU."""
    assert interrupt(SESSION + LONG_RUN, machine) == "interrupted\n2.0 1002.0\n"


def test_interrupt_ends_a_traced_run():
    """§8.5: step by step, and no sooner or later."""
    traced = LONG_RUN.replace(
        "{p: eye})\n  print", "{p: eye}, options=tf.RunOptions(trace_level=3))\n  print"
    )
    assert interrupt(SESSION + traced, NO_GPU) == "interrupted\n2.0 1002.0\n"


class Interruption:
    """A value that cannot be fed: the user presses Ctrl-C while it is read."""

    def __array__(self, *args, **kwargs):
        raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def graph(sim):
    """Give each test a default graph of its own."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("machine", [None, "1xT4", "2xT4"])
def test_interrupted_feed_changes_nothing(sim, machine):
    sim(machine)
    p, v = tf.placeholder(tf.float32, [2]), tf.Variable([1.0, 2.0])
    more = v.assign_add(p)
    with tf.Session() as session:
        session.run(v.initializer)
        for step in range(3):
            with pytest.raises(KeyboardInterrupt):
                session.run(more, {p: Interruption()})
            assert session.run(more, {p: [1.0, 1.0]}).tolist() == [2.0 + step, 3.0 + step]


# --- berth.reset() --------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [None, "1xT4"])
@pytest.mark.parametrize(
    "use",
    [
        "session.run(x)",
        "session.run([x])",
        "session.run([])",
        "session.run(x, {x: 1.0})",
        "session.make_callable(x)",
        "call()",
        "x.eval(session=session)",
    ],
)
def test_reset_session_is_refused(sim, machine, use):
    sim(machine)
    x = tf.constant(2.0) + tf.placeholder_with_default(1.0, [])
    session = tf.Session()
    call = session.make_callable(x)
    assert session.run(x) == call() == 3.0
    berth.reset()
    with pytest.raises(RuntimeError) as caught:
        eval(use, {"session": session, "call": call, "x": x})
    assert "session" in str(caught.value)
    assert "berth.reset()" in str(caught.value)
    session.close()  # is allowed
    with tf.Session() as another:
        assert another.run(x) == 3.0


def test_reset_session_leaves_with_blocks(sim):
    sim("1xT4")
    x = tf.constant(2.0)
    with tf.Session() as session:
        session.run(x)
        berth.reset()
    assert tf.get_default_session() is None


def test_reset_interactive_session_is_closed():
    """Closing it ends its being the default, as ever (§8.1)."""
    program = """
import berth.compat.v1 as tf
import berth
x = tf.constant(2.0)
session = tf.InteractiveSession()
berth.reset()
session.close()
print(tf.get_default_session())
another = tf.InteractiveSession()
print(x.eval())
"""
    assert run(program, **NO_GPU) == "None\n2.0\n"


def test_reset_gives_all_memory_back(sim):
    sim("1xT4")
    v = tf.Variable(tf.zeros([1000]))
    session = tf.Session()
    session.run(v.initializer)
    assert in_use() > 0
    berth.reset()
    assert in_use() == 0


# --- closing --------------------------------------------------------------------------------


def in_use(gpu="GPU:0"):
    return tf.config.experimental.get_memory_info(gpu)["current"]


def work(session):
    """Use memory in all the ways there are: variables, constants, plans; return a value."""
    p = tf.placeholder(tf.float32, [None, 100])
    v = tf.Variable(tf.ones([100, 100]))
    w = tf.Variable(np.eye(100, dtype=np.float32), use_resource=True)
    session.run([v.initializer, w.initializer])
    product = tf.matmul(tf.matmul(p, v), w) + tf.constant(np.ones(100, np.float32))
    total = tf.reduce_sum(product)
    for n_rows in (1, 10, 1000):
        result = session.run(total, {p: np.ones((n_rows, 100))})
    zero = tf.placeholder(tf.int32, [])
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(1 // zero, {zero: 0})
    return result


@pytest.mark.parametrize("use_growth", [False, True], ids=["at once", "growth"])
def test_closed_session_gives_memory_back(sim, use_growth):
    """§4.2: "Closing a Session frees tensors into the pool"."""
    sim("1xT4")
    tf.config.experimental.set_memory_growth(
        tf.config.list_physical_devices("GPU")[0], use_growth
    )
    before = in_use()
    for _ in range(3):
        session = tf.Session()
        assert work(session) == 1000 * 100 * 101
        assert in_use() >= before + 2 * 100 * 100 * 4
        session.close()
        assert in_use() == before


@pytest.mark.parametrize("gpu", ["GPU:0", "GPU:1"])
def test_each_gpu_gets_its_memory_back(sim, gpu):
    sim("2xT4")
    before = in_use("GPU:0"), in_use("GPU:1")
    with tf.device(f"/{gpu}"), tf.Session() as session:
        work(session)
        assert in_use(gpu) > 0
    assert (in_use("GPU:0"), in_use("GPU:1")) == before


def fail_inside():
    with tf.Session() as session:
        work(session)
        raise KeyError


def test_error_inside_gives_memory_back(sim):
    sim("1xT4")
    before = in_use()
    with pytest.raises(KeyError):
        fail_inside()
    assert in_use() == before


def test_forgotten_session_gives_memory_back(sim):
    sim("1xT4")
    before = in_use()
    session = tf.Session()
    work(session)
    del session
    gc.collect()
    assert in_use() == before


def test_sessions_free_their_own_only(sim):
    sim("1xT4")
    v = tf.Variable(tf.ones([1000]))
    before = in_use()
    one, other = tf.Session(), tf.Session()
    one.run(v.initializer)
    of_one = in_use()
    other.run(v.initializer)
    other.run(v.assign(tf.zeros([1000])))
    other.close()
    assert in_use() == of_one
    assert one.run(v)[0] == 1.0
    one.close()
    assert in_use() == before


def test_closing_during_a_run_is_safe(sim):
    """Another thread closes the session: the run ends well or says why, and nothing is lost."""
    program = sim("1xT4")
    p = tf.placeholder(tf.float32, [300, 300])
    x = p
    for _ in range(50):
        x = tf.matmul(x, p)
    before = in_use()
    for _ in range(5):
        session, failures, has_begun = tf.Session(), [], threading.Event()

        def use(session=session, failures=failures, has_begun=has_begun):
            with program.as_default():
                try:
                    while True:
                        result = session.run(x, {p: np.eye(300)})
                        has_begun.set()
                        assert np.array_equal(result, np.eye(300))
                except (RuntimeError, tf.errors.CancelledError) as error:
                    failures.append(str(error))
                except BaseException as error:
                    failures.append(repr(error))
                finally:
                    has_begun.set()

        thread = threading.Thread(target=use, daemon=True)
        thread.start()
        assert has_begun.wait(60)
        session.close()
        thread.join(60)
        assert not thread.is_alive()
        assert failures in (
            ["Attempted to use a closed Session."],
            ["Session has been closed."],
        )
        gc.collect()
        assert in_use() == before
