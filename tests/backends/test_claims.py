"""Claims: memory that a process has set aside on simulated GPUs, and has yet to use."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.backends.ledger import Ledger
from berth.backends.machine import Machine
from berth.backends.sim import SimBackend
from berth.errors import DeviceMemoryError, LedgerError

MACHINE = Machine.parse("3xT4:1MiB")
CAPACITY = 2**20
KIB = 2**10


# --- one process against a naive model ------------------------------------------------------


class Model:
    """Each card's bytes, said twice: as claimed, and as taken."""

    def __init__(self) -> None:
        self.claimed: Counter[int] = Counter()
        self.taken: Counter[int] = Counter()
        self.contexts: set[int] = set()

    def free(self, card: int) -> int:
        return CAPACITY - self.claimed[card] - self.taken[card]

    def claim(self, n_cards: int, wanted: dict[int, int]) -> list[int]:
        by_room = sorted(range(3), key=lambda card: (-self.free(card), card))
        good = [card for card in by_room if 0 < wanted[card] <= self.free(card)]
        if len(good) >= n_cards:
            for card in good[:n_cards]:
                self.claimed[card] += wanted[card]
        return good[:n_cards]

    def take(self, card: int, nbytes: int) -> bool:
        if nbytes > self.free(card) + self.claimed[card]:
            return False
        self.claimed[card] -= min(self.claimed[card], nbytes)
        self.taken[card] += nbytes
        return True


SIZES = st.integers(1, CAPACITY // 2)
CHOICES = st.sampled_from([0, 1, 2])
STEPS = st.one_of(
    st.tuples(
        st.just("claim"),
        st.integers(0, 4),
        st.lists(st.integers(0, CAPACITY), min_size=3, max_size=3),
    ),
    st.tuples(st.just("reserve"), CHOICES, SIZES),
    st.tuples(st.just("release"), CHOICES, SIZES),
    st.tuples(st.just("attach"), CHOICES, SIZES),
    st.tuples(st.just("settle"), CHOICES, st.none()),
)


@given(st.lists(STEPS, max_size=25))
def test_claims_follow_the_model(steps):
    model = Model()
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(MACHINE, folder)
        try:
            for name, first, second in steps:
                step(ledger, model, name, first, second)
                for card in range(3):
                    assert ledger.claimed(card) == model.claimed[card]
                    assert ledger.used(card) == model.claimed[card] + model.taken[card]
                    assert ledger.free(card) == CAPACITY - model.taken[card]
        finally:
            ledger.close()


def step(ledger, model, name, first, second):
    """Do one thing to both, which must answer alike."""
    if name == "claim":
        wanted = dict(enumerate(second))
        seen = {}

        def ask(card, free):
            seen[card] = free
            return wanted[card]

        free = {card: model.free(card) for card in range(3)}
        assert ledger.claim(first, ask) == model.claim(first, wanted)
        assert seen == free
    elif name == "settle":
        ledger.settle(first)
        model.claimed[first] = 0
    elif name == "release":
        contexts = sum(size for card, size in model.contexts if card == first)
        if second <= model.taken[first] - contexts:
            ledger.release(first, second)
            model.taken[first] -= second
    elif name == "attach" and any(card == first for card, _ in model.contexts):
        ledger.attach(first, second)
    else:
        fits = model.take(first, second)
        take = getattr(ledger, name)
        if not fits:
            with pytest.raises(DeviceMemoryError):
                take(first, second)
            return
        take(first, second)
        if name == "attach":
            model.contexts.add((first, second))


def test_claim_of_no_such_card(open_ledger):
    ledger = open_ledger()
    for ask in (ledger.claimed, ledger.settle, ledger.free):
        with pytest.raises(ValueError, match=r"^2xT4:1MiB has no card 2: it has 2\.$"):
            ask(2)


def test_claimed_bytes_cannot_be_released(open_ledger):
    ledger = open_ledger()
    ledger.claim(1, lambda card, free: 50)
    ledger.reserve(0, 20)
    told = "Cannot release 21 bytes of card 0 of 2xT4:1MiB: this process has reserved 20."
    with pytest.raises(ValueError, match="release") as error:
        ledger.release(0, 21)
    assert str(error.value) == told
    assert (ledger.claimed(0), ledger.used(0)) == (30, 50)


def test_error_in_wanted_claims_nothing(open_ledger):
    ledger = open_ledger()
    with pytest.raises(ZeroDivisionError):
        ledger.claim(2, lambda card, free: 5 // (1 - card))
    assert [ledger.used(0), ledger.used(1)] == [0, 0]


# --- several processes ----------------------------------------------------------------------


def test_others_see_claims_as_held(open_ledger, worker):
    ledger, other = open_ledger(), worker()
    other("reserve", 0, 10)
    assert ledger.claim(1, lambda card, free: free) == [1]
    assert other("used", 1) == CAPACITY
    assert other("used", 0) == 10
    [holder] = ledger.holders(1)
    assert (holder.pid, holder.cards[1].claimed_bytes) == (os.getpid(), CAPACITY)

    ledger.settle(1)
    assert other("used", 1) == 0


def test_the_dead_claim_nothing(open_ledger, worker):
    ledger, other = open_ledger(), worker()
    other("reserve", 0, CAPACITY)
    other.kill()
    assert ledger.claim(2, lambda card, free: free) == [0, 1]


def test_child_takes_what_was_claimed(open_ledger, directory):
    ledger = open_ledger()
    ledger.claim(1, lambda card, free: CAPACITY - 10)
    child = Child(directory, os.getpid())
    stranger = Child(directory, None)
    assert stranger("free", 0) == 10
    assert child("free", 0) == CAPACITY
    assert child("reserve", 0, 400) is None
    assert stranger("reserve", 0, 11) == "DeviceMemoryError"
    assert (ledger.claimed(0), ledger.used(0)) == (CAPACITY - 410, CAPACITY - 10)

    # It may claim in turn, and what it gives back is free for all.
    assert child("claim", 0, CAPACITY - 400) == [0]
    assert (ledger.claimed(0), child("claimed", 0), ledger.used(0)) == (
        0,
        CAPACITY - 400,
        CAPACITY,
    )
    child("settle", 0)
    assert ledger.used(0) == 400
    child.end()
    assert (ledger.used(0), stranger("free", 0)) == (0, CAPACITY)
    stranger.end()


def test_heir_of_the_dead_is_no_heir(directory):
    claimer = Child(directory, None)
    assert claimer("claim", 0, CAPACITY) == [0]
    child = Child(directory, claimer.process.pid)
    assert child("free", 0) == CAPACITY
    claimer.process.kill()
    claimer.process.join()
    assert (child("free", 0), child("claimed", 0)) == (CAPACITY, 0)
    assert child("reserve", 0, CAPACITY) is None
    child.end()


def test_simultaneous_claims_are_of_different_cards(tmp_path):
    """As many processes as cards, all at once: each gets one of its own, every time."""
    tmp_path.chmod(0o700)
    machine = "6xT4:1MiB"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.backends.test_claims"])
    barrier, answers = context.Barrier(6), context.Queue()
    racers = [
        context.Process(target=_race, args=(machine, tmp_path, barrier, answers, 10))
        for _ in range(6)
    ]
    for racer in racers:
        racer.start()
    rounds = [answers.get(timeout=30) for _ in racers]
    for racer in racers:
        racer.join()
    for claimed in zip(*rounds, strict=True):
        assert sorted(claimed) == [[0], [1], [2], [3], [4], [5]]


def _race(machine, folder, barrier, answers, n_rounds):
    claimed = []
    ledger = Ledger.open(Machine.parse(machine), folder)
    for _ in range(n_rounds):
        barrier.wait(30)
        claimed.append(ledger.claim(1, lambda card, free: free if free == CAPACITY else 0))
        barrier.wait(30)
        for card in claimed[-1]:
            ledger.settle(card)
    answers.put(claimed)


class Child:
    """Another process with a ledger, that may be the child of one."""

    def __init__(self, folder: Path, parent_pid: int | None) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.backends.test_claims"])
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, folder, parent_pid))
        self.process.start()
        theirs.close()

    def __call__(self, *words):
        self.pipe.send(words)
        assert self.pipe.poll(30), words
        return self.pipe.recv()

    def end(self) -> None:
        self.pipe.send(None)
        self.process.join()


def _of_one(wanted, card, free):
    return wanted.get(card, 0)


def _serve(pipe, folder, parent_pid):
    ledger = Ledger.open(Machine.parse("2xT4:1MiB"), folder, parent_pid)
    while words := pipe.recv():
        name, *numbers = words
        try:
            if name == "claim":
                wanted = {numbers[0]: numbers[1]}
                pipe.send(ledger.claim(1, partial(_of_one, wanted)))
            else:
                pipe.send(getattr(ledger, name)(*numbers))
        except (DeviceMemoryError, LedgerError) as error:
            pipe.send(type(error).__name__)
    ledger.close()


# --- backends -------------------------------------------------------------------------------


@pytest.fixture
def backend(tmp_path):
    """Make backends on one machine: ``backend(visible_devices="1")``."""
    tmp_path.chmod(0o700)
    with ExitStack() as stack:

        def make(**options):
            made = SimBackend(Machine.parse("3xT4"), ledger_directory=tmp_path, **options)
            stack.callback(made.close)
            return made

        yield make


def used(backend):
    """Return how much of each card is held, in units of its capacity, claims too."""
    return [backend._open_ledger().used(card) for card in range(3)]


def test_context_is_claimed_with_the_memory(backend):
    gpus = backend()
    total = gpus.memory(0).total
    room = gpus.memory(0).free
    assert gpus.claim(1, lambda gpu, free: free) == [0]
    assert gpus.claimed(0) == total
    assert gpus.memory(0) == (room, total)
    assert room < total


def test_hidden_gpus_are_not_claimed(backend):
    gpus = backend(visible_devices="2,0")
    asked = []
    assert gpus.claim(2, lambda gpu, free: asked.append(gpu) or 1) == [0, 1]
    assert sorted(asked) == [0, 1]
    assert [gpus.visible_number(gpu) for gpu in (0, 1)] == [2, 0]
    assert [nbytes > 0 for nbytes in used(gpus)] == [True, False, True]


def test_program_that_opens_gives_the_rest_back(backend):
    gpus = backend()
    gpus.claim(3, lambda gpu, free: free)
    program = backend(visible_devices="1,2")
    region = program.reserve(0, KIB)
    program.announce(0, KIB, growth=False)
    context = gpus._cards[0].context_bytes
    assert used(gpus) == [0, context + KIB, 0]
    program.release(region)


def test_growing_program_keeps_its_place(backend):
    gpus = backend()
    gpus.claim(3, lambda gpu, free: free)
    program = backend(visible_devices="1,2")
    program.announce(0, 0, growth=True)
    context = gpus._cards[0].context_bytes
    assert used(gpus) == [0, context, context]


def test_child_does_not_count_claims_as_use(backend):
    gpus = backend()
    gpus.claim(1, lambda gpu, free: free)
    [process] = gpus.processes(0)
    assert process.pid == os.getpid()
    child = backend(parent_pid=os.getpid())
    assert child.processes(0) == []
