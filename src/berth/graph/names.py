"""The names of a graph's nodes: unique, and nested by scopes.

Names that differ in case only would collide in files, so they count as equal. A repeated
name gets a number: ``MatMul``, ``MatMul_1``, ``MatMul_2``.
"""

from __future__ import annotations

import re
import threading
from typing import Any

from berth.blocks import Stack, Use
from berth.ops.opdef import CATALOGUE

_OP_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_INNER_NAME = re.compile(r"[A-Za-z0-9_.\\/>-]*")


def as_name(name: Any) -> str:
    """Return a name as text; TypeError if it is neither text nor bytes."""
    if isinstance(name, bytes):
        return name.decode()
    if not isinstance(name, str):
        raise TypeError(
            f"expected string or bytes-like object, got {type(name).__name__!r}\n"
            f"The name {name!r} of an operation or scope is not a string."
        )
    return name


class _Open(threading.local):
    def __init__(self) -> None:
        self.outer = ""
        self.scopes: Stack[str] = Stack()


class Names:
    """The names in use in one graph, and the scope that new ones go into."""

    def __init__(self) -> None:
        self._open = _Open()
        self._n_uses: dict[str, int] = {}

    @property
    def scope(self) -> str:
        """The names of this thread's open scopes, joined by ``/``."""
        scopes = self._open.scopes
        return scopes.innermost if scopes else self._open.outer

    def begin_inside(self, scope: str) -> None:
        """Start in a scope of the graph outside."""
        self._open.outer = scope

    def enter(self, use: Use, name: str | None) -> str:
        """Open a scope for a block; return its name as users know it, with a slash."""
        scope = as_name(name) if name else ""
        if scope and scope[-1] != "/":
            self.check(scope, "scope")
            scope = self.unique_scope(scope)
        scope = scope.removesuffix("/")
        use.set(self._open.scopes, scope)
        return f"{scope}/" if scope else ""

    def unique(self, name: str) -> str:
        """Return a full name that is not in use, and count it as used."""
        if type(name) is not str:
            name = as_name(name)
        if not name:
            raise ValueError("An operation's name must not be empty.")
        if name[-1] == "/":  # a scope's own name: for the node that the scope is about
            full = name[:-1]
            self._n_uses.setdefault(full.lower(), 1)
            return full
        if name not in CATALOGUE:  # nearly always it is the type of the operation
            self.check(name)
        return self.unique_scope(name)

    def unique_scope(self, name: str) -> str:
        """Return a full name for a scope or a checked name, and count it as used."""
        opened = self._open  # as in `scope`, which is a call more
        scope = opened.scopes.innermost if opened.scopes else opened.outer
        full = f"{scope}/{name}" if scope else name
        key = full.lower()
        n_uses = self._n_uses.get(key, 0)
        self._n_uses[key] = n_uses + 1
        if n_uses == 0:
            return full
        numbered = f"{key}_{n_uses}"
        while numbered in self._n_uses:
            n_uses += 1
            numbered = f"{key}_{n_uses}"
        self._n_uses[key] = n_uses + 1
        self._n_uses[numbered] = 1
        return f"{full}_{n_uses}"

    def probe(self, name: str) -> str:
        """Return the name that `unique` would, without counting it as used."""
        before = dict(self._n_uses)
        try:
            return self.unique(name)
        finally:
            self._n_uses = before

    def check(self, name: str, kind: str = "node") -> None:
        """Raise ValueError unless this is a name that a node or scope may have here."""
        pattern = _INNER_NAME if self.scope else _OP_NAME
        if not pattern.fullmatch(name):
            raise ValueError(f"'{name}' is not a valid {kind} name")
