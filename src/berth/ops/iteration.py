"""Iteration over the sequences of a loop, one element of each at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from berth.errors import InvalidArgumentError


def elements_of(
    count: int, sequences: Sequence[Any], *, is_reversed: bool
) -> Iterator[list[Any]]:
    """Iterate over the elements of sequences at each of `count` positions.

    >>> list(elements_of(2, ["ab", "cd"], is_reversed=True))
    [['b', 'd'], ['a', 'c']]
    """
    for sequence in sequences:
        if len(sequence) < count:
            raise InvalidArgumentError(
                None,
                None,
                f"Trying to access element {len(sequence)} in a list with {len(sequence)} "
                "elements.",
            )
    for position in range(count - 1, -1, -1) if is_reversed else range(count):
        yield [sequence[position] for sequence in sequences]
