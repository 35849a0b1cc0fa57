"""Rewriting of expressions: calls, `and`, `or`, `not`, `x if c else y`, chained comparisons.

What Python evaluates only if needed becomes a lambda. An operand that binds a variable
(``:=``) cannot be in one: then the expression stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from berth.autograph.scopes import contains
from berth.autograph.syntax import OPERATORS, call_operator, constant, load, located, thunk

_SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


def is_python_bool(node: ast.expr) -> bool:
    """Tell whether an expression is certain to be a value of Python, and no tensor.

    >>> is_python_bool(ast.parse("x is None").body[0].value)
    True
    """
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Compare):
        return all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return is_python_bool(node.operand)
    return isinstance(node, ast.BoolOp) and all(map(is_python_bool, node.values))


def _binds(nodes: Sequence[ast.expr]) -> bool:
    kinds = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
    return any(isinstance(part, kinds) for node in nodes for part in ast.walk(node))


class Expressions(ast.NodeTransformer):
    """Rewrites the expressions of one function."""

    def __init__(self, features: frozenset[str], first_parameter: str | None) -> None:
        self._features = features
        self._first = first_parameter

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        callee = node.func
        if isinstance(callee, ast.Name) and callee.id == "super":
            return self._super(node)
        if isinstance(callee, ast.Name) and callee.id in ("locals", "globals", "eval", "exec"):
            return node  # they look at the frame that calls them
        owner = callee.value if isinstance(callee, ast.Attribute) else None
        if isinstance(owner, ast.Name) and owner.id == OPERATORS:
            return node
        node.func = located(call_operator("callee", [callee]), callee)
        return node

    def _super(self, node: ast.Call) -> ast.expr:
        """Give `super()` the arguments that Python would find in the frame."""
        if not node.args and not node.keywords and self._first is not None:
            given = [load("__class__"), load(self._first)]
            node.args = [located(argument, node) for argument in given]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        is_plain = is_python_bool(node)
        self.generic_visit(node)
        first, *others = node.values
        if is_plain or _binds(others):
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return located(call_operator(name, [first, *map(thunk, others)]), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        is_plain = is_python_bool(node)
        self.generic_visit(node)
        if is_plain or not isinstance(node.op, ast.Not):
            return node
        return located(call_operator("not_", [node.operand]), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        is_plain, text = is_python_bool(node.test), ast.unparse(node.test)
        self.generic_visit(node)
        if is_plain or _binds([node.body, node.orelse]):
            return node
        branches = [thunk(node.body), thunk(node.orelse)]
        call = call_operator("if_exp", [node.test, *branches, constant(text)])
        return located(call, node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) == 1 or is_python_bool(node) or _binds(node.comparators[1:]):
            return node
        pairs: list[ast.expr] = []
        for number, (op, value) in enumerate(zip(node.ops, node.comparators, strict=True)):
            later = thunk(value) if number else value
            pairs += [constant(_SYMBOLS[type(op)]), later]
        return located(call_operator("compare", [node.left, *pairs]), node)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        if contains(node.body, ast.Yield, ast.YieldFrom, ast.Await):
            return node
        outer, self._first = self._first, next((a.arg for a in node.args.args), None)
        self.generic_visit(node)
        self._first = outer
        return node
