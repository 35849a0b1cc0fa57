"""Finalizers: their work is done once, and Ctrl-C that comes meanwhile is raised after it."""

from __future__ import annotations

import gc
import signal
import sys
from pathlib import Path

import pytest

import berth
from berth import finalizers
from berth.finalizers import Finalizer, WeakKeyDict, WeakSet, WeakValueDict
from tests.fork_server import run
from tests.memory.interrupts import Interrupter, arrival, default_handler, let_signals_arrive
from tests.parity.programs import HERMETIC

FOLDER = Path(berth.__file__).parent


class Thing:
    pass


def test_work_is_done_when_the_object_is_gone():
    done = []
    thing, cycle = Thing(), Thing()
    Finalizer(thing, done.append, 1)
    Finalizer(cycle, done.append, 2)
    cycle.itself = cycle
    del thing
    assert done == [1]
    del cycle
    gc.collect()
    assert done == [1, 2]
    assert not finalizers._begun


def test_work_is_done_once_and_not_after_detaching():
    done = []
    first, second = Thing(), Thing()
    call, detached = Finalizer(first, done.append, 1), Finalizer(second, done.append, 2)
    call()
    call()
    detached.detach()
    del first, second
    assert done == [1]


def test_an_error_is_python_s_to_report(monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda event: reported.append(event.exc_type))
    thing = Thing()
    Finalizer(thing, int, "x")
    with default_handler():
        del thing
        let_signals_arrive()
    assert reported == [ValueError]


def test_an_interrupt_in_the_work_is_raised_after_it(monkeypatch):
    reported, done = [], []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)

    def work():
        done.append("begun")
        if len(done) == 1:
            arrival[signal.SIGINT]
            let_signals_arrive()
        done.append("ended")

    thing = Thing()
    Finalizer(thing, work)
    things = [thing]
    del thing
    with default_handler(), pytest.raises(KeyboardInterrupt):
        things.clear()
    assert done == ["begun", "begun", "ended"]
    assert not reported


def test_an_interrupt_at_any_moment_of_a_finalizer_is_raised(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda event: None)
    done = []

    def work():
        for _ in range(2):
            done.append(0)

    def drop():
        del things[-1]
        let_signals_arrive()

    things = []
    n = n_interrupted = 0
    has_more = True
    while has_more:
        n += 1
        things.append(Thing())
        Finalizer(things[-1], work)
        del done[:]
        has_more, is_over = Interrupter(FOLDER).run(drop, n)
        assert not (has_more and is_over), "an interrupt is lost"
        n_interrupted += has_more
        Finalizer(finalizers, int)()  # which ends what could not be done to the end
        assert len(done) >= 2
        assert not finalizers._begun
    assert n_interrupted > 20


def test_weak_collections_drop_what_is_gone():
    things, values, keys = WeakSet(), WeakKeyDict(), WeakValueDict()
    kept, gone = Thing(), Thing()
    for key, each in enumerate((kept, gone, gone)):
        things.add(each)
        values[each] = key
        keys[key] = each
    assert (len(things), len(values), len(keys)) == (2, 2, 3)
    assert (values[gone], values.get(gone, 0), keys.get(2) is gone) == (2, 2, True)
    del gone, each
    assert list(things) == [kept]
    assert (values[kept], len(values), values.get(Thing(), 7)) == (0, 1, 7)
    assert (len(keys), keys.get(2), keys.get(0)) == (1, None, kept)
    things.clear()
    assert not len(things)


DROPPED_SESSIONS = """
import gc, random, signal, sys, time
import berth.compat.v1 as tf
x = tf.constant(1.0) + 1.0
lost = []
sys.unraisablehook = lambda event: lost.append(event.exc_type)
moments = random.Random(1)
signal.signal(signal.SIGALRM, signal.default_int_handler)
for _ in range(60):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.002 * moments.random())
        while True:
            session = tf.Session()
            session.run(x)
            del session  # not closed
    except KeyboardInterrupt:
        pass
gc.collect()
with tf.Session() as session:
    assert session.run(x) == 2.0
gc.collect()
print(tf.config.experimental.get_memory_info("GPU:0")["current"])
"""


def test_interrupts_arrive_while_sessions_are_dropped():
    ended = run(["-c", DROPPED_SESSIONS], HERMETIC | {"BERTH_SIM": "1xT4:1GiB"}, patience=60)
    assert ended.out == "0\n", ended.err
