"""Liveness: for every `if` and loop, the variables it binds, and which of them matter later.

A conditional on a tensor has to give the variables that are read after it; a loop carries
those that are read after it or by its next iteration. Both are found here, on the whole
function, before any block is rewritten. A variable counts as live if it may be read; where
exceptions may come from anywhere (`try`), more are live than strictly needed.

A nested function reads its captured variables where its name is read: before that, a
variable that it captures may be anything.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from berth.autograph.scopes import Captures, Scope, captures_of, names_in

Live = frozenset[str]


class Flow(NamedTuple):
    """What an `if`, `while` or `for` binds, and the variables that matter around it."""

    binds: tuple[str, ...]
    """Every variable that it may bind, in order."""
    composites: dict[str, ast.expr]
    """Attributes and items of objects from before that it assigns."""
    live: Live
    """The variables that are read after it, or by the next iteration."""


def annotate(node: ast.FunctionDef, scope: Scope) -> None:
    """Add a `flow` to every `if` and loop of a function."""
    _Liveness(node, scope).block(node.body, scope.globals | scope.nonlocals)


class _Liveness:
    def __init__(self, node: ast.FunctionDef, scope: Scope) -> None:
        self._captures = captures_of(node.body)
        self._outside = scope.globals | scope.nonlocals
        self._variables = frozenset(scope.own) | self._outside
        self._handled: Live = frozenset()
        """What is read if an exception is raised."""

    def block(self, body: Sequence[ast.stmt], after: Live) -> Live:
        """Return what is live before a block."""
        for statement in reversed(body):
            after = self._statement(statement, after | self._handled)
        return after

    def _statement(self, node: ast.stmt, after: Live) -> Live:
        kind = type(node).__name__
        visit = getattr(self, f"_visit_{kind}", None)
        if visit is not None:
            before: Live = visit(node, after)
            return before
        found = names_in(node)
        if isinstance(node, ast.Return | ast.Raise):
            after = self._outside | self._handled
        return (after - frozenset(found.binds)) | self._read(found.reads)

    def _read(self, names: Live) -> Live:
        """Add what nested functions read that may be called by these names."""
        nothing = Captures(frozenset(), frozenset())
        return names.union(*(self._captures.get(name, nothing).reads for name in names))

    def _reads(self, *nodes: ast.AST | None) -> Live:
        return self._read(names_in(*nodes).reads)

    def _flow(self, node: ast.stmt, before: Live, live: Live) -> None:
        found = names_in(node)
        binds = dict(found.binds)
        for name in sorted(found.reads):  # a call of a nested function binds as well
            if name in self._captures and name not in found.binds:
                binds.update(dict.fromkeys(sorted(self._captures[name].binds)))
        composites = {
            text: target
            for text, target in found.composites.items()
            if names_in(target).reads <= before and not names_in(target).reads & binds.keys()
        }
        kept = tuple(name for name in binds if name in self._variables)
        node.flow = Flow(kept, composites, live)  # type: ignore[attr-defined]

    # --- compound statements -------------------------------------------------------------

    def _visit_If(self, node: ast.If, after: Live) -> Live:
        branches = self.block(node.body, after) | self.block(node.orelse, after)
        test = names_in(node.test)
        before = (branches - frozenset(test.binds)) | self._read(test.reads)
        self._flow(node, before, after)
        return before

    def _visit_While(self, node: ast.While, after: Live) -> Live:
        stops = frozenset(getattr(node, "stops", ()))
        test = names_in(node.test)
        bound, read = frozenset(test.binds), self._read(test.reads) | stops
        head = before = after | read
        while True:
            before = ((self.block(node.body, head) | after) - bound) | read
            if before <= head:
                break
            head |= before
        self._flow(node, before, head | after)
        return before

    def _visit_For(self, node: ast.For, after: Live) -> Live:
        stops = frozenset(getattr(node, "stops", ()))
        target = names_in(node.target)
        bound, read = frozenset(target.binds), self._read(target.reads)
        head = after | stops
        while True:
            before = (self.block(node.body, head) - bound) | read | stops
            if before <= head:
                break
            head |= before
        self._flow(node, head, head)
        return head | self._reads(node.iter)

    def _visit_With(self, node: ast.With, after: Live) -> Live:
        before = self.block(node.body, after)
        for item in reversed(node.items):
            bound = names_in(item.optional_vars).binds
            reads = self._reads(item.context_expr, item.optional_vars)
            before = (before - frozenset(bound)) | reads
        return before

    def _visit_Try(self, node: Any, after: Live) -> Live:
        outer = self._handled
        # After an exception the block at the end is run too, and what follows it is not. That
        # first: the flows of the block are to be those of the other way, which has more.
        handlers = self.block(node.finalbody, self._outside) if node.finalbody else frozenset()
        final = self.block(node.finalbody, after | self._outside) if node.finalbody else after
        self._handled = outer | handlers
        for handler in node.handlers:
            before = self.block(handler.body, final) - {handler.name or ""}
            handlers |= before | self._reads(handler.type)
        orelse = self.block(node.orelse, final)
        self._handled |= handlers
        before = self.block(node.body, orelse)
        self._handled = outer
        return before | handlers

    _visit_TryStar = _visit_Try

    def _visit_Match(self, node: ast.Match, after: Live) -> Live:
        before = after
        for case in node.cases:
            found = names_in(case.pattern)
            inside = self.block(case.body, after) | self._reads(case.guard)
            before |= (inside - frozenset(found.binds)) | self._read(found.reads)
        return before | self._reads(node.subject)
