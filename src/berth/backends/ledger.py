"""The ledger of a simulated machine: how its GPUs are shared between processes.

All processes of one user that name the same machine share one table, which says how many
bytes of each card each process holds. A process asks before it reserves memory, and
returns what it releases; what a dead process held is free. `ledger_table` describes what
is in the table, `ledger_row` what makes up this process's row, `ledger_file` how the table is
kept in a file, which lock protects what and how it is known which processes live,
`ledger_directory` where the files are, `ledger_claims` memory set aside before it is used.

Invariants:
  1. A process has one Ledger for each file, shared by all that open it, and one slot. (One
     that has loaded berth twice has two, like two processes.) The last `close` leaves the
     slot, and with the last slot of all processes the file is removed.
  2. One lock of this process guards all its ledgers: everything below that is said to
     be locked holds it. So a finalizer never runs between two tables, and no thread
     waits for the file of one ledger while it has that of another.
  3. `release` and `close` wait for no lock of this process, so that finalizers may call them
     anywhere. If they come in the middle of a change they take effect right after it; a
     release that finds another process stopped in its turn takes effect with the next change.
  4. A forked child has no part in what it inherits. It may release and close it, which
     does nothing, since finalizers will; all else is refused. What it opens is its own.
  5. No fork happens while the lock is held.
  6. What a process takes comes out of its claims first (see `ledger_claims`).
  7. An exception at any moment, such as KeyboardInterrupt, leaves an operation done or undone,
     no lock taken and the row right. A caller that must know which of the two gives what it
     reserves a key: releasing a key that is not reserved does nothing.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from berth.backends.ledger_claims import Wanted
from berth.backends.ledger_directory import (
    check_directory,
    file_name,
    find_directory,
    make_directory,
    remove_dead,
)
from berth.backends.ledger_file import open_shared, read_all
from berth.backends.ledger_locks import MAX_WAIT, MAX_WAIT_SHORT, can_share
from berth.backends.ledger_notes import Holder, LedgerInfo, Note, read_holders, read_info
from berth.backends.ledger_row import Row
from berth.backends.ledger_table import Layout, Table
from berth.backends.machine import Machine
from berth.deferred import DeferredWork
from berth.errors import LedgerBusyError, LedgerError, explain

T = TypeVar("T")
_Directory = str | os.PathLike[str] | None
_Key = tuple[int, int, str]
"""A file as no other spelling of its path can hide it: directory by inode, and name."""


class Ledger:
    """The share of this process in a simulated machine. Get one from `Ledger.open`."""

    def __init__(self, key: _Key, path: Path, table: Table) -> None:
        self.machine = table.layout.machine
        self.capacities = table.layout.capacities
        self._key = key
        self._pid = os.getpid()
        self._table: Table | None = table
        self._users = 0
        self._owed: list[tuple[int, int, Hashable]] = []
        """What is released, and has yet to leave the row."""
        self._row = Row(table.layout)
        self._note = Note.of_this_process(path)
        self._ended = f"The ledger of {self.machine} is closed."

    @staticmethod
    def open(
        machine: Machine, directory: _Directory = None, parent_pid: int | None = None
    ) -> Ledger:
        """Join the processes that use a machine, until `close`.

        The file is kept in `directory`, or else where all processes of this user look.
        `parent_pid` is the process whose claims are as good as ours, if there is one.
        LedgerError if what is there cannot be trusted or written, or there is no free slot.
        """
        capacities = tuple(card.memory_bytes for card in machine.cards)
        return _locked(_open, Layout(machine.name, capacities), directory, parent_pid)

    def close(self) -> None:
        """Undo one `open`; at the last, return all memory."""
        _post(self._close)

    def attach(self, card: int, context_bytes: int) -> None:
        """Begin to use a card: take the memory of our context, once, until `close`.

        DeviceMemoryError if there is not so much.
        """
        self._check(card, context_bytes)
        if card not in self._row.contexts:
            self._obtain(self._row.take_context, card, context_bytes)

    def reserve(self, card: int, nbytes: int, key: Hashable = None) -> None:
        """Take bytes of a card, or raise DeviceMemoryError and change nothing.

        With a key they are released by it, all at once.
        """
        self._check(card, nbytes)
        self._obtain(self._row.take, card, nbytes, key)

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
        return self._do(self._row.claims.claim, n_cards, wanted, cards)

    def claimed(self, card: int) -> int:
        """Return how many bytes of a card this process has claimed, and not taken yet."""
        self._check(card)
        return self._do(self._row.claims.own, card)

    def settle(self, card: int) -> None:
        """Return what is left of a claim: all that was wanted of the card is taken."""
        self._check(card)
        self._do(self._row.claims.settle, card)

    def free(self, card: int) -> int:
        """Return how many bytes of a card this process could take."""
        self._check(card)
        return self._do(self._row.count_free, card)

    def release(self, card: int, nbytes: int, key: Hashable = None) -> None:
        """Return reserved bytes; from any thread and any finalizer, at any moment.

        A key that is not reserved, or not any more, is nothing to release.
        """
        self._check(card, nbytes)
        _post(partial(self._return, card, nbytes, key))

    def is_attached(self, card: int) -> bool:
        """Tell whether this process holds its context on a card."""
        return card in self._row.contexts

    def used(self, card: int) -> int:
        """Return how many bytes of a card living processes hold."""
        self._check(card)
        return self._do(self._row.count, card)

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

    def _obtain(self, take: Callable[..., bool], *args: Any) -> None:
        # To look for the dead takes longer than all the rest, and is rarely needed.
        if not self._do(take, *args):
            self._do(self._row.take_or_raise, take, *args)

    def _do(self, work: Callable[..., T], *args: Any) -> T:
        # `_locked(self._at_table, ...)` in full: this is on the way of every reservation.
        try:
            with _lock:
                if _deferred.pending:
                    _deferred.drain()
                if self._table is not None:
                    self._table.check_place()
                return self._at_table(work, *args)
        except BaseException:
            _unlock()
            raise
        finally:
            if _deferred.pending:
                _deferred.flush()

    # All below are called with the lock held; those with a table, at that table.

    def _at_table(self, work: Callable[..., T], *args: Any, seconds: float = MAX_WAIT) -> T:
        """Do work while no other process changes the table, all of it or nothing."""
        table = self._table
        if table is None:
            raise RuntimeError(self._ended)
        try:
            try:
                # Inside: interrupted here, we may have it. To unlock too much is harmless.
                table.lock(seconds)
                if self._owed:
                    self._return_owed(table)
                result = work(table, *args)
                table.commit()
                table.unlock()
                return result
            except BaseException:
                table.undo()
                raise
        except BaseException:  # again: an error's way out may have been interrupted
            table.undo()
            raise

    def _return(self, card: int, nbytes: int, key: Hashable) -> None:
        if self._table is not None:  # otherwise it went with our slot
            try:
                self._at_table(self._row.subtract, card, nbytes, key, seconds=MAX_WAIT_SHORT)
            except LedgerBusyError:
                self._owed.append((card, nbytes, key))

    def _return_owed(self, table: Table) -> None:
        while self._owed:
            self._row.subtract(table, *self._owed[-1])
            table.commit()
            self._owed.pop()

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
        self._row.clear()
        self._owed.clear()
        return table


class _NotTwice:
    """A reentrant lock that its own thread cannot take again without waiting."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self.release = lock.release

    def acquire(self, blocking: bool) -> bool:
        return not self._lock._is_owned() and self._lock.acquire(blocking)


# Reentrant because only such a lock can tell, after an interrupt, whether this thread has it.
# It is never taken twice: finalizers come by way of `_deferred`.
_lock: Any = threading.RLock()
_deferred: DeferredWork[Callable[[], None]] = DeferredWork(
    _NotTwice(_lock),  # type: ignore[arg-type]
    lambda work: work(),
)
_ledgers: dict[_Key, Ledger] = {}


def list_ledgers(
    directory: _Directory = None, on_error: Callable[[LedgerError], None] | None = None
) -> list[LedgerInfo]:
    """Look at all simulated machines that have a ledger, and take part in none.

    One that cannot be read is passed to `on_error` and left out, if that is given.
    """
    return _locked(_look, directory, on_error)


def _post(work: Callable[[], None]) -> None:
    is_inside = _lock._is_owned()  # a finalizer, in the middle of a change
    try:
        _deferred.post(work)
    except BaseException:
        if not is_inside:
            _unlock()
        raise


def _unlock() -> None:
    """Release what an interrupt between two instructions may have left taken."""
    while _lock._is_owned():
        _lock.release()


def _locked(work: Callable[..., T], *args: Any) -> T:
    try:
        with _lock:
            _deferred.drain()
            return work(*args)
    except BaseException:
        _unlock()
        raise
    finally:
        _deferred.flush()


def _open(layout: Layout, directory: _Directory, parent_pid: int | None) -> Ledger:
    key, path = _place(layout, directory)
    ledger = _ledgers.get(key)
    if ledger is None:
        table = open_shared(path, layout) if can_share() else Table(layout)
        try:
            ledger = Ledger(key, path, table)
            ledger._at_table(ledger._join)
        except BaseException:
            table.abandon()
            raise
        _ledgers[key] = ledger
        if can_share():
            remove_dead(path.parent)
    if parent_pid not in (None, ledger._pid):
        ledger._row.claims.parent_pid = parent_pid
    ledger._users += 1
    return ledger


def _place(layout: Layout, directory: _Directory) -> tuple[_Key, Path]:
    name = file_name(layout)
    if not can_share():
        return (0, 0, name), Path(name)
    folder = find_directory(directory)
    if not os.path.lexists(folder):
        make_directory(folder)
    status = check_directory(folder)
    return (status.st_dev, status.st_ino, name), folder / name


def _look(
    directory: _Directory, on_error: Callable[[LedgerError], None] | None
) -> list[LedgerInfo]:
    if not can_share():
        return [ledger._at_table(read_info) for ledger in _ledgers.values()]
    return read_all(find_directory(directory), on_error)


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
