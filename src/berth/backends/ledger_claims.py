"""Claims: memory of cards that processes have set aside, and have yet to use.

Others see it as held. What a process takes of a card comes out of its claim first, and `settle`
gives the rest back. What the process that started this one (`parent_pid`) has claimed and not
taken is there for this one too.

All here is done at a table whose lock is held, and takes effect with its `commit`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from berth.backends.ledger_notes import Note
from berth.backends.ledger_table import Table

Wanted = Callable[[int, int], int]
"""From a card and its free bytes: how many of them are wanted."""


class Claims:
    """What one process may take, and sets aside."""

    def __init__(self, capacities: Sequence[int]) -> None:
        self._capacities = capacities
        self.parent_pid: int | None = None
        """The process whose claims are there for this one too."""

    def own(self, table: Table, card: int) -> int:
        """Return how much of a card this process has claimed."""
        return table.claim(card, table.slot)

    def ours(self, table: Table, card: int) -> int:
        """Return how much of a card is claimed by this process or for it."""
        return self.own(table, card) + self._parent_claim(table, card)[1]

    def take(self, table: Table, card: int, nbytes: int) -> bool:
        """Take bytes of a card, those first that are claimed; False if there are not enough."""
        from_claim = min(self.own(table, card), nbytes)
        if not self._add(table, card, nbytes - from_claim):
            return False
        if from_claim:
            table.add_claim(card, -from_claim)
        return True

    def claim(
        self, table: Table, n_cards: int, wanted: Wanted, among: Sequence[int]
    ) -> list[int]:
        """Claim memory of the cards with the most that is free: see `Ledger.claim`."""
        table.reap()
        free = {
            card: self._capacities[card] - table.used(card) + self._parent_claim(table, card)[1]
            for card in among
        }
        nbytes = {card: wanted(card, free[card]) for card in free}
        good = [card for card in free if 0 < nbytes[card] <= free[card]]
        best = sorted(good, key=lambda card: -free[card])[:n_cards]
        if len(best) == n_cards:
            for card in best:
                self._add(table, card, nbytes[card])
                table.add_claim(card, nbytes[card])
        return best

    def settle(self, table: Table, card: int) -> None:
        """Return what is left of this process's claim."""
        left = self.own(table, card)
        table.add_claim(card, -left)
        table.add(card, -left)

    def _add(self, table: Table, card: int, nbytes: int) -> bool:
        """Hold more: of what was claimed for us first, then of what is free."""
        slot, left = self._parent_claim(table, card)
        from_parent = min(left, nbytes)
        if table.used(card) + nbytes - from_parent > self._capacities[card]:
            return False
        if from_parent:
            table.take_over(card, from_parent, slot)
        table.add(card, nbytes - from_parent)
        return True

    def _parent_claim(self, table: Table, card: int) -> tuple[int, int]:
        """Return the slot of the process that started this one, and its claim on a card."""
        if self.parent_pid is None:
            return -1, 0
        slots = [s for s in table.living() if Note.read(table, s).pid == self.parent_pid]
        # A process that has loaded berth twice has two.
        return max(
            ((s, table.claim(card, s)) for s in slots), key=lambda c: c[1], default=(-1, 0)
        )
