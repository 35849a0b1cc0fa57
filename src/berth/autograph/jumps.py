"""Jumps: `break`, `continue` and `return` become flags, so that every block ends at its end.

What follows a jump is skipped in one of two ways:

    if a:                       if a:                   where a branch always jumps, the rest
        continue        →           pass                moves into the other branch, and often
    rest                        else:                   no flag is needed
                                    rest

    with scope:                 with scope:             elsewhere the rest is guarded
        if a:           →           if a:
            break                       break_ = True
    rest                        if not break_:
                                    rest

A loop has `stops`: the flags that end it. A flag that nothing tests is removed again.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence
from itertools import count, islice
from typing import NamedTuple

from berth.autograph.errors import Unsupported
from berth.autograph.scopes import DEFINITIONS, LOOPS
from berth.autograph.syntax import OPERATORS, assign, call_operator, constant, load, located

RETURNED = "retval_"
"""The variable with the value that is returned; TensorFlow's errors have this name."""


class Lowered(NamedTuple):
    """A block without jumps."""

    statements: list[ast.stmt]
    flags: frozenset[str]
    """Those that may be set at its end."""
    ends: bool
    """Whether its end is never reached without a flag being set, or an exception."""


class _Loop:
    def __init__(self, break_flag: str, continue_flag: str) -> None:
        self.break_flag = break_flag
        self.continue_flag = continue_flag
        self.breaks = False


class JumpLowering:
    """Rewrites the jumps of one function."""

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = set(taken)
        self._returned = self._new(RETURNED)
        self._return_flag = self._new("do_return")
        self._unneeded = {self._return_flag}
        """The flags that nothing tests so far, but those of `break`, which loops test."""
        self._loops: list[_Loop] = []
        self._depth = 0
        self._returns = False
        """Whether a `return` has become an assignment."""

    def _new(self, name: str) -> str:
        """Return a name that no variable has."""
        numbered = (f"{name.rstrip('_')}_{number}" for number in count(1))
        found = next(n for n in (name, *islice(numbered, 10_000)) if n not in self._taken)
        self._taken.add(found)
        return found

    def function(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Rewrite the body of a function."""
        lowered = self._block(body)
        statements = lowered.statements
        if self._returns:
            is_tested = self._return_flag not in self._unneeded
            flag = [self._return_flag] if is_tested else []
            first, last = body[0], body[-1]
            start = [assign(self._returned, load(f"{OPERATORS}.NOTHING_RETURNED"), first)]
            start += [assign(name, constant(False), first) for name in flag]
            returned = [load(self._returned), *map(load, [] if lowered.ends else flag)]
            end = ast.Return(call_operator("returned", returned))
            statements = [*start, *statements, located(end, last)]
        return _without_flags(statements, self._unneeded)

    # --- blocks --------------------------------------------------------------------------

    def _inner(self, body: Sequence[ast.stmt]) -> Lowered:
        self._depth += 1
        try:
            return self._block(body)
        finally:
            self._depth -= 1

    def _block(self, body: Sequence[ast.stmt]) -> Lowered:
        made: list[ast.stmt] = []
        for position, written in enumerate(body):
            statement, rest = written, body[position + 1 :]
            if isinstance(statement, ast.Return | ast.Break | ast.Continue):
                jump, flags = self._jump(statement)
                return Lowered([*made, *jump], flags, ends=True)
            if isinstance(statement, ast.Raise):
                return Lowered([*made, statement], frozenset(), ends=True)
            if isinstance(statement, ast.If):
                statement, rest = _with_rest(statement, rest)
            lowered = self._statement(statement)
            made += lowered.statements
            if lowered.flags or lowered.ends:
                return self._guarded(made, lowered, rest)
        return Lowered(made, frozenset(), ends=False)

    def _guarded(
        self, made: list[ast.stmt], lowered: Lowered, rest: Sequence[ast.stmt]
    ) -> Lowered:
        """Add what follows a statement that may have jumped."""
        if not rest or (lowered.ends and not lowered.flags):
            return Lowered(made, lowered.flags, lowered.ends)
        after = self._inner(rest)
        guard = ast.If(self._no(lowered.flags), after.statements or [ast.Pass()], [])
        made.append(located(guard, rest[0]))
        return Lowered(made, lowered.flags | after.flags, lowered.ends or after.ends)

    def _no(self, flags: Iterable[str]) -> ast.expr:
        """Return the test that no flag is set."""
        names = sorted(flags)
        self._unneeded.difference_update(names)
        tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), load(name)) for name in names]
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)

    def _jump(self, node: ast.stmt) -> tuple[list[ast.stmt], frozenset[str]]:
        if isinstance(node, ast.Return):
            if not self._depth:
                return [node], frozenset()
            self._returns = True
            value = node.value or located(constant(None), node)
            both = [assign(self._returned, value, node)]
            both.append(assign(self._return_flag, constant(True), node))
            return both, frozenset([self._return_flag])
        loop = self._loops[-1]
        flag = loop.break_flag if isinstance(node, ast.Break) else loop.continue_flag
        loop.breaks |= isinstance(node, ast.Break)
        return [assign(flag, constant(True), node)], frozenset([flag])

    # --- statements ----------------------------------------------------------------------

    def _statement(self, node: ast.stmt) -> Lowered:
        if isinstance(node, ast.If):
            body, orelse = self._inner(node.body), self._inner(node.orelse)
            node.body, node.orelse = body.statements or [_pass(node)], orelse.statements
            return Lowered([node], body.flags | orelse.flags, body.ends and orelse.ends)
        if isinstance(node, LOOPS):
            return self._loop(node)
        if isinstance(node, ast.With):
            body = self._inner(node.body)
            node.body = body.statements or [_pass(node)]
            # The context may suppress what was raised.
            return Lowered([node], body.flags, body.ends and bool(body.flags))
        if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            return self._try(node)  # type: ignore[arg-type]
        if isinstance(node, ast.Match):
            return self._match(node)
        return Lowered([node], frozenset(), ends=False)

    def _loop(self, node: ast.For | ast.While) -> Lowered:
        loop = _Loop(self._new("break_"), self._new("continue_"))
        self._unneeded.add(loop.continue_flag)
        self._loops.append(loop)
        body = self._inner(node.body)
        self._loops.pop()
        node.body = [assign(loop.continue_flag, constant(False), node), *body.statements]
        returns = body.flags & {self._return_flag}
        stops = [*([loop.break_flag] if loop.breaks else []), *returns]
        self._unneeded.difference_update(stops)
        node.stops = stops  # type: ignore[union-attr]
        made: list[ast.stmt] = [node]
        if loop.breaks:
            made.insert(0, assign(loop.break_flag, constant(False), node))
        flags, orelse = returns, node.orelse
        node.orelse = []
        if orelse:
            after = self._inner(orelse)
            kept = after.statements or [_pass(node)]
            guard = [ast.If(self._no(stops), kept, [])] if stops else kept
            made += [located(part, orelse[0]) for part in guard]
            flags |= after.flags
        return Lowered(made, flags, ends=is_endless(node) and not loop.breaks)

    def _try(self, node: ast.Try) -> Lowered:
        if any(_jumps(part) for part in node.finalbody):
            raise Unsupported("a jump out of a finally block is not supported", node)
        body = self._inner(node.body)
        orelse = self._inner(node.orelse)
        node.body = body.statements or [_pass(node)]
        node.orelse = orelse.statements
        if node.orelse and body.flags:
            guard = ast.If(self._no(body.flags), node.orelse, [])
            node.orelse = [located(guard, node.orelse[0])]
        flags, ends = body.flags | orelse.flags, body.ends or orelse.ends
        for handler in node.handlers:
            handled = self._inner(handler.body)
            handler.body = handled.statements or [_pass(node)]
            flags, ends = flags | handled.flags, ends and handled.ends
        node.finalbody = self._inner(node.finalbody).statements
        return Lowered([node], flags, ends)

    def _match(self, node: ast.Match) -> Lowered:
        flags: frozenset[str] = frozenset()
        last = node.cases[-1]
        is_any = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        ends = is_any and last.guard is None
        for case in node.cases:
            body = self._inner(case.body)
            case.body = body.statements or [_pass(node)]
            flags, ends = flags | body.flags, ends and body.ends
        return Lowered([node], flags, ends)


def _with_rest(node: ast.If, rest: Sequence[ast.stmt]) -> tuple[ast.If, Sequence[ast.stmt]]:
    """Move what follows an `if` into the branch that does not jump, if only one does not."""
    body_ends, orelse_ends = _always_jumps(node.body), _always_jumps(node.orelse)
    if body_ends and orelse_ends:
        return node, []
    if body_ends:
        node.orelse = [*node.orelse, *rest]
        return node, []
    if orelse_ends:
        node.body = [*node.body, *rest]
        return node, []
    return node, rest


def _always_jumps(body: Sequence[ast.stmt]) -> bool:
    """Tell whether a block certainly ends with a jump."""
    for node in body:
        if isinstance(node, ast.Return | ast.Break | ast.Continue):
            return True
        if isinstance(node, ast.If) and _always_jumps(node.body) and _always_jumps(node.orelse):
            return True
    return False


def _jumps(node: ast.AST, in_loop: bool = False) -> bool:
    """Tell whether a statement may jump out of itself."""
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, ast.Break | ast.Continue):
        return not in_loop
    if isinstance(node, (*DEFINITIONS, ast.expr)):
        return False
    within = in_loop or isinstance(node, LOOPS)
    return any(_jumps(part, within) for part in ast.iter_child_nodes(node))


def is_endless(node: ast.stmt) -> bool:
    """Tell whether a loop is ``while True``."""
    is_constant = isinstance(node, ast.While) and isinstance(node.test, ast.Constant)
    return is_constant and bool(node.test.value)  # type: ignore[attr-defined]


def _pass(node: ast.AST) -> ast.stmt:
    return located(ast.Pass(), node)


def _without_flags(statements: list[ast.stmt], unused: set[str]) -> list[ast.stmt]:
    """Remove the assignments of flags that nothing tests."""

    class Removal(ast.NodeTransformer):
        def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
            target = node.targets[0]
            made = getattr(node, "is_flag", False) and isinstance(target, ast.Name)
            return None if made and target.id in unused else node  # type: ignore[attr-defined]

        def _visit_scope(self, node: ast.AST) -> ast.AST:
            return node

        visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = (
            _visit_scope
        )

        def generic_visit(self, node: ast.AST) -> ast.AST:
            super().generic_visit(node)
            if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
                body = getattr(node, "body", None)
                if body == []:
                    at = node if hasattr(node, "lineno") else node.pattern
                    node.body = [_pass(at)]  # type: ignore[union-attr]
            return node

    made = (Removal().visit(statement) for statement in statements)
    return [statement for statement in made if statement is not None]
