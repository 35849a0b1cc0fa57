"""What a process reports of itself in its slot of a ledger: JSON that fits its note."""

from __future__ import annotations

import binascii
import json
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from berth.backends.base import ProcessInfo
from berth.backends.ledger_table import Table
from berth.printable import printable, printable_line

try:
    import pwd
except ImportError:  # Windows
    pwd = None  # type: ignore[assignment]


class CardUse(NamedTuple):
    """What a process holds of a card, and the limit and growth that it announced."""

    nbytes: int
    limit_bytes: int | None = None
    growth: bool | None = None
    claimed_bytes: int = 0
    """How much of what it holds it has yet to use."""


class Holder(NamedTuple):
    """A process that uses a simulated machine. Its texts are safe to print."""

    pid: int
    user: str
    command: str
    since: float
    """When it began, in seconds since 1970."""
    cards: dict[int, CardUse]
    """The cards it holds memory of, or announced a limit for."""


class LedgerInfo(NamedTuple):
    """A simulated machine as its ledger shows it."""

    machine: str
    capacities: tuple[int, ...]
    holders: Sequence[Holder]


Terms = tuple[int | None, bool]
"""What a process reports of a card: its limit, and whether it starts small and grows."""


class Note(NamedTuple):
    """What a process reports of itself, and of cards."""

    pid: int
    place: str
    """Where the ledger was when the process joined it (`place_of`)."""
    user: str
    command: str
    since: float
    cards: dict[int, Terms]

    @staticmethod
    def of_this_process(path: Path) -> Note:
        place = place_of(path)
        command = _cut(shlex.join(_words()), 600)
        return Note(os.getpid(), place, _cut(_user(), 200), command, round(time.time(), 3), {})

    def write(self, table: Table) -> None:
        """Put the note in our slot."""
        table.write_note(_encode(self._asdict()))

    @staticmethod
    def read(table: Table, slot: int) -> Note:
        """Read the note of a slot. LedgerError if no berth can have written it."""
        try:
            match json.loads(table.note(slot)):
                case {
                    "pid": int(pid),
                    "user": str(user),
                    "command": str(command),
                    "since": float(since),
                    "cards": dict(cards),
                } as found:
                    place = str(found.get("place", ""))
                    announced = {int(card): _terms(terms) for card, terms in cards.items()}
                    return Note(pid, place, user, command, since, announced)
        except (ValueError, RecursionError):
            pass
        raise table.refusal(f"the note of slot {slot} cannot be read")


def place_of(path: Path) -> str:
    """Return a path, as a short text that fits a note."""
    return f"{binascii.crc32(os.fsencode(os.path.realpath(path))):08x}"


def beginning_of_note(pid: int, place: str) -> bytes:
    """Return the first bytes of the note of a process that joined a ledger at a place."""
    return _encode({"pid": pid, "place": place})[:-1]


def _words() -> list[str]:
    """Return the command of this process, as a user would have typed it."""
    words = sys.orig_argv
    is_ours = len(words) > 1 and os.path.basename(words[1]) == "berth"
    return ["berth", *words[2:]] if is_ours else words


def read_holders(table: Table) -> list[Holder]:
    """Read the notes of all living processes."""
    return [_holder(table, slot) for slot in table.living()]


def read_info(table: Table) -> LedgerInfo:
    """Read what a table says of its machine and the living processes."""
    layout = table.layout
    return LedgerInfo(layout.machine, layout.capacities, read_holders(table))


def _holder(table: Table, slot: int) -> Holder:
    note = Note.read(table, slot)
    cards = {}
    for card in range(len(table.layout.capacities)):
        nbytes = table.usage(card, slot)
        if nbytes or card in note.cards:
            limit, growth = note.cards.get(card, (None, None))
            cards[card] = CardUse(nbytes, limit, growth, table.claim(card, slot))
    user, command = printable(note.user), printable(note.command)
    return Holder(note.pid, user, command, note.since, cards)


def _terms(terms: object) -> Terms:
    match terms:
        case [int() | None as limit_bytes, bool(growth)]:
            return limit_bytes, growth
    raise ValueError(terms)


def _encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _cut(text: str, n_bytes: int) -> str:
    """Shorten text until its JSON has at most so many bytes."""
    # Arguments may be bytes that are no text, and JSON has no place for those.
    whole = text = text.encode(errors="replace").decode()
    n_kept = len(whole)
    while len(_encode(text)) > n_bytes:
        n_kept = n_kept * 3 // 4
        text = whole[:n_kept] + "..."
    return text


def _user() -> str:
    if pwd is None:
        return ""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # as in containers that run under a number without a name
        return str(os.geteuid())


def process_on_card(holder: Holder, card: int) -> ProcessInfo | None:
    """Say what a process holds of one card, if it holds anything."""
    use = holder.cards.get(card)
    if use is None or not use.nbytes:
        return None
    return ProcessInfo(
        holder.pid,
        holder.user,
        printable_line(holder.command),  # one line, whatever was given to `python -c`
        holder.since,
        use.nbytes,
        use.limit_bytes,
        use.growth,
    )
