"""Mutants of a module: the same module with one small change.

A comparison is turned round, a condition negated, a number off by one, a statement left out.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).parents[1] / "src" / "berth"

_OPPOSITE = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OTHER = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult}


class Mutant(NamedTuple):
    """One change of one module."""

    module: str
    line: int
    statement: str
    """The first line of what is changed."""
    change: str
    """What was written, and what is written instead: ``a < b -> a <= b``."""
    position: int
    """Of the changed node, in a walk over the module's tree."""

    def shown(self) -> str:
        return f"{self.module}:{self.line}: {self.change}\n    in: {self.statement}"

    def text(self) -> str:
        """Return the changed module."""
        tree = ast.parse((SOURCES / self.module).read_text())
        node = next(node for k, node in enumerate(ast.walk(tree)) if k == self.position)
        parents = {c: p for p in ast.walk(tree) for c in ast.iter_child_nodes(p)}
        _change(node, parents[node])
        return ast.unparse(ast.fix_missing_locations(tree))


def mutants_of(module: str) -> Iterator[Mutant]:
    """Yield all mutants of a module."""
    source = (SOURCES / module).read_text()
    lines = source.splitlines()
    for position, node in enumerate(ast.walk(ast.parse(source))):
        if _can_change(node):
            line = getattr(node, "lineno", 0)
            yield Mutant(module, line, lines[line - 1].strip(), _described(node), position)


def _described(node: ast.AST) -> str:
    """Describe the change of a node."""
    if isinstance(node, ast.Expr | ast.AugAssign):
        return f"{_shown(node)} -> left out"
    changed = copy.deepcopy(node)
    _change(changed, None)
    return f"{_shown(node)} -> {_shown(changed)}"


def _shown(node: ast.AST) -> str:
    """Return the source of a node; of an `if` or a loop, that of its condition."""
    return ast.unparse(node.test if isinstance(node, ast.If | ast.While | ast.IfExp) else node)


def _can_change(node: ast.AST) -> bool:
    """Return whether there is a change for a node."""
    if isinstance(node, ast.Compare):
        return type(node.ops[0]) in _OPPOSITE
    if isinstance(node, ast.BinOp):
        return type(node.op) in _OTHER
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.Return):
        return node.value is not None and ast.unparse(node.value) != "None"
    return isinstance(node, ast.BoolOp | ast.If | ast.While | ast.IfExp | ast.AugAssign)


def _change(node: ast.AST, parent: ast.AST | None) -> None:
    """Make a node's change."""
    if isinstance(node, ast.Compare):
        node.ops[0] = _OPPOSITE[type(node.ops[0])]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.BinOp):
        node.op = _OTHER[type(node.op)]()
    elif isinstance(node, ast.Constant):
        assert isinstance(node.value, int)
        node.value += 1
    elif isinstance(node, ast.Return):
        truth = node.value.value if isinstance(node.value, ast.Constant) else None
        node.value = ast.Constant(not truth if isinstance(truth, bool) else None)
    else:
        _leave_out(node, parent)


def _leave_out(node: ast.AST, parent: ast.AST | None) -> None:
    """Replace a statement by `pass`."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and node in block:
            block[block.index(node)] = ast.Pass()
