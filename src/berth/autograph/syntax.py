"""Making of syntax: small trees, with the location of the user's code that they stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

OPERATORS = "ag__"
"""The name by which converted code finds what it calls (`operators.Operators`)."""
Node = TypeVar("Node", bound=ast.AST)


def located(node: Node, at: ast.AST) -> Node:
    """Give syntax, and all within that has none yet, the first line of other syntax.

    The last line is not copied: Python reports the call of a method at the end of its name.
    """
    made: Any = node
    made.lineno = made.end_lineno = getattr(at, "lineno", 1)
    made.col_offset = made.end_col_offset = getattr(at, "col_offset", 0)
    if getattr(at, "end_lineno", None) == made.lineno:
        made.end_col_offset = at.end_col_offset  # type: ignore[attr-defined]
    return ast.fix_missing_locations(node)


def load(dotted: str) -> ast.expr:
    """Return an expression that reads a variable, or attributes of it."""
    name, *attributes = dotted.split(".")
    read: ast.expr = ast.Name(name, ast.Load())
    for attribute in attributes:
        read = ast.Attribute(read, attribute, ast.Load())
    return read


def constant(value: Any) -> ast.expr:
    """Return an expression for a constant."""
    return ast.Constant(value)


def assign(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    """Return an assignment that the user did not write."""
    node = ast.Assign([ast.Name(name, ast.Store())], value)
    node.is_flag = True  # type: ignore[attr-defined]
    return located(node, at)


def call_operator(
    name: str, arguments: Iterable[ast.expr], keywords: Sequence[ast.keyword] = ()
) -> ast.expr:
    """Return a call of one of the operators."""
    return ast.Call(load(f"{OPERATORS}.{name}"), list(arguments), list(keywords))


def text_tuple(texts: Iterable[str]) -> ast.expr:
    """Return a tuple of texts."""
    return ast.Tuple([constant(text) for text in texts], ast.Load())


def thunk(body: ast.expr) -> ast.expr:
    """Return a lambda without parameters."""
    nothing = ast.arguments([], [], None, [], [], None, [])
    return ast.Lambda(nothing, body)


def function(
    name: str, parameters: Sequence[str], body: list[ast.stmt], at: ast.AST
) -> ast.FunctionDef:
    """Return a definition of a function that the user did not write."""
    given = ast.arguments([], [ast.arg(name) for name in parameters], None, [], [], None, [])
    node = ast.FunctionDef(name, given, body, [], None, None)
    if "type_params" in ast.FunctionDef._fields:  # Python 3.12
        setattr(node, "type_params", [])  # noqa: B010 - unknown to checkers of older Pythons
    return located(node, at)
