"""KeyboardInterrupt at any instruction leaves the ledger's rows and locks as they should be."""

from __future__ import annotations

import sys
import threading

import pytest

from berth.backends import ledger as ledger_module
from berth.backends.ledger_locks import EXCLUSIVE, UNLOCK, flock
from berth.backends.machine import Machine
from berth.backends.sim import SimBackend
from berth.errors import DeviceMemoryError
from tests.backends.interrupts import interrupt_everywhere
from tests.backends.ledger_processes import CAPACITY

LEDGER = "/berth/backends/ledger"
pytestmark = pytest.mark.skipif(
    sys.gettrace() is not None, reason="another tool traces this process"
)


def expect_unlocked(directory):
    """Neither this process nor its file is locked, and the table is sound."""
    taken = []
    thread = threading.Thread(
        target=lambda: (
            taken.append(ledger_module._lock.acquire(blocking=False))
            or ledger_module._lock.release()
        )
    )
    thread.start()
    thread.join()
    assert taken == [True]
    [path] = directory.glob("*.ledger")
    with open(path, "r+b") as file:
        flock(file.fileno(), EXCLUSIVE)
        flock(file.fileno(), UNLOCK)
    for own in ledger_module._ledgers.values():
        own._do(lambda table: table.check())


def test_interrupted_reserve_is_done_or_undone(directory, ledger):
    ledger.attach(0, 10)
    n_interrupts = 0
    for is_interrupted in interrupt_everywhere(lambda: ledger.reserve(0, 7), within=LEDGER):
        expect_unlocked(directory)
        held = ledger.used(0) - 10
        assert held in (0, 7)
        assert is_interrupted or held == 7
        if held:
            ledger.release(0, 7)
        n_interrupts += is_interrupted
    assert n_interrupts > 150


def test_interrupted_reserve_is_undone_by_its_key(directory, ledger):
    ledger.attach(0, 10)
    for is_interrupted in interrupt_everywhere(
        lambda: ledger.reserve(0, 7, "key"), within=LEDGER
    ):
        if not is_interrupted:
            assert ledger.used(0) == 17
        ledger.release(0, 7, "key")
        expect_unlocked(directory)
        assert ledger.used(0) == 10


def test_interrupted_release_is_finished_by_its_key(directory, ledger):
    ledger.reserve(0, 7, "key")
    for _ in interrupt_everywhere(lambda: ledger.release(0, 7, "key"), within=LEDGER):
        expect_unlocked(directory)
        assert ledger.used(0) in (0, 7)
        ledger.release(0, 7, "key")
        assert ledger.used(0) == 0
        ledger.reserve(0, 7, "key")


def test_interrupted_refusal_changes_nothing(directory, ledger):
    ledger.reserve(0, CAPACITY)

    def refused():
        with pytest.raises(DeviceMemoryError):
            ledger.reserve(0, 1)

    for _ in interrupt_everywhere(refused, within=LEDGER):
        expect_unlocked(directory)
        assert ledger.used(0) == CAPACITY


def test_interrupted_attach_is_done_or_undone(directory, open_ledger):
    opened = [open_ledger()]
    for _ in interrupt_everywhere(lambda: opened[0].attach(0, 9), within=LEDGER):
        expect_unlocked(directory)
        assert opened[0].used(0) == 9 * opened[0].is_attached(0)
        if opened[0].is_attached(0):
            opened[0].close()
            opened[0] = open_ledger()


def test_interrupted_claim_is_of_all_cards_or_none(directory, ledger):
    ledger.reserve(1, 3)
    work = lambda: ledger.claim(2, lambda card, free: 50 + card)  # noqa: E731
    for is_interrupted in interrupt_everywhere(work, within=LEDGER):
        expect_unlocked(directory)
        claimed = [ledger.claimed(card) for card in range(2)]
        assert claimed in ([0, 0], [50, 51])
        assert is_interrupted or claimed == [50, 51]
        assert [ledger.used(card) for card in range(2)] == [claimed[0], claimed[1] + 3]
        for card in range(2):
            ledger.settle(card)


def test_interrupted_taking_of_a_claim_keeps_the_sum(directory, ledger):
    def again():
        for card in (0, 1):
            ledger.settle(card)
        ledger.claim(1, lambda card, free: 50 if card == 0 else 0)

    again()
    for _ in interrupt_everywhere(lambda: ledger.reserve(0, 60), within=LEDGER):
        expect_unlocked(directory)
        assert (ledger.claimed(0), ledger.used(0)) in ((50, 50), (0, 60))
        if ledger.used(0) == 60:
            ledger.release(0, 60)
        again()


def test_interrupted_settling_keeps_the_sum(directory, ledger):
    ledger.reserve(0, 5)
    claim = lambda: ledger.claim(1, lambda card, free: 50 if card == 0 else 0)  # noqa: E731
    claim()
    for _ in interrupt_everywhere(lambda: ledger.settle(0), within=LEDGER):
        expect_unlocked(directory)
        assert (ledger.claimed(0), ledger.used(0)) in ((50, 55), (0, 5))
        ledger.settle(0)
        claim()


def test_interrupted_takeover_of_a_parent_s_claim_keeps_the_sum(directory, ledger):
    """The rows of both are as they were, or as they become."""
    table = ledger._table
    slot = table.slot + 1

    def put(claim):
        """Write the row of a parent that claims 50 bytes, without a process of its own."""
        table._words[table._usage_at + slot] = claim
        table._words[table._claims_at + slot] = claim

    def take():
        ledger._do(lambda table: table.take_over(0, 40, slot))

    put(50)
    rows = lambda: (table.usage(0, slot), table.claim(0, slot), table.usage(0, table.slot))  # noqa: E731
    for _ in interrupt_everywhere(take, within=LEDGER):
        assert rows() in ((50, 50, 0), (10, 10, 40))
        if rows()[2]:
            ledger.release(0, 40)
        put(50)
    put(0)


def test_interrupted_backend_counts_what_it_has(tmp_path):
    tmp_path.chmod(0o700)
    backend = SimBackend(Machine.parse("1xT4"), ledger_directory=tmp_path)
    kept = [backend.reserve(0, 4096)]
    ledger = backend._open_ledger()
    context = ledger.used(0) - 4096
    for work in (lambda: backend.reserve(0, 8192), lambda: backend.release(kept[0])):
        for _ in interrupt_everywhere(work, within="/berth/backends/", as_signals_do=True):
            assert ledger.used(0) == context + backend.reserved(0)
            for region in list(backend._mappings):
                if region != kept[0]:
                    backend.release(region)
            if kept[0] not in backend._mappings:
                kept[0] = backend.reserve(0, 4096)
            assert ledger.used(0) == context + 4096
    backend.close()
