"""The words of a ledger: which process holds how much of each card.

A machine's table is a row of unsigned 64-bit words:

    head        magic, version, cards, slots, bytes of a note, bytes of the machine's
                name, identity (a random number of this file), slots ever used
    capacities  one word for each card
    name        of the machine, UTF-8, filled up with zeros to whole words
    usage       for each card, a word for each slot: bytes that this process holds
    claims      likewise: how many of them it has yet to use (see `ledger_claims`)
    notes       for each slot, a word with the length of the text that follows
    identity    again: if it is there, this is the file, and not cut short

A slot is a process: its *row* is its words of usage and claims, and its note. `Table` keeps the
words in memory of this process, for systems whose processes cannot share them; `ledger_file`
keeps them in a file.

Invariants, true after every instruction, so that a process can be killed after any:
  1. The usage of a card, over all slots, is at most its capacity.
  2. A slot with usage has a note. So a process writes its note before it uses a card,
     and clearing a slot removes the note last.
  3. A process adds to the words of its own slot only, by single stores; others only
     clear it, once it is dead, or take over what it has claimed.
  4. What a slot has claimed is at most its usage. So usage grows before a claim does, and
     shrinks after it.
  5. Slots from the count of those ever used are empty.
  6. Changes of rows between two commits happen all or not at all in a process that lives: each
     is noted before it is made, and `undo` reverts them, the last first, so that invariants
     1 to 4 hold at every step back too. Changes of this process's own bookkeeping that belong
     to them take the same way.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import MutableMapping
from typing import Any, NamedTuple

from berth.errors import LedgerError

N_SLOTS = 128
WORD = 8
MAGIC = b"\x89berthL\n"
VERSION = 3
HEAD = struct.Struct("=8s7Q")
_IDENTITY_WORD = 6
_SLOTS_USED_WORD = 7


class Layout(NamedTuple):
    """Where the words of a machine's table are."""

    machine: str
    capacities: tuple[int, ...]

    def empty(self, identity: bytes) -> bytes:
        """The bytes of a table without processes."""
        name = self.machine.encode()
        counts = (len(self.capacities), N_SLOTS, self.note_words * WORD, len(name))
        start = HEAD.pack(MAGIC, VERSION, *counts, int.from_bytes(identity, sys.byteorder), 0)
        capacities = struct.pack(f"={len(self.capacities)}Q", *self.capacities)
        return (start + capacities + name).ljust(self.end_at, b"\0") + identity

    @property
    def note_words(self) -> int:
        """A KiB to name a process, and room for what it announces for each card."""
        return (1024 + 40 * len(self.capacities)) // WORD

    @property
    def usage_at(self) -> int:
        name_words = -(-len(self.machine.encode()) // WORD)
        return HEAD.size // WORD + len(self.capacities) + name_words

    @property
    def claims_at(self) -> int:
        return self.usage_at + len(self.capacities) * N_SLOTS

    @property
    def notes_at(self) -> int:
        return self.claims_at + len(self.capacities) * N_SLOTS

    @property
    def end_at(self) -> int:
        """Where the identity stands again, in bytes."""
        return (self.notes_at + N_SLOTS * self.note_words) * WORD

    @property
    def n_bytes(self) -> int:
        return self.end_at + WORD


class Table:
    """The table of a machine that no other process shares."""

    def __init__(self, layout: Layout, words: memoryview | None = None) -> None:
        self.layout = layout
        self.slot = -1
        self._changes: list[tuple[Any, Any, int]] = []
        self._usage_at, self._notes_at = layout.usage_at, layout.notes_at
        self._claims_at = layout.claims_at
        self._note_words = layout.note_words
        self.note_room = (self._note_words - 1) * WORD
        if words is None:
            words = memoryview(bytearray(layout.empty(bytes(WORD)))).cast("Q")
        self._words = words
        self._note_lengths = words[self._notes_at : -1 : self._note_words]

    def lock(self, seconds: float = 0.0) -> None:
        """Keep other processes out. Taking it twice is taking it once.

        LedgerBusyError if another process has it for so many seconds.
        """

    def unlock(self) -> None:
        """Let other processes in."""

    def check_place(self) -> None:
        """Raise LedgerError if the table is no longer where other processes find it."""

    def join(self) -> None:
        """Take a free slot. The caller has the lock, and writes a note next."""
        self._occupy(0)

    def leave(self) -> None:
        """Give up the slot, and close."""

    def abandon(self) -> None:
        """Close, and change nothing."""

    def is_alive(self, slot: int) -> bool:
        """Tell whether the process of a slot lives."""
        return slot == self.slot

    def refusal(self, problem: str) -> LedgerError:
        """Make the error that says what cannot be true."""
        return LedgerError(f"The ledger of {self.layout.machine} is damaged: {problem}.")

    def overfull(self, card: int, used: int) -> LedgerError:
        capacity = self.layout.capacities[card]
        return self.refusal(
            f"{used:,} bytes of card {card} are in use, and it has {capacity:,}"
        )

    def used(self, card: int) -> int:
        """Add up the usage of a card."""
        words, start = self._words, self._usage_at + card * N_SLOTS
        return sum(words[start : start + words[_SLOTS_USED_WORD]])

    def usage(self, card: int, slot: int) -> int:
        return self._words[self._usage_at + card * N_SLOTS + slot]

    def add(self, card: int, nbytes: int) -> None:
        """Change our own usage, in one store."""
        self._add_at(self._usage_at + card * N_SLOTS + self.slot, nbytes)

    def claim(self, card: int, slot: int) -> int:
        return self._words[self._claims_at + card * N_SLOTS + slot]

    def add_claim(self, card: int, nbytes: int) -> None:
        """Change how much of our own usage is claimed, in one store."""
        self._add_at(self._claims_at + card * N_SLOTS + self.slot, nbytes)

    def take_over(self, card: int, nbytes: int, slot: int) -> None:
        """Make what another slot has claimed our own usage."""
        self._add_at(self._claims_at + card * N_SLOTS + slot, -nbytes)
        self._add_at(self._usage_at + card * N_SLOTS + slot, -nbytes)
        self.add(card, nbytes)

    def change(self, numbers: MutableMapping[Any, int], key: Any, value: int) -> None:
        """Change a number of this process that goes with the row; 0 removes it."""
        self._changes.append((numbers, key, numbers.get(key, 0)))
        if value:
            numbers[key] = value
        else:
            numbers.pop(key, None)

    def commit(self) -> None:
        """Make all changes final, in one step."""
        self._changes.clear()

    def undo(self) -> None:
        """Undo all changes since the last commit, and unlock. To do this again is harmless."""
        while self._changes:
            state, key, before = self._changes[-1]
            if before or state is self._words:
                state[key] = before
            else:
                state.pop(key, None)
            self._changes.pop()
        self.unlock()

    def _add_at(self, at: int, nbytes: int) -> None:
        words = self._words
        before = words[at]
        self._changes.append((words, at, before))
        words[at] = before + nbytes

    def _occupy(self, slot: int) -> None:
        self.clear(slot)
        if slot >= self._words[_SLOTS_USED_WORD]:
            self._words[_SLOTS_USED_WORD] = slot + 1
        self.slot = slot

    def note(self, slot: int) -> bytes:
        length = self._note_lengths[slot]
        if length > self.note_room:
            raise self.refusal(f"the note of slot {slot} has {length:,} bytes")
        start = self._notes_at + slot * self._note_words + 1
        return self._words[start : start + self._note_words - 1].tobytes()[:length]

    def write_note(self, note: bytes) -> None:
        """Replace our own note, which has room for `note_room` bytes."""
        assert len(note) <= self.note_room, "would run into the next slot"
        content = struct.pack("=Q", len(note)) + note + bytes(-len(note) % WORD)
        words = memoryview(content).cast("Q")
        start = self._notes_at + self.slot * self._note_words
        self._words[start : start + len(words)] = words

    def living(self) -> list[int]:
        """List the slots of processes that live."""
        return [slot for slot in self._noted() if self.is_alive(slot)]

    def reap(self) -> None:
        """Clear the slots of processes that died."""
        for slot in self._noted():
            if not self.is_alive(slot):
                self.clear(slot)

    def clear(self, slot: int) -> None:
        for card in range(len(self.layout.capacities)):
            self._words[self._claims_at + card * N_SLOTS + slot] = 0
            self._words[self._usage_at + card * N_SLOTS + slot] = 0
        self._note_lengths[slot] = 0

    def check(self) -> None:
        """Refuse what is against invariants 1, 2, 4, 5: others wrote it, or bad memory."""
        lengths = self._note_lengths.tolist()
        n_used = self._words[_SLOTS_USED_WORD]
        for card, capacity in enumerate(self.layout.capacities):
            start = self._usage_at + card * N_SLOTS
            used = sum(self._words[start : start + N_SLOTS])
            if used > capacity:
                raise self.overfull(card, used)
            for slot, length in enumerate(lengths):
                if not length and self.usage(card, slot):
                    raise self.refusal(f"slot {slot} uses card {card} and has no note")
                if self.claim(card, slot) > self.usage(card, slot):
                    raise self.refusal(f"slot {slot} claims more of card {card} than it uses")
        if n_used > N_SLOTS or any(lengths[n_used:]):
            raise self.refusal(f"it counts {n_used} used slots, and has notes of more")

    def _noted(self) -> list[int]:
        lengths = self._note_lengths.tolist()
        return [slot for slot, length in enumerate(lengths) if length]
