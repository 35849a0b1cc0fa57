"""The ledger of a simulated machine: how its GPUs are shared between processes.

All processes of one user that name the same machine see one table, which says how many
bytes of each card each process holds. A process asks before it reserves memory, and
gives back what it releases; what a dead process held is free. `ledger_table` tells what
is in the table, `ledger_file` how it is kept in a file and who may change it.

Invariants:
  1. A process has one Ledger for each file, shared by all who open it, and one slot.
     The last of them to close it gives up the slot, and with the last slot of all
     processes the files go.
  2. One lock of this process guards all its ledgers: everything below that is said to
     be locked holds it. So a finalizer never runs between two tables, and no thread
     waits for the file of one ledger while it has that of another.
  3. `release` and `close` wait for no lock, so that finalizers may call them anywhere.
     If they come in the middle of a change they take effect right after it.
  4. A forked child has no part in what it inherits. It may release and close it, which
     does nothing, since finalizers will; all else is refused. What it opens is its own.
  5. No fork happens while the lock is held.
  6. What a process takes comes out of its claims first (see `ledger_claims`).
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from berth.backends.ledger_claims import Claims, Wanted
from berth.backends.ledger_file import (
    SharedTable,
    can_share,
    check_directory,
    find_directory,
    make_directory,
    open_shared,
)
from berth.backends.ledger_notes import Holder, Note, read_holders
from berth.backends.ledger_table import Layout, Table
from berth.backends.machine import Machine
from berth.deferred import DeferredWork
from berth.errors import DeviceMemoryError, explain

T = TypeVar("T")
_Directory = str | os.PathLike[str] | None
_Key = tuple[int, int, str]
"""A file as no other spelling of its path can hide it: directory by inode, and name."""


class LedgerInfo(NamedTuple):
    """A simulated machine as its ledger shows it."""

    machine: str
    capacities: tuple[int, ...]
    holders: Sequence[Holder]


class Ledger:
    """The share of this process in a simulated machine. Get one from `Ledger.open`."""

    def __init__(self, key: _Key, table: Table) -> None:
        self.machine = table.layout.machine
        self.capacities = table.layout.capacities
        self._key = key
        self._pid = os.getpid()
        self._table: Table | None = table
        self._users = 0
        self._contexts: dict[int, int] = {}
        self._claims = Claims(self.capacities)
        self._note = Note.of_this_process()
        self._ended = f"The ledger of {self.machine} is closed."

    @staticmethod
    def open(
        machine: Machine, directory: _Directory = None, parent_pid: int | None = None
    ) -> Ledger:
        """Join the processes that use a machine, until `close`.

        The file is kept in `directory`, or else where all processes of this user look.
        `parent_pid` is the process whose claims are as good as ours, if there is one.
        LedgerError if what is there cannot be trusted, or there is no free slot.
        """
        capacities = tuple(card.memory_bytes for card in machine.cards)
        return _locked(_open, Layout(machine.name, capacities), directory, parent_pid)

    def close(self) -> None:
        """Undo one `open`; at the last, give back all memory."""
        _deferred.post(self._close)

    def attach(self, card: int, context_bytes: int) -> None:
        """Begin to use a card: take the memory of our context, once, until `close`.

        DeviceMemoryError if there is not so much.
        """
        self._check(card, context_bytes)
        if card not in self._contexts:
            self._obtain(self._take_context, card, context_bytes)

    def reserve(self, card: int, nbytes: int) -> None:
        """Take bytes of a card, or raise DeviceMemoryError and change nothing."""
        self._check(card, nbytes)
        self._obtain(self._claims.take, card, nbytes)

    def claim(
        self, n_cards: int, wanted: Wanted, among: Sequence[int] | None = None
    ) -> list[int]:
        """Claim memory of the cards with the most free memory, of all at once or of none.

        `wanted` tells how much of a card with so many free bytes to take, 0 if it is not good
        enough. Returns the cards, those with more free memory first, and of equals those that
        come first in `among`; fewer than `n_cards`, with nothing claimed, if there are not so
        many good ones.
        """
        cards = range(len(self.capacities)) if among is None else among
        return self._do(self._claims.claim, n_cards, wanted, cards)

    def claimed(self, card: int) -> int:
        """Return how many bytes of a card this process has claimed, and not taken yet."""
        self._check(card)
        return self._do(self._claims.own, card)

    def settle(self, card: int) -> None:
        """Give back what is left of a claim: all that was wanted of the card is taken."""
        self._check(card)
        self._do(self._claims.settle, card)

    def free(self, card: int) -> int:
        """Return how many bytes of a card this process could take."""
        self._check(card)
        return self._do(self._count_free, card)

    def release(self, card: int, nbytes: int) -> None:
        """Give reserved bytes back; from any thread and any finalizer, at any moment."""
        self._check(card, nbytes)
        _deferred.post(partial(self._give_back, card, nbytes))

    def is_attached(self, card: int) -> bool:
        """Tell whether this process holds its context on a card."""
        return card in self._contexts

    def used(self, card: int) -> int:
        """Return how many bytes of a card living processes hold."""
        self._check(card)
        return self._do(self._count, card)

    def holders(self, card: int | None = None) -> list[Holder]:
        """List the living processes, or those that hold memory of one card."""
        if card is None:
            return self._do(read_holders)
        self._check(card)
        return [
            holder
            for holder in self._do(read_holders)
            if card in holder.cards and holder.cards[card].nbytes
        ]

    def describe(self, card: int, *, limit_bytes: int | None, growth: bool) -> None:
        """Tell other processes how much of a card this one may come to use."""
        self._check(card, 1 if limit_bytes is None else limit_bytes)
        self._do(self._describe, card, limit_bytes, growth)

    def _check(self, card: int, nbytes: int = 1) -> None:
        if not 0 <= card < len(self.capacities):
            raise ValueError(
                f"{self.machine} has no card {card}: it has {len(self.capacities)}."
            )
        if not 0 < nbytes < 2**63:
            raise ValueError(f"Cannot account for {nbytes} bytes: name from 1 to 2**63 - 1.")

    def _obtain(self, take: Callable[[Table, int, int], bool], card: int, n: int) -> None:
        # To look for the dead takes longer than all the rest, and is rarely needed.
        if not self._do(take, card, n):
            self._do(self._insist, take, card, n)

    def _do(self, work: Callable[..., T], *args: Any) -> T:
        # `_locked(self._at_table, ...)` in full: this is on the way of every reservation.
        try:
            with _lock:
                if _deferred.pending:
                    _deferred.drain()
                return self._at_table(work, *args)
        finally:
            if _deferred.pending:
                _deferred.flush()

    # All below are called with the lock held; those with a table, at that table.

    def _at_table(self, work: Callable[..., T], *args: Any) -> T:
        """Do work while no other process changes the table."""
        table = self._table
        if table is None:
            raise RuntimeError(self._ended)
        try:
            # Inside: interrupted here, we may have it. To unlock too much is harmless.
            table.lock()
            return work(table, *args)
        finally:
            table.unlock()

    def _take_context(self, table: Table, card: int, nbytes: int) -> bool:
        if card not in self._contexts:
            if not self._claims.take(table, card, nbytes):
                return False
            self._contexts[card] = nbytes
        return True

    def _insist(
        self, table: Table, take: Callable[[Table, int, int], bool], card: int, nbytes: int
    ) -> None:
        used, total = self._count(table, card), self.capacities[card]
        if not take(table, card, nbytes):
            name = f"card {card} of {self.machine}"
            raise DeviceMemoryError(name, nbytes, total - used, total)

    def _give_back(self, card: int, nbytes: int) -> None:
        if self._table is not None:  # otherwise it went with our slot
            self._at_table(self._subtract, card, nbytes)

    def _subtract(self, table: Table, card: int, nbytes: int) -> None:
        not_reserved = self._contexts.get(card, 0) + self._claims.own(table, card)
        reserved = table.usage(card, table.slot) - not_reserved
        if nbytes > reserved:
            raise ValueError(
                f"Cannot release {nbytes:,} bytes of card {card} of {self.machine}: "
                f"this process has reserved {reserved:,}."
            )
        table.add(card, -nbytes)

    def _count_free(self, table: Table, card: int) -> int:
        used = self._count(table, card)
        return self.capacities[card] - used + self._claims.ours(table, card)

    def _count(self, table: Table, card: int) -> int:
        table.reap()
        used = table.used(card)
        if used > self.capacities[card]:
            raise table.overfull(card, used)
        return used

    def _describe(self, table: Table, card: int, limit: int | None, growth: bool) -> None:
        self._note.cards[card] = limit, growth
        self._note.write(table)

    def _join(self, table: Table) -> None:
        read_holders(table)  # refuses notes that cannot be read
        table.join()
        self._note.write(table)

    def _close(self) -> None:
        self._users -= 1
        if self._users == 0:
            self._end()

    def _end(self) -> None:
        table = self._take_table()
        if table is not None:
            del _ledgers[self._key]
            table.leave()

    def _disown(self) -> None:
        """In a forked child: forget the parent's slot and all that leads to it."""
        table = self._take_table()
        self._ended = explain(
            f"The simulated GPUs of {self.machine} were opened by process {self._pid} "
            "before it forked this one, which cannot use them.",
            "Open them after the fork, or start processes by multiprocessing's 'spawn'.",
        )
        if table is not None:
            table.abandon()

    def _take_table(self) -> Table | None:
        table, self._table = self._table, None
        self._contexts.clear()
        return table


_lock = threading.Lock()
_deferred: DeferredWork[Callable[[], None]] = DeferredWork(_lock, lambda work: work())
_ledgers: dict[_Key, Ledger] = {}


def list_ledgers(directory: _Directory = None) -> list[LedgerInfo]:
    """Look at all simulated machines that have a ledger, and take part in none."""
    return _locked(_look, directory)


def _locked(work: Callable[..., T], *args: Any) -> T:
    try:
        with _lock:
            _deferred.drain()
            return work(*args)
    finally:
        _deferred.flush()


def _open(layout: Layout, directory: _Directory, parent_pid: int | None) -> Ledger:
    key, path = _place(layout, directory)
    ledger = _ledgers.get(key)
    if ledger is None:
        table = open_shared(path, layout) if can_share() else Table(layout)
        try:
            ledger = Ledger(key, table)
            ledger._at_table(ledger._join)
        except BaseException:
            table.abandon()
            raise
        _ledgers[key] = ledger
    if parent_pid not in (None, ledger._pid):
        ledger._claims.parent_pid = parent_pid
    ledger._users += 1
    return ledger


def _place(layout: Layout, directory: _Directory) -> tuple[_Key, Path]:
    digest = hashlib.sha256(f"{layout.machine} {layout.capacities}".encode()).hexdigest()[:16]
    readable = re.sub(r"[^A-Za-z0-9]+", "-", layout.machine)[:40]
    name = f"{readable}-{digest}.ledger"
    if not can_share():
        return (0, 0, name), Path(name)
    folder = find_directory(directory)
    if not os.path.lexists(folder):
        make_directory(folder)
    status = check_directory(folder)
    return (status.st_dev, status.st_ino, name), folder / name


def _look(directory: _Directory) -> list[LedgerInfo]:
    if not can_share():
        return [ledger._at_table(_read_info) for ledger in _ledgers.values()]
    folder = find_directory(directory)
    if not os.path.lexists(folder):
        return []
    status = check_directory(folder)
    found = []
    for path in sorted(folder.glob("*.ledger")):
        # To open a lock file that we have open would be to lose our slot on closing it.
        own = _ledgers.get((status.st_dev, status.st_ino, path.name))
        if own is not None:
            found.append(own._at_table(_read_info))
            continue
        try:
            table = SharedTable(path)
        except FileNotFoundError:  # its last process has just left
            continue
        try:
            found.append(_read_info(table))
        finally:
            table.abandon()
    return found


def _read_info(table: Table) -> LedgerInfo:
    layout = table.layout
    return LedgerInfo(layout.machine, layout.capacities, read_holders(table))


def _end_all() -> None:
    for ledger in list(_ledgers.values()):
        ledger._end()


def _after_fork_in_parent() -> None:
    _lock.release()
    _deferred.flush()


def _after_fork_in_child() -> None:
    for ledger in _ledgers.values():
        ledger._disown()
    _ledgers.clear()
    _lock.release()


atexit.register(_locked, _end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
