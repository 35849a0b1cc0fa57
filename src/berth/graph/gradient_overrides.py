"""Which operations of a graph get the gradients of other types: `gradient_override_map`."""

from __future__ import annotations

from typing import Any

from berth.blocks import Stack, Use


class GradientOverrides:
    """The maps of open blocks, from types of operations to those whose gradients they get."""

    def __init__(self) -> None:
        self._maps: Stack[dict[str, str]] = Stack()

    def enter(self, use: Use, op_type_map: Any) -> None:
        """Begin a block; what it does not name is as in the block around it."""
        if not isinstance(op_type_map, dict) or not all(
            isinstance(name, str) for pair in op_type_map.items() for name in pair
        ):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        outer = self._maps.innermost if self._maps else {}
        use.set(self._maps, {**outer, **op_type_map})

    def of(self, op_type: str) -> str | None:
        """Return the type whose gradient an operation gets; None if it is its own."""
        return self._maps.innermost.get(op_type) if self._maps else None

    def copy(self) -> GradientOverrides:
        """Return overrides with the same maps, to be opened and closed apart."""
        copy = GradientOverrides()
        copy._maps.update(self._maps)
        return copy
