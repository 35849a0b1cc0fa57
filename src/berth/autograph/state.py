"""State of converted blocks: the variables that a block binds, as the operators see them.

A block is a function that binds variables of the function around it, so each is a closure
cell, or a global. Attributes and items (``self.x``, ``a["k"]``) are found by their owner. A
variable that has no value is `UNDEFINED`, and set to that it is unbound again: code that
reads it gets Python's own error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from types import CellType, FunctionType
from typing import Any, Protocol

UNDEFINED: Any = type("Undefined", (), {"__repr__": lambda self: "UNDEFINED"})()
"""Stands for the value of a variable that has none."""
NOTHING_RETURNED: Any = type("NothingReturned", (), {"__repr__": lambda self: "None"})()
"""The value of a function's result before a `return`."""


class Variable(Protocol):
    """A variable of converted code."""

    name: str

    def get(self) -> Any:
        """Return its value, or UNDEFINED."""
        ...

    def set(self, value: Any) -> None:
        """Bind it, or unbind it."""
        ...


class CellVariable:
    """A variable of a function, which its blocks share."""

    def __init__(self, name: str, cell: CellType) -> None:
        self.name = name
        self._cell = cell

    def get(self) -> Any:
        """Return its value, or UNDEFINED."""
        try:
            value = self._cell.cell_contents
        except ValueError:
            return UNDEFINED
        return UNDEFINED if value is NOTHING_RETURNED else value

    def set(self, value: Any) -> None:
        """Bind it, or unbind it."""
        if value is not UNDEFINED:
            self._cell.cell_contents = value
        elif self.get() is not UNDEFINED:
            del self._cell.cell_contents


class GlobalVariable:
    """A variable of a module that a function declares global."""

    def __init__(self, name: str, namespace: dict[str, Any]) -> None:
        self.name = name
        self._namespace = namespace

    def get(self) -> Any:
        """Return its value, or UNDEFINED."""
        return self._namespace.get(self.name, UNDEFINED)

    def set(self, value: Any) -> None:
        """Bind it, or unbind it."""
        if value is not UNDEFINED:
            self._namespace[self.name] = value
        else:
            self._namespace.pop(self.name, None)


class AttributeVariable:
    """An attribute that a block assigns, of an object from outside."""

    def __init__(self, name: str, owner: Callable[[], Any], attribute: str) -> None:
        self.name = name
        self._owner = owner
        self._attribute = attribute

    def get(self) -> Any:
        """Return its value, or UNDEFINED."""
        try:
            return getattr(self._owner(), self._attribute, UNDEFINED)
        except (AttributeError, LookupError, NameError):
            return UNDEFINED

    def set(self, value: Any) -> None:
        """Assign it, or delete it."""
        if value is self.get():
            return
        if value is not UNDEFINED:
            setattr(self._owner(), self._attribute, value)
        else:
            delattr(self._owner(), self._attribute)


class ItemVariable:
    """An item that a block assigns, of an object from outside."""

    def __init__(self, name: str, owner: Callable[[], Any], key: Callable[[], Any]) -> None:
        self.name = name
        self._owner = owner
        self._key = key

    def get(self) -> Any:
        """Return its value, or UNDEFINED."""
        try:
            return self._owner()[self._key()]
        except (LookupError, NameError, TypeError, AttributeError):
            return UNDEFINED

    def set(self, value: Any) -> None:
        """Assign it, or delete it."""
        if value is self.get():
            return
        if value is not UNDEFINED:
            self._owner()[self._key()] = value
        else:
            with suppress(LookupError):
                del self._owner()[self._key()]


class State:
    """The variables that some blocks bind."""

    def __init__(
        self,
        names: Sequence[str],
        blocks: Sequence[FunctionType],
        composites: Sequence[Variable],
    ) -> None:
        cells: dict[str, CellType] = {}
        for block in blocks:
            cells.update(zip(block.__code__.co_freevars, block.__closure__ or (), strict=True))
        namespace = blocks[0].__globals__
        self.variables: list[Variable] = [
            CellVariable(name, cells[name])
            if name in cells
            else GlobalVariable(name, namespace)
            for name in names
        ]
        self.variables += composites
        self.names = [variable.name for variable in self.variables]

    def get(self) -> list[Any]:
        """Return the values of all variables."""
        return [variable.get() for variable in self.variables]

    def set(self, values: Sequence[Any]) -> None:
        """Set the values of all variables."""
        for variable, value in zip(self.variables, values, strict=True):
            variable.set(value)

    def matter(self, live: Sequence[str]) -> list[int]:
        """Return the positions of the variables that matter later: live ones and composites."""
        n_names = len(self.variables)
        kept = set(live)
        return [
            position
            for position in range(n_names)
            if self.names[position] in kept
            or not isinstance(self.variables[position], CellVariable | GlobalVariable)
        ]
