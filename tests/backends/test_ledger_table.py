"""The table of a ledger: what a slot has room for, and what is left when its process died."""

from __future__ import annotations

import pytest

from berth.backends.ledger_table import N_SLOTS, Layout, Table
from berth.errors import LedgerError

LAYOUT = Layout("2xT4", (1000, 1000))


class TwoProcesses(Table):
    """A table in which any slot can be ours, and those of `dead` have died."""

    def __init__(self):
        super().__init__(LAYOUT)
        self.dead = set()

    def be(self, slot):
        self._occupy(slot)
        self.write_note(f"process {slot}".encode())

    def is_alive(self, slot):
        return slot not in self.dead


@pytest.fixture
def table():
    return TwoProcesses()


@pytest.mark.parametrize("slot", [0, 1, N_SLOTS - 1])
def test_note_may_fill_its_room(table, slot):
    for other in {0, 1, 2, N_SLOTS - 1} - {slot}:
        table.be(other)
    table.be(slot)
    note = bytes(k % 255 + 1 for k in range(table.note_room))
    table.write_note(note)

    assert table.note(slot) == note
    assert all(table.note(k) == f"process {k}".encode() for k in table.living() if k != slot)
    assert (table.note_room + 8) * N_SLOTS + LAYOUT.notes_at * 8 == LAYOUT.end_at


def test_note_may_not_run_into_the_next_slot(table):
    table.be(0)
    with pytest.raises(AssertionError, match="next slot"):
        table.write_note(bytes(table.note_room + 1))


@pytest.mark.parametrize("slot", [0, 1, 5])
@pytest.mark.parametrize("card", [0, 1])
def test_dead_process_leaves_neither_usage_nor_claims(table, slot, card):
    for each in (slot, 2):
        table.be(each)
        table.add(card, 300)
        table.add_claim(card, 200)
    table.dead.add(slot)
    table.reap()

    assert (table.usage(card, slot), table.claim(card, slot)) == (0, 0)
    assert (table.usage(card, 2), table.claim(card, 2)) == (300, 200)
    assert table.living() == [2]
    assert table.used(card) == 300
    table.check()


def test_changes_are_undone_up_to_the_last_commit(table):
    table.be(1)
    table.add(0, 300)
    table.commit()
    numbers = {"kept": 1}
    table.add(0, 100)
    table.add_claim(0, 50)
    table.change(numbers, "kept", 0)
    table.change(numbers, "new", 7)
    assert numbers == {"new": 7}
    table.undo()

    assert (table.usage(0, 1), table.claim(0, 1)) == (300, 0)
    assert numbers == {"kept": 1}


def test_claim_of_another_becomes_usage(table):
    table.be(1)
    table.add(1, 300)
    table.add_claim(1, 200)
    table.be(3)
    table.take_over(1, 150, 1)

    assert [table.usage(1, slot) for slot in (1, 3)] == [150, 150]
    assert [table.claim(1, slot) for slot in (1, 3)] == [50, 0]
    table.check()


def test_note_longer_than_its_room_is_refused(table):
    table.be(1)
    table._note_lengths[1] = table.note_room + 1
    with pytest.raises(LedgerError, match=r"The ledger of 2xT4 is damaged: the note of slot 1"):
        table.note(1)
