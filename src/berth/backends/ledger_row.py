"""The row of this process in a ledger's table, and what it is made of.

Its usage of a card is the memory of this process's context there, what it has reserved, and
what it has claimed (`ledger_claims`). Some of what is reserved has a key, to release it by.

All here is done at a table whose lock is held, and takes effect with its `commit`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from berth.backends.ledger_claims import Claims
from berth.backends.ledger_table import Layout, Table
from berth.errors import DeviceMemoryError


class Row:
    """What this process holds of a machine's cards."""

    def __init__(self, layout: Layout) -> None:
        self._machine = layout.machine
        self._capacities = layout.capacities
        self.claims = Claims(layout.capacities)
        self.contexts: dict[int, int] = {}
        self._by_key: dict[tuple[int, Hashable], int] = {}

    def clear(self) -> None:
        """Forget what was held: the slot is left."""
        self.contexts.clear()
        self._by_key.clear()

    def take(self, table: Table, card: int, nbytes: int, key: Hashable) -> bool:
        """Reserve bytes of a card; False if there are not so many."""
        if not self.claims.take(table, card, nbytes):
            return False
        if key is not None:
            table.change(self._by_key, (card, key), nbytes)
        return True

    def take_context(self, table: Table, card: int, nbytes: int) -> bool:
        """Take the memory of our context on a card, once; False if there is not so much."""
        if card not in self.contexts:
            if not self.claims.take(table, card, nbytes):
                return False
            table.change(self.contexts, card, nbytes)
        return True

    def take_or_raise(
        self, table: Table, take: Callable[..., bool], card: int, nbytes: int, *rest: Any
    ) -> None:
        """Take bytes once the rows of dead processes are cleared, or raise."""
        used, total = self.count(table, card), self._capacities[card]
        if not take(table, card, nbytes, *rest):
            name = f"card {card} of {self._machine}"
            raise DeviceMemoryError(name, nbytes, total - used, total)

    def subtract(self, table: Table, card: int, nbytes: int, key: Hashable) -> None:
        """Release bytes of a card."""
        if key is not None:
            if (card, key) not in self._by_key:
                return
            table.change(self._by_key, (card, key), 0)
        not_reserved = self.contexts.get(card, 0) + self.claims.own(table, card)
        reserved = table.usage(card, table.slot) - not_reserved
        if nbytes > reserved:
            raise ValueError(
                f"Cannot release {nbytes:,} bytes of card {card} of {self._machine}: "
                f"this process has reserved {reserved:,}."
            )
        table.add(card, -nbytes)

    def count_free(self, table: Table, card: int) -> int:
        """Return how many bytes of a card this process could take."""
        used = self.count(table, card)
        return self._capacities[card] - used + self.claims.ours(table, card)

    def count(self, table: Table, card: int) -> int:
        """Return how many bytes of a card living processes hold."""
        table.reap()
        used = table.used(card)
        if used > self._capacities[card]:
            raise table.overfull(card, used)
        return used
