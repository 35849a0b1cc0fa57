"""Work that kernels divide: who does it, in what order, and whose its errors are."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import berth.compat.v1 as tf
from berth.dtypes import float32
from berth.errors import UnknownError
from berth.ops.builder import apply
from berth.ops.evaluate import evaluate
from berth.ops.opdef import CATALOGUE, OpDef, Parts, all_devices
from berth.ops.rules import like_first
from berth.run.parts import over_pool
from berth.run.threads import Pool, my_threads, share_cores


@pytest.fixture
def pool():
    pool = Pool(2)
    yield pool
    pool.close()


def make(call):
    function, arguments = call
    function(*arguments)


def test_parts_come_between_first_and_then(pool):
    done = []
    parts = Parts(
        [(done.append, (k,)) for k in range(5)],
        then=[(done.append, ("then",)), (done.append, ("last",))],
        first=[(done.append, ("first",))],
    )
    for _ in range(2):
        done.clear()
        make(over_pool(parts, pool))
        assert done[0] == "first"
        assert sorted(done[1:6]) == list(range(5))
        assert done[6:] == ["then", "last"]


def test_threads_share_the_parts(pool):
    meeting = threading.Barrier(2, timeout=30)
    make(over_pool(Parts([(meeting.wait, ()), (meeting.wait, ())]), pool))


def test_parts_hold_to_one_core(pool):
    seen = []

    def look():
        seen.append(my_threads(8))

    make(over_pool(Parts([(look, ()), (look, ())]), pool))
    assert seen == [1, 1]


def test_single_share_does_all_itself(pool):
    threads = []

    def look():
        threads.append(threading.current_thread())

    with share_cores(1):
        make(over_pool(Parts([(look, ()), (look, ())]), pool))
    assert threads == [threading.current_thread()] * 2


def fail():
    raise RuntimeError("no luck")


def bind_halves(launch):
    halves = np.array_split(np.arange(launch.inputs[0].size), launch.n_threads)
    source, out = launch.inputs[0].reshape(-1), launch.outputs[0].reshape(-1)
    calls = [
        (launch.xp.negative, (source[h[0] : h[-1] + 1], out[h[0] : h[-1] + 1])) for h in halves
    ]
    if launch.attrs["fails"]:
        calls[-1] = (fail, ())
    return Parts(
        calls,
        then=[(launch.xp.add, (out, launch.scratch[0][:1], out))],
        first=[(launch.scratch[0].fill, (launch.n_threads,))],
    )


def scratch(inputs, outputs, attrs, n_threads):
    return ((float32, (n_threads,)),)


@pytest.fixture
def op():
    yield OpDef(
        "NegativePlusThreads",
        "x:T",
        like_first,
        types={"T": (float32,)},
        kernels=all_devices(bind_halves, (float32,), scratch),
    )
    del CATALOGUE["NegativePlusThreads"]


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("place", ["/cpu:0", "/gpu:0"])
def test_kernels_know_their_threads(sim, op, n_threads, place):
    sim("T4")
    with tf.Graph().as_default(), tf.device(place):
        x = tf.placeholder(tf.float32, [6])
        y = apply(op, (x,), {"fails": False})
        config = tf.ConfigProto(intra_op_parallelism_threads=n_threads)
        with tf.Session(config=config) as session:
            found = session.run(y, {x: range(6)})
    assert found.tolist() == [n_threads - k for k in range(6)]


def test_errors_of_parts_name_the_op(op):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [6])
        y = apply(op, (x,), {"fails": True}, "unlucky")
        config = tf.ConfigProto(intra_op_parallelism_threads=2)
        with tf.Session(config=config) as session:
            for _ in range(2):
                with pytest.raises(UnknownError, match="no luck") as error:
                    session.run(y, {x: range(6)})
    assert error.value.op is y.op
    assert "[[node unlucky " in error.value.message


def test_constants_are_computed_in_order(op):
    [found] = evaluate(op, [np.arange(3, dtype="f")], {"fails": False})
    assert found.tolist() == [1, 0, -1]
