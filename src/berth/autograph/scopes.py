"""Names in syntax trees: which variables of a function a piece of it reads and binds.

Python's rules: a lambda, a comprehension or a nested function has a scope of its own, and
reads the variables of the function around it; an assignment expression in a comprehension
binds in the function around; a class body is a scope that nested functions do not see.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
LOOPS = (ast.For, ast.While)


class Names(NamedTuple):
    """The variables of a function that some of its syntax reads and binds."""

    reads: frozenset[str]
    binds: dict[str, None]
    """In the order of their first binding."""
    composites: dict[str, ast.expr]
    """Attributes and items that are assigned, by their text: ``self.x``, ``a[0]``."""


def names_in(*nodes: ast.AST | None) -> Names:
    """Find the variables in some syntax of one function."""
    found = _Found()
    for node in nodes:
        if node is not None:
            found.visit(node)
    return Names(frozenset(found.reads), found.binds, found.composites)


def parameters(node: FunctionNode) -> list[str]:
    """List the parameters of a function."""
    given = node.args
    several = (given.vararg, given.kwarg)
    return [
        argument.arg
        for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, *several)
        if argument is not None
    ]


class Scope:
    """The variables of a function: its own, and those declared global or nonlocal."""

    def __init__(self, node: FunctionNode) -> None:
        body = node.body if isinstance(node.body, list) else [node.body]
        found = _Found()
        for part in body:
            found.visit(part)
        self.parameters = parameters(node)
        self.globals = frozenset(found.globals)
        self.nonlocals = frozenset(found.nonlocals)
        declared = self.globals | self.nonlocals
        bound = (name for name in found.binds if name not in declared)
        self.own = dict.fromkeys((*self.parameters, *bound))
        """Parameters and local variables."""
        self.free_reads = frozenset(found.reads) - frozenset(self.own) - self.globals
        self.free_binds = self.nonlocals & frozenset(found.binds)


class Captures(NamedTuple):
    """Variables of the function around that a nested function or class reads and binds."""

    reads: frozenset[str]
    binds: frozenset[str]


def captures_of(body: Sequence[ast.stmt]) -> dict[str, Captures]:
    """Return what the functions and classes that are defined in a body capture, by name.

    Calling one may call another: what they capture is then captured by both.
    """
    found: dict[str, Captures] = {}
    for node in definitions_in(body):
        before = found.get(node.name, Captures(frozenset(), frozenset()))
        scopes = [Scope(f) for f in _methods(node)] if isinstance(node, ast.ClassDef) else []
        if not isinstance(node, ast.ClassDef):
            scopes = [Scope(node)]
        reads = before.reads.union(*(scope.free_reads for scope in scopes))
        binds = before.binds.union(*(scope.free_binds for scope in scopes))
        found[node.name] = Captures(reads, binds)
    changed = True
    while changed:
        changed = False
        for name, (reads, binds) in found.items():
            others = [found[read] for read in reads if read in found]
            joined = Captures(
                reads.union(*(other.reads for other in others)),
                binds.union(*(other.binds for other in others)),
            )
            changed |= joined != found[name]
            found[name] = joined
    return found


def _methods(node: ast.ClassDef) -> Iterable[FunctionNode]:
    return (part for part in ast.walk(node) if isinstance(part, FUNCTIONS))


def definitions_in(
    body: Sequence[ast.stmt],
) -> Iterable[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """List the functions and classes that a body defines, not those inside of them."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, DEFINITIONS):
            yield node
        elif not isinstance(node, ast.expr):
            pending.extend(ast.iter_child_nodes(node))


def contains(node: ast.AST, *kinds: type[ast.AST]) -> bool:
    """Tell whether syntax contains a kind, outside of nested functions and classes."""
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, kinds):
            return True
        inner = ast.iter_child_nodes(part)
        pending += [x for x in inner if not isinstance(x, (*DEFINITIONS, ast.Lambda))]
    return False


def text_of_composite(node: ast.expr) -> str | None:
    """Return the text of an attribute or item that is known by names and constants only.

    >>> text_of_composite(ast.parse("a.b['k']").body[0].value)
    "a.b['k']"
    """
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute | ast.Subscript):
        if isinstance(inner, ast.Subscript):
            key = inner.slice
            if not isinstance(key, ast.Name | ast.Constant):
                return None
        inner = inner.value
    if not isinstance(inner, ast.Name) or inner is node:
        return None
    return ast.unparse(node)


class _Found(ast.NodeVisitor):
    """Collects the variables that syntax of one function uses."""

    def __init__(self) -> None:
        self.reads: set[str] = set()
        self.binds: dict[str, None] = {}
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.composites: dict[str, ast.expr] = {}

    def _bind(self, name: str | None) -> None:
        if name is not None:
            self.binds.setdefault(name)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.reads.add(node.id)
        else:
            self._bind(node.id)

    def _visit_target(self, node: ast.Attribute | ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            text = text_of_composite(node)
            if text is not None:
                self.composites.setdefault(text, node)
        self.generic_visit(node)

    visit_Attribute = visit_Subscript = _visit_target

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.reads.add(node.target.id)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self.globals.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.nonlocals.update(node.names)

    def visit_alias(self, node: ast.alias) -> None:
        self._bind(node.asname or node.name.partition(".")[0])

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    def _visit_capture(self, node: Any) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = _visit_capture

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._bind(node.rest)
        self.generic_visit(node)

    # --- scopes inside -------------------------------------------------------------------

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_defaults(node.args)
        self.reads |= Scope(node).free_reads

    def _visit_defaults(self, given: ast.arguments) -> None:
        for default in (*given.defaults, *given.kw_defaults):
            if default is not None:
                self.visit(default)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._bind(node.name)
        self._visit_defaults(node.args)
        for decorator in node.decorator_list:
            self.visit(decorator)
        if node.decorator_list:  # which may call it
            self.reads |= Scope(node).free_reads

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind(node.name)
        inner = _Found()
        for part in node.body:
            inner.visit(part)
        self.reads |= inner.reads
        outside: list[ast.AST] = [*node.decorator_list, *node.bases, *node.keywords]
        for outer in outside:
            self.visit(outer)

    def _visit_comprehension(self, node: Any) -> None:
        inner = _Found()
        for child in ast.iter_child_nodes(node):
            inner.visit(child)
        assigned = {
            part.target.id
            for part in ast.walk(node)
            if isinstance(part, ast.NamedExpr) and isinstance(part.target, ast.Name)
        }
        targets = {name for name in inner.binds if name not in assigned}
        self.reads |= inner.reads - targets
        # The first iterable is evaluated outside, where a target may be another variable.
        self.visit(node.generators[0].iter)
        for name in inner.binds:
            if name in assigned:
                self._bind(name)

    visit_ListComp = visit_SetComp = visit_DictComp = _visit_comprehension
    visit_GeneratorExp = _visit_comprehension
